"""A real server and real sockets on loopback, in one event loop; ports are chosen by the system."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop

from app.certs import Authority
from app.serving.dispatch import ASGIApp
from app.serving.server import Server, server_config
from app.serving.tls import ServerTLS

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


def run(loop: str, coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine to its end on the named loop, within 10 s."""

    async def bounded() -> None:
        async with asyncio.timeout(10):
            await coroutine

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(bounded())


@asynccontextmanager
async def listening(app: ASGIApp, context: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """The server, accepting connections; no signal handlers, no heartbeat."""
    server = Server(server_config(app, host="127.0.0.1", port=0, ssl_context=context, lifespan=False))
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup()
    try:
        yield server
    finally:
        for listener in server.servers:
            listener.close()
        for connection in list(server.server_state.connections):
            connection.transport.abort()
        while server.server_state.connections or server.server_state.tasks:  # noqa: ASYNC110  nothing tells of the last one
            await asyncio.sleep(0.001)


def serving_files(folder: Path, authority: Authority, name: str = "localhost") -> tuple[Path, Path]:
    """A serving certificate and its key as files."""
    certificate, key = folder / "tls.crt", folder / "tls.key"
    pems = authority.issue(name, dns=["localhost"], ips=["127.0.0.1"], server=True)
    certificate.write_bytes(pems[0])
    key.write_bytes(pems[1])
    return certificate, key


def serving_tls(folder: Path, authority: Authority) -> ServerTLS:
    return ServerTLS(*serving_files(folder, authority))


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes


class Connection:
    """One client connection, requests written by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def get(self, path: str = "/", *headers: tuple[bytes, bytes]) -> Reply:
        lines = [b"GET %s HTTP/1.1" % path.encode(), b"Host: localhost", *(b"%s: %s" % header for header in headers)]
        return await self.send(b"\r\n".join(lines) + b"\r\n\r\n")

    async def send(self, data: bytes, *, head: bool = False) -> Reply:
        self.writer.write(data)
        return await self.reply(head=head)

    async def reply(self, *, head: bool = False) -> Reply:
        """The next answer; `head` is whether it answers HEAD, and so has no body."""
        line, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines if each)}
        if head:
            body = b""
        elif headers.get("transfer-encoding") == "chunked":
            body = await self._chunks()
        else:
            body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return Reply(int(line.split()[1]), headers, body)

    async def _chunks(self) -> bytes:
        """A body without a length (RFC 9112, 7.1); the server sends no trailers."""
        body = b""
        while size := int(await self.reader.readline(), 16):
            body += (await self.reader.readexactly(size + 2))[:-2]
        assert await self.reader.readline() == b"\r\n"
        return body

    async def rest(self) -> bytes:
        """What comes until the server closes."""
        return await self.reader.read()

    @property
    def shown(self) -> bytes:
        """The server's certificate, DER."""
        shown = self.writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        if not isinstance(shown, bytes):
            raise TypeError("the server showed no certificate")
        return shown


@asynccontextmanager
async def connected(port: int, context: ssl.SSLContext | None = None) -> AsyncIterator[Connection]:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=context, server_hostname="localhost" if context else None, limit=2**20
    )
    try:
        yield Connection(reader, writer)
    finally:
        writer.transport.abort()


def client_context(
    folder: Path, server_authority: Authority, pair: tuple[bytes, bytes] | None = None, *, tls12: bool = False
) -> ssl.SSLContext:
    """A client that believes `server_authority` and shows `pair` (certificate, key; PEM)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=server_authority.certificate_pem.decode())
    if tls12:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    if pair is not None:
        file = folder / "client.pem"
        file.write_bytes(pair[0] + pair[1])
        context.load_cert_chain(file)
    return context


def blocking_get(
    port: int, context: ssl.SSLContext, request: bytes, session: ssl.SSLSession | None = None
) -> tuple[bytes, bool, ssl.SSLSession | None]:
    """One request on a connection that may resume a session: the whole answer, whether it was resumed, the session. For a thread."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=5) as plain,
        context.wrap_socket(plain, server_hostname="localhost", session=session) as secure,
    ):
        secure.sendall(request)
        answer = b""
        while chunk := secure.recv(65536):
            answer += chunk
        return answer, bool(secure.session_reused), secure.session
