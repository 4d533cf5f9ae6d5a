"""The life of one declaration's objects, in virtual time."""

import asyncio
import dataclasses
from collections.abc import Callable
from typing import Any, cast

import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from app.cache.reports import Report, Reports
from app.cache.versions import Versions
from app.declared.declaration import Declaration
from app.declared.live_kind import LiveKind
from app.declared.objects import Mapped
from app.pipeline.live_loop import LiveLoop, Opener, Surroundings
from app.pipeline.live_objects import LiveObjects
from app.pipeline.supervise import Supervisor
from app.telemetry import Metrics
from collectors._base import Cause, CollectError
from collectors._source import Response
from tests.fakes.clock import LoopClock
from tests.fakes.declared import FakeLive, FakeSource, at_once, declaration, seen
from tests.fakes.scraping import values

pytestmark = pytest.mark.looptime

NAME = "queues.example.com"
AWAY = CollectError(Cause.DIAL, "nobody listens at 10.0.0.1, password s3cret", "start it")


class _Stage:
    """One loop after the other of a declaration, in a supervisor."""

    def __init__(self, supervisor: Supervisor) -> None:
        clock = LoopClock()
        self.reports = Reports()
        self.metrics = Metrics(CollectorRegistry())
        self.around = Surroundings(
            clock, Versions(clock, 1), self.reports, self.metrics, at_once, lambda text: text.replace("s3cret", "***")
        )
        self._children = supervisor.children("declaration")
        self.loop: LiveLoop[Mapped] | None = None
        self.product: LiveObjects | None = None
        self.shown = 0

    def start(self, source: FakeSource | Callable[[], Any], declared: Declaration | None = None, *, first: float = 0.0) -> LiveObjects:
        """In place of the loop before."""
        declared = declared or declaration(ttl="60s", interval="10s", timeout="5s")
        opener = Opener("fake", "fake://x", source if callable(source) else lambda: source)
        self._children.stop(NAME)
        before = self.loop.leave() if self.loop is not None else None
        live = cast("LiveKind", FakeLive(declared))
        around = self.around
        self.product = LiveObjects(
            declared,
            live,
            source="fake",
            versions=around.versions,
            reports=around.reports,
            clock=around.clock,
            before=self.product,
            on_shown=self._on_shown,
        )
        self.loop = LiveLoop(declared, self.product, opener, around, before=before, first=first)
        self._children.start(NAME, self.loop.run)
        return self.product

    def _on_shown(self) -> None:
        self.shown += 1

    @property
    def report(self) -> Report:
        found = self.reports.get(NAME)
        assert found is not None
        return found

    def objects(self) -> dict[str, bool]:
        """What is served, by name, and whether it is fresh."""
        assert self.product is not None
        return dict(seen(self.product.served.collection))


async def test_objects_come_change_and_go_with_the_source() -> None:
    """One that says the same keeps its version."""
    async with Supervisor() as supervisor:
        stage = _Stage(supervisor)
        product = stage.start(FakeSource(["a", "b"], ["b", "c"]))
        await asyncio.sleep(1)
        first = product.served.collection.get(("", "b"))
        assert stage.objects() == {"a": True, "b": True}

        await asyncio.sleep(20)
        assert stage.objects() == {"b": True, "c": True}
        assert product.served.collection.get(("", "b")) is first


async def test_it_is_asked_on_a_grid_of_its_own() -> None:
    """At the start, then every interval at the same shift in every process."""
    async with Supervisor() as supervisor:
        source = FakeSource(["a"])
        _Stage(supervisor).start(source, first=0.5)
        await asyncio.sleep(60)

    assert source.asked[0] == 0.5
    assert {round(later - earlier, 3) for earlier, later in zip(source.asked[1:], source.asked[2:], strict=False)} == {10.0}


async def test_the_last_good_values_stay_no_longer_fresh_until_their_time_is_over() -> None:
    """And the 404 says why then, without what the source said."""
    async with Supervisor() as supervisor:
        stage = _Stage(supervisor)
        product = stage.start(FakeSource(["a"], AWAY))
        await asyncio.sleep(25)
        assert stage.objects() == {"a": False}
        aged = product.served.collection.version
        await asyncio.sleep(20)
        assert product.served.collection.version == aged

        await asyncio.sleep(30)
        assert stage.objects() == {}
        why = product.served.collection.why(("", "a"))
        assert why is not None
        assert "dial" in why
        assert "10.0.0.1" not in why


async def test_what_ages_while_its_time_runs_out_is_gone() -> None:
    """Cells of many objects take a while, beside the event loop: what was served meanwhile may be gone when they are made."""
    waits = iter([0.0, 90.0, *[0.0] * 100])

    async def slowly(work: Callable[[], Any], /) -> Any:
        outcome = work()
        await asyncio.sleep(next(waits))
        return outcome

    async with Supervisor() as supervisor:
        stage = _Stage(supervisor)
        stage.around = dataclasses.replace(stage.around, apart=slowly)
        stage.start(FakeSource(["a"], AWAY))
        await asyncio.sleep(55)
        assert stage.objects() == {"a": True}

        await asyncio.sleep(60)
        assert stage.objects() == {}


async def test_a_source_that_comes_back_is_fresh_again() -> None:
    """Also after its objects were gone."""
    async with Supervisor() as supervisor:
        stage = _Stage(supervisor)
        stage.start(FakeSource(["a"], AWAY, ["a"]))
        await asyncio.sleep(40)

        assert stage.objects() == {"a": True}


async def test_an_answer_that_another_one_got_is_as_old_as_it_is() -> None:
    """It was seen when it was asked for, and not when it was taken."""

    class Shared(FakeSource):
        async def collect(self) -> Response:
            return replace(await super().collect(), age=4.0)

    async with Supervisor() as supervisor:
        stage = _Stage(supervisor)
        stage.start(Shared(["a"]))
        await asyncio.sleep(1)

        assert round(stage.around.clock.wall() - stage.report.last / 1e9, 3) == 5.0


async def test_failures_are_reported_without_secrets() -> None:
    """By cause, since when, how often; one line in the log when it begins and one when it ends."""
    with capture_logs() as logs:
        async with Supervisor() as supervisor:
            stage = _Stage(supervisor)
            stage.start(FakeSource(AWAY, AWAY, AWAY, ["a"]))
            await asyncio.sleep(15)
            failing = stage.report
            await asyncio.sleep(40)
            healthy = stage.report

    assert (failing.healthy, failing.error, failing.endpoint) == (0, "nobody listens at 10.0.0.1, password ***", "fake://x")
    assert failing.failing[0].failures == failing.failures > 1
    assert (healthy.healthy, healthy.error, healthy.failures, healthy.items, healthy.size) == (1, "", 0, 1, 7)
    assert healthy.next > healthy.last > 0
    assert [line["event"] for line in logs] == ["a source gives no values", "a source answers again"]
    assert "s3cret" not in str(logs)
    counted = values(stage.metrics, "kubeglance_collections_total", ["declaration", "result"])
    assert counted[NAME, "dial"] == 3
    assert counted[NAME, "success"] >= 1


async def test_a_source_that_hangs_is_given_up_at_its_deadline() -> None:
    """And asked again at the next tick."""
    async with Supervisor() as supervisor:
        stage = _Stage(supervisor)
        source = FakeSource(1000.0)
        stage.start(source)
        await asyncio.sleep(29)

        assert stage.report.failing[0].cause == "deadline"
        assert len(source.asked) >= 3


async def test_items_that_become_no_object_are_counted_and_named() -> None:
    """They cost themselves only."""
    async with Supervisor() as supervisor:
        stage = _Stage(supervisor)
        stage.start(FakeSource(["a", "!b"]))
        await asyncio.sleep(1)

        assert (stage.objects(), stage.report.healthy, stage.report.dropped) == ({"a": True}, 1, 1)
        assert stage.report.error == '1 of 2 items are no objects; item 1 "b": no'


async def test_whatever_a_source_raises_costs_nobody_else() -> None:
    """Neither when it is opened, nor asked, nor closed, nor in the mapping: the process goes on, and the report says it."""

    class Odd(FakeSource):
        async def aclose(self) -> None:
            raise OSError("no")

    def refuses() -> Any:
        raise AttributeError("odd")

    with capture_logs() as logs:
        async with Supervisor() as supervisor:
            stage = _Stage(supervisor)
            stage.start(refuses)
            await asyncio.sleep(25)
            assert "AttributeError: odd" in stage.report.error
            stage.start(Odd(ZeroDivisionError("odd, password s3cret")))
            await asyncio.sleep(25)
            assert "ZeroDivisionError" in stage.report.error
            stage.start(FakeSource(["a"]))
            await asyncio.sleep(1)
            assert stage.objects() == {"a": True}

    told = [line for line in logs if line["event"] == "unexpected error in a collection; please report it"]
    assert len(told) == 2
    assert "ZeroDivisionError: odd, password ***" in told[1]["traceback"]
    assert "s3cret" not in str(logs)


async def test_news_are_collected_at_once_and_in_bunches() -> None:
    """A second after the first of them; the grid goes on."""
    async with Supervisor() as supervisor:
        stage = _Stage(supervisor)
        source = FakeSource(["a"], news=True)
        assert source.changed is not None
        stage.start(source, declaration(ttl="600s", interval="100s", timeout="5s"))
        await asyncio.sleep(0.5)
        for _ in range(5):
            source.changed.set()
            await asyncio.sleep(0.1)
        await asyncio.sleep(5)

    assert source.asked == [0.0, 1.5]


async def test_a_changed_source_takes_over_the_objects() -> None:
    """What they are made of is the same kind still: they stay, with their versions, until the new source has its own."""
    async with Supervisor() as supervisor:
        stage = _Stage(supervisor)
        old = FakeSource(["a"])
        before = stage.start(old)
        await asyncio.sleep(1)
        item = before.served.collection.get(("", "a"))
        after = stage.start(FakeSource(AWAY, ["b"]), declaration(source={"static": {"items": []}}, interval="10s", timeout="5s"))
        await asyncio.sleep(1)

        assert old.closed == 1
        assert after.served.collection is before.served.collection
        assert stage.objects() == {"a": False}
        assert stage.report.last > 0
        await asyncio.sleep(20)
        assert stage.objects() == {"b": True}
        assert item is not None
        assert stage.shown == 0


async def test_a_changed_kind_leaves_no_gap() -> None:
    """Its objects are other ones: the old kind is served with the old ones until there are new ones."""
    async with Supervisor() as supervisor:
        stage = _Stage(supervisor)
        before = stage.start(FakeSource(["a"]))
        await asyncio.sleep(1)
        after = stage.start(FakeSource(AWAY, ["b"]), declaration(version="v2", interval="10s", timeout="5s"))
        assert after.served == before.served
        await asyncio.sleep(1)
        assert (after.served.kind.versions, stage.objects(), stage.shown) == (("v1",), {"a": False}, 0)

        await asyncio.sleep(20)
        assert (after.served.kind.versions, stage.objects(), stage.shown) == (("v2",), {"b": True}, 1)
        assert after.served.collection is not before.served.collection


async def test_a_changed_kind_whose_source_is_away_is_shown_when_the_old_objects_are_gone() -> None:
    """The list's version does not go back then either."""
    async with Supervisor() as supervisor:
        stage = _Stage(supervisor)
        before = stage.start(FakeSource(["a"]))
        await asyncio.sleep(1)
        after = stage.start(FakeSource(AWAY), declaration(version="v2", interval="10s", timeout="5s"))
        await asyncio.sleep(70)

        assert (after.served.kind.versions, stage.objects(), stage.shown) == (("v2",), {}, 1)
        assert after.served.collection.version > before.served.collection.version


async def test_a_changed_kind_that_had_no_objects_is_shown_at_once() -> None:
    """There is nothing to keep."""
    async with Supervisor() as supervisor:
        stage = _Stage(supervisor)
        stage.start(FakeSource(AWAY))
        await asyncio.sleep(1)
        after = stage.start(FakeSource(AWAY), declaration(version="v2"))

        assert after.served.kind.versions == ("v2",)


async def test_it_ends_with_its_source_closed() -> None:
    """Nothing is published by a loop that was stopped."""
    async with Supervisor() as supervisor:
        stage = _Stage(supervisor)
        source = FakeSource(["a"])
        product = stage.start(source)
        await asyncio.sleep(1)
        stage._children.stop(NAME)
        await asyncio.sleep(1000)

        assert source.closed == 1
        assert dict(seen(product.served.collection)) == {"a": True}
