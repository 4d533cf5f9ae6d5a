"""Objects that are joined when they are read, and who belongs to them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.built_in import Usages
from app.cache.cluster import Nodes, Pods
from app.cache.collection import Collection, Item
from app.cache.joined import Joined
from app.cache.members import its_containers, pod_itself
from app.cache.projection import Projection, Subject
from app.cache.samples import Samples
from app.cache.sources import source
from app.cache.stats import Stats
from app.cache.store import Store
from app.cache.versions import Versions
from app.kinds import published
from app.kube.records import ContainerRecord, Key, NodeRecord, PodRecord, Resources
from collectors._base import Batch, Cause, CollectError, PodSamples, Sample
from collectors._summary_records import ContainerStats, NodeStats, PodStats, SummaryStats
from tests.fakes.clock import EPOCH, ManualClock

SECOND = 10**9
START = int(EPOCH) * SECOND
SUMMARY = "kubelet_summary"


def container(name: str = "c", **more: Any) -> ContainerRecord:
    return ContainerRecord(name, more.pop("running", True), START - 600 * SECOND, **more)


def pod(name: str = "p", *containers: ContainerRecord, phase: str = "Running", on: str = "n1", uid: str = "u", **more: Any) -> PodRecord:
    return PodRecord("ns", name, uid, uid, on, (), phase, True, 0, ("", ""), False, containers or (container(),), **more)


def node(name: str = "n1") -> NodeRecord:
    return NodeRecord(name, f"uid of {name}", (), 0, True, (), 0, "", Resources(), Resources())


class World:
    """One store, the stats, and the three kinds, as they are wired."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.nodes, self.pods = Nodes(), Pods()
        versions = Versions(self.clock, instance=1)
        self.stats = Stats(nodes=self.nodes, pods=self.pods, versions=versions, clock=self.clock, ttl=120)
        usages = {subject: Collection(lambda _key: None, versions.current) for subject in Subject}
        joined = Usages(
            nodes=self.nodes,
            pods=self.pods,
            stats=self.stats,
            node_usages=usages[Subject.NODE],
            pod_usages=usages[Subject.POD],
            why=self.why,
            versions=versions,
            clock=self.clock,
        )
        self.store = Store(
            nodes=self.nodes,
            pods=self.pods,
            samples=Samples(self.clock.monotonic),
            sources=[source(SUMMARY, 30)],
            projections=[
                Projection(kind.subject, kind.project, usages[kind.subject]) for kind in published() if kind.subject and kind.project
            ],
            versions=versions,
            clock=self.clock,
        )
        self.kinds = {served.kind.kind: served for served in joined.served}

    def why(self, subject: Subject, key: Key) -> str | None:
        return self.store.why(subject, key)

    def joined(self, kind: str) -> Any:
        return self.kinds[kind].collection

    def names(self, kind: str) -> list[str]:
        return [item.key[1] for item in self.joined(kind).snapshot()]

    def scrape(self, name: str = "n1", *pods: str) -> None:
        now = int(self.clock.wall()) * SECOND

        def sample(which: str) -> Sample:
            return Sample(which, now, now, 4096, now, START - 600 * SECOND, 10**8)

        stats = SummaryStats(NodeStats(now), {("ns", each): PodStats("", now, containers=(ContainerStats("c", now),)) for each in pods})
        batch = Batch(sample(""), {("ns", each): PodSamples("", (sample("c"),)) for each in pods}, stats=stats)
        self.stats.publish(name, SUMMARY, batch)
        self.store.publish(name, SUMMARY, batch)


@pytest.mark.parametrize(
    ("told", "is_there"),
    [
        pytest.param(pod(), True, id="one that runs"),
        pytest.param(pod(phase="Pending"), True, id="one that has yet to start, on its node"),
        pytest.param(pod(phase="Pending", on=""), False, id="one without a node: no kubelet knows it"),
        pytest.param(pod(phase="Succeeded"), False, id="one that ended"),
        pytest.param(pod(phase="Failed"), False, id="one that failed"),
    ],
)
def test_which_pods_have_an_object(told: PodRecord, is_there: bool) -> None:
    """Those that are on a node and have not ended; and so their containers."""
    assert bool(pod_itself(told)) == bool(its_containers(told)) == is_there


def test_which_containers_have_an_object() -> None:
    """What runs as long as the pod has one always; init containers and those to debug while they run."""
    told = pod(
        "web",
        container("app", running=False),
        container("proxy", sidecar=True),
        container("done", init=True, running=False),
        container("preparing", init=True),
        container("debugger", ephemeral=True),
        container("left", ephemeral=True, running=False),
    )

    assert its_containers(told) == [("ns", f"web.{name}") for name in ("app", "proxy", "preparing", "debugger")]


def test_objects_come_and_go_with_what_they_are_about() -> None:
    """In order of their names, which are texts: a dot is behind a dash."""
    world = World()
    world.nodes.apply([node("n2"), node("n1")], [])
    world.pods.apply([pod("a.b"), pod("a", container("c"), container("b")), pod("a-b")], [])
    assert world.names("NodeStats") == ["n1", "n2"]
    assert world.names("PodStats") == ["a", "a-b", "a.b"]
    assert world.names("ContainerStats") == ["a-b.c", "a.b", "a.b.c", "a.c"]

    world.nodes.apply([], [("", "n1")])
    world.pods.apply([pod("a-b", phase="Succeeded"), pod("a", container("d"))], [("ns", "a.b")])
    assert (world.names("NodeStats"), world.names("PodStats"), world.names("ContainerStats")) == (["n2"], ["a"], ["a.d"])
    assert len(world.joined("PodStats")) == 1


def test_a_pod_with_all_that_is_told_of_it() -> None:
    """The object says what is known when it is read; nothing is worked out before."""
    world = World()
    world.nodes.apply([node()], [])
    world.pods.apply([pod()], [])
    first = world.joined("PodStats").get(("ns", "p"))
    assert (first.value.usage, first.value.now) == (None, None)
    assert first.value.why == "its node n1 was not scraped yet"

    world.scrape("n1", "p")
    view = world.joined("PodStats").get(("ns", "p")).value
    of_container = world.joined("ContainerStats").get(("ns", "p.c")).value
    assert (view.usage.containers[0].memory, view.now.stats.time, view.why) == (4096, START, "")
    assert (of_container.usage.memory, of_container.stats.time) == (4096, START)
    assert world.joined("NodeStats").get(("", "n1")).value.reserved.running == 1


def test_stats_of_an_instance_that_is_gone_are_not_of_the_one_that_runs() -> None:
    """A container was restarted, and its kubelet tells of the one before."""
    world = World()
    world.nodes.apply([node()], [])
    world.pods.apply([pod("p", container("c", since_ns=START))], [])
    told = SummaryStats(None, {("ns", "p"): PodStats("", START, containers=(ContainerStats("c", START, started=START - SECOND),))})
    world.stats.publish("n1", SUMMARY, Batch(None, {}, stats=told))
    view = world.joined("ContainerStats").get(("ns", "p.c")).value

    assert view.stats is None


def test_what_a_404_says() -> None:
    """Of a container: whether its pod is there, has it, runs it."""
    world = World()
    world.nodes.apply([node()], [])
    world.pods.apply([pod("p", container(), container("done", init=True, running=False)), pod("q", on="", phase="Pending")], [])
    why = world.joined("ContainerStats").why

    assert why(("ns", "gone.c")) is None
    assert why(("ns", "p.other")) == "pod p has no container other"
    assert why(("ns", "p.done")) == "container done does not run"
    assert why(("ns", "q.c")) == "the pod is Pending, not Running"
    assert world.joined("PodStats").why(("ns", "gone")) is None


def test_what_is_read_in_pieces_is_joined_in_pieces() -> None:
    """A list of 150,000 is never made at once: only those that are looked at."""
    members = Collection(lambda _key: None, 1)
    members.replace([Item(("ns", f"p{number}"), (("app", str(number % 2)),), 1, number) for number in range(10)], (), 1)
    asked: list[int] = []

    def join(member: Item) -> tuple[str, int]:
        asked.append(member.value)
        return f"joined {member.value}", member.value

    joined = Joined(members, join, lambda: 5)
    snapshot = joined.snapshot()
    assert (len(snapshot), asked) == (10, [])
    assert ([item.value for item in snapshot[2:4]], asked) == (["joined 2", "joined 3"], [2, 3])
    assert (snapshot[4].version, snapshot[0].version, joined.version) == (4, 1, 5)
    labelled = joined.labelled(lambda labels: labels == (("app", "1"),), "ns", most=10)
    assert labelled is not None
    assert [item.key[1] for item in labelled] == ["p1", "p3", "p5", "p7", "p9"]
    assert joined.labelled(lambda _labels: True, most=3) is None


KEYS: list[Key] = [("ns", "p"), ("ns", "q")]
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("scrape"), st.sampled_from(["p", "q", "p q", ""])),
        st.tuples(st.just("wait"), st.sampled_from([5, 30, 200])),
        st.tuples(st.just("fail"), st.sampled_from(list(Cause))),
        st.tuples(st.just("node"), st.sampled_from(["come", "go", "anew"])),
        st.tuples(st.just("pod"), st.sampled_from(["come", "go", "anew", "restart"])),
    ),
    max_size=25,
)


@given(ACTS)
def test_versions_only_rise_and_tell_each_change(acts: list[tuple[str, Any]]) -> None:
    """Whatever happens: no object's or collection's version goes back, and an object that says something else has another one."""
    world = World()
    world.nodes.apply([node()], [])
    known: dict[tuple[str, Key], tuple[str, int, Any]] = {}
    newest: dict[str, int] = {}
    for act, what in acts:
        match act, what:
            case "scrape", names:
                world.scrape("n1", *names.split())
            case "wait", seconds:
                world.clock.advance(seconds)
                world.stats.expire()
                while world.store.expire():
                    pass
            case "fail", cause:
                world.stats.failed("n1", SUMMARY, CollectError(cause, "no"))
                world.store.failed("n1", SUMMARY, CollectError(cause, "no"))
            case "node", "go":
                world.nodes.apply([], [("", "n1")])
            case "node", how:
                world.nodes.apply([node() if how == "come" else replace(node(), uid="other")], [])
            case "pod", "go":
                world.pods.apply([], KEYS)
            case "pod", how:
                since = int(world.clock.wall()) * SECOND if how == "restart" else None
                world.pods.apply([pod("p", container("c", since_ns=since), uid="v" if how == "anew" else "u"), pod("q")], [])
        for kind, served in world.kinds.items():
            joined: Any = served.collection
            assert joined.version >= newest.get(kind, 0)
            newest[kind] = joined.version
            for item in joined.snapshot():
                says = (served.kind.json(item.value), served.kind.cells(item.key[1], item.value))
                uid = served.kind.uid(item.key, item.value) if served.kind.uid is not None else ""
                before = known.get((kind, item.key))
                assert item.version <= joined.version
                if before is not None and before[0] == uid:
                    assert item.version >= before[1]
                    assert item.version > before[1] or says == before[2]
                known[kind, item.key] = (uid, item.version, says)
