"""A whole application over fakes, and a client that speaks to it without a socket."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx
from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from app.cache.collection import Collection
from app.kinds._catalog import Catalog, Served
from app.routes.app import create_app
from app.routes.by_group import ByGroup
from app.routes.descriptions import Together
from app.routes.health import Check, HealthChecks, always_ok
from app.routes.kind_descriptions import KindDescriptions
from app.routes.live import LiveAnswers
from app.routes.metric_descriptions import MetricDescriptions
from app.routes.metrics_apis import create_metrics_apis
from app.routes.resources import create_resources
from app.routes.version import version_info
from app.served_metrics.providers import Provider, Registry
from tests.fakes.clock import ManualClock
from tests.fakes.gate import FakeGate
from tests.fakes.kinds import NODES, PODS, FakeVersions, make_collection, make_item
from tests.fakes.served_metrics import describe

PING = Check("ping", always_ok)


def example_served() -> tuple[Served, ...]:
    """Three pods in two namespaces, two nodes; pod a/waiting and node n3 are known and have no values."""
    pods = make_collection(
        make_item("a", "one", labels={"app": "web"}),
        make_item("a", "two", labels={"app": "db"}, value=2),
        make_item("b", "three", labels={"app": "web"}, value=3),
        known=frozenset({("a", "waiting")}),
    )
    nodes = make_collection(make_item("", "n1"), make_item("", "n2"), known=frozenset({("", "n3")}))
    return (Served(PODS, pods), Served(NODES, nodes))


@dataclass
class Server:
    """An application with all that a test may want to turn. `client()` speaks to the FastAPI app, `direct()` to the endpoint alone."""

    served: Sequence[Served] = field(default_factory=example_served)
    checks: HealthChecks = field(default_factory=lambda: HealthChecks((PING,), (PING,), (PING,)))
    gate: FakeGate = field(default_factory=FakeGate)
    clock: ManualClock = field(default_factory=ManualClock)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    rendered_bytes: int = 1 << 20
    live: LiveAnswers | None = None
    observed: list[int] = field(default_factory=list)
    metrics: Sequence[Provider] = ()

    def __post_init__(self) -> None:
        self.catalog = Catalog(self.served)
        self.served_metrics = Registry()
        for provider in self.metrics:
            self.served_metrics.add(provider)
        kinds = self.kinds = create_resources(
            self.catalog,
            gate=self.gate,
            clock=self.clock,
            versions=FakeVersions(),
            observe=self.observed.append,
            live=self.live,
            rendered_bytes=self.rendered_bytes,
        )
        self.resources = ByGroup(kinds, create_metrics_apis(self.served_metrics, describe, gate=self.gate, clock=self.clock))
        self.app: FastAPI = create_app(
            Together([KindDescriptions(self.catalog), MetricDescriptions(self.served_metrics)]),
            self.resources,
            gate=self.gate,
            checks=self.checks,
            registry=self.registry,
            clock=self.clock,
            version=version_info("0.1.0"),
        )

    def collection(self, index: int) -> Collection:
        """The objects of the kind at `index` of `served`."""
        collection = self.served[index].collection
        assert isinstance(collection, Collection)
        return collection

    async def request(self, method: str, path: str, *, direct: bool = False, **headers: str) -> httpx.Response:
        """One request; keyword arguments are headers, with underscores for hyphens."""
        app = self.resources if direct else self.app
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="https://kubeglance.test") as client:
            client.headers.clear()
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return await client.request(method, path, headers=named)

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.request("GET", path, direct=False, **headers)
