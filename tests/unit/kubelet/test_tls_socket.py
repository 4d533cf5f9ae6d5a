"""Real TLS over loopback, on both event loops: the sockets' readiness is what they differ in."""

import asyncio
import gc
import select
import socket
import ssl
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trustme

from app.http1.connections import CLOSED
from app.kube.config import client_context
from app.kube.credentials import FixedCredentials
from app.kubelet.client import KubeletClient
from app.kubelet.tls_socket import TlsDialer, TlsSocket
from tests.unit.serving.loopback import LOOPS, run

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
pytestmark = pytest.mark.parametrize("loop", LOOPS)
BODY = bytes(range(256)) * 1024


class _World:
    """A server at `port` and a dialer that trusts its authority."""

    def __init__(self, port: int, dialer: TlsDialer) -> None:
        self.port = port
        self.dialer = dialer

    async def dial(self) -> TlsSocket:
        return await self.dialer.dial("127.0.0.1", self.port)


@asynccontextmanager
async def _world(serve: Serve, folder: Path, *, name: str = "127.0.0.1", known: bool = True, tls: bool = True) -> AsyncIterator[_World]:
    """`name` is the one in the server's certificate, `known` whether its authority is trusted."""
    authority = trustme.CA()
    (authority if known else trustme.CA()).cert_pem.write_to_path(str(folder / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context if tls else None)
    dialer = TlsDialer(client_context(folder / "ca.pem"))
    async with server:
        yield _World(server.sockets[0].getsockname()[1], dialer)
    dialer.close()


async def _whole_body(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(BODY)
    await writer.drain()
    writer.close()


async def _all(channel: TlsSocket) -> bytes:
    pieces = [await channel.receive()]
    while pieces[-1]:
        pieces.append(await channel.receive())
    return b"".join(pieces)


def test_what_is_sent_arrives(loop: str, tmp_path: Path) -> None:
    """More than the buffers of both sides hold, in both directions, and then the end."""
    got: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.readexactly(len(BODY) * 32))
        await _whole_body(reader, writer)

    async def test() -> None:
        async with _world(serve, tmp_path) as world:
            channel = await world.dial()
            await channel.send(BODY * 32)
            assert BODY == await _all(channel)
            channel.close()
            channel.close()

    run(loop, test())
    assert [BODY * 32] == got


def test_one_connection_carries_many_requests(loop: str, tmp_path: Path) -> None:
    """The handshake is paid once; the server sees one connection."""
    connections: list[list[bytes]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append([])
        try:
            while True:
                connections[-1].append((await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")[0])
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY))
        except asyncio.IncompleteReadError:
            writer.close()

    async def test() -> None:
        async with _world(serve, tmp_path) as world:
            client = KubeletClient(world.dialer, FixedCredentials(), keepalive=30, connect_timeout=5)
            for path in ("metrics/resource", "stats/summary", "metrics/resource"):
                assert BODY == await client.get(f"https://127.0.0.1:{world.port}/{path}", limit=len(BODY))
            await client.aclose()

    run(loop, test())
    assert [[b"GET /metrics/resource HTTP/1.1", b"GET /stats/summary HTTP/1.1", b"GET /metrics/resource HTTP/1.1"]] == connections


@pytest.mark.parametrize(
    ("how", "error"),
    [
        pytest.param({"name": "other.example"}, ssl.SSLCertVerificationError, id="certificate for another name"),
        pytest.param({"known": False}, ssl.SSLCertVerificationError, id="unknown authority"),
        pytest.param({"tls": False}, ssl.SSLError, id="no TLS there"),
    ],
)
def test_a_handshake_that_fails(loop: str, tmp_path: Path, how: dict[str, Any], error: type[Exception]) -> None:
    """OpenSSL's own error tells why."""

    async def test() -> None:
        async with _world(_whole_body, tmp_path, **how) as world:
            with pytest.raises(error):
                await world.dial()

    run(loop, test())


def test_a_server_that_closes_instead_of_shaking_hands(loop: str, tmp_path: Path) -> None:
    """It is told from a certificate that is not trusted."""

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def test() -> None:
        async with _world(serve, tmp_path, tls=False) as world:
            with pytest.raises(CLOSED):
                await world.dial()

    run(loop, test())


def test_nobody_listens(loop: str, tmp_path: Path) -> None:
    """Refused is refused."""

    async def test() -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            async with _world(_whole_body, tmp_path) as world:
                with pytest.raises(ConnectionRefusedError):
                    await world.dialer.dial("127.0.0.1", unused.getsockname()[1])

    run(loop, test())


def test_a_handshake_that_is_given_up_leaves_no_connection(loop: str, tmp_path: Path) -> None:
    """A server that takes connections and says nothing costs a socket until the deadline, and none afterwards."""

    async def test() -> None:
        taken, ended = asyncio.Event(), asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            taken.set()
            await reader.read()
            ended.set()
            writer.close()

        async with _world(serve, tmp_path, tls=False) as world:
            dialling = asyncio.ensure_future(world.dial())
            await taken.wait()
            dialling.cancel()
            await ended.wait()
            assert dialling.cancelled()

    run(loop, test())


@pytest.mark.parametrize("farewell", [pytest.param(b"", id="it ends"), pytest.param(b"unasked", id="the server speaks unasked")])
def test_the_end_of_a_connection_that_rests_is_noticed(loop: str, tmp_path: Path, farewell: bytes) -> None:
    """So that the next request does not find it stale, and no socket is left behind."""

    async def test() -> None:
        go, ended = asyncio.Event(), asyncio.Event()

        async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await go.wait()
            writer.write(farewell)
            writer.close()

        async with _world(serve, tmp_path) as world:
            channel = await world.dial()

            def end() -> None:
                channel.close()
                ended.set()

            channel.rest(end)
            go.set()
            await ended.wait()

    run(loop, test())


def test_a_closed_channel_leaves_nothing(loop: str, tmp_path: Path) -> None:
    """Not even for the garbage collector, which seldom looks: OpenSSL's memory is freed with the connection."""

    async def test() -> None:
        async with _world(_whole_body, tmp_path) as world:
            channel = await world.dial()
            await _all(channel)
            channel.rest(partial(lambda _: None, channel))
            channel.close()
            left = weakref.ref(channel)
            del channel
            await asyncio.sleep(0)
            assert left() is None

    gc.disable()
    try:
        run(loop, test())
    finally:
        gc.enable()


class _ByHand:
    """A server whose every step is the test's: what it has sent is in the kernel, and nothing comes by itself."""

    def __init__(self, tickets: int) -> None:
        authority, theirs = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("node").configure_cert(theirs)
        theirs.num_tickets = tickets
        self._trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        authority.configure_trust(self._trusting)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = theirs.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._far, self._near = socket.socketpair()
        self._near.setblocking(False)
        self._far.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self._far.settimeout(5)

    async def shaken(self) -> TlsSocket:
        """A channel that has shaken hands, while the server has not taken note of it."""
        channel = TlsSocket(self._near, self._trusting, "node")
        shaking = asyncio.ensure_future(channel.shake_hands())
        await asyncio.sleep(0)
        self.take()
        with pytest.raises(ssl.SSLWantReadError):
            self.tls.do_handshake()
        self.give()
        await shaking
        return channel

    def send_tickets(self) -> None:
        """Take note, and send session tickets, as servers of TLS 1.3 do then."""
        self.take()
        self.tls.do_handshake()
        self.give()

    def take(self) -> None:
        self._incoming.write(self._far.recv(65536))

    def give(self) -> None:
        self._far.sendall(self._outgoing.read())

    def all_was_read(self) -> bool:
        return not select.select([self._near], [], [], 0)[0]

    def was_sent_more(self) -> bool:
        return bool(select.select([self._far], [], [], 0)[0])

    def wakes_the_loop(self) -> bool:
        return asyncio.get_running_loop().remove_reader(self._near.fileno())

    def close(self) -> None:
        self._far.close()


def test_session_tickets_end_nothing(loop: str) -> None:
    """Servers send them when they like: the connection goes on resting."""

    async def test() -> None:
        server = _ByHand(tickets=2)
        channel = await server.shaken()
        ended: list[bool] = []
        channel.rest(lambda: ended.append(True))
        server.send_tickets()
        for _ in range(3):
            await asyncio.sleep(0)
        assert (True, []) == (server.all_was_read(), ended)

        await channel.send(b"question")
        server.take()
        assert b"question" == server.tls.read()
        server.tls.write(b"answer")
        server.give()
        assert b"answer" == await channel.receive()
        channel.close()
        server.close()

    run(loop, test())


def test_endless_tickets_hold_up_nobody_else(loop: str) -> None:
    """OpenSSL alone would read on as long as there is something, and nothing else would run meanwhile."""

    async def test() -> None:
        server = _ByHand(tickets=1000)
        channel = await server.shaken()
        receiving = asyncio.ensure_future(channel.receive())
        await asyncio.sleep(0)
        server.send_tickets()
        turns = 0
        while not server.all_was_read():
            await asyncio.sleep(0)
            turns += 1
        assert turns > 2
        receiving.cancel()
        channel.close()
        server.close()

    run(loop, test())


def test_endless_tickets_end_a_connection_that_rests(loop: str) -> None:
    """No deadline runs while nobody waits."""

    async def test() -> None:
        server = _ByHand(tickets=1000)
        channel = await server.shaken()
        ended: list[bool] = []

        def end() -> None:
            ended.append(True)
            channel.close()

        channel.rest(end)
        server.send_tickets()
        for _ in range(3):
            await asyncio.sleep(0)
        assert [True] == ended
        server.close()

    run(loop, test())


def test_an_end_of_tls_is_an_end(loop: str) -> None:
    """Many a server says farewell and leaves the connection below open until it is answered: nobody waits for that until a deadline."""

    async def test() -> None:
        server = _ByHand(tickets=0)
        channel = await server.shaken()
        server.send_tickets()
        receiving = asyncio.ensure_future(channel.receive())
        await asyncio.sleep(0)
        with pytest.raises(ssl.SSLWantReadError):
            server.tls.unwrap()
        server.give()
        assert b"" == await receiving
        channel.close()
        server.close()

    run(loop, test())


def test_nothing_is_read_while_a_server_takes_nothing(loop: str) -> None:
    """What it sends meanwhile would wake the event loop as often as it can turn. Afterwards it is received."""

    async def test() -> None:
        server = _ByHand(tickets=0)
        channel = await server.shaken()
        server.send_tickets()
        server.tls.write(b"answer")
        server.give()
        sending = asyncio.ensure_future(channel.send(BODY * 32))
        await asyncio.sleep(0)
        assert not sending.done()
        assert not server.wakes_the_loop()

        while not sending.done():
            if server.was_sent_more():
                server.take()
            await asyncio.sleep(0)
        assert b"answer" == await channel.receive()
        channel.close()
        server.close()

    run(loop, test())
