"""Connections that are kept between requests, and one request with its response over one of them."""

import asyncio
import errno
import ssl
from collections.abc import Callable
from functools import partial

from app.http1.channel import Channel, Dialer
from app.http1.response import Response, TruncatedError

CLOSED = (ConnectionResetError, BrokenPipeError, TruncatedError, ssl.SSLEOFError, ssl.SSLZeroReturnError)
"""The other side ended the connection."""


class Exchange:
    """A request that was sent, and its response as far as it has come. Close it, whatever came of it."""

    def __init__(self, channel: Channel, done: Callable[[], None]) -> None:
        """`done` is called at the end if the channel can carry another request; if it cannot, it is closed."""
        self.response = Response()
        self._channel = channel
        self._done = done

    async def more(self) -> None:
        """Wait for more of the response. Raises OSError, a TruncatedError where the connection ended too early, and NotHTTPError."""
        data = await self._channel.receive()
        if data:
            self.response.feed(data)
        else:
            self.response.end()

    def close(self) -> None:
        """Nothing more is wanted."""
        self.response.close()
        if self.response.reusable:
            self._done()
        else:
            self._channel.close()


class Connections:
    """To any number of hosts. Requests may go on at once; each has a connection to itself meanwhile."""

    def __init__(self, dialer: Dialer, *, keepalive: float, connect_timeout: float) -> None:
        """A connection that no request used for `keepalive` seconds is closed; to open one may take `connect_timeout` seconds."""
        self._dialer = dialer
        self._keepalive = keepalive
        self._connect_timeout = connect_timeout
        self._resting: dict[str, dict[Channel, asyncio.TimerHandle]] = {}
        """By host and port: connections that wait for a request, the last used last, each with the timer that will close it."""

    async def ask(self, address: str, content: bytes) -> Exchange:
        """Send `content`, a whole request, to `address` (host:port); the exchange, once its response begins. Raises as Exchange.more."""
        kept = self._take(address)
        if kept is not None:
            try:
                return await self._begin(kept, address, content)
            except CLOSED:
                pass  # the other side may have closed it while our request was on its way, which tells nothing of its health
        return await self._begin(await self._open(address), address, content)

    def close(self) -> None:
        """Close all connections that rest, and the dialer."""
        self._dialer.close()
        for address, channels in [*self._resting.items()]:
            for channel in [*channels]:
                self._end(address, channel)

    async def _begin(self, channel: Channel, address: str, content: bytes) -> Exchange:
        exchange = Exchange(channel, partial(self._rest, address, channel))
        try:
            await channel.send(content)
            await exchange.more()
        except BaseException:
            exchange.close()
            raise
        return exchange

    async def _open(self, address: str) -> Channel:
        host, _, port = address.rpartition(":")
        try:
            async with asyncio.timeout(self._connect_timeout):
                return await self._dialer.dial(host.strip("[]"), int(port))
        except TimeoutError as exc:
            raise TimeoutError(errno.ETIMEDOUT, f"no connection within {self._connect_timeout:g} s") from exc

    def _take(self, address: str) -> Channel | None:
        """The connection that was used last, if any rests."""
        resting = self._resting.get(address)
        if resting is None:
            return None
        channel = next(reversed(resting))
        self._forget(address, channel)
        return channel

    def _rest(self, address: str, channel: Channel) -> None:
        end = partial(self._end, address, channel)
        self._resting.setdefault(address, {})[channel] = asyncio.get_running_loop().call_later(self._keepalive, end)
        channel.rest(end)

    def _end(self, address: str, channel: Channel) -> None:
        self._forget(address, channel)
        channel.close()

    def _forget(self, address: str, channel: Channel) -> None:
        resting = self._resting[address]
        resting.pop(channel).cancel()
        if not resting:
            del self._resting[address]
