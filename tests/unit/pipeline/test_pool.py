import asyncio

import pytest
from structlog.testing import capture_logs

from app.cache.cluster import NodeChange
from app.kube.records import NodeRecord, Resources
from app.pipeline.pool import Pool
from app.pipeline.scraper import Job, Surroundings
from app.pipeline.supervise import Supervisor
from app.settings import Settings
from collectors._base import Cause, CollectError
from tests.fakes.clock import LoopClock
from tests.fakes.scraping import EMPTY, FakeCollector, RecordingSink, surroundings, values

pytestmark = pytest.mark.looptime


def _node(name: str, address: str = "10.0.0.1", *, ready: bool = True, uid: str = "u") -> NodeRecord:
    addresses = (("InternalIP", address),) if address else ()
    return NodeRecord(name, uid, (), 0, ready, addresses, 0, "", Resources(), Resources())


class _Setup:
    """A pool with one or two fake collectors in a supervisor."""

    def __init__(self, supervisor: Supervisor, *collectors: FakeCollector) -> None:
        self.sink = RecordingSink()
        self.around: Surroundings = surroundings(LoopClock(), self.sink)
        self.collectors = collectors or (FakeCollector(EMPTY),)
        jobs = [Job(collector, 15.0, 10.0) for collector in self.collectors]
        self.pool = Pool(jobs, Settings(), self.around, supervisor.children("scrape"))

    def change(self, old: NodeRecord | None, new: NodeRecord | None) -> None:
        self.pool.nodes_changed([NodeChange(old, new)])


async def test_a_new_node_gets_a_loop_for_each_collector() -> None:
    """Loops start the moment a node appears, and their ticks do not coincide."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor, FakeCollector(), FakeCollector(name="kubelet_summary"))
        setup.change(None, _node("n1"))
        await asyncio.sleep(60)

    light, full = (collector.times for collector in setup.collectors)
    assert light[0] < 1
    assert full[0] < 1
    assert len(light) >= 4
    assert not set(light) & set(full)


async def test_a_deleted_node_is_left_alone() -> None:
    """Its loops end, its fault and its series go."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor, FakeCollector(CollectError(Cause.DIAL, "no")))
        setup.change(None, _node("n1"))
        await asyncio.sleep(1)
        before = (len(setup.pool), setup.around.faults.counts())
        setup.change(_node("n1"), None)
        asked = len(setup.collectors[0].asked)
        await asyncio.sleep(600)

        assert before == (1, {("kubelet_resource", Cause.DIAL): 1})
        assert (len(setup.pool), setup.around.faults.counts(), setup.pool.first_round_ended) == (0, {}, True)
        assert len(setup.collectors[0].asked) == asked
        assert values(setup.around.metrics, "metrics_server_kubelet_last_request_time_seconds", ["node"]) == {}
        assert values(setup.around.metrics, "kubeglance_failing_targets", ["cause"]) == {("dial",): 0}


async def test_a_scrape_under_way_dies_with_its_node() -> None:
    """An answer that comes after the node was deleted is not published."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor, FakeCollector(5.0))
        setup.change(None, _node("n1"))
        await asyncio.sleep(2)
        setup.change(_node("n1"), None)
        await asyncio.sleep(60)

        assert (setup.sink.published, setup.sink.failures) == ([], [])


async def test_a_heartbeat_leaves_the_loop_alone() -> None:
    """Only a changed target starts a loop anew."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        setup.change(None, _node("n1"))
        await asyncio.sleep(1)
        setup.change(_node("n1"), _node("n1", ready=False))
        await asyncio.sleep(1)

        assert len(setup.collectors[0].asked) == 1


async def test_a_new_address_is_scraped_at_once() -> None:
    """A node whose address changed is found again without waiting for a tick."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        setup.change(None, _node("n1"))
        await asyncio.sleep(1)
        setup.change(_node("n1"), _node("n1", "10.0.0.2"))
        await asyncio.sleep(1)

        assert [url for _, url in setup.collectors[0].asked] == ["https://10.0.0.1:10250", "https://10.0.0.2:10250"]
        assert len(setup.pool) == 1


async def test_a_node_created_anew_is_another_machine() -> None:
    """Under the same name and address, in one step: what the old loop knew and what it waited for does not go on."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor, FakeCollector(CollectError(Cause.NOT_FOUND, "no")), FakeCollector(name="kubelet_summary"))
        setup.change(None, _node("n1"))
        await asyncio.sleep(1)
        setup.change(_node("n1"), _node("n1", uid="another"))
        await asyncio.sleep(1)

        assert len(setup.collectors[0].asked) == 2


async def test_a_node_without_address_is_a_failure_until_it_has_one() -> None:
    """The sink and the faults hear of it at once; the loop starts when the address appears."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        setup.change(None, _node("n1", ""))
        assert [(node, error.cause) for node, _, error in setup.sink.failures] == [("n1", Cause.ADDRESS)]
        assert (len(setup.pool), setup.pool.first_round_ended) == (0, True)
        setup.change(_node("n1", ""), _node("n1"))
        await asyncio.sleep(1)

        assert len(setup.sink.published) == 1
        assert setup.around.faults.counts() == {}


async def test_the_first_round_ends_when_each_target_was_tried() -> None:
    """A failure counts as tried: readiness must not wait for a dead node. It is told once."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor, FakeCollector(3.0, CollectError(Cause.DIAL, "no")))
        with capture_logs() as logs:
            setup.pool.nodes_changed([NodeChange(None, _node("n1")), NodeChange(None, _node("n2", "10.0.0.2"))])
            await asyncio.sleep(1)
            during = setup.pool.first_round_ended
            await asyncio.sleep(100)

        assert (during, setup.pool.first_round_ended) == (False, True)
        assert [2] == [entry["targets"] for entry in logs if entry["event"] == "every node was scraped once"]


async def test_a_thousand_nodes_start_within_five_seconds() -> None:
    """A big cluster is scraped once within 5 s of its list, spread evenly."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor)
        nodes = [_node(f"n{number}", f"10.{number // 65536}.{number // 256 % 256}.{number % 256}") for number in range(1000)]
        setup.pool.nodes_changed([NodeChange(None, node) for node in nodes])
        await asyncio.sleep(2.5)
        half = len(setup.collectors[0].asked)
        await asyncio.sleep(2.6)

        assert 430 < half < 570
        assert len({url for _, url in setup.collectors[0].asked}) == 1000
        assert setup.pool.first_round_ended


async def test_reports_tell_how_each_collector_is() -> None:
    """Worked out when somebody asks: who answers, who fails and since when, and what the last good scrapes gave."""
    async with Supervisor() as supervisor:
        setup = _Setup(supervisor, FakeCollector(EMPTY, CollectError(Cause.DIAL, "refused")), FakeCollector(30.0, name="kubelet_summary"))
        setup.change(None, _node("good"))
        await asyncio.sleep(1)
        setup.change(None, _node("bad", ""))
        light, full = setup.pool.reports()

        assert (light.name, light.source, light.interval, light.ttl) == ("kubelet-resource", "kubelet", 15.0, 60.0)
        assert (light.targets, light.healthy, light.pending, light.failures) == (2, 1, 0, 1)
        assert light.error.startswith("address 1: node bad has no usable address")
        (failing,) = light.failing
        assert (failing.name, failing.cause, failing.failures) == ("bad", "address", 1)
        assert failing.since == pytest.approx(setup.around.clock.wall() * 1e9, abs=1e9)
        assert light.last == pytest.approx(setup.around.clock.wall() * 1e9, abs=2e9)
        assert (full.name, full.targets, full.healthy, full.pending, full.last) == ("kubelet-summary", 2, 0, 1, 0)

        await asyncio.sleep(20)
        (light, _) = setup.pool.reports()
        assert (light.healthy, light.failures, light.error.partition(":")[0]) == (0, 1, "address 1, dial 1")
        assert light.last > 0, "the last good one is remembered"
        setup.change(_node("bad", ""), None)
        (light, _) = setup.pool.reports()
        assert (light.targets, [target.name for target in light.failing]) == (1, ["good"])
