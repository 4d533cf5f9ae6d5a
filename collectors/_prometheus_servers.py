"""Prometheus servers that have a name: declarations name one, and what many of them ask alike is asked once.

Each server has connections and turns of its own, so that one that hangs delays nobody who asks another.
"""

import asyncio
from collections.abc import Mapping

from msgspec.structs import replace
from pydantic import Field

from collectors._base import Cause, CollectError
from collectors._http_session import Endpoint
from collectors._prometheus_api import Api, Method
from collectors._source import Means, Response

_SHARE = 0.9
"""Of its interval, for which one who asks takes an answer that another got: less than the whole, so that nobody waits for its own."""


class ServerSpec(Endpoint):
    """One server of the file --prometheus-servers. `url` is its base URL; api/v1/query is added."""

    method: Method = Field("GET", description="POST sends queries as forms: for long ones.")
    concurrency: int = Field(8, ge=1, le=100, description="Queries that it is asked at one time; more wait for their turn.")
    namespaces: list[str] = Field(default_factory=list, description="Tenants' namespaces whose declarations may ask it too.")


class _Asked:
    """A query as it was asked last. It is kept while somebody asks it; its answer, while several do."""

    def __init__(self) -> None:
        self.users = 0
        self.turn = asyncio.Lock()
        self.at = 0.0
        self.response: Response | None = None

    def at_most(self, age: float, now: float) -> Response | None:
        """The answer if it is no older (seconds)."""
        return replace(self.response, age=now - self.at) if self.response is not None and 0 <= now - self.at <= age else None


_Key = tuple[str, int]
"""(query, how many bytes its answer may have)."""


class _Server:
    def __init__(self, spec: ServerSpec, means: Means) -> None:
        self.spec = spec
        self.asked: dict[_Key, _Asked] = {}
        self._wall = means.wall
        self._api = Api(spec.url, spec, spec.method, means)
        self._turns = asyncio.Semaphore(spec.concurrency)

    async def ask(self, key: _Key, *, timeout: float, age: float) -> Response:
        """The answer, of now or at most `age` seconds old. Who asks the same meanwhile waits for it; where it fails they ask themselves."""
        asked = self.asked[key]
        try:
            async with asyncio.timeout(timeout), asked.turn:
                known = asked.at_most(age, self._wall())
                if known is not None:
                    return known
                async with self._turns:
                    at = self._wall()
                    response = await self._api.ask(key[0], limit=key[1], timeout=timeout)
                asked.at, asked.response = at, response if asked.users > 1 else None
                return response
        except TimeoutError as exc:
            raise self._api.late(timeout) from exc

    async def aclose(self) -> None:
        await self._api.aclose()


class SharedQuery:
    """Implements Query."""

    def __init__(self, server: _Server, query: str, means: Means) -> None:
        self._server = server
        self._key = (query, means.limits.body_bytes)
        self._timeout = means.timeout
        self._age = _SHARE * means.interval
        server.asked.setdefault(self._key, _Asked()).users += 1

    async def ask(self) -> Response:
        """See Query."""
        return await self._server.ask(self._key, timeout=self._timeout, age=self._age)

    async def aclose(self) -> None:
        """See Query."""
        asked = self._server.asked[self._key]
        asked.users -= 1
        if asked.users == 1:
            asked.response = None
        elif not asked.users:
            del self._server.asked[self._key]


class Servers:
    """All named servers."""

    def __init__(self, specs: Mapping[str, ServerSpec], means: Means) -> None:
        """`means` are kubeglance's own: credentials are read with its rights, whoever asks."""
        self._specs = specs
        self._means = means
        self._servers: dict[str, _Server] = {}

    def query(self, name: str, query: str, means: Means, *, tenant: str = "") -> SharedQuery:
        """A query of the server of that name, for who has `means`; `tenant` is its namespace, "" for kubeglance's own.

        Raises CollectError where there is no such server, or that tenant may not ask it.
        """
        spec = self._specs.get(name)
        if spec is None:
            known = ", ".join(sorted(self._specs)) or "none"
            raise CollectError(Cause.VALUE, f'there is no server "{name}"; known are {known}', "see --prometheus-servers")
        if tenant and tenant not in spec.namespaces:
            what = f'declarations of namespace {tenant} may not ask the server "{name}"'
            raise CollectError(Cause.NOT_ALLOWED, what, f"the operator lists {tenant} under {name}.namespaces in --prometheus-servers")
        server = self._servers.get(name)
        if server is None:
            server = self._servers[name] = _Server(spec, self._means)
        return SharedQuery(server, query, means)

    async def aclose(self) -> None:
        """Close all connections."""
        for server in self._servers.values():
            await server.aclose()
