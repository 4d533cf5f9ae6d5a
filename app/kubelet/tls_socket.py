"""TLS over a non-blocking socket, with nothing that grows between the two.

A transport of the event loop keeps two buffers for every connection, which grow to the largest burst: 0.2 MiB after bodies of 55 KB, 0.7
after 256 KB. Here one buffer serves all connections, and each decrypts a small slice at a time.
docs/decisions/0012-kubelets-have-a-client-of-their-own.md has the figures.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable

from app.http1.dialing import Resolver

_SLICE = 16 * 1024
"""What a connection decrypts at a time: a TLS record's worth. OpenSSL keeps a third more than that for each connection."""

_arrived = memoryview(bytearray(4 * _SLICE))
"""What one read of any socket gave. It is used up before anything else runs."""


class TlsSocket:
    """A Channel over the connected socket `plain`, on which the handshake is still due. `name` is who the other side has to be.

    OpenSSL is given what has arrived and never reads by itself: a server that sends session tickets without end would keep it, and with
    it the event loop, for ever.
    """

    def __init__(self, plain: socket.socket, context: ssl.SSLContext, name: str) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name)
        self._socket = plain
        self._over = False
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._ended: Callable[[], None] | None = None
        self._unasked = 0
        # It stays for the life of the connection: to add and remove a reader for each wait would cost four system calls a scrape.
        self._loop.add_reader(plain.fileno(), self._is_readable)

    async def shake_hands(self) -> None:
        """Do the TLS handshake. Raises OSError (ssl.SSLError)."""
        shaken = False
        while not shaken:
            try:
                self._tls.do_handshake()
                shaken = True
            except ssl.SSLWantReadError:
                pass
            finally:
                await self._flush()
            if not shaken:
                await self._readable()
                size = await self._read()
                if size:
                    self._incoming.write(_arrived[:size])
                else:
                    self._incoming.write_eof()

    async def send(self, data: bytes) -> None:
        """Hand `data` over to the kernel."""
        self._ended = None
        left = memoryview(data)
        while left:
            left = left[self._tls.write(left) :]
        await self._flush()

    async def receive(self) -> bytes:
        """What came, b"" at the end."""
        while not self._over:
            content = self._decrypted(await self._read())
            if content or self._over:
                # TLS may have ended while the connection below waits for our farewell.
                return content
            # It was TLS's own business, or half a record. Others get their turn, however much more there is.
            await self._flush()
            await self._readable()
        return b""

    def rest(self, ended: Callable[[], None]) -> None:
        """See Channel."""
        self._ended = ended
        self._unasked = 0

    def close(self) -> None:
        """End it without a farewell; a kubelet that is not in the middle of an answer says nothing of it."""
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket.fileno())
            self._socket.close()
        self._ended = None  # it may lead back to us, and with us OpenSSL's memory would wait for the garbage collector

    async def _read(self) -> int:
        """How many bytes of `_arrived` are ours, until the next await; 0 at the end."""
        while True:
            try:
                return self._socket.recv_into(_arrived)
            except BlockingIOError:
                await self._readable()

    def _decrypted(self, size: int) -> bytes:
        """The content of the first `size` bytes of `_arrived`."""
        pieces: list[bytes] = []
        self._over = not size
        for start in range(0, size, _SLICE):
            self._incoming.write(_arrived[start : min(size, start + _SLICE)])
            try:
                while piece := self._tls.read(_SLICE):
                    pieces.append(piece)
                self._over = True
            except ssl.SSLWantReadError:
                pass
        return b"".join(pieces)

    async def _flush(self) -> None:
        """Send what TLS wants to be sent."""
        left = memoryview(self._outgoing.read())
        while left:
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                await self._writable()

    def _is_readable(self) -> None:
        if self._waiter is not None:
            _wake(self._waiter)
        elif self._ended is not None and not self._is_silent():
            self._ended()

    def _is_silent(self) -> bool:
        """Whether what came was TLS's own business, such as a session ticket, and not more of it than is needed."""
        try:
            size = self._socket.recv_into(_arrived)
            self._unasked += size
            return not self._decrypted(size) and not self._over and self._unasked <= _SLICE
        except BlockingIOError:
            return True
        except OSError:
            return False

    async def _readable(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    async def _writable(self) -> None:
        """Meanwhile nobody reads: what comes would wake the loop again and again."""
        waiter = self._loop.create_future()
        self._loop.remove_reader(self._socket.fileno())
        self._loop.add_writer(self._socket.fileno(), _wake, waiter)
        try:
            await waiter
        finally:
            self._loop.remove_writer(self._socket.fileno())
            self._loop.add_reader(self._socket.fileno(), self._is_readable)


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
        channel = TlsSocket(await self._resolver.connect(host, port), self._context, host.rstrip("."))
        try:
            await channel.shake_hands()
        except BaseException:
            channel.close()
            raise
        return channel

    def close(self) -> None:
        """End the look-ups. Channels are closed by who uses them."""
        self._resolver.close()
