"""app/simulation/kubelet.py: bodies in a real kubelet's form. The recorded bodies of a real kubelet are the reference."""

import json
import re

import pytest

from app.simulation.curves import SECOND, Load
from app.simulation.exposition import go_float, resource_metrics
from app.simulation.generate import generate
from app.simulation.kubelet import answer
from app.simulation.model import ContainerSpec, Fault, SimulatedCluster, SimulatedNode
from app.simulation.summary import summary
from tests.fakes.clock import ManualClock

NOW = 1_796_032_439
BURNER = Load(cpu=50_000_000, memory=52 * 2**20)


def one_pod(started: int) -> tuple[SimulatedCluster, SimulatedNode]:
    cluster = SimulatedCluster(ManualClock(NOW))
    node = cluster.add_node("n")
    containers = (ContainerSpec("a", BURNER, memory_limit=128 * 2**20), ContainerSpec("b"))
    cluster.add_pod("default", "web-0", "n", containers, started=started)
    return cluster, node


def lines(body: str, family: str) -> list[str]:
    return [line for line in body.splitlines() if line.startswith((f"{family}{{", f"{family} "))]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (53776384, "5.3776384e+07"),
        (995328, "995328"),
        (1024000, "1.024e+06"),
        (1787.38334556, "1787.38334556"),
        (0.010294952, "0.010294952"),
        (0.00001, "1e-05"),
        (0.0001, "0.0001"),
        (123456789.5, "1.234567895e+08"),
        (1796032350.5153966, "1.7960323505153966e+09"),
        (1e21, "1e+21"),
        (999999, "999999"),
        (1000000, "1e+06"),
        (0, "0"),
        (-1234567, "-1.234567e+06"),
    ],
)
def test_numbers_are_written_as_go_writes_them(value: float, text: str) -> None:
    """The 'g' format of strconv: exponents below -4 and from 6 on, at least two digits (checked against Go)."""
    assert text == go_float(value)


def test_families_come_in_the_order_of_the_recording() -> None:
    """Twelve families, sorted, each with HELP and TYPE; labels are container, namespace, pod; stamps are milliseconds."""
    cluster, node = one_pod((NOW - 300) * SECOND)
    body = resource_metrics(node, cluster.now())

    assert re.findall(r"^# TYPE (.*)$", body, re.M) == [
        "container_cpu_usage_seconds_total counter",
        "container_memory_working_set_bytes gauge",
        "container_start_time_seconds gauge",
        "container_swap_limit_bytes gauge",
        "container_swap_usage_bytes gauge",
        "node_cpu_usage_seconds_total counter",
        "node_memory_working_set_bytes gauge",
        "node_swap_usage_bytes gauge",
        "pod_cpu_usage_seconds_total counter",
        "pod_memory_working_set_bytes gauge",
        "pod_swap_usage_bytes gauge",
        "resource_scrape_error gauge",
    ]
    assert re.fullmatch(
        r'container_cpu_usage_seconds_total\{container="a",namespace="default",pod="web-0"\} [0-9.]+ 17960324\d{5}',
        lines(body, "container_cpu_usage_seconds_total")[0],
    )
    assert lines(body, "container_start_time_seconds")[0].endswith("} 1.796032139e+09")
    assert lines(body, "resource_scrape_error") == ["resource_scrape_error 0"]


def test_values_and_stamps_stand_still_between_looks() -> None:
    """A body asked twice within one stat period is the same; over a minute each container shows 4 to 6 different stamps."""
    cluster, node = one_pod((NOW - 300) * SECOND)
    bodies = [lines(resource_metrics(node, cluster.now() + s * SECOND), "container_cpu_usage_seconds_total")[0] for s in range(60)]

    assert 4 <= len(set(bodies)) <= 6


def test_two_looks_give_the_load_exactly() -> None:
    """Counter and stamp belong together: the rate between any two bodies is the container's 50 millicores."""
    cluster, node = one_pod((NOW - 300) * SECOND)
    pairs = []
    for seconds in (0, 60):
        text = lines(resource_metrics(node, cluster.now() + seconds * SECOND), "container_cpu_usage_seconds_total")[0].split()
        pairs.append((float(text[-2]), int(text[-1]) / 1000))

    assert (pairs[1][0] - pairs[0][0]) / (pairs[1][1] - pairs[0][1]) == pytest.approx(0.05, rel=1e-4)


def test_a_container_not_looked_at_yet_has_only_its_start() -> None:
    """In its first second a container has a start_time line and a summary entry without cpu, nothing made up."""
    cluster, node = one_pod(NOW * SECOND)
    body = resource_metrics(node, cluster.now())
    entry = json.loads(summary(node, cluster.now()))["pods"][0]["containers"][0]

    assert (len(lines(body, "container_start_time_seconds")), len(lines(body, "container_cpu_usage_seconds_total"))) == (2, 0)
    assert entry == {"name": "a", "startTime": "2026-11-30T09:53:59Z"}


def test_usage_is_zero_before_the_second_look() -> None:
    """usageNanoCores is preset to 0 until there are two looks; then it is the rate between them."""
    cluster, node = one_pod(NOW * SECOND)
    rates = []
    for second in range(60):
        entry = json.loads(summary(node, cluster.now() + second * SECOND))["pods"][0]["containers"][0]
        if "cpu" in entry and entry["cpu"]["usageNanoCores"] not in rates:
            rates.append(entry["cpu"]["usageNanoCores"])

    assert rates[0] == 0
    assert all(rate in {49_999_999, 50_000_000} for rate in rates[1:])
    assert rates[1:]


def test_cpu_and_memory_only() -> None:
    """only_cpu_and_memory=true leaves cpu, memory, swap, systemContainers; the full body has the rest; unknown values are ignored."""
    cluster, node = one_pod((NOW - 300) * SECOND)
    small, full = (
        json.loads(answer(node, "GET", f"/stats/summary?only_cpu_and_memory={flag}", "", cluster.now()).body) for flag in ("true", "no")
    )

    assert {"nodeName", "systemContainers", "startTime", "cpu", "memory", "swap"} == set(small["node"])
    assert {"podRef", "startTime", "containers", "cpu", "memory", "swap"} == set(small["pods"][0])
    assert {"name", "startTime", "cpu", "memory", "swap"} == set(small["pods"][0]["containers"][0])
    assert {"io", "network", "fs", "runtime", "rlimit"} == set(full["node"]) - set(small["node"])
    assert {"io", "network", "volume", "ephemeral-storage", "process_stats"} == set(full["pods"][0]) - set(small["pods"][0])
    assert {"io", "rootfs", "logs"} == set(full["pods"][0]["containers"][0]) - set(small["pods"][0]["containers"][0])


def test_volumes_are_told_as_far_as_drivers_tell_of_them() -> None:
    """Each has its claim; of a device only the size is known and the rest is 0; one without statistics, or without a volume, is not told;
    of an export all of it is seen; nothing is told before a volume was measured."""
    clock = ManualClock(NOW)
    cluster = SimulatedCluster(clock)
    node = cluster.add_node("n")
    cluster.add_claim("ns", "data", 2**30, used=2**20, growth=2**20)
    cluster.add_claim("ns", "device", 2**30, block=True)
    cluster.add_claim("ns", "export", 2**30, filesystem=2**40)
    cluster.add_claim("ns", "silent", 2**30, reports=False)
    cluster.add_claim("ns", "unbound", 2**30, bound=False)
    cluster.add_pod("ns", "p", "n", [ContainerSpec("c")], claims={name: name for _, name in cluster.claims})
    told = []
    for seconds in (30, 60):
        clock.advance(seconds)
        told.append(json.loads(summary(node, cluster.now()))["pods"][0].get("volume"))

    assert told[0] is None
    scratch, data, device, export = told[1]
    assert scratch["name"] == "scratch"
    assert [each["pvcRef"] for each in (data, device, export)] == [
        {"name": name, "namespace": "ns"} for name in ("data", "device", "export")
    ]
    assert (data["usedBytes"], data["availableBytes"], data["capacityBytes"]) == (61 * 2**20, 2**30 - 61 * 2**20, 2**30)
    assert data["inodesFree"] + data["inodesUsed"] == data["inodes"]
    assert {name: value for name, value in device.items() if name not in {"time", "name", "pvcRef"} and value} == {"capacityBytes": 2**30}
    assert export["capacityBytes"] == 2**40


def test_pressure_is_told_where_the_kernel_tells_it() -> None:
    """On a host of cgroup v1 all is 0. Elsewhere counters grow, shares are percentages, and what all wait for is less than what some do."""
    cluster = SimulatedCluster(ManualClock(NOW))
    for name, pressure in (("v1", False), ("v2", True)):
        cluster.add_node(name, pressure=pressure)
        cluster.add_pod("ns", name, name, [ContainerSpec("c", BURNER)], started=(NOW - 600) * SECOND)
    none, some = (json.loads(summary(node, cluster.now()))["pods"][0]["containers"][0]["cpu"]["psi"] for node in cluster.nodes.values())

    assert none == {kind: {"total": 0, "avg10": 0, "avg60": 0, "avg300": 0} for kind in ("full", "some")}
    assert some["some"]["total"] > some["full"]["total"] > 0
    assert 100 > some["some"]["avg60"] > some["full"]["avg60"] > 0


def test_a_summary_is_indented_by_one_space() -> None:
    """go-restful writes the summary indented; sizes and parsers of readers meet the real thing."""
    cluster, node = one_pod((NOW - 300) * SECOND)

    assert summary(node, cluster.now()).startswith(b'{\n "node": {\n  "nodeName": "n",\n  "systemContainers": [\n')


def test_a_restart_begins_the_counter_anew() -> None:
    """After a restart the start is later and the counter small, while the node's and the pod's own counters go on."""
    cluster, node = one_pod((NOW - 3600) * SECOND)
    before = (node.cpu_ns(cluster.now()), node.pods["default", "web-0"].cpu_ns(cluster.now()))
    run = cluster.restart_container("default", "web-0", "a")
    later = cluster.now() + 20 * SECOND

    assert (run.restarts, run.cpu_ns(later)) == (1, SECOND)
    assert node.cpu_ns(later) > before[0]
    assert node.pods["default", "web-0"].cpu_ns(later) == before[1] + SECOND


def test_a_deleted_pod_is_not_reported_and_the_node_keeps_its_count() -> None:
    """What a pod used stays in the node's counter, at once and long after the pod was folded away."""
    clock = ManualClock(NOW)
    cluster = SimulatedCluster(clock)
    node = cluster.add_node("n", system=Load(cpu=0, memory=0))
    for name in ("a", "b"):
        cluster.add_pod("default", name, "n", [ContainerSpec("c", BURNER)], started=(NOW - 100) * SECOND)
    cluster.delete_pod("default", "a")
    clock.advance(1000)
    cluster.delete_pod("default", "b")

    assert "container_start_time_seconds" not in resource_metrics(node, cluster.now())
    assert node.cpu_ns(cluster.now()) == 5 * SECOND + 55 * SECOND


@pytest.mark.parametrize(
    ("fault", "status", "pace"),
    [
        (Fault.UNAUTHORIZED, 401, "now"),
        (Fault.FORBIDDEN, 403, "now"),
        (Fault.NOT_FOUND, 404, "now"),
        (Fault.BROKEN, 500, "now"),
        (Fault.GARBAGE, 200, "now"),
        (Fault.HANG, 200, "never"),
        (Fault.DRIP, 200, "drip"),
    ],
)
def test_faults(fault: Fault, status: int, pace: str) -> None:
    """Each fault answers as it is named, on both paths."""
    cluster, node = one_pod((NOW - 300) * SECOND)
    cluster.set_fault(fault)
    answers = [answer(node, "GET", path, "", cluster.now()) for path in ("/metrics/resource", "/stats/summary")]

    assert [(status, pace)] * 2 == [(a.status, a.pace) for a in answers]


def test_a_token_is_asked_for_when_set() -> None:
    """With a token the kubelet answers 401 to everybody who does not show it."""
    cluster, node = one_pod((NOW - 300) * SECOND)
    statuses = [answer(node, "GET", "/metrics/resource", shown, cluster.now(), token="s").status for shown in ("", "Bearer x", "Bearer s")]

    assert statuses == [401, 401, 200]


def test_the_same_seed_makes_the_same_cluster() -> None:
    """Everything follows from seed and time; another seed is another cluster."""
    bodies = []
    for seed in (7, 7, 8):
        cluster = generate(ManualClock(NOW), nodes=3, pods=10, containers=2, seed=seed)
        bodies.append([resource_metrics(node, cluster.now()) for node in cluster.nodes.values()])

    assert bodies[0] == bodies[1]
    assert bodies[0] != bodies[2]


def test_a_generated_cluster_has_the_size_that_was_asked_for() -> None:
    """Nodes, pods a node and containers a pod are as asked, and usage fits the machines."""
    cluster = generate(ManualClock(NOW), nodes=4, pods=30, containers=2)
    rates = [
        (node.cpu_ns(cluster.now() + 60 * SECOND) - node.cpu_ns(cluster.now())) / 60 / node.cpu_allocatable
        for node in cluster.nodes.values()
    ]

    assert [len(node.pods) for node in cluster.nodes.values()] == [30] * 4
    assert {2} == {len(pod.containers) for pod in cluster.pods.values()}
    assert all(0.02 < rate < 0.95 for rate in rates)
