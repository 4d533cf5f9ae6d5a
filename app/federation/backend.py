"""One other adapter: what it lists, and what it says of a metric, asked as our own ServiceAccount within bounds of time and bytes."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

from app.clock import Clock
from app.errors import KubeError, KubeUnavailable
from app.federation.answers import BackendError, Listed, listed_in, series_in
from app.federation.config import Route
from app.http1.channel import Dialer
from app.http1.response import NotHTTPError
from app.kube.client import KubeClient, Params
from app.kube.config import Connection, client_context
from app.kube.credentials import Credentials
from app.kubelet.failures import failure
from app.served_metrics.values import NAMESPACES, Question, Series
from app.telemetry import Metrics
from app.wire.metric_values import CUSTOM, EXTERNAL, VERSIONS
from collectors._base import Cause

WAIT_S = 5.0
"""How long an adapter may take for an answer: an HPA gives up after half a minute, and has more metrics to ask for."""

MOST_BYTES = 8 * 1024 * 1024
_AT_ONCE = 32
"""Questions that one adapter is asked at a time; more wait for their turn, within the same bound."""

_STATUS = {401: Cause.UNAUTHORIZED, 403: Cause.FORBIDDEN, 404: Cause.NOT_FOUND}
_Read = TypeVar("_Read")


class Backend:
    """The adapter of a route."""

    def __init__(self, route: Route, credentials: Credentials, clock: Clock, metrics: Metrics, *, dialer: Dialer | None = None) -> None:
        """Raises KubeError for a CA that cannot be used. Each new connection looks the host up anew: the adapter's pods may move."""
        connection = Connection(route.url, ssl_context=client_context(route.ca_file), credentials=credentials, ca_file=route.ca_file)
        self._client = KubeClient(connection, dialer=dialer, called="the adapter", most_bytes=MOST_BYTES)
        self._name = route.name
        self._api = route.api
        self._clock = clock
        self._metrics = metrics
        self._group = CUSTOM if route.api == "custom" else EXTERNAL
        self._version = VERSIONS[self._group][0]
        self.admitted = False
        """Whether it told that it is no kubeglance: it is asked for values only then."""
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def listed(self) -> tuple[Listed, ...]:
        """The metrics that it lists, in the newest version that it serves. Raises BackendError; also where it is a kubeglance.

        A route to ourselves, or to a replica, would ask in circles, and discovery would keep alive for ever what it listed once.
        """
        self.admitted = not await self._get("/version", _is_kubeglance)
        if not self.admitted:
            raise BackendError("it is a kubeglance itself: a route leads to another adapter", Cause.NOT_ALLOWED)
        newest, *older = VERSIONS[self._group]
        try:
            return await self._listed(newest)
        except BackendError as exc:
            if exc.cause != Cause.NOT_FOUND or not older:
                raise
        return await self._listed(older[0])

    async def series(self, question: Question, *, namespaced: bool) -> list[Series]:
        """The series that are asked for. `namespaced` is whether the described objects are in namespaces. Raises BackendError."""
        path = f"/apis/{self._group}/{self._version}/{_path(question, namespaced=namespaced)}"
        return await self._get(path, partial(series_in, question=question, namespaced=namespaced), _selectors(question))

    async def _listed(self, version: str) -> tuple[Listed, ...]:
        found = await self._get(f"/apis/{self._group}/{version}", partial(listed_in, api=self._api))
        self._version = version
        return found

    async def _get(self, path: str, read: Callable[[Any], _Read], params: Params | None = None) -> _Read:
        """What `read` makes of the answer. It is counted, with the time that it took. Raises BackendError."""
        began, result = self._clock.monotonic(), "success"
        try:
            return read(await self._json(path, params))
        except BackendError as exc:
            result = exc.cause
            raise
        except asyncio.CancelledError:
            result = ""  # who asked has left: that says nothing of the adapter
            raise
        finally:
            if result:
                self._metrics.routed(self._name, result, seconds=self._clock.monotonic() - began)

    async def _json(self, path: str, params: Params | None) -> Any:
        try:
            async with asyncio.timeout(WAIT_S), self._turns:
                return await self._client.get_json(path, params)
        except TimeoutError as exc:
            raise BackendError(f"it did not answer within {WAIT_S:g} s", Cause.DEADLINE) from exc
        except KubeError as exc:
            raise BackendError(str(exc), _cause(exc)) from exc


def _is_kubeglance(build: Any) -> bool:
    """Whether an answer of /version is ours."""
    return isinstance(build, dict) and str(build.get("goVersion", "")).startswith("python")


def _cause(error: KubeError) -> Cause:
    """Why there is no answer, or none of use, by what the client's error comes from."""
    if error.status is not None:
        return _STATUS.get(error.status, Cause.STATUS)
    match error.__cause__:
        case TimeoutError():
            return Cause.DEADLINE
        case (OSError() | NotHTTPError()) as broken if isinstance(error, KubeUnavailable):
            return failure("", broken).cause
        case OSError():
            return Cause.UNAUTHORIZED  # our token cannot be read
        case None:
            return Cause.TOO_LARGE
        case _:
            return Cause.PAYLOAD


def _path(question: Question, *, namespaced: bool) -> str:
    """What is asked, behind group and version. HPAs ask for objects without a namespace in their own: adapters know these at the root."""
    name, metric = quote(question.name or "*", safe="*"), quote(question.metric, safe="")
    if question.resource is None:
        return f"namespaces/{quote(question.namespace, safe='')}/{metric}"
    if question.resource == NAMESPACES:
        return f"namespaces/{name}/metrics/{metric}"
    path = f"{quote(str(question.resource), safe='')}/{name}/{metric}"
    return f"namespaces/{quote(question.namespace, safe='')}/{path}" if namespaced and question.namespace else path


def _selectors(question: Question) -> Params:
    """The selectors of a question, by the names that its API has for them."""
    if question.resource is None:
        return {} if question.series.empty else {"labelSelector": str(question.series)}
    said = {"labelSelector": question.objects, "metricLabelSelector": question.series}
    return {name: str(selector) for name, selector in said.items() if not selector.empty}
