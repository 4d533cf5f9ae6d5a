"""The outermost ASGI callable: a limit of requests in flight, and a short way to the resource endpoint for what is asked most.

FastAPI's routing costs several times what a cached answer costs, so get and list go straight to the endpoint that is registered there too.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from app.errors import Problem
from app.serving.exchange import Whole
from app.wire.status import encode_status

Message = MutableMapping[str, Any]
ASGIApp = Callable[[MutableMapping[str, Any], Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]

RETRY_AFTER = 1
"""Seconds a refused client is told to wait, as kube-apiserver's max-in-flight filter does."""

_REFUSAL = encode_status(
    Problem(429, "TooManyRequests", "Too many requests, please try again later.", details={"retryAfterSeconds": RETRY_AFTER})
)
_REFUSAL_HEADERS = [
    (b"content-type", b"application/json"),
    (b"content-length", b"%d" % len(_REFUSAL)),
    (b"retry-after", b"%d" % RETRY_AFTER),
    (b"cache-control", b"no-cache, private"),
]
_ALWAYS_SERVED = ("/healthz", "/livez", "/readyz", "/openapi", "/version", "/apis")


def is_resource_path(path: str) -> bool:
    """Whether a path is that of a resource: /apis/G/V/R and below. Shorter ones are discovery."""
    parts = path.split("/", 5)
    return len(parts) > 4 and parts[1] == "apis" and all(parts[2:5])


def never_refused(path: str) -> bool:
    """Discovery, OpenAPI, version and health: refusing them would mark the API as gone, and namespaces would hang in Terminating."""
    return path == "/" or (f"/{path[1:].split('/', 1)[0]}" in _ALWAYS_SERVED and not is_resource_path(path))


class Dispatcher:
    """ASGI 3. `is_hot` says of a path whether `resource_endpoint` serves it; only GET and HEAD go there."""

    def __init__(
        self,
        app: ASGIApp,
        resource_endpoint: ASGIApp,
        *,
        is_hot: Callable[[str], bool] = is_resource_path,
        max_in_flight: int = 400,
        at_once: Callable[[MutableMapping[str, Any]], Whole | None] = lambda _scope: None,
    ) -> None:
        """A `max_in_flight` of 0 means no limit, as with kube-apiserver's flag. `at_once` gives the answers that are there already."""
        self._app = app
        self._resource_endpoint = resource_endpoint
        self._is_hot = is_hot
        self._max_in_flight = max_in_flight
        self._in_flight = 0
        self._at_once = at_once

    def at_once(self, scope: MutableMapping[str, Any]) -> Whole | None:
        """The answer to a request if it is there, for which it need not become a task. None where the usual way answers or refuses."""
        if (self._max_in_flight and self._in_flight >= self._max_in_flight) or not self._is_hot(scope["path"]):
            return None
        return self._at_once(scope)

    @property
    def in_flight(self) -> int:
        """Requests that count against the limit and are not answered yet."""
        return self._in_flight

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Serve one request, or the lifespan."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        is_hot = scope["method"] in {"GET", "HEAD"} and self._is_hot(path)
        app = self._resource_endpoint if is_hot else self._app
        if not self._max_in_flight or (not is_hot and never_refused(path)):
            await app(scope, receive, send)
            return
        if self._in_flight >= self._max_in_flight:
            await send({"type": "http.response.start", "status": 429, "headers": _REFUSAL_HEADERS})
            await send({"type": "http.response.body", "body": _REFUSAL})
            return
        self._in_flight += 1
        try:
            await app(scope, receive, send)
        finally:
            self._in_flight -= 1
