"""LiveMetrics in the set of loops: served at once, kept through changes, gone with their declaration."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest
import yaml
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from app.cache.reports import Reports
from app.cache.versions import Versions
from app.declared.declaration import AnyDeclaration, Declared, MetricDeclaration
from app.declared.documents import read
from app.declared.live_metric import compile_metric
from app.declared.loader import Loaded
from app.declared.metric_model import LiveMetric
from app.declared.tenants import Tenant
from app.kinds._catalog import Catalog
from app.pipeline.live_kinds import LiveKinds, MetricSinks
from app.pipeline.live_loop import Opener, Surroundings
from app.pipeline.live_series import LiveSeries
from app.pipeline.supervise import Supervisor
from app.served_metrics.declared import DeclaredMetric
from app.telemetry import Metrics
from collectors._base import Cause, CollectError
from tests.fakes.clock import LoopClock, ManualClock
from tests.fakes.declared import FakeSource, at_once
from tests.unit.declared.metrics import ORDERS

pytestmark = pytest.mark.looptime

AWAY = CollectError(Cause.DIAL, "nobody listens")


def _orders(**spec: Any) -> MetricDeclaration:
    said = yaml.safe_load(ORDERS)
    said["spec"] |= {"items": "response", "sample": {"value": "item"}, "missing": {}, "interval": "10s", "ttl": "60s", **spec}
    ((document,), _) = read(yaml.safe_dump(said), "a.yaml")
    return Declared(LiveMetric.model_validate(document.value), document.positions, "", document.digest)


class _Setup:
    """Metrics whose sources answer what is put in."""

    def __init__(self, supervisor: Supervisor) -> None:
        clock = self.clock = LoopClock()
        self.reports = Reports()
        self.served: dict[str, DeclaredMetric] = {}
        self.answers: list[Any] = [[3]]
        self.asked = 0
        around = Surroundings(clock, Versions(clock, 1), self.reports, Metrics(CollectorRegistry()), at_once)
        sinks = MetricSinks(self._put, lambda _changes: None)
        self.kinds = LiveKinds(Catalog(), around, supervisor.children("declaration"), open_=self._open, metrics=sinks)

    def _put(self, changes: Mapping[str, DeclaredMetric | None]) -> None:
        for name, metric in changes.items():
            if metric is None:
                del self.served[name]
            else:
                self.served[name] = metric

    def _open(self, _declared: AnyDeclaration, _tenant: Tenant | None) -> Opener:
        return Opener("fake", "", lambda: cast("Any", FakeSource(*self.answers)))

    async def apply(self, *declared: AnyDeclaration) -> None:
        with capture_logs():
            await self.kinds.apply(Loaded({each.name: each for each in declared}, (), ()), {})

    def values(self) -> list[int]:
        """What the metric is now."""
        return [int(each.value) for each in self.served["orders"].kept.external(self.clock.monotonic())]


async def test_a_metric_is_served_at_once_and_collected_on_its_grid() -> None:
    """Without a value at first."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        setup.answers = [[3], [4]]
        await setup.apply(_orders())
        assert [] == setup.values()
        await asyncio.sleep(1)
        assert [3] == setup.values()
        await asyncio.sleep(20)
        assert [4] == setup.values()
        report = setup.reports.get("orders")
        assert report is not None
        assert (1, 1) == (report.healthy, report.items)


def test_series_are_arranged_where_they_are_mapped() -> None:
    """In a thread: the event loop hands over what is ready."""
    declared, clock = _orders(), ManualClock()
    live = LiveSeries(declared, compile_metric(declared), source="fake", clock=clock)
    kept, now = live.metric.kept, clock.monotonic()
    mapped = live.map([3], int(clock.wall() * 1e9), lambda: False)
    before = kept.external(now)
    live.publish(mapped)

    assert () == before
    assert kept.objects(now, "") is mapped.arranged.by_namespace[""]
    assert [3] == [int(each.value) for each in kept.external(now)]


async def test_what_is_no_number_is_counted_and_told() -> None:
    """In the report, as of every declaration."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        setup.answers = [["NaN", 3]]
        await setup.apply(_orders())
        await asyncio.sleep(1)
        report = setup.reports.get("orders")
        assert report is not None
        assert (1, 1) == (report.items, report.dropped)
        assert "sample.value: is NaN" in report.error


async def test_a_source_that_fails_leaves_the_value_until_its_time_is_over() -> None:
    """Whoever reads looks at the time: nothing has to happen for it."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        setup.answers = [[3], AWAY]
        with capture_logs():
            await setup.apply(_orders())
            await asyncio.sleep(50)
            assert [3] == setup.values()
            await asyncio.sleep(30)
        assert [] == setup.values()


@pytest.mark.parametrize(
    ("change", "expected"),
    [({"window": "1m"}, [3]), ({"source": {"static": {"items": [1]}}}, [3]), ({"name": "other"}, []), ({"namespaces": ["alpha"]}, [])],
    ids=["a field", "another source", "another metric", "other namespaces"],
)
async def test_a_changed_declaration_goes_on_from_the_value_of_the_same_metric(change: dict[str, Any], expected: list[int]) -> None:
    """No gap, and no value of another metric."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        await setup.apply(_orders())
        await asyncio.sleep(1)
        setup.answers = [30.0]
        await setup.apply(_orders(**change))

        assert expected == setup.values()


async def test_a_metric_that_is_declared_no_more_is_gone() -> None:
    """At once, with its report."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        await setup.apply(_orders())
        await asyncio.sleep(1)
        await setup.apply()

        assert {} == setup.served
        assert setup.reports.get("orders") is None
