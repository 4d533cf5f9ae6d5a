"""Connections to kube-apiserver: plain or TLS, straight or through a proxy, on the event loop's own streams.

There are few of them, so that their buffers do not matter, as those of a thousand kubelets do (app/kubelet/tls_socket.py).
"""

import asyncio
import base64
import ssl
from collections.abc import Callable
from urllib.parse import SplitResult, unquote, urlsplit

from app.http1.dialing import Resolver
from app.kube.config import Connection

_PIECE = 64 * 1024


class StreamChannel:
    """A Channel over a reader and its writer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        """Hand `data` over to the event loop."""
        self.writer.write(data)
        await self.writer.drain()

    async def receive(self) -> bytes:
        """See Channel."""
        return await self.reader.read(_PIECE)

    def rest(self, ended: Callable[[], None]) -> None:
        """An end is noticed by the next request, which is then sent again over a new connection."""

    def close(self) -> None:
        """End it without a farewell, for nobody would wait until the other side has taken it."""
        self.writer.transport.abort()


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
                await channel.writer.start_tls(self._context, server_hostname=name)
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
            streams = await asyncio.open_connection(sock=plain, ssl=context, server_hostname=name if context is not None else None)
        except BaseException:
            plain.close()
            raise
        return StreamChannel(*streams)

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
    try:
        head = await channel.reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as exc:
        raise ConnectionError(f"{where} did not answer CONNECT {target}") from exc
    status = head[9:12].decode("latin-1") if head.startswith(b"HTTP/1.") else "something that is not HTTP"
    if status != "200":
        raise ConnectionError(f"{where} answered CONNECT {target} with {status}")
