"""Family "platform": kubelets that are no ordinary kubelet on Linux. What was not measured is absent, not 0."""

import json

import pytest

from tests.unit.lab.bodies import busy, node, node_used, pod, stats, summary, used
from tests.unit.lab.kubelets import DOWN, FULL, LIGHT, body, status
from tests.unit.lab.laboratory import Act, Row, answer, laboratory, play, put, row, tell, tell_summary

pytestmark = pytest.mark.looptime

SERVED = "app 250m 8Mi @14 over 15s"
NODE = "1 512Mi @14 over 15s"
NO_NODE = "404: what the kubelet told last of the node makes no value"
NOT_TOLD = "404: the kubelet of node node-a reports no new CPU and memory of container app"
SINCE = "cannot be scraped since 2025-11-30T10:53:30Z"


def psi(document: bytes) -> bytes:
    """The summary with pressure of zero, as kubelets on cgroup v1 write it."""
    found = json.loads(document)
    zero = {"full": {"total": 0, "avg10": 0, "avg60": 0, "avg300": 0}, "some": None}
    for pod_entry in found["pods"]:
        for container in pod_entry["containers"]:
            container["cpu"]["psi"] = zero
            container["memory"]["psi"] = zero
    return json.dumps(found).encode()


def beside_node(*bodies: tuple[float, str]) -> list[tuple[float, Act]]:
    """Bodies, each with node lines that are as they should be."""
    return [(at, tell(lines, node_used(at - 1, 50 + at))) for at, lines in bodies]


ROWS = [
    row(
        "zero memory, live CPU",
        "Some runtimes report a working set of 0 for what lives: CPU that advances proves it (payload 2, symptom 12).",
        beside_node((0, used(-1, 100, 0)), (15, used(14, 103.75, 0))),
        {15: {"web": "app 250m 0 @14 over 15s"}},
    ),
    row(
        "zero memory, no CPU",
        "Memory of 0 with CPU that stands still is what is reported of what is gone.",
        beside_node((0, used(-1, 100, 0)), (15, used(14, 100, 0))),
        {15: {"web": "404: what the kubelet told last of container app makes no value", "node node-a": NODE}},
    ),
    row(
        "zero CPU",
        "A CPU counter of 0 was not measured: nothing runs on no time at all.",
        beside_node((0, used(-1, 0)), (15, used(14, 0))),
        {15: {"web": NOT_TOLD, "node node-a": NODE}},
    ),
    row(
        "idle",
        "A counter that stands still is 0 cores, and a value.",
        beside_node((0, used(-1, 100)), (15, used(14, 100))),
        {15: {"web": "app 0 8Mi @14 over 15s"}},
    ),
    row(
        "a node without memory",
        "No node uses no memory: the node is left out, its pods are not (symptom 13).",
        [(0, tell(busy(-1, 0.25), node_used(-1, 50, 0))), (15, tell(busy(14, 0.25), node_used(14, 65, 0)))],
        {15: {"node node-a": NO_NODE, "web": SERVED}},
    ),
    row(
        "a node without CPU",
        "Nor no CPU.",
        [(0, tell(busy(-1, 0.25), node_used(-1, 50))), (15, tell(busy(14, 0.25), node_used(14, 50)))],
        {15: {"node node-a": NO_NODE, "web": SERVED}},
    ),
    row(
        "Windows",
        "A Windows kubelet tells zeros of host process containers: only those pods are absent (symptom 22).",
        [
            (0, put(pod("host-process", uid="hp"))),
            *beside_node(
                (0, busy(-1, 0.25) + used(-1, 0, 0, pod="host-process")),
                (15, busy(14, 0.25) + used(14, 0, 0, pod="host-process")),
            ),
        ],
        {15: {"web": SERVED, "node node-a": NODE, "host-process": NOT_TOLD}},
    ),
    row(
        "a virtual kubelet without endpoints",
        "404 for both paths: absent, with the cause (symptom 21).",
        [(0, put(pod(statuses=False)))],
        {1: {"web": f"404: its node node-a {SINCE} (not_found)", "node node-a": f"404: node node-a {SINCE} (not_found)"}},
        kubelet_summary=True,
    ),
    row(
        "a virtual kubelet that is not there",
        "Nobody listens: the same, with that cause.",
        [(0, answer(DOWN)), (0, put(node(ready=False)))],
        {1: {"web": f"404: its node node-a {SINCE} (dial)"}},
        kubelet_summary=True,
    ),
    row(
        "a virtual kubelet with a summary",
        "Pods without container statuses run as their phase says, and the summary alone is enough.",
        [(0, put(pod(statuses=False))), (0, tell_summary(summary({("web", "web-uid"): [stats(-3, 100, cores=0.25, started=None)]})))],
        {1: {"web": "app 250m 8Mi @-3 over 20s from summary"}},
        kubelet_summary=True,
    ),
    row(
        "cgroup v1",
        "Pressure that is not measured costs nothing else.",
        [(0, tell_summary(psi(summary({("web", "web-uid"): [stats(-3, 100, cores=0.25)]}))))],
        {1: {"web": "app 250m 8Mi @-3 over 20s from summary"}},
        kubelet_summary=True,
    ),
    row(
        "legacy names",
        "A kubelet of before 1.20 has other names in its light body: the summary serves it (payload 25).",
        [
            (0, answer(body('container_cpu_usage_seconds{container="app",namespace="default",pod="web"} 5\n'), LIGHT)),
            (0, tell_summary(summary({("web", "web-uid"): [stats(-3, 100, cores=0.25)]}))),
        ],
        {1: {"web": "app 250m 8Mi @-3 over 20s from summary"}},
        kubelet_summary=True,
    ),
    row(
        "IPv6",
        "An IPv6 address is put in brackets (symptom 4).",
        [(0, put(node("node-a", "fd00::1"))), (0, tell(busy(-1, 0.25), address="fd00::1")), (15, tell(busy(14, 0.25), address="fd00::1"))],
        {15: {"web": SERVED}},
    ),
    row(
        "the next address",
        "Where the first address does not answer the next is tried within the same scrape (symptom 3).",
        [
            (0, put(node("node-a", "10.9.9.9", "fd00::1"))),
            (0, answer(DOWN, address="10.9.9.9")),
            (0, tell(busy(-1, 0.25), address="fd00::1")),
            (15, tell(busy(14, 0.25), address="fd00::1")),
        ],
        {15: {"web": SERVED}},
    ),
    row(
        "no usable address",
        "A node whose status has no address is absent with that cause, and asked once it has one (symptom 3).",
        [(0, put(node("node-a", "not an address!"))), (15, put(node())), *((at, tell(busy(at - 1, 0.25))) for at in (15, 30))],
        {0: {"web": f"404: its node node-a {SINCE} (address)"}, 30: {"web": "app 250m 8Mi @29 over 15s"}},
    ),
    row(
        "another path",
        "A node may name another path for its light endpoint (symptom 21).",
        [(0, put(node(path="/other"))), *((at, answer(body(busy(at - 1, 0.25)), "/other")) for at in (0, 15))],
        {15: {"web": SERVED}},
    ),
]


@pytest.mark.parametrize("played", ROWS)
async def test_platform(played: Row) -> None:
    """Each row is a rule of its own."""
    await play(played)


async def test_what_has_no_endpoint_is_left_alone() -> None:
    """404 does not get better soon: both endpoints are asked again after ten minutes, not at every tick (symptoms 21 and 23)."""
    async with laboratory([answer(status(404))]) as lab:
        await lab.at(599)
        first = [path for _, _, path in lab.kubelets.asked]
        await lab.at(602)
        again = [path for _, _, path in lab.kubelets.asked]

    assert [LIGHT, FULL] == sorted(first)
    assert 4 == len(again)
