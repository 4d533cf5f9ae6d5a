"""One other adapter: what it lists, and what it says of a metric, asked as our own ServiceAccount within bounds of time and bytes."""

import asyncio
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from app.errors import KubeError
from app.federation.answers import BackendError, Listed, listed_in, series_in
from app.federation.config import Route
from app.http1.channel import Dialer
from app.kube.client import KubeClient, Params
from app.kube.config import Connection, client_context
from app.kube.credentials import Credentials
from app.served_metrics.values import NAMESPACES, Question, Series
from app.wire.metric_values import CUSTOM, EXTERNAL, VERSIONS

WAIT_S = 5.0
"""How long an adapter may take for an answer: an HPA gives up after half a minute, and has more metrics to ask for."""

MOST_BYTES = 8 * 1024 * 1024
_AT_ONCE = 32
"""Questions that one adapter is asked at a time; more wait for their turn, within the same bound."""


class Backend:
    """The adapter of a route."""

    def __init__(self, route: Route, credentials: Credentials, *, dialer: Dialer | None = None) -> None:
        """Raises KubeError for a CA that cannot be used. Each new connection looks the host up anew: the adapter's pods may move."""
        connection = Connection(route.url, ssl_context=client_context(route.ca_file), credentials=credentials, ca_file=route.ca_file)
        self._client = KubeClient(connection, dialer=dialer, called="the adapter", most_bytes=MOST_BYTES)
        self._api = route.api
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
        build = await self._get("/version")
        self.admitted = not (isinstance(build, dict) and str(build.get("goVersion", "")).startswith("python"))
        if not self.admitted:
            raise BackendError("it is a kubeglance itself: a route leads to another adapter")
        newest, *older = VERSIONS[self._group]
        try:
            return await self._listed(newest)
        except BackendError as exc:
            if exc.status != HTTPStatus.NOT_FOUND or not older:
                raise
        return await self._listed(older[0])

    async def series(self, question: Question, *, namespaced: bool) -> list[Series]:
        """The series that are asked for. `namespaced` is whether the described objects are in namespaces. Raises BackendError."""
        answer = await self._get(f"/apis/{self._group}/{self._version}/{_path(question, namespaced=namespaced)}", _selectors(question))
        return series_in(answer, question, namespaced=namespaced)

    async def _listed(self, version: str) -> tuple[Listed, ...]:
        answer = await self._get(f"/apis/{self._group}/{version}")
        self._version = version
        return listed_in(answer, self._api)

    async def _get(self, path: str, params: Params | None = None) -> Any:
        try:
            async with asyncio.timeout(WAIT_S), self._turns:
                return await self._client.get_json(path, params)
        except TimeoutError as exc:
            raise BackendError(f"it did not answer within {WAIT_S:g} s", status=None) from exc
        except KubeError as exc:
            raise BackendError(str(exc), status=exc.status) from exc


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
