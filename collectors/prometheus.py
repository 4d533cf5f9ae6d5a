"""A Prometheus query as a source: each sample of the answer is an item {labels, value, timestamp}."""

import asyncio
from collections.abc import Sequence
from typing import Self

from pydantic import Field, model_validator

from collectors._http_auth import Auth, HeaderName, HeaderValue, Tls
from collectors._http_client import shown
from collectors._http_session import Endpoint, hosts_of
from collectors._http_url import Url
from collectors._prometheus_api import Api, Method, query_url
from collectors._source import Means, Query, Response, SourceType, Spec


class PrometheusSpec(Spec):
    """What stands under `spec.source.prometheus`: a server by its name, or by its base URL, to which api/v1/query is added."""

    server: str | None = Field(None, min_length=1, description="A server of --prometheus-servers; what is asked alike is asked once.")
    url: Url | None = Field(None, description="Where to ask instead: http or https, without credentials.")
    headers: dict[HeaderName, HeaderValue] = Field(default_factory=dict, description="More headers. Not for credentials: see auth.")
    auth: Auth | None = Field(None, description="How we authenticate; without it we do not.")
    tls: Tls | None = Field(None, description="How the server is verified, and our client certificate.")
    query: str = Field(min_length=1, description="The query, in PromQL; asked at the server's own present.")
    method: Method = Field("GET", description="POST sends the query as a form: for long ones.")

    @model_validator(mode="after")
    def _one_server(self) -> Self:
        if (self.server is None) == (self.url is None):
            raise ValueError("needs exactly one of server, url")
        if self.server is not None and (own := {"headers", "auth", "tls", "method"} & self.model_fields_set):
            raise ValueError(f"a server that has a name brings its own: remove {', '.join(sorted(own))}")
        return self


class Prometheus:
    """An opened source that asks a server of its own. See collectors._source.Source."""

    def __init__(self, url: str, spec: PrometheusSpec, means: Means) -> None:
        self.changed: asyncio.Event | None = None
        self._query = spec.query
        self._means = means
        self._api = Api(url, spec, spec.method, means)

    async def collect(self) -> Response:
        """Ask the query. Raises CollectError."""
        timeout = self._means.timeout
        try:
            async with asyncio.timeout(timeout):
                return await self._api.ask(self._query, limit=self._means.limits.body_bytes, timeout=timeout)
        except TimeoutError as exc:
            raise self._api.late(timeout) from exc

    async def aclose(self) -> None:
        """Close all connections."""
        await self._api.aclose()


class NamedPrometheus:
    """An opened source that asks a server that has a name, as others do. See collectors._source.Source."""

    def __init__(self, name: str, query: str, means: Means) -> None:
        self.changed: asyncio.Event | None = None
        self._name = name
        self._text = query
        self._means = means
        self._query: Query | None = None

    async def collect(self) -> Response:
        """Ask the query, or take the answer that another one got just now. Raises CollectError."""
        if self._query is None:
            self._query = self._means.prometheus(self._name, self._text, self._means)
        return await self._query.ask()

    async def aclose(self) -> None:
        """Ask it no more."""
        query, self._query = self._query, None
        if query is not None:
            await query.aclose()


def _open(spec: PrometheusSpec, means: Means) -> Prometheus | NamedPrometheus:
    if spec.url is not None:
        return Prometheus(spec.url, spec, means)
    return NamedPrometheus(spec.server or "", spec.query, means)


def _endpoint(spec: PrometheusSpec) -> str:
    return shown(query_url(spec.url)) if spec.url is not None else f"prometheus {spec.server}"


def _hosts(spec: PrometheusSpec) -> Sequence[tuple[str, int]]:
    """None where the server has a name: the operator says who may ask it."""
    return hosts_of(Endpoint.model_construct(url=spec.url, auth=spec.auth)) if spec.url is not None else ()


SOURCE = SourceType(name="prometheus", spec=PrometheusSpec, open=_open, endpoint=_endpoint, hosts=_hosts)
