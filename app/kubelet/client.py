"""The client of all kubelets: a bounded GET, over connections that are kept between scrapes.

It does what kubelets need and nothing else: no redirects, cookies, proxies or content codings.
"""

import asyncio
import errno
from functools import partial
from typing import NamedTuple

from app.kube.credentials import Credentials
from app.kubelet.channel import Channel, Dialer
from app.kubelet.failures import CLOSED, check, failure
from app.kubelet.response import NotHTTPError, Response
from collectors._base import Cause, CollectError

_HEADERS = "User-Agent: kubeglance\r\nAccept: */*\r\nAccept-Encoding: identity\r\n"


class _Request(NamedTuple):
    """`address` is host and port of `url`, `content` all that is sent."""

    url: str
    address: str
    content: bytes
    limit: int


class KubeletClient:
    """A collectors' Client. Requests may go on at once; each has a connection to itself meanwhile."""

    def __init__(self, dialer: Dialer, credentials: Credentials, *, keepalive: float, connect_timeout: float) -> None:
        """A connection that no request used for `keepalive` seconds is closed; to open one may take `connect_timeout` seconds."""
        self._dialer = dialer
        self._credentials = credentials
        self._keepalive = keepalive
        self._connect_timeout = connect_timeout
        self._resting: dict[str, dict[Channel, asyncio.TimerHandle]] = {}
        """By host and port: connections that wait for a request, the last used last, each with the timer that will close it."""

    async def get(self, url: str, *, limit: int) -> bytes:
        """The body of GET `url` (https://host:port/path), at most `limit` bytes. Raises CollectError; KubeError without credentials.

        After a 401 it is asked once more if the credential has changed.
        """
        sent = await self._credentials.header()
        try:
            return await self._ask(url, sent, limit)
        except CollectError as error:
            if error.cause is not Cause.UNAUTHORIZED:
                raise
            self._credentials.refused()
            fresh = await self._credentials.header()
            if fresh is None or fresh == sent:
                raise
        return await self._ask(url, fresh, limit)

    async def aclose(self) -> None:
        """Close all connections that rest, and the dialer."""
        self._dialer.close()
        for address, channels in [*self._resting.items()]:
            for channel in [*channels]:
                self._end(address, channel)

    async def _ask(self, url: str, authorization: str | None, limit: int) -> bytes:
        address, _, path = url.removeprefix("https://").partition("/")
        token = "" if authorization is None else f"Authorization: {authorization}\r\n"
        content = f"GET /{path} HTTP/1.1\r\nHost: {address}\r\n{_HEADERS}{token}\r\n".encode()
        request = _Request(url, address, content, limit)
        try:
            kept = self._take(address)
            if kept is not None:
                response = Response()
                try:
                    await self._exchange(kept, request, response)
                except CLOSED:
                    # The kubelet may have closed it while our request was on its way, which tells nothing of its health.
                    if response.received:
                        raise
                else:
                    return response.body
            response = Response()
            await self._exchange(await self._open(address), request, response)
        except (OSError, NotHTTPError) as error:
            raise failure(url, error) from error
        return response.body

    async def _exchange(self, channel: Channel, request: _Request, response: Response) -> None:
        """Fill `response`. The channel rests afterwards, or is closed if it cannot carry another request."""
        try:
            await channel.send(request.content)
            while not response.complete:
                data = await channel.receive()
                if data:
                    response.feed(data)
                else:
                    response.end()
                check(response, request.url, limit=request.limit)
        finally:
            response.close()
            if response.reusable:
                self._rest(request.address, channel)
            else:
                channel.close()

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
