"""The HTTP client of sources (collectors._http_client.HttpClient): our own HTTP/1.1, to addresses that the host policy gives.

docs/decisions/0024-sources-use-our-own-http.md tells why it is no library. Requests of sources read and change nothing: one that a kept
connection lost is sent again, POST or not.
"""

import asyncio
import ipaddress
import socket
import ssl
import zlib
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import urlsplit

from app.declared.tls import context_of
from app.http1.channel import Channel, Dialer
from app.http1.connections import CLOSED, Connections, Exchange
from app.http1.dialing import AddrInfo, connect
from app.http1.response import NotHTTPError, Response
from app.kube.streams import StreamChannel
from collectors._base import Cause, CollectError
from collectors._dialing import broken
from collectors._http_client import Answer, Request, Trust, shown
from collectors._http_url import host_and_port

MayReach = Callable[[str, int], Awaitable[Sequence[str]]]

_KEEPALIVE_S = 60.0
_CONNECT_SHARE = 0.8
"""Of the deadline of a collection for a connection, so that it can be told that there was none."""
_OF_AN_ERROR = 4096
"""Bytes of the body of an answer that is none of 2xx."""
_AT_ONCE = 64 * 1024
"""More bytes than this are unpacked beside the event loop."""


class PlainDialer:
    """A Dialer to the addresses that `may_reach` gives. Raises CollectError too, for a host that must not be reached."""

    def __init__(self, may_reach: MayReach) -> None:
        self._may_reach = may_reach

    async def dial(self, host: str, port: int) -> Channel:
        """See Dialer."""
        return await self.connected(host, port, None, None)

    async def connected(self, host: str, port: int, context: ssl.SSLContext | None, name: str | None) -> Channel:
        """A channel, with TLS for `name` if there is a context."""
        plain = await connect([_info(address, port) for address in await self._may_reach(host, port)])
        try:
            _, channel = await asyncio.get_running_loop().create_connection(StreamChannel, sock=plain, ssl=context, server_hostname=name)
        except BaseException:
            plain.close()
            raise
        return channel

    def close(self) -> None:
        """Look-ups are the policy's."""


class TlsDialer(PlainDialer):
    """The same with TLS, verified for the name whatever the address. The context is made when it is needed first."""

    def __init__(self, may_reach: MayReach, trust: Trust) -> None:
        super().__init__(may_reach)
        self._trust = trust
        self._context: ssl.SSLContext | None = None

    async def dial(self, host: str, port: int) -> Channel:
        """See Dialer."""
        self._context = self._context or context_of(self._trust)
        return await self.connected(host, port, self._context, self._trust.server_name or host.rstrip("."))


def open_client(trust: Trust, may_reach: MayReach, timeout: float) -> "SourceHttp":
    """A client for one source, whose collections have `timeout` seconds."""
    return SourceHttp(PlainDialer(may_reach), TlsDialer(may_reach, trust), connect_timeout=_CONNECT_SHARE * timeout)


class SourceHttp:
    """See HttpClient."""

    def __init__(self, plain: Dialer, tls: Dialer, *, connect_timeout: float) -> None:
        """To open a connection may take `connect_timeout` seconds."""
        self._connections = {
            scheme: Connections(dialer, keepalive=_KEEPALIVE_S, connect_timeout=connect_timeout)
            for scheme, dialer in (("http", plain), ("https", tls))
        }

    async def send(self, request: Request, *, limit: int) -> Answer:
        """See HttpClient."""
        parts = urlsplit(request.url)
        host, port = host_and_port(request.url)
        where = f"{request.method} {shown(request.url)}"
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            exchange = await self._connections[parts.scheme].ask(address, _encoded(request, parts.netloc, parts.path, parts.query))
            try:
                return await _answer(exchange, where, limit)
            finally:
                exchange.close()
        except NotHTTPError as exc:
            message = f"{where}: the answer is not HTTP: {exc}"
            raise CollectError(Cause.PAYLOAD, message, "does another program listen on that port, or is it https?") from exc
        except CLOSED as exc:
            message = f"{where}: the connection was closed before the answer was whole"
            raise CollectError(Cause.CLOSED, message, "see the server's log: it may have restarted, or expect TLS") from exc
        except OSError as exc:
            raise broken(exc, where) from exc

    async def aclose(self) -> None:
        """See HttpClient."""
        for connections in self._connections.values():
            connections.close()


def _info(address: str, port: int) -> AddrInfo:
    if ipaddress.ip_address(address).version == 6:
        return (socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port, 0, 0))
    return (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port))


def _encoded(request: Request, host: str, path: str, query: str) -> bytes:
    """The request as it goes over the wire. What stands in it holds no line breaks: declarations and Values are checked for that."""
    target = f"{path or '/'}?{query}" if query else path or "/"
    lines = [
        f"{request.method} {target} HTTP/1.1",
        f"Host: {host}",
        "User-Agent: kubeglance",
        "Accept-Encoding: identity",
        *(f"{name}: {value}" for name, value in request.headers),
    ]
    if request.method == "POST":
        lines.append(f"Content-Length: {len(request.body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + request.body


async def _answer(exchange: Exchange, where: str, limit: int) -> Answer:
    """The answer, read no further than it is wanted."""
    response = exchange.response
    while not response.status:
        await exchange.more()
    is_good = 200 <= response.status < 300
    pieces = [response.take()]
    while not response.complete and (is_good or response.size <= _OF_AN_ERROR):
        if response.size > limit:
            raise _too_large(where, limit)
        await exchange.more()
        pieces.append(response.take())
    body = b"".join(pieces)
    if not is_good:
        return Answer(response.status, response.headers, body if response.encoding == "identity" else b"", response.size)
    if response.size > limit:
        raise _too_large(where, limit)
    return Answer(response.status, response.headers, await _unpacked(response, body, where, limit), response.size)


async def _unpacked(response: Response, body: bytes, where: str, limit: int) -> bytes:
    """The body without its Content-Encoding, of which we asked for none and take gzip from those who compress all the same."""
    match response.encoding.lower():
        case "identity" | "":
            return body
        case "gzip" | "x-gzip":
            if len(body) > _AT_ONCE // 16:
                return await asyncio.to_thread(_gunzipped, body, where, limit)
            return _gunzipped(body, where, limit)
        case _:
            message = f"{where}: answered with a Content-Encoding that was not asked for"
            raise CollectError(Cause.ENCODING, message, "switch compression off there, or use gzip")


def _gunzipped(body: bytes, where: str, limit: int) -> bytes:
    """At most `limit` bytes: no more than that is ever unpacked."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        plain = unpacker.decompress(body, limit + 1)
    except zlib.error as exc:
        raise CollectError(Cause.ENCODING, f"{where}: the body is no gzip: {exc}", "switch compression off there") from exc
    if len(plain) > limit:
        raise _too_large(where, limit)
    if not unpacker.eof:
        raise CollectError(Cause.ENCODING, f"{where}: the gzip of the body ends too early", "see the server's log")
    return plain


def _too_large(where: str, limit: int) -> CollectError:
    return CollectError(
        Cause.TOO_LARGE, f"{where}: more than the {limit} bytes that limits.bodyBytes leaves", "raise limits.bodyBytes, or ask for less"
    )
