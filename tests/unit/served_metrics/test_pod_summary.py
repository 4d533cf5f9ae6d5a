"""Metrics of pods from full summaries: figures, what is left out, and why there is none."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from app.cache.cluster import Nodes, Pods
from app.cache.collection import Collection
from app.cache.members import follow_pods, pod_itself
from app.cache.stats import Stats
from app.cache.versions import Versions
from app.kube.records import ContainerRecord, NodeRecord, PodRecord, Resources
from app.served_metrics.pod_summary import METRICS, PodSummary
from app.served_metrics.values import PODS, Absent, Answer, Question, Resource, Series
from app.wire.label_selectors import parse_label_selector
from collectors._base import Batch, Cause, CollectError
from collectors._summary_records import FsStats, Interface, NetworkStats, PodStats, Pressure, Pressures, SummaryStats
from tests.fakes.clock import ManualClock

SECOND = 10**9
T = 1_764_500_000 * SECOND
MINUTE = 60 * SECOND
TTL = 120.0
PSI = Pressures(Pressure(some_avg60=125), Pressure(some_avg60=10, full_avg60=7), Pressure(some_avg60=10_000, full_avg60=0))


def network(at: int, rx: int, tx: int) -> NetworkStats:
    return NetworkStats(T + at * SECOND, (Interface("eth0", rx, tx),), "eth0")


def full(at: int, *, uid: str = "a", rx: int = 0, **more: Any) -> PodStats:
    figures: dict[str, Any] = {"rss": 7, "swap": 0, "processes": 3, "pressure": PSI, "ephemeral": FsStats(T, used=25), **more}
    return PodStats(uid, T + at * SECOND, network=network(at, rx, 2 * rx), **figures)


def pod(name: str, *, app: str = "web", host_network: bool = False, uid: str = "", phase: str = "Running") -> PodRecord:
    labels = (("app", app),)
    containers = (ContainerRecord("c", running=True),)
    return PodRecord("ns", name, uid or name, uid or name, "n1", labels, phase, True, 0, ("", ""), host_network, containers)


@dataclass
class World:
    """A node with pods, and the provider."""

    clock: ManualClock = field(default_factory=ManualClock)
    nodes: Nodes = field(default_factory=Nodes)
    pods: Pods = field(default_factory=Pods)

    def __post_init__(self) -> None:
        versions = Versions(self.clock, instance=1)
        self.stats = Stats(nodes=self.nodes, pods=self.pods, versions=versions, clock=self.clock, ttl=TTL)
        members = Collection(why=lambda _: None)
        follow_pods(self.pods, members, pod_itself, versions)
        self.nodes.apply([NodeRecord("n1", "node-uid", (), 0, True, (), 0, "", Resources(), Resources())], [])
        self.provider = PodSummary(members, self.stats)

    def scrape(self, **pods: PodStats) -> None:
        told = {("ns", name.replace("_", "-")): stats for name, stats in pods.items()}
        self.stats.publish("n1", "kubelet_summary", Batch(None, {}, stats=SummaryStats(None, told)))

    async def ask(self, metric: str, name: str | None = None, **more: Any) -> Answer | Absent | None:
        return await self.provider.answer(Question("custom", metric, PODS, more.pop("namespace", "ns"), name, **more))

    async def values(self, metric: str, **more: Any) -> dict[str, Decimal]:
        answer = await self.ask(metric, **more)
        return {each.object[1]: each.value for each in answer.series if each.object} if isinstance(answer, Answer) else {}


@pytest.fixture
def world() -> World:
    """One pod that was scraped twice."""
    world = World()
    world.pods.apply([pod("a")], [])
    world.scrape(a=full(0))
    world.scrape(a=full(30, rx=3000))
    return world


@pytest.mark.parametrize(
    ("metric", "value", "at", "window"),
    [
        pytest.param("network_receive_bytes_per_second", "100", 30, 30 * SECOND, id="received"),
        pytest.param("network_transmit_bytes_per_second", "200", 30, 30 * SECOND, id="sent"),
        pytest.param("ephemeral_storage_used_bytes", "25", 0, None, id="disk, with its own time"),
        pytest.param("processes", "3", 30, None, id="processes"),
        pytest.param("memory_rss_bytes", "7", 30, None, id="memory"),
        pytest.param("swap_usage_bytes", "0", 30, None, id="no swap is used: that is a value"),
        pytest.param("cpu_pressure_some_ratio", "0.0125", 30, MINUTE, id="1.25 percent"),
        pytest.param("memory_pressure_some_ratio", "0.001", 30, MINUTE, id="memory, some"),
        pytest.param("memory_pressure_full_ratio", "0.0007", 30, MINUTE, id="memory, full"),
        pytest.param("io_pressure_some_ratio", "1", 30, MINUTE, id="all of the time"),
        pytest.param("io_pressure_full_ratio", "0", 30, MINUTE, id="none of the time: that is a value too"),
    ],
)
async def test_figures(world: World, metric: str, value: str, at: int, window: int | None) -> None:
    """Each with the time and window of its sample."""
    assert Answer([Series(("ns", "a"), (), Decimal(value), T + at * SECOND, window)]) == await world.ask(metric)


def test_every_metric_is_listed(world: World) -> None:
    """From memory, and before anything was scraped."""
    assert {f"pods/{metric}" for metric in METRICS} == {entry.discovery_name for entry in world.provider.entries()}
    assert all(entry.namespaced and world.provider.state(entry).error == "" for entry in World().provider.entries())


@pytest.mark.parametrize("metric", sorted(METRICS))
async def test_what_is_not_told_is_not_there(metric: str) -> None:
    """No figure, no 0: the kubelet told of the pod, and of nothing more."""
    world = World()
    world.pods.apply([pod("a")], [])
    world.scrape(a=PodStats("a", T))

    absent = await world.ask(metric)

    assert isinstance(absent, Absent)
    assert absent.known
    assert absent.reason == "the kubelet of node n1 does not tell it of pod a"


async def test_a_rate_needs_two_samples() -> None:
    """The first one of a pod gives none, and says so."""
    world = World()
    world.pods.apply([pod("a")], [])
    world.scrape(a=full(0))

    absent = await world.ask("network_receive_bytes_per_second")

    assert isinstance(absent, Absent)
    assert "no two samples" in absent.reason


async def test_a_counter_that_went_back_gives_no_rate(world: World) -> None:
    """The pod's sandbox is another."""
    world.scrape(a=full(60, rx=1))

    assert {} == await world.values("network_receive_bytes_per_second")


async def test_the_network_of_the_host_is_not_the_pods() -> None:
    """What its kubelet tells is the node's; everything else is its own."""
    world = World()
    world.pods.apply([pod("a", host_network=True)], [])
    world.scrape(a=full(0))
    world.scrape(a=full(30, rx=3000))

    absent = await world.ask("network_receive_bytes_per_second", "a")

    assert isinstance(absent, Absent)
    assert "network of its node" in absent.reason
    assert {"a": Decimal(3)} == await world.values("processes")


async def test_pods_by_labels(world: World) -> None:
    """Those that the selector takes, and that have a figure."""
    world.pods.apply([pod("b", app="db"), pod("c"), pod("d")], [])
    world.scrape(a=full(60), b=full(60, uid="b", processes=9), c=full(60, uid="c", processes=4), d=full(60, uid="d", processes=None))

    assert {"a": 3, "c": 4} == await world.values("processes", objects=parse_label_selector("app=web"))
    assert {"a": 3, "b": 9, "c": 4} == await world.values("processes")
    assert {"a": 3, "b": 9, "c": 4} == await world.values("processes", namespace="")
    assert {} == await world.values("processes", namespace="other")


async def test_series_have_no_labels(world: World) -> None:
    """A metric selector that wants one takes none; one that does not, takes all."""
    assert {} == await world.values("processes", series=parse_label_selector("code=500"))
    assert {"a": 3} == await world.values("processes", series=parse_label_selector("!code"))


async def test_dead_pods_vanish_at_once(world: World) -> None:
    """Deleted, ended, or another pod of the same name."""
    world.pods.apply([], [("ns", "a")])
    assert {} == await world.values("processes")

    world.pods.apply([pod("a", uid="a2")], [])
    assert {} == await world.values("processes")
    absent = await world.ask("processes", "a")
    assert isinstance(absent, Absent)
    assert "told nothing of pod a yet" in absent.reason

    gone = await world.ask("processes", "b")
    assert Absent("there is no b among the pods in namespace ns") == gone


async def test_pods_that_ended_have_none(world: World) -> None:
    """A Succeeded pod has no processes, and not 0 of them."""
    world.pods.apply([pod("a", phase="Succeeded")], [])

    assert {} == await world.values("processes")


async def test_old_figures_end(world: World) -> None:
    """A kubelet that does not answer is told as the reason."""
    world.stats.failed("n1", "kubelet_summary", CollectError(Cause.DIAL, "no"))
    assert {"a": 3} == await world.values("processes")
    world.clock.advance(TTL)
    world.stats.expire()

    assert Absent("the kubelet of node n1 cannot be asked (dial)") == await world.ask("processes")


async def test_other_metrics_are_others(world: World) -> None:
    """Of another name, or of another resource."""
    assert await world.ask("requests") is None
    assert await world.provider.answer(Question("custom", "processes", Resource("", "nodes"))) is None
    assert await world.provider.answer(Question("external", "processes", None, "ns")) is None
