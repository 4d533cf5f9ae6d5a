"""Clients that are slow, stuck, half gone or many: memory stays bounded, their places become free, and others are served meanwhile.

Client and server share this process, so the bounds count both ends. They are generous: a fault that they are to show costs many times more.
That late clients are cut is shown in test_protocol.py, in virtual time.
"""

import asyncio
import gc
import socket
import struct
import tracemalloc
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.auth.trust import Trust
from app.clock import SystemClock
from app.kinds._catalog import Served
from app.serving.protocol import MAX_BODY_BYTES, MAX_HEADER_BYTES
from tests.fakes.clock import ManualClock
from tests.fakes.kinds import NODES, PODS, make_collection, make_item
from tests.unit.auth.authorities import Authorities
from tests.unit.serving.loopback import LOOPS, client_context, connected, serving_tls
from tests.unit.serving.whole import API, Whole, nothing_breaks, serving, whole_app

HANG_SECONDS = 60
"""For hangs alone, far above what a test takes."""

MIB = 1024 * 1024
MANY = 200
STUCK = 30
LARGE = 4 * MIB
"""The least that the list of all pods has; no buffer of a connection comes near it."""

POD_LIST = f"GET {API}/pods HTTP/1.1\r\nHost: h\r\n\r\n".encode()
POD_TABLE = POD_LIST.replace(b"Host: h", b"Accept: application/json;as=Table;g=meta.k8s.io;v=v1")
POD_SELECTION = POD_LIST.replace(b"/pods", b"/pods?labelSelector=app")
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"


def run(test: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(HANG_SECONDS):
            with nothing_breaks():
                await test

    with asyncio.Runner(loop_factory=LOOPS["uvloop"]) as runner:
        runner.run(bounded())


@asynccontextmanager
async def large_server(**options: Any) -> AsyncIterator[Whole]:
    pods = make_collection(*(make_item("a", f"pod-{number:05}", labels={"app": "x" * 1300}) for number in range(3_000)))
    served = (Served(PODS, pods), Served(NODES, make_collection(make_item("", "n1"))))
    async with serving(whole_app(Trust(), ManualClock(), served, **options)) as whole:
        yield whole
        await whole.is_idle()


@contextmanager
def grows_by_less_than(size: int) -> Iterator[None]:
    """Fail if Python's memory at the end of the block is more than at its begin by `size` bytes."""
    started = not tracemalloc.is_tracing()
    if started:
        tracemalloc.start()
    try:
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        yield
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        if started:
            tracemalloc.stop()
    assert grown < size, f"{grown / MIB:.1f} MiB more"


async def stuck(stack: AsyncExitStack, whole: Whole, request: bytes) -> None:
    """A client that asks and reads no more than the first bytes of the answer: its stream reader and its socket have little room."""
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
    plain.setblocking(False)
    await asyncio.get_running_loop().sock_connect(plain, ("127.0.0.1", whole.port))
    reader, writer = await asyncio.open_connection(
        sock=plain, limit=1024, ssl=whole.shown, server_hostname="localhost" if whole.shown else None
    )
    stack.callback(_leave, reader, writer)
    writer.write(request)
    await reader.readexactly(20)


def _leave(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The reader is held until here: asyncio closes the connection of one that is not."""
    writer.transport.abort()


@asynccontextmanager
async def raw_socket(whole: Whole) -> AsyncIterator[socket.socket]:
    with socket.socket() as plain:
        plain.setblocking(False)
        await asyncio.get_running_loop().sock_connect(plain, ("127.0.0.1", whole.port))
        yield plain


@pytest.mark.parametrize("request_bytes", [POD_LIST, POD_TABLE, POD_SELECTION], ids=["list", "table", "selection"])
def test_clients_that_do_not_read_cost_little(request_bytes: bytes) -> None:
    """An answer is made as it is taken: who does not read holds pieces of it and not the whole. With the clients, all of it goes."""

    async def test() -> None:
        async with large_server() as whole:
            await whole.is_well()
            async with connected(whole.port) as reader:
                assert 200 == (await reader.send(request_bytes)).status  # what is kept of a list that was read is no client's cost
            with grows_by_less_than(4 * MIB):
                async with AsyncExitStack() as stack:
                    with grows_by_less_than(STUCK * LARGE // 2):
                        for _ in range(STUCK):
                            await stuck(stack, whole, request_bytes)
                        assert STUCK == whole.app.in_flight
                        await whole.is_well()
                await whole.is_idle()

    run(test())


def test_clients_that_do_not_read_over_tls(tmp_path: Path) -> None:
    """TLS has buffers of its own, and they are bounded too."""

    async def test() -> None:
        clock = ManualClock(SystemClock().wall())
        cas = Authorities(clock)
        trust, tls = Trust(), serving_tls(tmp_path, cas.stranger)
        trust.on_change(tls.use_bundle)
        trust.replace(cas.bundle())
        shown = client_context(tmp_path, cas.stranger, cas.proxy.issue("front-proxy-client", client=True))
        pods = make_collection(*(make_item("a", f"pod-{number:05}", labels={"app": "x" * 1300}) for number in range(3_000)))
        async with serving(whole_app(trust, clock, (Served(PODS, pods),)), tls.context, shown) as whole, AsyncExitStack() as stack:
            with grows_by_less_than(STUCK * LARGE // 2):
                for _ in range(STUCK):
                    await stuck(stack, whole, POD_LIST.replace(b"Host: h", b"X-Remote-User: ann"))
                await whole.is_well()
            await stack.aclose()
            await whole.is_idle()

    run(test())


def test_a_full_house_refuses_lists_and_nothing_else() -> None:
    """With all places taken by clients that do not read, a list gets 429; discovery and health do not, and the places come back."""

    async def test() -> None:
        async with large_server(max_in_flight=20) as whole, connected(whole.port) as other:
            async with AsyncExitStack() as stack:
                for _ in range(20):
                    await stuck(stack, whole, POD_LIST)
                assert 429 == (await other.send(POD_LIST)).status
                await whole.is_well()
            while whole.app.in_flight:  # noqa: ASYNC110  nothing tells of it
                await asyncio.sleep(0.001)
            assert 200 == (await other.send(POD_LIST)).status

    run(test())


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
def test_clients_that_leave_in_the_middle_of_a_list(reset: bool) -> None:
    """Nothing is told of it as an error, and nothing of it is left."""

    async def test() -> None:
        async with large_server() as whole:
            for read in (0, 1, 1000, MIB):
                for _ in range(15):
                    async with raw_socket(whole) as plain:
                        if reset:
                            plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        loop = asyncio.get_running_loop()
                        await loop.sock_sendall(plain, POD_LIST + POD_TABLE)
                        left = read
                        while left > 0:
                            left -= len(await loop.sock_recv(plain, min(left, 65536)))
                await whole.is_well()
            await whole.is_idle()

    run(test())


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GET / HT", id="half a line"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: ", id="half a header"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n12345", id="half a body"),
        pytest.param(HEALTH, id="a whole request"),
        pytest.param(POD_LIST, id="a request with a large answer"),
        pytest.param(HEALTH * 50, id="a pipeline"),
    ],
)
def test_half_closed_connections(sent: bytes, loop: str) -> None:
    """A client that will send no more is gone, as for Go's server: it may get whole answers still, then the connection ends at once."""

    async def test() -> None:
        async with large_server() as whole:
            async with connected(whole.port) as connection:
                connection.writer.write(sent)
                connection.writer.write_eof()
                answered = await connection.rest()
                assert answered.count(b"HTTP/1.1 ") <= max(1, sent.count(b"HTTP/1.1\r\n"))
                await whole.is_well()
            await whole.is_idle()

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(asyncio.wait_for(test(), HANG_SECONDS))


def test_many_connections() -> None:
    """Hundreds of idle and of half begun requests stand in nobody's way, and each is served when it is whole."""

    async def test() -> None:
        header = b"X: " + b"y" * (MAX_HEADER_BYTES - 4096)
        async with large_server() as whole, AsyncExitStack() as stack:
            with grows_by_less_than(MANY * 4 * MAX_HEADER_BYTES):
                connections = [await stack.enter_async_context(connected(whole.port)) for _ in range(MANY)]
                for number, connection in enumerate(connections):
                    connection.writer.write(b"GET /healthz HTTP/1.1\r\n" + (header if number % 2 else b""))
                    await connection.writer.drain()
                await whole.is_well()
            for number, connection in enumerate(connections):
                assert 200 == (await connection.send(b"\r\n\r\n" if number % 2 else b"\r\n")).status
            await whole.is_well()

    run(test())


def test_tls_handshakes_that_never_end(tmp_path: Path) -> None:
    """Clients that connect and say nothing, or what is no TLS, keep nobody from a handshake."""

    async def test() -> None:
        clock = ManualClock(SystemClock().wall())
        cas = Authorities(clock)
        tls = serving_tls(tmp_path, cas.stranger)
        shown = client_context(tmp_path, cas.stranger)
        async with serving(whole_app(Trust(), clock), tls.context, shown) as whole, AsyncExitStack() as stack:
            loop = asyncio.get_running_loop()
            for number in range(MANY):
                plain = await stack.enter_async_context(raw_socket(whole))
                await loop.sock_sendall(plain, (b"", b"\x16\x03\x01", HEALTH, b"\x80" * 300)[number % 4])
            async with connected(whole.port, shown) as connection:
                assert (200, b"ok") == ((reply := await connection.get("/healthz")).status, reply.body)

    run(test())


def test_requests_that_are_sent_without_end() -> None:
    """A client that sends requests and takes no answer is read no further: the network's own buffers fill, and not the server's memory."""

    async def test() -> None:
        async with large_server() as whole, raw_socket(whole) as plain:
            with grows_by_less_than(2 * LARGE):
                assert not await _sends(plain, POD_LIST * 1000, 256 * MIB)
                await whole.is_well()

    run(test())


@pytest.mark.parametrize("method", [b"GET", b"POST", b"DELETE"])
def test_bodies_without_end(method: bytes) -> None:
    """A body that never ends is cut off at its limit, whatever its request was answered."""

    async def test() -> None:
        async with large_server() as whole, raw_socket(whole) as plain:
            with grows_by_less_than(2 * LARGE):
                loop = asyncio.get_running_loop()
                await loop.sock_sendall(plain, method + b" /apis HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
                chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
                with pytest.raises(ConnectionError):
                    await loop.sock_sendall(plain, chunk * (20 * MAX_BODY_BYTES // len(chunk)))
                await whole.is_well()

    run(test())


async def _sends(plain: socket.socket, data: bytes, size: int) -> bool:
    """Whether `size` bytes of `data`, again and again, get rid of: False where nobody takes them any more."""
    loop = asyncio.get_running_loop()
    for _ in range(size // len(data)):
        try:
            async with asyncio.timeout(1):
                await loop.sock_sendall(plain, data)
        except TimeoutError:
            return False
    return True
