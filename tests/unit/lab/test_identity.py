"""Family "identity": whose figures they are. Only the node that runs a pod speaks for it, and of two instances one."""

import pytest

from tests.unit.lab.bodies import busy, node, node_used, pod, stats, summary, used
from tests.unit.lab.laboratory import Act, Row, delete, play, put, row, tell, tell_summary

pytestmark = pytest.mark.looptime

NODE = node_used(-1, 50)
NOT_YET = "404: no two samples yet"
NOT_TOLD = "404: the kubelet of node node-a reports no new CPU and memory of container app"
NO_VALUE = "404: what the kubelet told last of container app makes no value"
SERVED = "app 250m 8Mi @14 over 15s"
SECOND_NODE = put(node("node-b", "10.0.0.2"))


def both(*first: str, second: tuple[str, ...]) -> list[tuple[float, Act]]:
    """Two bodies."""
    return [(0, tell(*first, NODE)), (15, tell(*second, NODE))]


def leftover(at: float) -> str:
    """The lines of an instance of long ago that used 1000 core-seconds."""
    return used(at, 1000, 4096, started=-9000)


ROWS = [
    row(
        "a leftover that stopped",
        "Of two instances in one body the one that stopped long ago lends nothing, in whatever order (symptom 18).",
        both(leftover(-100), busy(-1, 0.25), second=(busy(14, 0.25), leftover(-100))),
        {15: {"web": SERVED}},
    ),
    row(
        "two that live",
        "Two instances that both go on cannot be told apart by the light endpoint: absent, never a mixture.",
        both(leftover(-3), busy(-1, 0.25), second=(busy(14, 0.25), leftover(16))),
        {15: {"web": NOT_TOLD}, 30: {"web": NOT_TOLD}},
    ),
    row(
        "two that live, with the summary",
        "The summary tells each instance with its own start: the newer is served.",
        [
            *both(leftover(-3), busy(-1, 0.25), second=(busy(14, 0.25), leftover(16))),
            (0, tell_summary(summary({("web", "web-uid"): [stats(-3, 1000, cores=3, started=-9000), stats(-3, 249, cores=0.25)]}))),
        ],
        {15: {"web": "app 250m 8Mi @-3 over 20s from summary"}},
        kubelet_summary=True,
    ),
    row(
        "a leftover that comes up",
        "While two are told the last value stays; then the pair is over the longer gap.",
        [*both(busy(-1, 0.25), second=(busy(14, 0.25),)), (30, tell(busy(29, 0.25), leftover(28))), (45, tell(busy(44, 0.25)))],
        {30: {"web": SERVED}, 45: {"web": "app 250m 8Mi @44 over 30s"}},
    ),
    row(
        "one at a time",
        "A kubelet that tells now of one instance, now of the other: the newer is followed, the other's samples change nothing.",
        [
            (0, tell(busy(-1, 0.25))),
            (15, put(pod(containers={"app": 5}))),
            (15, tell(used(14, 9, started=5))),
            (30, tell(busy(29, 0.25))),
            (45, tell(used(44, 24, started=5))),
            (60, tell(busy(59, 0.25))),
        ],
        {15: {"web": NOT_YET}, 30: {"web": NOT_YET}, 45: {"web": "app 500m 8Mi @44 over 30s"}, 60: {"web": "app 500m 8Mi @44 over 30s"}},
    ),
    row(
        "the same pod on two nodes",
        "A StatefulSet's pod that moved is told of by both nodes: spec.nodeName decides (symptom 17, payload 5).",
        [
            (0, SECOND_NODE),
            *((at, tell(busy(at - 1, 0.25))) for at in (0, 15, 30)),
            *((at, tell(busy(at - 1, 64), node_used(at - 1, 50 + at), address="10.0.0.2")) for at in range(0, 31, 5)),
        ],
        {30: {"web": "app 250m 8Mi @29 over 15s"}},
    ),
    row(
        "a foreign pod",
        "A kubelet cannot speak for pods that do not run on its node, or are not there at all (symptom 19).",
        [(0, put(pod(on="node-c"))), *both(busy(-1, 64), busy(-1, 64, pod="ghost"), second=(busy(14, 64), busy(14, 64, pod="ghost")))],
        {15: {"web": "404: its node node-c is not in the cluster", "ghost": "404"}},
    ),
    row(
        "a foreign container",
        "Only containers that the spec names count: kubelet text is hostile.",
        both(busy(-1, 0.25), busy(-1, 64, name="miner"), second=(busy(14, 0.25), busy(14, 64, name="miner"))),
        {15: {"web": SERVED}},
    ),
    row(
        "deleted",
        "What is deleted is gone at once.",
        [*both(busy(-1, 0.25), second=(busy(14, 0.25),)), (20, delete("web"))],
        {15: {"web": SERVED}, 20: {"web": "404"}},
    ),
    row(
        "moved",
        "A pod that comes again on another node has no value until that node tells of it.",
        [
            (0, SECOND_NODE),
            (0, tell(node_used(-1, 50), address="10.0.0.2")),
            *both(busy(-1, 0.25), second=(busy(14, 0.25),)),
            (20, put(pod(uid="new", on="node-b", containers={"app": 19}))),
            (30, tell(busy(29, 0.25))),
            (46, tell(used(42, 11.5, started=19), node_used(42, 90), address="10.0.0.2")),
        ],
        {
            15: {"web": SERVED},
            20: {"web": "404: the kubelet of node node-b reports no new CPU and memory of container app"},
            62: {"web": "app 500m 8Mi @42 over 23s"},
        },
    ),
    row(
        "created anew under its name",
        "The predecessor's figures are not the successor's, also while the kubelet still tells them (symptom 38).",
        [
            *both(busy(-1, 0.25), second=(busy(14, 0.25),)),
            (20, put(pod(uid="new", containers={"app": 19}))),
            (30, tell(busy(29, 0.25))),
            (45, tell(used(44, 12.5, started=19))),
        ],
        {20: {"web": NOT_TOLD}, 30: {"web": NOT_TOLD}, 45: {"web": "app 500m 8Mi @44 over 25s"}},
    ),
    row(
        "created anew, and no starts are told",
        "Where no start is told, what was measured before the container began is its predecessor's.",
        [
            *((at, tell(busy(at - 1, 0.25, started=None))) for at in (0, 15)),
            (20, put(pod(uid="new", containers={"app": 40}))),
            (30, tell(busy(29, 0.25, started=None))),
            (45, tell(busy(36, 0.25, started=None))),
            (60, tell(used(59, 2, started=None))),
            (75, tell(used(74, 9.5, started=None))),
        ],
        {
            15: {"web": SERVED},
            20: {"web": NOT_TOLD},
            45: {"web": NO_VALUE},
            60: {"web": NO_VALUE},
            75: {"web": "app 500m 8Mi @74 over 15s"},
        },
    ),
    row(
        "a renamed container",
        "A pod that comes again with another container is served with that one alone.",
        [
            *both(busy(-1, 0.25), second=(busy(14, 0.25),)),
            (20, put(pod(uid="new", containers={"main": 19}))),
            (45, tell(busy(44, 0.25), used(44, 12.5, name="main", started=19))),
        ],
        {
            20: {"web": "404: the kubelet of node node-a reports no new CPU and memory of container main"},
            45: {"web": "main 500m 8Mi @44 over 25s"},
        },
    ),
    row(
        "a static pod",
        "A mirror pod stands for a static pod, which its kubelet knows by the hash of its manifest.",
        [
            (0, put(pod(uid="mirror", manifest="hash"))),
            (0, put(pod("other", uid="mirror-2", manifest="hash-2"))),
            (0, tell_summary(summary({("web", "hash"): [stats(-3, 250, cores=0.25)], ("other", "mirror-2"): [stats(-3, 250, cores=64)]}))),
        ],
        {0: {"web": "app 250m 8Mi @-3 over 20s from summary", "other": NOT_TOLD}},
        kubelet_resource=False,
        kubelet_summary=True,
    ),
    row(
        "the predecessor's uid",
        "Where the source tells a uid it must be the pod's, in whatever order entries of one name stand.",
        [
            (
                0,
                tell_summary(
                    summary(
                        [(("web", "gone"), [stats(-3, 250, cores=64, started=-900)]), (("web", "web-uid"), [stats(-3, 250, cores=0.25)])]
                    )
                ),
            ),
            (0, put(pod("old", uid="old-uid"))),
        ],
        {0: {"web": "app 250m 8Mi @-3 over 20s from summary"}},
        kubelet_resource=False,
        kubelet_summary=True,
    ),
    row(
        "a node created anew",
        "A node that registers again under its name has nothing of its predecessor's.",
        [
            *((at, tell(busy(at - 1, 0.25), node_used(at - 1, 50 + at))) for at in (0, 15)),
            (20, delete("node-a", "nodes")),
            (22, put(node(uid="new"))),
            (30, tell(busy(29, 0.25), node_used(29, 80))),
        ],
        {
            15: {"web": SERVED, "node node-a": "1 512Mi @14 over 15s"},
            20: {"web": "404: its node node-a is not in the cluster", "node node-a": "404"},
            23: {"web": NOT_YET, "node node-a": NOT_YET},
            32: {"web": "app 250m 8Mi @29 over 15s", "node node-a": "1 512Mi @29 over 15s"},
        },
    ),
]


@pytest.mark.parametrize("played", ROWS)
async def test_identity(played: Row) -> None:
    """Each row is a rule of its own."""
    await play(played)
