"""Connections to kube-apiserver: plain or TLS, straight or through a proxy, on the event loop's own transports.

There are few of them, so that their buffers do not matter, as those of a thousand kubelets do (app/kubelet/tls_socket.py).
"""

import asyncio
import base64
import ssl
from collections.abc import Callable
from typing import cast
from urllib.parse import SplitResult, unquote, urlsplit

from app.http1.dialing import Resolver
from app.kube.config import Connection

_MOST_WAITING = 128 * 1024
"""Bytes that came and nobody took: with more of them no more is read."""

_LONGEST_HEAD = 64 * 1024


class StreamChannel(asyncio.Protocol):
    """A Channel over a transport, of which it is the protocol."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._arrived: list[bytes] = []
        self._size = 0
        self._paused = False
        self._over = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._ended: Callable[[], None] | None = None

    async def send(self, data: bytes) -> None:
        """Hand `data` over to the event loop, which keeps what the other side does not take at once: requests are small."""
        self._ended = None
        if self._over:
            raise ConnectionResetError
        self._transport.write(data)

    async def receive(self) -> bytes:
        """See Channel."""
        if not self._arrived and not self._over:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        pieces, self._arrived, self._size = self._arrived, [], 0
        if self._paused and not self._over:
            self._paused = False
            self._transport.resume_reading()
        if not pieces and self._error is not None:
            raise self._error
        return b"".join(pieces)

    def rest(self, ended: Callable[[], None]) -> None:
        """See Channel."""
        self._ended = ended
        if self._arrived or self._over:
            ended()

    async def start_tls(self, context: ssl.SSLContext, name: str) -> None:
        """From here on speak TLS with `name`. What came before and was not received would pass for its words: there must be none."""
        loop = asyncio.get_running_loop()
        self._transport = cast("asyncio.Transport", await loop.start_tls(self._transport, self, context, server_hostname=name))

    def close(self) -> None:
        """End it without a farewell, for nobody would wait until the other side has taken it."""
        self._ended = None
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Part of asyncio's protocol, as all that follows."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._arrived.append(data)
        self._size += len(data)
        if self._size > _MOST_WAITING and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        self._tell()

    def eof_received(self) -> None:
        """The transport closes itself."""
        self._over = True
        self._tell()

    def connection_lost(self, exc: Exception | None) -> None:
        self._over = True
        self._error = exc
        self._tell()

    def _tell(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        elif self._ended is not None:
            self._ended()


class StreamDialer:
    """A Dialer for the server of one Connection, with look-ups in threads of its own."""

    def __init__(self, connection: Connection, resolver: Resolver | None = None) -> None:
        self._context = connection.ssl_context
        self._server_name = connection.server_name
        self._proxy = urlsplit(connection.proxy) if connection.proxy else None
        self._resolver = resolver or Resolver()

    async def dial(self, host: str, port: int) -> StreamChannel:
        """See Dialer. A proxy that does not let us through is a ConnectionError."""
        name = self._server_name or host.rstrip(".")
        if self._proxy is None:
            return await self._connected(host, port, self._context, name)
        channel = await self._connected_to_proxy(self._proxy)
        try:
            await _lead_on(channel, self._proxy, f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
            if self._context is not None:
                await channel.start_tls(self._context, name)
        except BaseException:
            channel.close()
            raise
        return channel

    def close(self) -> None:
        """End the look-ups. Channels are closed by who uses them."""
        self._resolver.close()

    async def _connected(self, host: str, port: int, context: ssl.SSLContext | None, name: str) -> StreamChannel:
        plain = await self._resolver.connect(host, port)
        try:
            _, channel = await asyncio.get_running_loop().create_connection(
                StreamChannel, sock=plain, ssl=context, server_hostname=name if context is not None else None
            )
        except BaseException:
            plain.close()
            raise
        return channel

    async def _connected_to_proxy(self, proxy: SplitResult) -> StreamChannel:
        """As in Go, a proxy with TLS is verified like the server."""
        host = proxy.hostname or ""
        if proxy.scheme == "https":
            return await self._connected(host, proxy.port or 443, self._context, host)
        return await self._connected(host, proxy.port or 80, None, host)


async def _lead_on(channel: StreamChannel, proxy: SplitResult, target: str) -> None:
    """Have the proxy connect us with `target`. Raises OSError."""
    words = f"{unquote(proxy.username or '')}:{unquote(proxy.password or '')}".encode()
    who = f"Proxy-Authorization: Basic {base64.b64encode(words).decode()}\r\n" if proxy.username else ""
    await channel.send(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nUser-Agent: kubeglance\r\n{who}\r\n".encode())
    where = f"the proxy {proxy.netloc.rpartition('@')[2]}"
    head, end, more = b"", b"", b""
    while not end:
        data = await channel.receive()
        if not data or len(head) > _LONGEST_HEAD:
            raise ConnectionError(f"{where} did not answer CONNECT {target}")
        head, end, more = (head + data).partition(b"\r\n\r\n")
    status = head[9:12].decode("latin-1") if head.startswith(b"HTTP/1.") else "something that is not HTTP"
    if status != "200":
        raise ConnectionError(f"{where} answered CONNECT {target} with {status}")
    if more:
        # The server speaks when it is asked. What a proxy says in its place would be taken for its answer, TLS or not.
        raise ConnectionError(f"{where} said more than it was asked for by CONNECT {target}")
