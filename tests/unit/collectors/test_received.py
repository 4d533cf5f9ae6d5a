"""Bounds of connections, on real sockets and on both event loops: the kernel's count is what is tested."""

import asyncio
from collections.abc import Callable

import pytest
import uvloop

from collectors._received import Bound, Meter

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


async def _flood(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server that never stops."""
    try:
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def _silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server that never begins."""
    await reader.read()
    writer.close()


async def _metered(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], object], limit: int, seconds: float
) -> tuple[Bound | None, int, int]:
    """Read all there is within bounds: the bound that was passed, bytes by our count, and the kernel's after the end."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)  # type: ignore[arg-type]
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    meter = Meter()
    meter.follow(writer.transport)
    count = 0
    with meter.at_most(limit, seconds):
        try:
            while part := await reader.read(65536):
                count += len(part)
        except ConnectionError:
            pass
    writer.close()
    server.close()
    return meter.passed, count, meter.received


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_a_flood_is_cut(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """Else this test would not end. When the connection is closed there is no count, and no error."""
    with asyncio.Runner(loop_factory=loop) as runner:
        passed, count, after = runner.run(_metered(_flood, 1 << 20, 60))

    assert Bound.BYTES is passed
    assert count > 1 << 19
    assert 0 == after


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_a_wait_is_cut(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """Else this test would not end either."""
    with asyncio.Runner(loop_factory=loop) as runner:
        passed, count, _ = runner.run(_metered(_silence, 1 << 20, 0.01))

    assert (Bound.TIME, 0) == (passed, count)
