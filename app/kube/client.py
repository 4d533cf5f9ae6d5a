"""A thin client of kube-apiserver: get, create, pages of a list, the lines of a watch. It knows no kinds and keeps nothing.

Foreign exceptions end here: callers see KubeError, or KubeUnavailable where another try may help.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any

import aiohttp
import httpx
import msgspec

from app.errors import KubeError, KubeUnavailable
from app.kube.config import Connection
from app.kube.credentials import HeaderAuth
from app.kube.deep_json import UNDECODABLE, decode
from app.kube.lines import LineSplitter, LineTooLong
from app.kube.transport import no_cookies, pooled_transport

_CONNECT_S = 10.0
_REQUEST_S = 30.0
_WATCH_SLACK_S = 30.0
_KEEPALIVE_S = 80.0
_BODY_IN_MESSAGE = 256
Params = Mapping[str, str | int]


class _Status(msgspec.Struct):
    message: str = ""
    reason: str = ""
    kind: str = ""


class KubeClient:
    """Talks to the server of one Connection. An async context manager; `transport` is injected by tests and the simulation."""

    def __init__(self, connection: Connection, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.server = connection.server
        self._extensions = {"sni_hostname": connection.server_name} if connection.server_name else {}
        self._client = httpx.AsyncClient(
            base_url=connection.server,
            transport=transport or pooled_transport(connection.ssl_context, keepalive=_KEEPALIVE_S, proxy=connection.proxy),
            auth=HeaderAuth(connection.credentials),
            headers={"User-Agent": "kubeglance", "Accept": "application/json", "Accept-Encoding": "identity"},
            timeout=httpx.Timeout(_REQUEST_S, connect=_CONNECT_S, pool=None),
            cookies=no_cookies(),
            follow_redirects=False,
            trust_env=False,
        )

    async def __aenter__(self) -> "KubeClient":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def get(self, path: str, params: Params | None = None) -> bytes:
        """The body of a GET that was answered 200. Raises KubeError."""
        return await self._request("GET", path, params=params)

    async def get_json(self, path: str, params: Params | None = None) -> Any:
        """The decoded JSON of a GET. Raises KubeError."""
        return _decode(await self.get(path, params), f"GET {path}")

    async def create(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """POST `body` as JSON; the created object (a TokenReview or SubjectAccessReview with its verdict). Raises KubeError."""
        answer = await self._request("POST", path, content=msgspec.json.encode(body))
        created = _decode(answer, f"POST {path}")
        if not isinstance(created, dict):
            raise KubeError(f"POST {path}: kube-apiserver answered with something that is no object")
        return created

    async def version(self) -> str:
        """kube-apiserver's gitVersion, such as v1.37.2. Raises KubeError."""
        answer = await self.get_json("/version")
        return str(answer.get("gitVersion", "")) if isinstance(answer, dict) else ""

    async def watch(self, path: str, params: Params, *, timeout_seconds: int) -> AsyncGenerator[list[bytes], None]:
        """The lines of a watch, as many at a time as arrived together; an empty list comes first, once the server accepted it.

        Ends when the server ends it. Raises KubeError. A connection that died without a word is noticed a little after
        `timeout_seconds`, by when the server would have ended it.
        """
        splitter = LineSplitter()
        query = {**params, "watch": "true", "timeoutSeconds": timeout_seconds}
        limits = httpx.Timeout(timeout_seconds + _WATCH_SLACK_S, connect=_CONNECT_S, pool=None)
        request = self._client.build_request("GET", path, params=query, timeout=limits, extensions=self._extensions)
        with _translated(f"watch {path}", self.server):
            response = await self._client.send(request, stream=True)
            async with aclosing(response):
                await _check(response, f"watch {path}")
                yield []
                async for chunk in response.aiter_raw():
                    try:
                        lines = splitter.feed(chunk)
                    except LineTooLong as exc:
                        raise KubeError(f"watch {path}: {exc}") from exc
                    if lines:
                        yield lines

    async def _request(self, method: str, path: str, *, params: Params | None = None, content: bytes | None = None) -> bytes:
        what = f"{method} {path}"
        headers = {"Content-Type": "application/json"} if content is not None else None
        with _translated(what, self.server):
            request = self._client.build_request(method, path, params=params, content=content, headers=headers, extensions=self._extensions)
            async with asyncio.timeout(_REQUEST_S):
                response = await self._client.send(request)
                await _check(response, what)
                return response.content


def status_error(what: str, code: int, body: bytes) -> KubeError:
    """The error for an answer with `code` and a Status, or any other text, as its body."""
    try:
        status = decode(body, _Status)
    except UNDECODABLE:
        status = _Status()
    if status.kind != "Status" or not status.message:
        text = body[:_BODY_IN_MESSAGE].decode("utf-8", "replace").strip()
        status = _Status(message=text or "no explanation given", reason=status.reason)
    kind = KubeUnavailable if code >= 500 or code == 429 else KubeError
    return kind(f"{what}: kube-apiserver answered {code}: {status.message}", status=code, reason=status.reason)


@contextmanager
def _translated(what: str, server: str) -> Iterator[None]:
    try:
        yield
    except (TimeoutError, httpx.ReadTimeout, httpx.WriteTimeout, httpx.PoolTimeout) as exc:
        raise KubeUnavailable(f"{what}: {server} did not answer in time ({_root(exc)})") from exc
    except (httpx.TransportError, httpx.StreamError, aiohttp.ClientError) as exc:
        raise KubeUnavailable(f"{what}: cannot talk to {server}: {_root(exc)}") from exc
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        raise KubeError(f"{what}: {_root(exc)}") from exc


async def _check(response: httpx.Response, what: str) -> None:
    if response.status_code in {200, 201}:
        return
    raise status_error(what, response.status_code, await response.aread())


def _decode(body: bytes, what: str) -> Any:
    try:
        return decode(body)
    except UNDECODABLE as exc:
        raise KubeError(f"{what}: kube-apiserver's answer is not JSON: {exc}") from exc


def _root(exc: BaseException) -> str:
    """The text of what really happened, in one line: httpx and aiohttp wrap the cause, often with an empty text of their own."""
    text = str(exc)
    while exc.__cause__ is not None:
        exc = exc.__cause__
        text = str(exc) or text
    if isinstance(exc, aiohttp.ClientPayloadError | aiohttp.http_exceptions.PayloadEncodingError | aiohttp.ServerDisconnectedError):
        return "the connection was closed"
    return " ".join(text.split()) or type(exc).__name__
