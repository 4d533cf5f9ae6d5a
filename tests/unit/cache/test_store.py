"""The store as a whole: batches and cluster changes in, published objects out."""

import json
from typing import Any

import pytest

from app import kinds
from app.cache.cluster import Nodes, Pods
from app.cache.collection import Collection, Item
from app.cache.projection import Projection
from app.cache.samples import Samples, time_to_live
from app.cache.sources import source
from app.cache.store import Store
from app.cache.versions import Versions
from app.kube.records import ContainerRecord, NodeRecord, PodRecord, Resources
from collectors._base import Batch, Cause, CollectError, PodSamples, Sample
from tests.fakes.clock import EPOCH, ManualClock
from tests.fakes.kinds import json_of

SECOND = 10**9
START = int(EPOCH) * SECOND
RESOURCE, SUMMARY = "kubelet_resource", "kubelet_summary"
FAILURE = CollectError(Cause.DIAL, "refused")


def node(name: str = "n1", uid: str = "node-uid") -> NodeRecord:
    return NodeRecord(name, uid, (("zone", "a"),), START, True, (), 0, "", Resources(), Resources())


def pod(name: str = "p", *, uid: str = "u", on: str = "n1", started: int = -600, containers: tuple[str, ...] = ("c",)) -> PodRecord:
    return PodRecord(
        namespace="ns",
        name=name,
        uid=uid,
        kubelet_uid=uid,
        node=on,
        labels=(("app", "web"),),
        phase="Running",
        ready=True,
        created_ns=START,
        owner=("", ""),
        host_network=False,
        containers=tuple(ContainerRecord(c, True, START + started * SECOND) for c in containers),
    )


def reading(at: float, cores: float, *, name: str = "c", started: float | None = -600, rate: float | None = None) -> Sample:
    """A sample at `at` seconds of a container that always used `cores`; memory is 8 MiB."""
    return Sample(
        name=name,
        cpu=round((1000 + at) * cores * SECOND),
        cpu_time=START + round(at * SECOND),
        memory=8 * 1024 * 1024,
        memory_time=START + round(at * SECOND),
        started=None if started is None else START + round(started * SECOND),
        cpu_rate=None if rate is None else round(rate * SECOND),
    )


def batch(
    at: float, cores: float = 0.25, *, pods: tuple[str, ...] = ("p",), uid: str = "", rate: float | None = None, started: float = -600
) -> Batch:
    containers = (reading(at, cores, rate=rate, started=started),)
    return Batch(
        node=reading(at, cores * 2, name="", started=None, rate=rate), pods={("ns", name): PodSamples(uid, containers) for name in pods}
    )


class World:
    """A store over an empty cluster, and what it publishes."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.nodes, self.pods = Nodes(), Pods()
        self.versions = Versions(self.clock, instance=5)
        self.kinds = {kind.kind: kind for kind in kinds.published()}
        self.collections = {name: Collection(lambda _key: None) for name in self.kinds}
        self.store = Store(
            nodes=self.nodes,
            pods=self.pods,
            samples=Samples(self.clock.monotonic),
            sources=(source(RESOURCE, 15), source(SUMMARY, 30)),
            projections=[
                Projection(kind.subject, kind.project, self.collections[kind.kind])
                for kind in self.kinds.values()
                if kind.subject is not None and kind.project is not None
            ],
            versions=self.versions,
            clock=self.clock,
        )

    def objects(self, kind: str) -> list[dict[str, Any]]:
        return [self.told(kind, item) for item in self.collections[kind].snapshot()]

    def told(self, kind: str, item: Item) -> dict[str, Any]:
        """What a client reads of an item."""
        told: dict[str, Any] = json.loads(json_of(self.kinds[kind], item))
        return told

    @property
    def cpu(self) -> list[str]:
        """The CPU of every container that is served."""
        return [container["usage"]["cpu"] for each in self.objects("PodMetrics") for container in each["containers"]]

    @property
    def versions_of_pods(self) -> list[int]:
        return [item.version for item in self.collections["PodMetrics"].snapshot()]


@pytest.fixture
def world() -> World:
    """One node with one pod of one container, not scraped yet."""
    world = World()
    world.nodes.apply([node()], [])
    world.pods.apply([pod()], [])
    return world


def test_an_object_has_the_form_of_the_metrics_api(world: World) -> None:
    """Labels are the pod's, quantities are canonical, and creationTimestamp is the time of the measurement."""
    world.store.publish("n1", RESOURCE, batch(0))
    world.clock.advance(15)
    world.store.publish("n1", RESOURCE, batch(15.5))

    expected = {
        "kind": "PodMetrics",
        "apiVersion": "metrics.k8s.io/v1",
        "metadata": {
            "name": "p",
            "namespace": "ns",
            "resourceVersion": str(world.versions_of_pods[0]),
            "creationTimestamp": "2025-11-30T10:53:35Z",
            "labels": {"app": "web"},
        },
        "timestamp": "2025-11-30T10:53:35Z",
        "window": "15.5s",
        "containers": [{"name": "c", "usage": {"cpu": "250m", "memory": "8Mi"}}],
    }
    assert world.objects("PodMetrics") == [expected]
    assert world.objects("NodeMetrics")[0]["usage"] == {"cpu": "500m", "memory": "8Mi"}


def test_one_summary_is_enough_for_a_value(world: World) -> None:
    """The kubelet's own rate is served after the first scrape, and says where it comes from."""
    world.store.publish("n1", SUMMARY, batch(0, rate=0.3))

    assert world.cpu == ["300m"]
    assert world.objects("PodMetrics")[0]["metadata"]["annotations"] == {"kubeglance.io/source": "summary"}


def test_an_unchanged_sample_makes_no_new_version(world: World) -> None:
    """A kubelet that has nothing new causes no event."""
    world.store.publish("n1", RESOURCE, batch(0))
    world.store.publish("n1", RESOURCE, batch(15))
    before = world.versions_of_pods

    world.store.publish("n1", RESOURCE, batch(15))

    assert world.versions_of_pods == before


def test_a_failing_source_keeps_its_last_values_until_their_time_ends(world: World) -> None:
    """60 s after the sample last advanced the value is gone, not zero, and not sooner."""
    world.store.publish("n1", RESOURCE, batch(0))
    world.store.publish("n1", RESOURCE, batch(15))
    world.clock.advance(59)
    world.store.failed("n1", RESOURCE, FAILURE)
    kept = world.cpu

    world.clock.advance(1)
    world.store.expire()

    assert (kept, world.cpu) == (["250m"], [])


def test_a_sample_that_never_advances_dies_although_scrapes_succeed(world: World) -> None:
    """The time to live counts from the sample's own advance."""
    world.store.publish("n1", RESOURCE, batch(0))
    world.store.publish("n1", RESOURCE, batch(15))
    for _ in range(4):
        world.clock.advance(15)
        world.store.publish("n1", RESOURCE, batch(15))

    assert world.cpu == []


def test_one_container_that_stands_still_dies_alone(world: World) -> None:
    """A stale series goes when its own time ends, also while others of its node advance."""
    world.pods.apply([pod("q")], [])
    for at in (0, 15):
        world.store.publish("n1", RESOURCE, batch(at, pods=("p", "q")))
    for step in range(1, 5):
        world.clock.advance(15)
        world.store.publish("n1", RESOURCE, batch(15 + 15 * step, pods=("q",)))

    assert [each["metadata"]["name"] for each in world.objects("PodMetrics")] == ["q"]


def test_deleted_pods_are_gone_at_once(world: World) -> None:
    """A pod that leaves the cluster leaves the list in the same step."""
    world.store.publish("n1", SUMMARY, batch(0, rate=0.3))
    world.pods.apply([], [("ns", "p")])

    assert world.cpu == []


def test_deleted_nodes_take_their_pods_values_along(world: World) -> None:
    """Nobody can vouch for a pod whose node is gone."""
    world.store.publish("n1", SUMMARY, batch(0, rate=0.3))
    world.nodes.apply([], [("", "n1")])

    assert (world.cpu, world.objects("NodeMetrics")) == ([], [])


def test_a_late_scrape_of_a_deleted_node_is_ignored(world: World) -> None:
    """An answer that was under way when its node was deleted brings nothing back."""
    world.nodes.apply([], [("", "n1")])
    world.store.publish("n1", SUMMARY, batch(0, rate=0.3))

    assert (world.cpu, world.objects("NodeMetrics")) == ([], [])


def test_a_pod_recreated_under_its_name_starts_anew(world: World) -> None:
    """Figures of the predecessor are not the successor's, also while the kubelet still tells them."""
    world.store.publish("n1", RESOURCE, batch(0))
    world.store.publish("n1", RESOURCE, batch(15))
    world.pods.apply([pod(uid="u2", started=20)], [])
    world.store.publish("n1", RESOURCE, batch(30))
    old = world.cpu

    world.store.publish("n1", RESOURCE, batch(45, started=20, cores=0.001))

    assert (old, world.cpu) == ([], ["41800u"])


def test_samples_are_taken_only_from_the_node_that_runs_the_pod(world: World) -> None:
    """A kubelet cannot speak for another's pods."""
    world.nodes.apply([node("n2", "other")], [])
    world.store.publish("n2", SUMMARY, batch(0, rate=64))

    assert world.cpu == []


def test_a_summary_of_another_pod_of_that_name_is_not_used(world: World) -> None:
    """Where the source tells the uid it must be the pod's."""
    world.store.publish("n1", SUMMARY, batch(0, rate=0.3, uid="stale"))

    assert world.cpu == []


def test_containers_that_the_spec_does_not_name_are_dropped(world: World) -> None:
    """Kubelet text is hostile."""
    containers = (reading(0, 1, rate=0.3), reading(0, 1, name="miner", rate=64))
    world.store.publish("n1", SUMMARY, Batch(node=None, pods={("ns", "p"): PodSamples("", containers)}))

    assert world.cpu == ["300m"]


def test_samples_may_come_before_the_pod_is_known_to_run(world: World) -> None:
    """What joins a sample with a pod is evaluated again when either changes."""
    world.pods.apply([pod("q", containers=("c", "d"))], [])
    samples = (reading(0, 1, rate=0.3), reading(0, 1, name="d", rate=0.1))
    waiting = pod("q", containers=("c", "d"))
    not_running = (waiting.containers[0], ContainerRecord("d", False))
    world.pods.apply([_with(waiting, not_running)], [])
    world.store.publish("n1", SUMMARY, Batch(node=None, pods={("ns", "q"): PodSamples("", samples)}))
    before = world.cpu

    world.pods.apply([waiting], [])

    assert (before, world.cpu) == (["300m"], ["300m", "100m"])


def _with(record: PodRecord, containers: tuple[ContainerRecord, ...]) -> PodRecord:
    return PodRecord(**{field: getattr(record, field) for field in record.__struct_fields__} | {"containers": containers})


def test_a_restarted_container_is_absent_until_it_has_values(world: World) -> None:
    """A pod's status that tells of a restart ends the old instance's value at once."""
    world.store.publish("n1", RESOURCE, batch(0))
    world.store.publish("n1", RESOURCE, batch(15))
    world.pods.apply([pod(started=20)], [])

    assert world.cpu == []


def test_label_changes_are_published(world: World) -> None:
    """Selectors work on the labels that the pod has now."""
    world.store.publish("n1", SUMMARY, batch(0, rate=0.3))
    changed = pod()
    relabelled = PodRecord(**{field: getattr(changed, field) for field in changed.__struct_fields__} | {"labels": (("app", "db"),)})
    world.pods.apply([relabelled], [])

    assert world.objects("PodMetrics")[0]["metadata"]["labels"] == {"app": "db"}


def test_the_first_rates_are_told_so_that_the_second_scrape_can_come_early(world: World) -> None:
    """publish answers True once every series has advanced."""
    answers = [world.store.publish("n1", RESOURCE, batch(at)) for at in (0, 0, 15)]

    assert answers == [False, False, True]


def test_points_count_what_can_be_served(world: World) -> None:
    """Nodes and containers with a usage, whichever way they come and go."""
    seen = [world.store.points()]
    world.store.publish("n1", SUMMARY, batch(0, rate=0.3))
    seen.append(world.store.points())
    world.store.publish("n1", SUMMARY, batch(15, rate=0.4))
    seen.append(world.store.points())
    world.pods.apply([], [("ns", "p")])
    seen.append(world.store.points())

    assert seen == [(0, 0), (1, 1), (1, 1), (1, 0)]


@pytest.mark.parametrize(("source", "rate", "started"), [(SUMMARY, 0.3, -600), (RESOURCE, None, -20)], ids=["summary", "origin rule"])
def test_a_stuck_kubelet_revives_nothing(world: World, source: str, rate: float | None, started: int) -> None:
    """A sample that outlived its time is not new when it is told again: neither by the kubelet's own rate nor by the origin rule."""
    world.pods.apply([pod(started=started)], [])
    seen = []
    for _ in range(20):
        world.store.publish("n1", source, batch(0, rate=rate, started=started))
        seen.append(len(world.cpu))
        world.clock.advance(15)

    lives = int(time_to_live(15 if source == RESOURCE else 30) / 15)
    assert seen == [1] * lives + [0] * (20 - lives)


def test_a_kubelet_that_comes_back_begins_anew(world: World) -> None:
    """The first sample after a death pairs with nothing, the second with the first; also if the kubelet's clock went back."""
    for at in (0, 15):
        world.store.publish("n1", RESOURCE, batch(at))
    world.clock.advance(600)
    world.store.expire()
    world.store.publish("n1", RESOURCE, batch(-300))
    first = world.cpu
    world.store.publish("n1", RESOURCE, batch(-285))

    assert (first, world.cpu) == ([], ["250m"])
    assert world.objects("PodMetrics")[0]["window"] == "15s"


def test_a_served_time_does_not_go_back_over_a_gap(world: World) -> None:
    """The preferred source ends, and later some event makes the pod evaluated again: the older values of the other do not come up."""
    world.store.publish("n1", SUMMARY, batch(12, rate=0.3))
    world.store.publish("n1", RESOURCE, batch(0))
    world.store.publish("n1", RESOURCE, batch(15))
    world.clock.advance(60)
    world.store.expire()
    world.pods.apply([_with(pod(), (*pod().containers, ContainerRecord("idle", False)))], [])
    absent = world.cpu
    world.store.publish("n1", SUMMARY, batch(16, rate=0.4))

    assert (absent, world.cpu) == ([], ["400m"])


def test_a_kubelet_clock_that_was_set_back_is_followed(world: World) -> None:
    """Once the old times have outlived theirs, the new ones count, although they are earlier."""
    world.store.publish("n1", SUMMARY, batch(3600, rate=0.3))
    world.clock.advance(120)
    world.store.publish("n1", SUMMARY, batch(120, rate=0.4))

    assert world.cpu == ["400m"]


def test_a_series_ends_at_its_own_time(world: World) -> None:
    """Not a scrape later: also while others of its node advance."""
    world.pods.apply([pod("q")], [])
    for at in (0, 15):
        world.store.publish("n1", RESOURCE, batch(at, pods=("p", "q")))
    for at in range(30, 75, 15):
        world.clock.advance(15)
        world.store.publish("n1", RESOURCE, batch(at, pods=("q",)))
    world.clock.advance(14)
    world.store.expire()
    before = len(world.cpu)
    world.clock.advance(1)
    world.store.expire()

    assert (before, len(world.cpu)) == (2, 1)


def test_a_leftover_does_not_displace_the_living(world: World) -> None:
    """A body that tells only of an instance that started earlier than the running one changes nothing."""
    world.pods.apply([pod(started=-100)], [])
    for at in (0, 15):
        world.store.publish("n1", RESOURCE, batch(at, started=-100))
    world.store.publish("n1", RESOURCE, batch(30, started=-5000))

    assert world.cpu == ["250m"]


def test_many_nodes_that_end_at_once_are_published_a_few_at_a_time(world: World) -> None:
    """Other work gets its turn; in the end all are gone."""
    names = [f"m{number}" for number in range(10)]
    world.nodes.apply([node(name, name) for name in names], [])
    for name in names:
        world.store.publish(name, SUMMARY, batch(0, rate=0.3))
    world.clock.advance(120)
    left = [world.store.expire() for _ in range(3)]

    assert (left, world.objects("NodeMetrics")) == ([True, True, False], [])


def test_a_clock_that_was_set_back_is_followed_while_many_nodes_end(world: World) -> None:
    """What ended before a batch came is settled first: else the old time would be kept as the floor for the new one."""
    names = [f"m{number}" for number in range(6)]
    world.nodes.apply([node(name, name) for name in names], [])
    for name in names:
        world.store.publish(name, SUMMARY, batch(3600, rate=0.3))
    world.clock.advance(120)
    world.store.publish("m5", SUMMARY, batch(120, rate=0.4))
    world.store.expire()

    assert [each["metadata"]["name"] for each in world.objects("NodeMetrics")] == ["m5"]


def test_a_node_created_anew_begins_anew_with_its_pods(world: World) -> None:
    """Also where their values had ended before: another machine has another clock."""
    world.store.publish("n1", SUMMARY, batch(3600, rate=0.3))
    world.clock.advance(120)
    world.store.expire()
    world.nodes.apply([], [("", "n1")])
    world.nodes.apply([node(uid="another")], [])
    world.store.publish("n1", SUMMARY, batch(120, rate=0.4))

    assert world.cpu == ["400m"]
