"""/stats/summary as a kubelet v1.37 writes it: stats/v1alpha1, one space of indentation, whole-second times.

The source of the form is a recording of a real kubelet on a host that mounts cgroup v1, where all PSI is zeros, and Kubernetes'
pkg/kubelet/server/stats.
"""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

from app.simulation.curves import MINUTE, PAGE, SECOND
from app.simulation.model import SimulatedClaim, SimulatedContainer, SimulatedNode, SimulatedPod

CONTENT_TYPE = "application/json"

Block = dict[str, Any]

_CALM = {"total": 0, "avg10": 0, "avg60": 0, "avg300": 0}
_NO_STALLS = msgspec.Raw(msgspec.json.encode({"full": _CALM, "some": _CALM}))
_DISK: Block = {"availableBytes": 73_496_670_208, "capacityBytes": 270_553_174_016}
_INODES: Block = {"inodesFree": 16_191_814, "inodes": 16_777_216}
_NODE_INTERFACES = ("eth0", "cni0")
_BYTES_AN_INODE = 16_384


def summary(node: SimulatedNode, t: int, *, only_cpu_and_memory: bool = False) -> bytes:
    """The body at Unix ns `t`. `only_cpu_and_memory` leaves CPU, memory and swap, as the query parameter of that name does."""
    full = not only_cpu_and_memory
    body = {"node": _node(node, t, full), "pods": [_pod(node, pod, t, full) for pod in node.pods.values()]}
    return msgspec.json.format(msgspec.json.encode(body), indent=1)


def _node(node: SimulatedNode, t: int, full: bool) -> Block:
    looked, before = node.housekeeping.latest(t), node.housekeeping.previous(t)
    block: Block = {
        "nodeName": node.name,
        "systemContainers": _system_containers(node, looked, before, full),
        "startTime": _time(node.booted),
    }
    if looked is None:
        return block
    cpu = _Cpu(looked, node.cpu_ns(looked), before, node.cpu_ns(before) if before else 0, told=node.pressure)
    block["cpu"] = cpu.block()
    block["memory"] = _memory(cpu, node.memory_at(looked), node.memory_capacity)
    if full:
        block["io"] = cpu.io()
        block["network"] = _network(cpu, _NODE_INTERFACES)
        block["fs"] = _files(looked, 24_296_624_128, 585_402)
        image = _files(t, 1_572_864, 48)
        block["runtime"] = {"imageFs": image, "containerFs": image}
        block["rlimit"] = {"time": _time(t), "maxpid": 32_768, "curproc": 120 + 2 * len(node.pods)}
    block["swap"] = {"time": _time(looked), "swapAvailableBytes": 0, "swapUsageBytes": 0}
    return block


def _system_containers(node: SimulatedNode, looked: int | None, before: int | None, full: bool) -> list[Block]:
    """The kubelet's own cgroup, the runtime's, and the one of all pods. The kubelet's start is how readers know its age."""
    if looked is None:
        return []
    system = (node.system.cpu_ns(looked), node.system.cpu_ns(before) if before else 0, node.system.memory_at(looked))
    pods = (node.pods_cpu_ns(looked), node.pods_cpu_ns(before) if before else 0, node.pods_memory_at(looked))
    parts = (
        ("kubelet", node.kubelet_started, system[0] // 5, system[1] // 5, system[2] // 10),
        ("runtime", node.booted, system[0] // 4, system[1] // 4, system[2] // 8),
        ("pods", node.booted, *pods),
    )
    blocks: list[Block] = []
    for name, started, counter, counter_before, memory in parts:
        cpu = _Cpu(looked, counter, before, counter_before, told=node.pressure)
        block: Block = {"name": name, "startTime": _time(started), "cpu": cpu.block()}
        block["memory"] = _memory(cpu, memory, node.memory_allocatable if name == "pods" else None)
        if full:
            block["io"] = cpu.io()
        block["swap"] = {"time": _time(looked), "swapUsageBytes": 0}
        blocks.append(block)
    return blocks


def _pod(node: SimulatedNode, pod: SimulatedPod, t: int, full: bool) -> Block:
    block: Block = {"podRef": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid}, "startTime": _time(pod.created)}
    running = [run for run in pod.containers.values() if run.ended is None or run.ended > t]
    block["containers"] = [_container(run, t, full, told=node.pressure) for run in running]
    looked, before = pod.housekeeping.latest(t), pod.housekeeping.previous(t)
    if looked is None:
        return block
    cpu = _Cpu(looked, pod.cpu_ns(looked), before, pod.cpu_ns(before) if before else 0, told=node.pressure)
    block["cpu"] = cpu.block()
    block["memory"] = _memory(cpu, pod.memory_at(looked), None)
    if full:
        block["io"] = cpu.io()
        # A pod on the host's network reports the node's own counters: the trap that readers must know.
        of_node = _Cpu(looked, node.cpu_ns(looked), None, 0, told=False)
        block["network"] = _network(of_node, _NODE_INTERFACES) if pod.host_network else _network(cpu, ("eth0",))
        if (measured := _volumes_measured(pod, t)) is not None:
            block["volume"] = [{**_files(measured, 4096, 1), "name": "scratch"}, *_claims(pod, measured)]
        block["ephemeral-storage"] = _files(t, 28_672 * len(pod.containers), 11 * len(pod.containers))
        block["process_stats"] = {"process_count": len(block["containers"])}
    block["swap"] = {"time": _time(looked), "swapUsageBytes": 0}
    return block


def _container(run: SimulatedContainer, t: int, full: bool, *, told: bool) -> Block:
    block: Block = {"name": run.name, "startTime": _time(run.started)}
    looked, before = run.housekeeping.latest(t), run.housekeeping.previous(t)
    if looked is None:
        return block
    limit = run.spec.memory_limit
    cpu = _Cpu(looked, run.cpu_ns(looked), before, run.cpu_ns(before) if before else 0, told=told)
    block["cpu"] = cpu.block()
    block["memory"] = _memory(cpu, run.memory_at(looked), limit)
    if full:
        block["io"] = cpu.io()
        block["rootfs"] = _files(t - 9 * SECOND, 20_480, 8)
        block["logs"] = _files(t, 4096, 1)
    swap = {"time": _time(looked), "swapAvailableBytes": limit, "swapUsageBytes": 0}
    block["swap"] = swap if limit is not None else {"time": _time(looked), "swapUsageBytes": 0}
    return block


class _Cpu:
    """The counter of a cgroup at its last look, and what follows from it: who works more also waits more and sends more."""

    def __init__(self, looked: int, counter: int, before: int | None, counter_before: int, *, told: bool) -> None:
        """`told` is whether the kernel tells of stalls."""
        self.looked = looked
        self.counter = counter
        # usageNanoCores is preset to 0 and stays so until there are two looks to make a rate of.
        self._rate = (counter - counter_before) * SECOND // (looked - before) if before else 0
        self._told = told

    def block(self) -> Block:
        return {
            "time": _time(self.looked),
            "usageNanoCores": self._rate,
            "usageCoreNanoSeconds": self.counter,
            "psi": self.stalls(20),
        }

    def io(self) -> Block:
        return {"time": _time(self.looked), "psi": self.stalls(300)}

    def stalls(self, share: int) -> object:
        """Pressure stall information of tasks that wait for one `share`-th of the time that they work, and together for a quarter of it."""
        if not self._told:
            return _NO_STALLS
        hundredths = min(self._rate // share * 10_000 // SECOND, 9_900)
        waited = self.counter // share
        return {
            kind: {"total": waited // part, **dict.fromkeys(("avg10", "avg60", "avg300"), _percent(hundredths // part))}
            for kind, part in (("full", 4), ("some", 1))
        }


def _percent(hundredths: int) -> float:
    """As Go writes a float64: without a fraction where there is none."""
    return hundredths / 100 if hundredths % 100 else hundredths // 100


def _memory(cpu: _Cpu, working_set: int, limit: int | None) -> Block:
    """availableBytes is limit - working set, and only there with a limit. The kernel's uint64 does not go below 0; nor do we."""
    available = {} if limit is None else {"availableBytes": max(limit - working_set, 0)}
    rest = {"usageBytes": working_set, "workingSetBytes": working_set, "rssBytes": working_set * 98 // 100 // PAGE * PAGE}
    return {
        "time": _time(cpu.looked),
        **available,
        **rest,
        "pageFaults": working_set // PAGE,
        "majorPageFaults": 0,
        "psi": cpu.stalls(1000),
    }


def _network(cpu: _Cpu, names: tuple[str, ...]) -> Block:
    """A core that is busy brings 200 kB/s in and sends 66 kB/s out on the first interface, and a hundredth of that on the others."""
    interfaces: list[Block] = []
    for index, name in enumerate(names):
        share = 100 if index else 1
        received, sent = cpu.counter // (5_000 * share), cpu.counter // (15_000 * share)
        interfaces.append({"name": name, "rxBytes": received, "rxErrors": 0, "txBytes": sent, "txErrors": 0})
    return {"time": _time(cpu.looked), **interfaces[0], "interfaces": interfaces}


def _files(at: int, used: int, inodes_used: int) -> Block:
    """Capacity and free space are the node's, also in a container's block (seen in the recordings)."""
    return {"time": _time(at), **_DISK, "usedBytes": used, **_INODES, "inodesUsed": inodes_used}


def _claims(pod: SimulatedPod, measured: int) -> list[Block]:
    """The claims that a pod mounts, as far as their drivers tell of them."""
    return [
        {**_filesystem(claim, measured), "name": volume, "pvcRef": {"name": claim.name, "namespace": claim.namespace}}
        for volume, claim in pod.claims.items()
        if claim.reports and claim.bound
    ]


def _filesystem(claim: SimulatedClaim, measured: int) -> Block:
    """What statfs says. Of a block device only the size is known, and what is not known is written as 0."""
    used = 0 if claim.block else claim.used_at(measured)
    inodes = 0 if claim.block else claim.filesystem // _BYTES_AN_INODE
    inodes_used = min(11 + used // (4 * _BYTES_AN_INODE), inodes)
    return {
        "time": _time(measured),
        "availableBytes": 0 if claim.block else claim.filesystem - used,
        "capacityBytes": claim.filesystem,
        "usedBytes": used,
        "inodesFree": inodes - inodes_used,
        "inodes": inodes,
        "inodesUsed": inodes_used,
    }


def _volumes_measured(pod: SimulatedPod, t: int) -> int | None:
    """Volumes are measured by a loop of their own, once a minute, and not at all in the first body."""
    since = pod.created + MINUTE
    return None if t < since else since + (t - since) // MINUTE * MINUTE


def _time(t: int) -> str:
    """RFC 3339, floored to whole seconds, as meta/v1 Time is."""
    return _second(t // SECOND)


@lru_cache(maxsize=4096)
def _second(unix: int) -> str:
    return datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
