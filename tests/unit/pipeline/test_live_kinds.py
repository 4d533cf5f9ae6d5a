"""What is declared becomes what is served."""

import asyncio
import gc
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from app.cache.reports import Reports
from app.cache.versions import Versions
from app.declared.declaration import AnyDeclaration, Declaration
from app.declared.faults import Fault, Place
from app.declared.loader import Loaded, Rejected
from app.declared.tenants import Tenant
from app.kinds._catalog import Catalog
from app.pipeline.live_kinds import LiveKinds, MetricSinks, compiled
from app.pipeline.live_loop import Opener, Surroundings
from app.pipeline.supervise import Supervisor
from app.telemetry import Metrics
from tests.fakes.clock import LoopClock
from tests.fakes.declared import FakeLive, FakeSource, at_once, declaration
from tests.fakes.scraping import values

pytestmark = pytest.mark.looptime


class _Setup:
    """Live kinds with sources that give one name each."""

    def __init__(self, supervisor: Supervisor, *, compile_: Any = FakeLive, answers: Sequence[Any] = ()) -> None:
        """`answers` are those of all sources in turn, in place of one name."""
        clock = LoopClock()
        self.catalog, self.reports, self.metrics = Catalog(), Reports(), Metrics(CollectorRegistry())
        self.opened: list[tuple[str, Tenant | None]] = []
        self.changes = 0
        self._answers = answers
        self.catalog.listeners.append(self._count)
        around = Surroundings(clock, Versions(clock, 1), self.reports, self.metrics, at_once)
        self.metrics_of: dict[str, Any] = {}
        metrics = MetricSinks(self.metrics_of.update, self.metrics_of.update)
        children = supervisor.children("declaration")
        self.kinds = LiveKinds(self.catalog, around, children, open_=self._open, compile_=compile_, metrics=metrics)

    def _count(self) -> None:
        self.changes += 1

    def _open(self, declared: AnyDeclaration, tenant: Tenant | None) -> Opener:
        def opened() -> FakeSource:
            self.opened.append((declared.name, tenant))
            return FakeSource(*(self._answers or [[declared.name]]))

        return Opener("fake", "", opened)

    async def apply(self, *declared: Declaration, rejected: Sequence[Rejected] = (), tenants: Mapping[str, Tenant] | None = None) -> None:
        await self.kinds.apply(Loaded({each.name: each for each in declared}, rejected, ()), tenants or {})

    def served(self) -> dict[str, int]:
        """Objects by resource."""
        return {served.kind.resource: len(served.collection) for served in self.catalog}


def _rejected(name: str = "", *, served: bool = False, file: str = "b.yaml", namespace: str = "") -> Rejected:
    place = Place(file, 3, 1)
    return Rejected(name, namespace, place, (Fault(place, "spec.ttl", "is odd"), Fault(place, "spec.x", "too")), served)


async def test_new_kinds_are_in_discovery_at_once_and_together() -> None:
    """Empty, until their sources were asked. Two hundred are one change."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        await setup.apply(*(declaration(f"kind{number}s") for number in range(200)))

        assert len(setup.served()) == 200
        assert set(setup.served().values()) == {0}
        await asyncio.sleep(3)
        assert set(setup.served().values()) == {1}
        assert setup.changes == 1


async def test_what_did_not_change_goes_on_as_it_is() -> None:
    """Its source is not opened anew when others come and go, or when it moves within its file."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        await setup.apply(declaration("queues"))
        await asyncio.sleep(1)
        await setup.apply(declaration("queues", lines_before=7), declaration("tables"))
        await asyncio.sleep(1)

        assert [name for name, _ in setup.opened] == ["queues.example.com", "tables.example.com"]
        report = setup.reports.get("queues.example.com")
        assert report is not None
        assert report.file == "a.yaml:8"


async def test_what_is_gone_goes_at_once() -> None:
    """With its objects, its report and its series."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        await setup.apply(declaration("queues"), declaration("tables"))
        await asyncio.sleep(1)
        await setup.apply(declaration("tables"))

        assert setup.served() == {"tables": 1}
        assert setup.reports.names() == ["tables.example.com"]
        assert set(values(setup.metrics, "kubeglance_collections_total", ["declaration"])) == {("tables.example.com",)}


async def test_a_changed_declaration_replaces_its_own_kind_only() -> None:
    """When it has objects of its own: then discovery hears of it."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        await setup.apply(declaration("queues"), declaration("tables"))
        await asyncio.sleep(1)
        await setup.apply(declaration("queues", version="v2"), declaration("tables"))
        await asyncio.sleep(1)

        versions = {served.kind.resource: served.kind.versions for served in setup.catalog}
        assert versions == {"queues": ("v2",), "tables": ("v1",)}
        assert [name for name, _ in setup.opened] == ["queues.example.com", "tables.example.com", "queues.example.com"]


_ANSWER = {"items": [{"name": "a"}]}
_HISTORY = {"subresources": {"history": {"points": 10}}}


@pytest.mark.parametrize(
    ("answer", "edits"),
    [
        pytest.param(_ANSWER, [{}, {"interval": "30s"}], id="its objects stay"),
        pytest.param(_ANSWER, [{}, {"version": "v2"}], id="they become others"),
        pytest.param(_ANSWER, [_HISTORY, {**_HISTORY, "interval": "30s"}], id="with a history"),
        pytest.param({"items": [{}]}, [{}, {"version": "v2"}], id="no item was an object"),
        pytest.param({"items": 3}, [{}, {"version": "v2"}], id="each collection fails"),
        pytest.param(100.0, [{}, {"version": "v2"}], id="the source hangs"),
        pytest.param(_ANSWER, [{}, None], id="it is taken away"),
    ],
)
async def test_what_an_edit_replaced_is_freed_without_the_collector(answer: Any, edits: list[dict[str, Any] | None]) -> None:
    """Else Python's collector had to look at everything for it, in which time nothing else goes on: with 500 kinds up to a second."""
    kinds: list[weakref.ref[Any]] = []

    def compile_(declared: AnyDeclaration) -> Any:
        live = compiled(declared)
        kinds.append(weakref.ref(live))
        return live

    async with Supervisor() as supervisor:
        setup = _Setup(supervisor, compile_=compile_, answers=(answer,))
        gc.disable()
        try:
            for edit in edits:
                await setup.apply(*([declaration("queues", **edit)] if edit is not None else []))
                await asyncio.sleep(3)
            assert [ref() is not None for ref in kinds] == [edit is edits[-1] for edit in edits if edit is not None]
        finally:
            gc.enable()


async def test_a_tenant_whose_rights_change_is_opened_anew() -> None:
    """Its connections were made by the rights of before."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        of_shop = declaration("queues", namespace="shop")
        for hosts in (("a",), ("a",), ("b",)):
            await setup.apply(of_shop, tenants={"shop": Tenant(hosts=hosts)})
            await asyncio.sleep(1)

        assert [tenant for _, tenant in setup.opened] == [Tenant(hosts=("a",)), Tenant(hosts=("b",))]


async def test_a_fault_is_told_in_the_report_of_what_goes_on() -> None:
    """Until it is mended; the log has it once, and the metric says that a reload failed."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        with capture_logs() as logs:
            for _ in range(3):
                await setup.apply(declaration("queues"), rejected=[_rejected("queues.example.com", served=True)])
                await asyncio.sleep(1)
        report = setup.reports.get("queues.example.com")
        assert report is not None
        assert report.invalid == "b.yaml:3:1: spec.ttl: is odd (and 1 more)"
        assert report.items == 1
        assert [line["fault"] for line in logs if line["log_level"] == "warning"] == [
            "b.yaml:3:1: spec.ttl: is odd",
            "b.yaml:3:1: spec.x: too",
        ]
        assert values(setup.metrics, "kubeglance_config_last_reload_successful", []) == {(): 0}

        await setup.apply(declaration("queues"))
        report = setup.reports.get("queues.example.com")
        assert report is not None
        assert report.invalid == ""
        assert values(setup.metrics, "kubeglance_config_last_reload_successful", []) == {(): 1}


async def test_what_is_not_served_at_all_has_a_report_of_its_own() -> None:
    """Under a name that is nobody else's, also where it pretends to be another; and not without end."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        thief = _rejected("queues.example.com", file="configmap shop/x:a.yaml", namespace="shop")
        many = [_rejected(file=f"{number}.yaml") for number in range(1000)]
        await setup.apply(declaration("queues"), rejected=[thief, *many])
        names = setup.reports.names()
        assert len(names) == 101
        (own,) = [name for name in names if name.startswith("configmap-shop-x-a-yaml-queues-example-com-")]
        report = setup.reports.get(own)
        assert report is not None
        assert (report.targets, report.file) == (0, "configmap shop/x:a.yaml:3")
        queues = setup.reports.get("queues.example.com")
        assert queues is not None
        assert queues.invalid == ""

        await setup.apply(declaration("queues"))
        assert setup.reports.names() == ["queues.example.com"]


async def test_a_declaration_that_cannot_be_compiled_costs_itself_only() -> None:
    """It passed the checks, so it is a bug of ours: what was served of it stays."""

    def compiled(declared: Declaration) -> FakeLive:
        if declared.resource.spec.version == "v2":
            raise ZeroDivisionError("odd")
        return FakeLive(declared)

    async with Supervisor() as supervisor:
        setup = _Setup(supervisor, compile_=compiled)
        await setup.apply(declaration("queues"))
        with capture_logs():
            await setup.apply(declaration("queues", version="v2"), declaration("tables"))
        await asyncio.sleep(1)

        assert setup.served() == {"queues": 1, "tables": 1}
        report = setup.reports.get("queues.example.com")
        assert report is not None
        assert "ZeroDivisionError" in report.invalid
