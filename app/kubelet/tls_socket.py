"""TLS straight on a non-blocking socket: OpenSSL reads and writes the socket itself.

A transport of the event loop keeps two growing buffers between the two for every connection: 0.2 MiB after bodies of 55 KB, 0.7 after
256 KB. Here nothing stays but OpenSSL's own state. docs/decisions/0012-kubelets-have-a-client-of-their-own.md has the figures.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable

import aiohappyeyeballs

from app.kube.dialing import Resolver, keepalive_socket

_RECORD = 16 * 1024
"""OpenSSL hands over one TLS record at a time, which holds no more."""

_NEXT_FAMILY_S = 0.25
"""Of the addresses of one name the next is tried beside the first after so long (RFC 8305)."""


class TlsSocket:
    """A Channel over `connection`, on which the handshake may still be due."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self._socket = connection
        self._file = connection.fileno()
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._ended: Callable[[], None] | None = None
        # It stays for the life of the connection: to add and remove a reader for each wait would cost four system calls a scrape.
        self._loop.add_reader(self._file, self._is_readable)

    async def shake_hands(self) -> None:
        """Do the TLS handshake. Raises OSError (ssl.SSLError)."""
        while True:
            try:
                self._socket.do_handshake()
            except ssl.SSLWantReadError:
                await self._readable()
            except ssl.SSLWantWriteError:
                await self._writable()
            else:
                return

    async def send(self, data: bytes) -> None:
        """Hand `data` over to the kernel."""
        self._ended = None
        left = memoryview(data)
        while left:
            try:
                left = left[self._socket.send(left) :]
            except ssl.SSLWantWriteError:
                await self._writable()
            except ssl.SSLWantReadError:
                await self._readable()

    async def receive(self) -> bytes:
        """The next record's content, b"" at the end."""
        while True:
            try:
                return self._socket.recv(_RECORD)
            except ssl.SSLWantReadError:
                await self._readable()
            except ssl.SSLWantWriteError:
                await self._writable()

    def rest(self, ended: Callable[[], None]) -> None:
        """See Channel."""
        self._ended = ended

    def close(self) -> None:
        """End it without a farewell; a kubelet that is not in the middle of an answer says nothing of it."""
        if self._file >= 0:
            self._loop.remove_reader(self._file)
            self._file = -1
            self._socket.close()

    def _is_readable(self) -> None:
        if self._waiter is not None:
            _wake(self._waiter)
        elif self._ended is not None and not self._is_silent():
            self._ended()

    def _is_silent(self) -> bool:
        """Whether what came was TLS's own business, such as a session ticket."""
        try:
            self._socket.recv(1)
        except ssl.SSLWantReadError:
            return True
        except OSError:
            pass
        return False

    async def _readable(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    async def _writable(self) -> None:
        waiter = self._loop.create_future()
        self._loop.add_writer(self._file, _wake, waiter)
        try:
            await waiter
        finally:
            self._loop.remove_writer(self._file)


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class TlsDialer:
    """A Dialer with one SSLContext for all, and look-ups in threads of its own."""

    def __init__(self, context: ssl.SSLContext, resolver: Resolver | None = None) -> None:
        self._context = context
        self._resolver = resolver or Resolver()

    async def dial(self, host: str, port: int) -> TlsSocket:
        """See Dialer. A certificate that does not hold for `host` is an ssl.SSLCertVerificationError."""
        addresses = await self._resolver.addresses(host, port)
        plain = await aiohappyeyeballs.start_connection(addresses, happy_eyeballs_delay=_NEXT_FAMILY_S, socket_factory=keepalive_socket)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            wrapped = self._context.wrap_socket(plain, server_hostname=host.rstrip("."), do_handshake_on_connect=False)
        except BaseException:
            plain.close()
            raise
        channel = TlsSocket(wrapped)
        try:
            await channel.shake_hands()
        except BaseException:
            channel.close()
            raise
        return channel

    def close(self) -> None:
        """End the look-ups. Channels are closed by who uses them."""
        self._resolver.close()
