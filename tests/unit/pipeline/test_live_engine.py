"""From texts to served kinds, with the real checks, CEL and sources, beside a kube-apiserver of a few lines."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from app.auth.access import AccessReviewer
from app.cache.reports import Reports
from app.cache.versions import Versions
from app.declared.tenants import Tenant
from app.declared.texts import Text
from app.kinds._catalog import Catalog
from app.pipeline.live_engine import LiveEngine, create_engine
from app.pipeline.live_kinds import MetricSinks
from app.pipeline.supervise import Supervisor
from app.served_metrics.declared import DeclaredMetric
from app.served_metrics.resource_metrics import KindMetrics
from app.settings import Settings
from app.telemetry import Metrics
from tests.fakes.clock import LoopClock
from tests.fakes.declared import at_once, live_resource, text_of
from tests.fakes.kube_server import client_of, page, refusal, watch

pytestmark = pytest.mark.looptime


class _Cluster:
    """Answers for APIServices and discovery; all else is an empty list. `others` are groups of somebody else."""

    def __init__(self) -> None:
        self.others: list[str] = []
        self.refuses = False
        self.paths: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.paths.append(request.url.path)
        if self.refuses:
            return refusal(403)
        match request.url.path:
            case "/apis/apiregistration.k8s.io/v1/apiservices":
                return page(*(_api_service(group, "others") for group in self.others), _api_service("example.com", "kubeglance"))
            case "/apis":
                return httpx.Response(200, json={"groups": []})
            case "/api/v1":
                return httpx.Response(200, json={"resources": []})
        return watch(asyncio.Event().wait) if "watch" in request.url.params else page()


def _api_service(group: str, service: str) -> dict[str, Any]:
    return {"metadata": {"name": f"v1.{group}"}, "spec": {"group": group, "service": {"namespace": "own", "name": service}}}


class _Setup:
    def __init__(self, supervisor: Supervisor) -> None:
        clock = LoopClock()
        self.cluster, self.catalog, self.reports = _Cluster(), Catalog(), Reports()
        self.served_metrics: dict[str, DeclaredMetric | None] = {}
        self.kind_metrics: dict[str, KindMetrics | None] = {}
        self.engine: LiveEngine = create_engine(
            Settings(),
            namespace="own",
            client=client_of(self.cluster),
            clock=clock,
            versions=Versions(clock, 1),
            catalog=self.catalog,
            access=AccessReviewer(client_of(self.cluster), clock),
            reports=self.reports,
            metrics=Metrics(CollectorRegistry()),
            served_metrics=MetricSinks(self.served_metrics.update, self.kind_metrics.update),
            servers={},
            apart=at_once,
            loops=supervisor.children("declaration"),
            watches=supervisor.children("watch"),
        )

    async def load(self, *documents: Any, tenants: dict[str, Tenant] | None = None, namespace: str = "") -> bool:
        sure = await self.engine.apply([Text("a.yaml", text_of(*documents), namespace)], tenants or {})
        await asyncio.sleep(5)
        return sure

    def served(self) -> dict[str, list[str]]:
        return {served.kind.resource: [item.key[1] for item in served.collection.snapshot()] for served in self.catalog}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with capture_logs():
        yield


async def test_a_text_becomes_served_objects() -> None:
    """Checked, compiled, collected; APIServices that lead to us are ours."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)

        assert await setup.load(live_resource("queues"))
        assert setup.served() == {"queues": ["a"]}
        report = setup.reports.get("queues.example.com")
        assert report is not None
        assert (report.source, report.healthy, report.items, report.file) == ("static", 1, 1, "a.yaml:1")


async def test_a_group_of_somebody_else_is_not_taken() -> None:
    """Though nothing is wrong with the text."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        setup.cluster.others = ["other.com"]

        assert await setup.load(live_resource("queues"), live_resource("tables", "other.com"))
        assert setup.served() == {"queues": ["a"]}


async def test_where_nobody_tells_what_the_cluster_serves_it_is_served_all_the_same() -> None:
    """And asked again; a load of the same texts does nothing meanwhile."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        setup.cluster.refuses = True
        assert not await setup.load(live_resource("queues"))
        assert not await setup.load(live_resource("queues"))
        assert setup.served() == {"queues": ["a"]}

        setup.cluster.refuses = False
        setup.cluster.others = ["example.com"]
        assert await setup.load(live_resource("queues", interval="20s"))
        assert setup.served() == {"queues": ["a"]}, "its last good version stays"
        report = setup.reports.get("queues.example.com")
        assert report is not None
        assert "own/others" in report.invalid


async def test_a_tenant_watches_its_own_namespace() -> None:
    """Whatever the declaration leaves out."""
    source = {"kubernetes": {"apiVersion": "v1", "resource": "services"}}
    spec = {
        "scope": "Namespaced",
        "allowNamespaces": ["shop"],
        "object": {"name": "item.metadata.name", "namespace": "item.metadata.namespace"},
        "source": source,
    }
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        await setup.load(live_resource("doors", "shop.com", **spec), tenants={"shop": Tenant(("shop.com",))}, namespace="shop")

        assert setup.served() == {"doors": []}
        assert "/api/v1/namespaces/shop/services" in setup.cluster.paths
        assert "/api/v1/services" not in setup.cluster.paths
