"""What full summaries told, until it ends."""

from typing import Any

from app.cache.cluster import Nodes, Pods
from app.cache.reasons import Trouble
from app.cache.stats import Stats, in_full
from app.cache.versions import Versions
from app.kube.records import ContainerRecord, NodeRecord, PodRecord, Resources
from collectors._base import Batch, Cause, CollectError
from collectors._summary_records import Interface, NetworkStats, NodeStats, PodStats, SummaryStats, VolumeStats
from tests.fakes.clock import EPOCH, ManualClock

SECOND = 10**9
SUMMARY, RESOURCE = "kubelet_summary", "kubelet_resource"
KEY = ("ns", "p")
TTL = 120.0
VOLUME = VolumeStats(name="data")


def network(at: int, rx: int) -> NetworkStats:
    return NetworkStats(at * SECOND, (Interface("eth0", rx, 0),), "eth0")


def told(at: int, *, pods: dict[tuple[str, str], PodStats] | None = None, **more: Any) -> Batch:
    """A body of `at` seconds with a node and a pod."""
    if pods is None:
        pods = {KEY: PodStats("u", at * SECOND, network=network(at, at * 10), volumes=(VOLUME,), **more)}
    return Batch(None, {}, stats=SummaryStats(NodeStats(at * SECOND, network=network(at, at * 100)), pods))


class World:
    """One node with one pod, not scraped yet."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.nodes, self.pods = Nodes(), Pods()
        self.stats = Stats(nodes=self.nodes, pods=self.pods, versions=Versions(self.clock, instance=1), clock=self.clock, ttl=TTL)
        self.nodes.apply([node()], [])
        self.pods.apply([pod()], [])

    def scrape(self, at: int, **more: Any) -> None:
        self.stats.publish("n1", SUMMARY, told(at, **more))


def node(uid: str = "node-uid") -> NodeRecord:
    return NodeRecord("n1", uid, (), 0, True, (), 0, "", Resources(), Resources())


def pod(*, uid: str = "u", on: str = "n1", host_network: bool = False, name: str = "p") -> PodRecord:
    return PodRecord("ns", name, uid, uid, on, (), "Running", True, 0, ("", ""), host_network, (ContainerRecord("c", running=True),))


def test_nothing_is_known_at_first() -> None:
    """And nothing of what nobody told of."""
    world = World()

    assert (world.stats.node("n1"), world.stats.pod("n1", KEY)) == (None, None)


def test_what_was_told_is_kept() -> None:
    """The newest stats, each at a version of its own."""
    world = World()
    world.scrape(100)
    first = world.stats.node("n1")
    world.scrape(130)
    second, of_pod = world.stats.node("n1"), world.stats.pod("n1", KEY)

    assert first is not None
    assert second is not None
    assert of_pod is not None
    assert second.version > first.version
    assert world.stats.version == second.version
    assert (second.stats, of_pod.stats.time, of_pod.volumes) == (
        NodeStats(130 * SECOND, network=network(130, 13_000)),
        130 * SECOND,
        (VOLUME,),
    )
    assert (second.earlier, of_pod.earlier) == (network(100, 10_000), network(100, 1000))


def test_a_rate_is_measured_over_ten_seconds_at_least() -> None:
    """Times are whole seconds: a sample that is too near to the last one is measured against the one before that."""
    world = World()
    for at in (100, 130, 134, 134):
        world.scrape(at)
    of_pod = world.stats.pod("n1", KEY)

    assert of_pod is not None
    assert (of_pod.stats.network, of_pod.earlier) == (network(134, 1340), network(100, 1000))


def test_the_network_of_the_host_is_not_its_pods() -> None:
    """Trap: a pod with hostNetwork tells the node's counters."""
    world = World()
    world.pods.apply([pod(host_network=True)], [])
    world.scrape(100)
    of_pod = world.stats.pod("n1", KEY)

    assert of_pod is not None
    assert of_pod.stats.network is None


def test_a_kubelet_that_is_stuck_ends() -> None:
    """It tells the same for ever; that is no news, and its time ends. What it goes on to tell then is not taken for new."""
    world = World()
    world.scrape(100)
    for _ in range(5):
        world.clock.advance(30)
        world.scrape(100)
        world.stats.expire()
    ended = world.stats.node("n1")
    world.scrape(100)

    assert ended is not None
    assert (ended.stats, dict(ended.pods), world.stats.node("n1")) == (None, {}, ended)
    world.scrape(101)
    assert world.stats.pod("n1", KEY) is not None


def test_versions_go_on_when_something_ends() -> None:
    """A reader may keep what it has as long as the version stays."""
    world = World()
    world.scrape(100)
    before = world.stats.version
    world.clock.advance(TTL - 1)
    world.stats.expire()
    assert world.stats.version == before
    world.clock.advance(1)
    world.stats.expire()

    assert world.stats.version > before


def test_volumes_of_a_pod_that_crashes_stay_for_their_time() -> None:
    """Trap 8: kubelets forget the volumes of a pod in CrashLoopBackOff, some forget the pod."""
    world = World()
    world.scrape(100)
    for pods in ({KEY: PodStats("u", 130 * SECOND)}, {}):
        world.clock.advance(30)
        world.scrape(100 + round(world.clock.monotonic()), pods=pods)
        of_pod = world.stats.pod("n1", KEY)
        assert of_pod is not None
        assert (of_pod.volumes, of_pod.absent) == ((VOLUME,), True)
    for _ in range(3):
        world.clock.advance(30)
        world.scrape(100 + round(world.clock.monotonic()), pods={})

    assert world.stats.pod("n1", KEY) is None


def test_volumes_that_are_told_again_are_there() -> None:
    """Nothing is absent any more."""
    world = World()
    for at, pods in ((100, None), (130, {KEY: PodStats("u", 130 * SECOND)}), (160, None)):
        world.scrape(at, pods=pods)
    of_pod = world.stats.pod("n1", KEY)

    assert of_pod is not None
    assert (of_pod.volumes, of_pod.absent) == ((VOLUME,), False)


def test_entries_of_others_are_dropped() -> None:
    """Of pods that the cluster does not have there, and of one before it of the same name (trap 15: by the kubelet's uid)."""
    world = World()
    world.scrape(100, pods={KEY: PodStats("other", 100 * SECOND), ("ns", "q"): PodStats("", 100 * SECOND)})
    world.stats.publish("n2", SUMMARY, told(100))

    assert (world.stats.pod("n1", KEY), world.stats.pod("n1", ("ns", "q")), world.stats.node("n2")) == (None, None, None)


def test_what_is_created_anew_begins_anew() -> None:
    """A pod of another uid, on another node, or gone; a node of another uid."""
    for change in ([pod(uid="v")], [pod(on="n2")], []):
        world = World()
        world.scrape(100)
        before = world.stats.version
        world.pods.apply(change, [] if change else [KEY])
        assert world.stats.pod("n1", KEY) is None
        assert world.stats.version > before

    world = World()
    world.scrape(100)
    world.nodes.apply([node(uid="other")], [])
    assert world.stats.node("n1") is None


def test_a_source_that_fails_is_known_until_it_does_not() -> None:
    """Since when and why; what was told stays, and the version steps when that changes."""
    world = World()
    world.scrape(100)
    world.stats.failed("n1", SUMMARY, CollectError(Cause.DIAL, "refused"))
    first = world.stats.version
    world.clock.advance(30)
    world.stats.failed("n1", SUMMARY, CollectError(Cause.DIAL, "refused"))
    assert world.stats.version == first
    world.stats.failed("n1", SUMMARY, CollectError(Cause.DEADLINE, "slow"))
    known = world.stats.node("n1")
    assert known is not None
    assert known.troubles == {SUMMARY: Trouble(Cause.DEADLINE, int(EPOCH * 1e9))}
    assert known.stats is not None

    world.stats.publish("n1", RESOURCE, Batch(None, {}))
    assert world.stats.node("n1") is known
    world.stats.publish("n1", SUMMARY, Batch(None, {}))
    after = world.stats.node("n1")
    assert after is not None
    assert (after.troubles, after.stats) == ({}, known.stats)
    assert world.stats.version > known.version


def test_a_kubelet_that_tells_less_than_was_asked_for() -> None:
    """CPU and memory came, and the rest fails: until it comes again, or all fails."""
    world = World()
    world.scrape(100)
    lacking = Batch(None, {}, lacking=CollectError(Cause.STATUS, "500"))
    for _ in range(2):
        world.stats.publish("n1", SUMMARY, lacking)
        world.clock.advance(30)
    known = world.stats.node("n1")
    assert known is not None
    assert known.troubles == {in_full(SUMMARY): Trouble(Cause.STATUS, int(EPOCH * 1e9))}
    assert (known.trouble(SUMMARY), known.trouble(RESOURCE)) == (known.troubles[in_full(SUMMARY)], None)
    assert known.stats is not None

    world.scrape(190)
    after = world.stats.node("n1")
    assert after is not None
    assert after.troubles == {}


def test_a_failure_of_a_node_that_told_nothing() -> None:
    """It is known, of nodes that the cluster has."""
    world = World()
    world.stats.failed("n1", SUMMARY, CollectError(Cause.DIAL, "refused"))
    world.stats.failed("n2", SUMMARY, CollectError(Cause.DIAL, "refused"))
    known = world.stats.node("n1")

    assert known is not None
    assert (list(known.troubles), world.stats.node("n2")) == ([SUMMARY], None)
