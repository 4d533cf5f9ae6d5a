"""app/kube/streams.py on real sockets: every way to a server, under both event loops."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import trustme

from app.errors import KubeUnavailable
from app.kube.client import KubeClient
from app.kube.config import Connection, client_context
from app.kube.streams import StreamDialer
from tests.unit.serving.loopback import LOOPS, run

pytestmark = pytest.mark.parametrize("loop", LOOPS)
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[None, None, None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class _World:
    """A server that knows "/x" and a proxy, on loopback; `requests` are those of each connection to the server, `asked` the proxy's."""

    def __init__(self, folder: Path, *, name: str = "localhost", tls: bool = True, proxy_tls: bool = False) -> None:
        self._authority = trustme.CA()
        self._authority.cert_pem.write_to_path(str(folder / "ca.pem"))
        self._context = client_context(folder / "ca.pem")
        self._server_context = self._certified(name) if tls else None
        self._proxy_context = self._certified("127.0.0.1") if proxy_tls else None
        self.proxy_answer = b"HTTP/1.1 200 Connection established\r\nX-Proxy: yes\r\n\r\n"
        self.requests: list[list[bytes]] = []
        self.asked: list[bytes] = []
        self._tasks: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def client(self, *, through: str | None = None, server_name: str | None = None) -> AsyncIterator[KubeClient]:
        """A client of the server; `through` is the scheme and user of the proxy's URL."""
        server = await asyncio.start_server(self._kept(self._serve), "127.0.0.1", 0, ssl=self._server_context)
        proxy = await asyncio.start_server(self._kept(self._lead_on), "127.0.0.1", 0, ssl=self._proxy_context)
        async with server, proxy:
            url = f"{'http' if self._server_context is None else 'https'}://localhost:{_port(server)}"
            proxy_url = f"{through}127.0.0.1:{_port(proxy)}" if through else None
            context = None if self._server_context is None else self._context
            yield (client := KubeClient(Connection(url, ssl_context=context, server_name=server_name, proxy=proxy_url)))
            await client.aclose()
        await asyncio.gather(*self._tasks)

    def _kept(self, serve: Serve) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        """Like `serve`, and to be waited for in the end."""
        return lambda reader, writer: self._tasks.append(asyncio.ensure_future(serve(reader, writer)))

    def _certified(self, name: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority.issue_cert(name).configure_cert(context)
        return context

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mine: list[bytes] = []
        self.requests.append(mine)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                mine.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(OK)
        writer.close()

    async def _lead_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(self.proxy_answer)
        if b" 200 " not in self.proxy_answer or self.proxy_answer.endswith(OK):
            writer.close()
            return
        port = int(self.asked[-1].split()[1].rpartition(b":")[2])
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_pipe(reader, far_writer), _pipe(far_reader, writer))


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(4096):
            writer.write(data)
    writer.close()


def _port(server: asyncio.Server) -> int:
    port: int = server.sockets[0].getsockname()[1]
    return port


@pytest.mark.parametrize("tls", [True, False])
def test_connections_are_kept_and_carry_only_what_was_asked(loop: str, tls: bool, tmp_path: Path) -> None:
    """Two requests share one connection, with TLS or (kubectl proxy) without; nothing is added to them."""

    async def test() -> None:
        world = _World(tmp_path, tls=tls)
        async with world.client() as client:
            assert [b"ok", b"ok"] == [await client.get("/x") for _ in range(2)]

        ((first, second),) = world.requests
        names = {line.split(b":")[0].lower() for line in second.split(b"\r\n")[1:] if line}
        assert first.startswith(b"GET /x HTTP/1.1\r\n")
        assert names == {b"host", b"accept", b"accept-encoding", b"user-agent"}

    run(loop, test())


@pytest.mark.parametrize(
    ("proxy", "tls", "proxy_tls"),
    [
        pytest.param("http://", True, False, id="the usual way"),
        pytest.param("https://", True, True, id="TLS in TLS"),
        pytest.param("http://", False, False, id="a server without TLS"),
    ],
)
def test_a_proxy_leads_to_the_server(loop: str, proxy: str, tls: bool, proxy_tls: bool, tmp_path: Path) -> None:
    """It is told the way and nothing else: what is asked of the server passes through."""

    async def test() -> None:
        world = _World(tmp_path, tls=tls, proxy_tls=proxy_tls)
        async with world.client(through=proxy) as client:
            assert [b"ok", b"ok"] == [await client.get("/x") for _ in range(2)]

        (asked,) = world.asked
        assert asked.startswith(b"CONNECT localhost:")
        assert b"Authorization" not in asked
        assert [2] == [len(requests) for requests in world.requests]

    run(loop, test())


def test_a_proxy_may_want_to_know_who_asks(loop: str, tmp_path: Path) -> None:
    """Name and password in its URL, escaped as in every URL."""

    async def test() -> None:
        world = _World(tmp_path)
        async with world.client(through="http://me:p%40ss@") as client:
            await client.get("/x")
        assert b"\r\nProxy-Authorization: Basic bWU6cEBzcw==\r\n" in world.asked[0]

    run(loop, test())


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "answered CONNECT localhost:.* with 407", id="refused"),
        pytest.param(b"220 mail ESMTP\r\n\r\n", "answered CONNECT localhost:.* with something that is not HTTP", id="no proxy"),
        pytest.param(b"HTTP/1.1 502", "did not answer CONNECT localhost:", id="cut off"),
        pytest.param(b"HTTP/1.1 502 " + b"x" * 200_000, "did not answer CONNECT localhost:", id="an endless head"),
    ],
)
def test_a_proxy_that_does_not_let_us_through_is_named(loop: str, answer: bytes, words: str, tmp_path: Path) -> None:
    """Else one would look for the fault at the server."""

    async def test() -> None:
        world = _World(tmp_path)
        world.proxy_answer = answer
        async with world.client(through="http://") as client:
            with pytest.raises(KubeUnavailable, match=rf"the proxy 127\.0\.0\.1:\d+ {words}"):
                await client.get("/x")
        assert not world.requests

    run(loop, test())


@pytest.mark.parametrize(("proxy", "tls"), [("http://", True), ("http://", False), ("https://", True)])
def test_a_proxy_does_not_answer_for_the_server(loop: str, proxy: str, tls: bool, tmp_path: Path) -> None:
    """What it says before TLS begins is not verified: taken for the first answer, it could tell us who is who."""

    async def test() -> None:
        world = _World(tmp_path, tls=tls, proxy_tls=proxy == "https://")
        world.proxy_answer += OK
        async with world.client(through=proxy) as client:
            with pytest.raises(KubeUnavailable, match=r"the proxy 127\.0\.0\.1:\d+ said more than it was asked for"):
                await client.get("/x")
        assert not [request for requests in world.requests for request in requests]

    run(loop, test())


@pytest.mark.parametrize("farewell", [pytest.param(b"", id="it ends"), pytest.param(OK, id="the server speaks unasked")])
@pytest.mark.parametrize("early", [True, False])
def test_a_connection_that_rests_is_ended_by_what_comes(loop: str, farewell: bytes, early: bool) -> None:
    """It would pass for the answer to the next question. It may come before the rest begins, too."""

    async def test() -> None:
        go, ended, gone = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await go.wait()
            writer.write(farewell)
            await reader.read()
            writer.close()
            gone.set()

        async def end(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await go.wait()
            writer.close()
            gone.set()

        async with await asyncio.start_server(serve if farewell else end, "127.0.0.1", 0) as server:
            dialer = StreamDialer(Connection("http://127.0.0.1"))
            channel, other = [await dialer.dial("127.0.0.1", _port(server)) for _ in range(2)]
            if early:
                go.set()
                await other.receive()
                while not ended.is_set():
                    channel.rest(ended.set)
                    await asyncio.sleep(0)
            else:
                channel.rest(ended.set)
                go.set()
                await ended.wait()
            channel.close()
            other.close()
            await gone.wait()
            dialer.close()

    run(loop, test())


def test_no_more_is_read_than_is_taken(loop: str) -> None:
    """A server that sends without end fills no memory, and what was left to it comes when somebody takes it."""
    body = bytes(range(256)) * 16 * 1024

    async def test() -> None:
        async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(body)
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            dialer = StreamDialer(Connection("http://127.0.0.1"))
            channel = await dialer.dial("127.0.0.1", _port(server))
            pieces = [await channel.receive()]
            while pieces[-1]:
                for _ in range(20):
                    await asyncio.sleep(0)
                pieces.append(await channel.receive())
            assert body == b"".join(pieces)
            assert max(map(len, pieces)) < 1024 * 1024
            channel.close()
            dialer.close()

    run(loop, test())


@pytest.mark.parametrize("proxy", [None, "http://"])
def test_the_name_is_verified(loop: str, proxy: str | None, tmp_path: Path) -> None:
    """That of the URL, or the one that the kubeconfig says instead (tls-server-name), also behind a proxy."""

    async def test() -> None:
        world = _World(tmp_path, name="inner.example")
        async with world.client(through=proxy, server_name="inner.example") as client:
            assert b"ok" == await client.get("/x")
        async with world.client(through=proxy) as client:
            with pytest.raises(KubeUnavailable, match="certificate verify failed: Hostname mismatch"):
                await client.get("/x")

    run(loop, test())


def test_a_connection_that_ended_meanwhile_is_replaced(loop: str, tmp_path: Path) -> None:
    """Servers close idle connections when they like."""

    async def test() -> None:
        world = _World(tmp_path)
        async with world.client() as client:
            await client.get("/x")
        assert [1] == [len(requests) for requests in world.requests]
        closing = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        closing.issue_cert("localhost").configure_cert(context)
        closing.cert_pem.write_to_path(str(tmp_path / "other.pem"))

        async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(OK)
            writer.close()

        async with await asyncio.start_server(once, "127.0.0.1", 0, ssl=context) as server:
            trusted = client_context(tmp_path / "other.pem")
            async with KubeClient(Connection(f"https://localhost:{_port(server)}", ssl_context=trusted)) as client:
                for _ in range(2):
                    assert b"ok" == await client.get("/x")
                    await asyncio.sleep(0.01)

    run(loop, test())


def test_what_keeps_us_from_connecting_is_told(loop: str, tmp_path: Path) -> None:
    """Nobody listens; the name does not exist (.invalid never resolves, RFC 2606)."""

    async def test() -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            nobody = f"http://127.0.0.1:{unused.getsockname()[1]}"
            for server, words in (
                (nobody, "Connect call failed|refused"),
                ("http://no-such-host.invalid", "not known|No address|failure in name"),
            ):
                async with KubeClient(Connection(server)) as client:
                    with pytest.raises(KubeUnavailable, match=words):
                        await client.get("/x")

    run(loop, test())
