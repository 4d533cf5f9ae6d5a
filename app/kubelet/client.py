"""The client of all kubelets: a bounded GET, over connections that are kept between scrapes.

It does what kubelets need and nothing else: no redirects, cookies, proxies or content codings.
"""

from app.http1.channel import Dialer
from app.http1.connections import Connections
from app.http1.response import NotHTTPError
from app.kube.credentials import Credentials
from app.kubelet.failures import check, failure
from collectors._base import Cause, CollectError

_HEADERS = "User-Agent: kubeglance\r\nAccept: */*\r\nAccept-Encoding: identity\r\n"


class KubeletClient:
    """A collectors' Client. Requests may go on at once; each has a connection to itself meanwhile."""

    def __init__(self, dialer: Dialer, credentials: Credentials, *, keepalive: float, connect_timeout: float) -> None:
        """A connection that no request used for `keepalive` seconds is closed; to open one may take `connect_timeout` seconds."""
        self._connections = Connections(dialer, keepalive=keepalive, connect_timeout=connect_timeout)
        self._credentials = credentials

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
        self._connections.close()

    async def _ask(self, url: str, authorization: str | None, limit: int) -> bytes:
        address, _, path = url.removeprefix("https://").partition("/")
        token = "" if authorization is None else f"Authorization: {authorization}\r\n"
        content = f"GET /{path} HTTP/1.1\r\nHost: {address}\r\n{_HEADERS}{token}\r\n".encode()
        try:
            exchange = await self._connections.ask(address, content)
            try:
                check(exchange.response, url, limit=limit)
                while not exchange.response.complete:
                    await exchange.more()
                    check(exchange.response, url, limit=limit)
            finally:
                exchange.close()
        except (OSError, NotHTTPError) as error:
            raise failure(url, error) from error
        return exchange.response.take()
