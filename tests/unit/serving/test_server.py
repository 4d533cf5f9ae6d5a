import asyncio
import signal
from pathlib import Path
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from app.certs import Authority
from app.clock import SystemClock
from app.serving.server import KEEP_ALIVE, Server, server_config
from tests.unit.serving.loopback import LOOPS, client_context, connected, run, serving_tls


async def hello(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"hi"})


def make(app: Any = hello, **options: Any) -> Server:
    return Server(server_config(app, host="127.0.0.1", port=0, lifespan=False), **options)


async def started(server: Server) -> None:
    while not server.started:  # noqa: ASYNC110  uvicorn has a flag only
        await asyncio.sleep(0.001)


def test_settings() -> None:
    """uvicorn is set up for the aggregator: keep-alive over Go's 90 s, no trust in forwarded headers, no websockets."""
    config = server_config(hello, host="127.0.0.1", port=0)
    config.load()
    assert 130 == config.timeout_keep_alive == KEEP_ALIVE
    assert config.timeout_graceful_shutdown is not None
    assert hello is config.loaded_app, "no middleware stands before the dispatcher"
    assert config.ws_protocol_class is None
    assert [] == config.encoded_headers


@pytest.mark.looptime
async def test_drain_serves_on_for_the_delay() -> None:
    """The first signal withdraws readiness once, and the end comes the delay later, not before."""
    drained: list[float] = []
    loop = asyncio.get_running_loop()
    server = make(shutdown_delay=10.0, on_drain=lambda: drained.append(loop.time()))
    assert not await server.on_tick(1)
    server.handle_exit(signal.SIGTERM, None)
    begin = loop.time()
    with capture_logs():
        assert not await server.on_tick(2)
    await asyncio.sleep(9.9)
    assert not await server.on_tick(3)
    assert server.server_state.draining
    await asyncio.sleep(0.2)
    assert await server.on_tick(4)
    assert [begin] == drained
    assert not server.force_exit


async def test_a_second_signal_ends_at_once() -> None:
    """Who asks twice does not wait."""
    server = make(shutdown_delay=10.0)
    server.handle_exit(signal.SIGINT, None)
    with capture_logs():
        assert not await server.on_tick(1)
    server.handle_exit(signal.SIGINT, None)
    assert await server.on_tick(2)
    assert server.force_exit


@pytest.mark.looptime
async def test_an_idle_server_wakes_once_a_second_and_for_a_signal() -> None:
    """Each time that an idle process wakes costs a tenth of a millisecond; a signal and the end of the delay do not wait for it."""
    loop = asyncio.get_running_loop()
    ticks: list[float] = []

    class Watched(Server):
        async def on_tick(self, counter: int) -> bool:
            ticks.append(round(loop.time(), 2))
            return await super().on_tick(counter)

    server = Watched(server_config(hello, host="127.0.0.1", port=0, lifespan=False), shutdown_delay=1.5)
    loop.call_later(3.25, server.handle_exit, signal.SIGTERM, None)
    with capture_logs():
        await server.main_loop()
    assert [0, 1, 2, 3, 3.25, 4.25, 4.75] == ticks


@pytest.mark.parametrize("loop", LOOPS)
def test_a_real_drain(loop: str) -> None:
    """While draining new connections and requests are served, answers close; then the server ends without raising the signal again."""

    async def test() -> None:
        drained = asyncio.Event()
        server = make(shutdown_delay=0.3, on_drain=drained.set)
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(server.serve())
            await started(server)
            async with connected(server.port) as old:
                assert "connection" not in (await old.get()).headers
                signal.raise_signal(signal.SIGTERM)
                await drained.wait()
                assert "close" == (await old.get()).headers["connection"]
            async with connected(server.port) as new:
                assert 200 == (await new.get()).status
            await serving

    with capture_logs():
        run(loop, test())


@pytest.mark.parametrize("loop", LOOPS)
def test_requests_under_way_are_finished(loop: str) -> None:
    """When the delay is over, idle connections close and answers under way come whole."""

    async def test() -> None:
        gate, begun = asyncio.Event(), asyncio.Event()

        async def slow(scope: Any, receive: Any, send: Any) -> None:
            begun.set()
            await gate.wait()
            await hello(scope, receive, send)

        server = make(slow, shutdown_delay=0.0)
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(server.serve())
            await started(server)
            async with connected(server.port) as connection, connected(server.port) as idle:
                asked = group.create_task(connection.get())
                await begun.wait()
                server.drain()
                assert b"" == await idle.rest()
                gate.set()
                assert b"hi" == (await asked).body
                await serving

    with capture_logs():
        run(loop, test())


@pytest.mark.parametrize("loop", LOOPS)
def test_a_peer_that_does_not_read_holds_nothing_up(loop: str, tmp_path: Path) -> None:
    """TLS ends with an answer of the peer. An idle peer that never gives it is cut: the server ends long before its own time-out."""

    async def test() -> None:
        authority = Authority.create("ca", SystemClock())
        tls = serving_tls(tmp_path, authority)
        server = Server(server_config(hello, host="127.0.0.1", port=0, ssl_context=tls.context, lifespan=False), shutdown_delay=0.0)
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(server.serve())
            await started(server)
            async with connected(server.port, client_context(tmp_path, authority)) as idle:
                assert 200 == (await idle.get()).status
                cast("asyncio.Transport", idle.writer.transport).pause_reading()
                server.drain()
                await serving

    with capture_logs() as logs:
        run(loop, test())
    assert [] == [log for log in logs if log["log_level"] == "error"]
