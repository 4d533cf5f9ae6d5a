"""What is said of a claim: state, reason, figures and mounts, by what is known of claim, pods and nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from app.cache.claims import Claim
from app.cache.cluster import Pods
from app.cache.collection import Item
from app.cache.reasons import Trouble
from app.cache.stats import NodeNow, PodNow
from app.cache.volumes import Mount, State, VolumeNow, Volumes
from app.kube.records import ClaimRecord, PodRecord
from collectors._summary_records import NodeStats, PodStats, VolumeStats
from tests.unit.cache.test_claims import claim, mounting
from tests.unit.cache.test_store import SECOND, START

DATA = ("ns", "data")
GI = 2**30
TOLD = VolumeStats(
    time=START, available=3 * GI // 4, capacity=GI, used=GI // 4, inodes=100, inodes_free=90, inodes_used=10, name="v", claim=DATA
)
DEVICE = VolumeStats(time=START, capacity=GI, name="v", claim=DATA, block=True)
LONG_AFTER = START + 3600 * SECOND


def on_node(*volumes: VolumeStats, pods: tuple[str, ...] = ("p",), absent: bool = False, version: int = 7, **more: object) -> NodeNow:
    told = {("ns", name): PodNow(PodStats("u"), volumes=volumes, absent=absent) for name in pods}
    return replace(NodeNow(version, stats=NodeStats(time=LONG_AFTER), pods=told), **more)


def joined(
    record: ClaimRecord | None, pods: list[PodRecord], nodes: Mapping[str, NodeNow], *, forbidden: bool = False
) -> tuple[VolumeNow, int]:
    store = Pods()
    store.apply(pods, ())
    member = Item(DATA, (), 3, Claim(record, tuple(pod.key for pod in pods)))
    return Volumes(store, nodes.get, lambda: forbidden).join(member)


@dataclass
class Case:
    """What is known, and what is to be said."""

    state: State
    reason: str
    record: ClaimRecord | None = field(default_factory=claim)
    pods: list[PodRecord] = field(default_factory=lambda: [mounting("data")])
    nodes: Mapping[str, NodeNow] = field(default_factory=dict)
    stats: VolumeStats | None = None
    forbidden: bool = False
    shared: bool = False


SILENT = {"n1": on_node()}
FAILING = {"kubelet_summary": Trouble("dial", START)}
CASES = {
    "measured": Case(State.REPORTED, "", nodes={"n1": on_node(TOLD)}, stats=TOLD),
    "a device": Case(State.BLOCK, "a raw block device: only its size is known", nodes={"n1": on_node(DEVICE)}, stats=DEVICE),
    "nobody mounts it": Case(State.NOT_MOUNTED, "no pod mounts it, and kubelets tell of mounted volumes only", pods=[]),
    "its pod waits": Case(State.NOT_MOUNTED, "no pod that mounts it runs: p is Pending", pods=[mounting("data", phase="Pending", node="")]),
    "no volume yet": Case(
        State.UNBOUND, "the claim is Pending: it has no volume yet, and no pod mounts it", claim(phase="Pending", volume=""), pods=[]
    ),
    "no volume yet for its pod": Case(State.UNBOUND, "the claim is Pending: it has no volume yet", claim(phase="Pending", volume="")),
    "its volume is lost": Case(State.UNBOUND, "the claim has lost its volume pv-1", claim(phase="Lost")),
    "a driver without statistics": Case(
        State.NO_STATS, "its driver x.example.com gives the kubelet of node n1 no figures", claim(provisioner="x.example.com"), nodes=SILENT
    ),
    "no driver is named": Case(
        State.NO_STATS,
        "its driver gives the kubelet of node n1 no figures: those of hostPath, image and fc volumes never do",
        nodes=SILENT,
    ),
    "all of it is unknown": Case(
        State.NO_STATS,
        "its driver gives the kubelet of node n1 no figures: those of hostPath, image and fc volumes never do",
        nodes={"n1": on_node(VolumeStats(time=START, name="v", claim=DATA))},
    ),
    "a new pod": Case(
        State.NO_STATS,
        "p, which mounts it, has just started: kubelets measure volumes every one to two minutes",
        nodes={"n1": on_node(stats=NodeStats(time=START - 540 * SECOND))},
    ),
    "a pod that its kubelet does not know": Case(
        State.NO_STATS, "the kubelet of node n1 does not tell of p yet, which mounts it", nodes={"n1": on_node(pods=())}
    ),
    "a node that was never scraped": Case(State.NO_STATS, "there are no statistics of node n1, where p mounts it"),
    "a node whose figures ended": Case(State.NO_STATS, "there are no statistics of node n1, where p mounts it", nodes={"n1": NodeNow(7)}),
    "a node that fails and has none": Case(
        State.NO_STATS,
        "node n1 cannot be scraped since 2025-11-30T10:53:20Z (dial)",
        nodes={"n1": NodeNow(7, troubles=FAILING)},
    ),
    "a node that fails": Case(
        State.STALE,
        "node n1 cannot be scraped since 2025-11-30T10:53:20Z (dial)",
        nodes={"n1": on_node(TOLD, troubles=FAILING)},
        stats=TOLD,
    ),
    "a node of which only the light endpoint fails": Case(
        State.REPORTED, "", nodes={"n1": on_node(TOLD, troubles={"kubelet_resource": Trouble("dial", START)})}, stats=TOLD
    ),
    "a pod that crashes lost its volumes": Case(
        State.STALE,
        "the kubelet of node n1 does not tell of it any more; these are its last figures",
        nodes={"n1": on_node(TOLD, absent=True)},
        stats=TOLD,
    ),
    "a file system of others": Case(
        State.REPORTED,
        "the file system is larger than the claim: others store in it too, and free space is that of all",
        claim(capacity=GI // 2),
        nodes={"n1": on_node(TOLD)},
        stats=TOLD,
        shared=True,
    ),
    "a little larger than the claim": Case(State.REPORTED, "", claim(capacity=GI * 3 // 4), nodes={"n1": on_node(TOLD)}, stats=TOLD),
    "bound to more than it asked for": Case(State.REPORTED, "", claim(requested=GI // 10), nodes={"n1": on_node(TOLD)}, stats=TOLD),
    "claims may not be listed": Case(
        State.REPORTED,
        "kubeglance may not list persistentvolumeclaims",
        None,
        nodes={"n1": on_node(TOLD)},
        stats=TOLD,
        forbidden=True,
    ),
    "claims may not be listed, and there is nothing": Case(
        State.NO_STATS,
        "there are no statistics of node n1, where p mounts it; kubeglance may not list persistentvolumeclaims",
        None,
        forbidden=True,
    ),
    "claims are not listed yet": Case(State.REPORTED, "the claim was not listed yet", None, nodes={"n1": on_node(TOLD)}, stats=TOLD),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_of_a_claim(name: str) -> None:
    """One state and one sentence for each thing that can be known or missing."""
    case = CASES[name]
    now, _ = joined(case.record, case.pods, case.nodes, forbidden=case.forbidden)
    mounts = tuple(Mount(pod.name, pod.node) for pod in case.pods)
    assert VolumeNow(case.record, case.state, case.reason, mounts, case.stats, case.shared) == now


def test_of_a_shared_claim_the_newest_figures_count() -> None:
    """An entry for each pod on each node tells of one volume: they are never summed. All mounts are told."""
    pods = [mounting("data", name="a"), mounting("data", name="b", node="n2")]
    newer = replace(TOLD, time=START + 30 * SECOND, used=GI // 2)
    nodes = {"n1": on_node(TOLD, pods=("a",), version=11), "n2": on_node(newer, pods=("b",), version=9)}
    now, version = joined(claim(), pods, nodes)
    assert (now.stats, now.mounts, version) == (newer, (Mount("a", "n1"), Mount("b", "n2")), 11)


def test_volumes_of_other_claims_are_left_alone() -> None:
    """A pod may mount many; a claim of the same name in another namespace is another."""
    other = replace(TOLD, claim=("elsewhere", "data"))
    now, _ = joined(claim(), [mounting("data")], {"n1": on_node(other, replace(TOLD, claim=None), replace(TOLD, claim=("ns", "x")))})
    assert (now.state, now.stats) == (State.NO_STATS, None)
