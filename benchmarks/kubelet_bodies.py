"""What the simulated kubelets of a benchmark answer: the bodies of a kubelet v1.37, made for a fraction of what it costs to read them.

A body is text that never changes, with slots. A slot is filled anew when its cgroup was looked at since the body was last asked for, for a
real kubelet's values and times stand still from one look to the next. `app/simulation` says the same in the clearest form; tests compare.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property, lru_cache, partial
from typing import Any
from zlib import crc32

import msgspec
from msgspec import Struct

from app.simulation.exposition import FAMILIES, go_float
from benchmarks.plan import PAGE, SECOND, Load, Plan

_SHORTEST_MS = 10_000
_LONGEST_MS = 20_000
_MS = 10**6
_MINUTE = 60 * SECOND
_PLAIN_BELOW = 10**6 * SECOND
"""From a million seconds on Go writes a float with an exponent, and Python another one."""

_limit = lru_cache(go_float)


class Look(Struct, gc=False):
    """What a look at a cgroup showed: core-nanoseconds `cpu` and a working set of `memory` bytes, at `time`; the next is due at `until`."""

    time: int
    until: int
    cpu: int
    memory: int


class Cgroup:
    """A container, a pod, a node or one of its services. It is looked at every 10 to 20 s, with a phase of its own.

    `rate` is nanocores, `started` Unix ns, `limit` a memory limit or capacity in bytes, None without one.
    """

    __slots__ = ("_first", "_memory", "_offset", "_period", "_swing", "limit", "rate", "started")

    def __init__(self, name: str, parts: Iterable[tuple[int, Load]], limit: int | None = None) -> None:
        """`parts` are the loads in it, each with the Unix ns at which it began. `name` decides period and phase."""
        parts = list(parts)
        number = crc32(name.encode())
        self.started = min(began for began, _ in parts)
        self.limit = limit
        self.rate = sum(each.cpu for _, each in parts)
        self._offset = sum(each.cpu * began for began, each in parts)
        self._memory = sum(each.memory for _, each in parts)
        # Whole milliseconds, as stamps are: so whoever reads the stamps knows the rate exactly.
        self._period = (_SHORTEST_MS + number * 7919 % (_LONGEST_MS - _SHORTEST_MS)) * _MS
        self._first = (max(began for began, _ in parts) + number % self._period) // _MS * _MS
        self._swing = number % 32

    def look(self, now: int) -> Look:
        """The last look at or before Unix ns `now`."""
        number = (now - self._first) // self._period
        time = self._first + number * self._period
        cpu = (self.rate * time - self._offset) // SECOND
        return Look(time, time + self._period, cpu, self._memory + (number * 7 + self._swing) % 32 * PAGE)


Fill = Callable[[list[str], Look], None]
"""Writes what a look showed into the slots of one cgroup."""


class Body:
    """Text in parts, and for each cgroup in it what fills its slots."""

    def __init__(self, parts: list[str], fills: Mapping[Cgroup, Fill]) -> None:
        self._parts = parts
        self._fills = list(fills.items())
        self._due = [0] * len(fills)

    def at(self, now: int) -> bytes:
        """The body at Unix ns `now`."""
        due, parts = self._due, self._parts
        for index, until in enumerate(due):
            if until <= now:
                cgroup, fill = self._fills[index]
                look = cgroup.look(now)
                fill(parts, look)
                due[index] = look.until
        return "".join(parts).encode()


class Pod(Struct, gc=False):
    """A pod of one node, with its cgroups. `uid` is what kube-apiserver calls it."""

    namespace: str
    name: str
    uid: str
    started: int
    cgroup: Cgroup
    containers: dict[str, Cgroup]


class NodeBodies:
    """One node of a plan: `resource`, `summary` and `full_summary` are its bodies, made when they are first asked for.

    `uids` are those of the pods by "namespace/name", where they differ from the plan's own.
    """

    def __init__(self, plan: Plan, node: int, uids: Mapping[str, str]) -> None:
        self.name = plan.node_name(node)
        self._booted = plan.booted
        self._pods: list[Pod] = []
        everything: list[tuple[int, Load]] = []
        for pod in plan.pods_of(node):
            where = f"{pod.namespace}/{pod.name}"
            parts = {name: (pod.created_ns(name), pod.load(name)) for name in pod.containers}
            everything += parts.values()
            containers = {name: Cgroup(f"{where}/{name}", [part], pod.memory_limit(name)) for name, part in parts.items()}
            cgroup = Cgroup(where, parts.values())
            self._pods.append(Pod(pod.namespace, pod.name, uids.get(where) or pod.uid, pod.started, cgroup, containers))
        system = (plan.booted * SECOND, plan.system_load)
        self._node = Cgroup(self.name, [system, *everything], plan.capacity.memory)
        self._services = {
            "kubelet": Cgroup(f"{self.name}/kubelet", [(system[0], Load(cpu=plan.system_load.cpu // 5, memory=90 * 2**20))]),
            "runtime": Cgroup(f"{self.name}/runtime", [(system[0], Load(cpu=plan.system_load.cpu // 4, memory=120 * 2**20))]),
            "pods": Cgroup(f"{self.name}/pods", everything or [(system[0], Load(cpu=0, memory=0))], plan.capacity.memory),
        }

    @cached_property
    def resource(self) -> Body:
        """/metrics/resource: families and lines sorted, Go's number format, millisecond stamps."""
        lines: dict[str, list[tuple[str, Cgroup]]] = {"container": [], "pod": [], "node": [("", self._node)]}
        for pod in self._pods:
            labels = f'namespace="{pod.namespace}",pod="{pod.name}"}}'
            lines["container"] += [(f'{{container="{name}",{labels}', cgroup) for name, cgroup in pod.containers.items()]
            lines["pod"].append((f"{{{labels}", pod.cgroup))
        for rows in lines.values():
            rows.sort(key=lambda row: row[0])
        text = _Text()
        slots: dict[Cgroup, list[int]] = {}
        for family, kind, description in FAMILIES:
            text.say(f"# HELP {family} {description}\n# TYPE {family} {kind}\n")
            for labels, cgroup in lines.get(family.partition("_")[0], ()):
                if family == "container_start_time_seconds":
                    text.say(f"{family}{labels} {go_float(cgroup.started / 1e9)}\n")
                elif family != "container_swap_limit_bytes" or cgroup.limit is not None:
                    text.say(f"{family}{labels} ")
                    slots.setdefault(cgroup, []).append(text.slot())
        text.say("resource_scrape_error 0\n")
        return Body(text.parts, {cgroup: partial(_fill_lines, indices, cgroup.limit) for cgroup, indices in slots.items()})

    @cached_property
    def summary(self) -> Body:
        """/stats/summary?only_cpu_and_memory=true: one space of indentation, times in whole seconds."""
        return self._summary(full=False)

    @cached_property
    def full_summary(self) -> Body:
        """/stats/summary, with network, disks, volumes and pressure."""
        return self._summary(full=True)

    def _summary(self, *, full: bool) -> Body:
        blocks: list[tuple[Cgroup, str, int | None]] = []

        def stats(cgroup: Cgroup, kind: str, swap: int | None = None) -> dict[str, Any]:
            blocks.append((cgroup, kind, swap))
            return {_BLOCK: len(blocks) - 1}

        def entry(name: str, cgroup: Cgroup, kind: str, swap: int | None = None) -> dict[str, Any]:
            return {"name": name, "startTime": _time(cgroup.started), **stats(cgroup, kind, swap)}

        services = [entry(name, cgroup, "service") for name, cgroup in self._services.items()]
        node = {
            "nodeName": self.name,
            "systemContainers": services,
            "startTime": _second(self._booted),
            **stats(self._node, "node", swap=0),
        }
        pods = [
            {
                "podRef": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
                "startTime": _second(pod.started),
                "containers": [entry(name, cgroup, "container", cgroup.limit) for name, cgroup in pod.containers.items()],
                **stats(pod.cgroup, "pod"),
            }
            for pod in self._pods
        ]
        text = _Text()
        fills: dict[Cgroup, Fill] = {}
        pieces = iter(_BLOCKS.split(_pretty({"node": node, "pods": pods})))
        text.say(next(pieces))
        for indent, number, static in zip(pieces, pieces, pieces, strict=True):
            cgroup, kind, swap = blocks[int(number)]
            limited = cgroup.limit is not None
            if full:
                form = _full_block(indent, kind, limited=limited, swap=swap)
                fills[cgroup] = partial(_fill_full_block, text.slot(), form, cgroup)
            else:
                form = _block(indent, limited=limited, swap=swap)
                fills[cgroup] = partial(_fill_block, text.slot(), form, cgroup)
            text.say(static)
        return Body(text.parts, fills)


class _Text:
    """Text that is written once, with slots that stay open."""

    def __init__(self) -> None:
        self.parts = [""]

    def say(self, text: str) -> None:
        self.parts[-1] += text

    def slot(self) -> int:
        """The index in `parts` of a new slot."""
        self.parts += ("", "")
        return len(self.parts) - 2


def _fill_lines(slots: Sequence[int], limit: int | None, parts: list[str], look: Look) -> None:
    """The slots of a cgroup are in the order of the families: CPU, memory, the limit of swap if there is one, swap."""
    end = f" {look.time // _MS}\n"
    parts[slots[0]] = (repr(look.cpu / 1e9) if look.cpu < _PLAIN_BELOW else go_float(look.cpu / 1e9)) + end
    parts[slots[1]] = _bytes(look.memory) + end
    parts[slots[-1]] = "0" + end
    if limit is not None and len(slots) > 3:
        parts[slots[2]] = _limit(limit) + end


def _bytes(amount: int) -> str:
    """What go_float writes for whole pages of a MiB and more, which are never a digit and zeros: 5.4300672e+07."""
    digits = str(amount)
    return f"{digits[0]}.{digits[1:].rstrip('0')}e+{len(digits) - 1:02d}"


_BLOCK = "stats"
_BLOCKS = re.compile(rf'^( *)"{_BLOCK}": (\d+)', re.MULTILINE)
_CALM = {"total": 0, "avg10": 0, "avg60": 0, "avg300": 0}
_PSI = {"full": _CALM, "some": _CALM}


def _pretty(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode()


@lru_cache
def _block(indent: str, *, limited: bool, swap: int | None) -> str:
    """CPU, memory and swap of one cgroup with that indentation: a %-form of what _fill_block gives, in its order."""
    swappable = {} if swap is None else {"swapAvailableBytes": swap}
    cpu = {"time": "%s", "usageNanoCores": "%d", "usageCoreNanoSeconds": "%d", "psi": _PSI}
    available = {"availableBytes": "%d"} if limited else {}
    used = {"usageBytes": "%d", "workingSetBytes": "%d", "rssBytes": "%d", "pageFaults": "%d", "majorPageFaults": 0}
    stats = {
        "cpu": cpu,
        "memory": {"time": "%s", **available, **used, "psi": _PSI},
        "swap": {"time": "%s", **swappable, "swapUsageBytes": 0},
    }
    lines = _pretty(stats).splitlines()
    return "\n".join(indent[1:] + line for line in lines[1:-1]).replace('"%d"', "%d")


def _fill_block(slot: int, form: str, cgroup: Cgroup, parts: list[str], look: Look) -> None:
    time, memory, limit = _time(look.time), look.memory, cgroup.limit
    used = (memory, memory, memory, memory // PAGE, time)
    if limit is None:
        parts[slot] = form % (time, cgroup.rate, look.cpu, time, *used)
    else:
        parts[slot] = form % (time, cgroup.rate, look.cpu, time, max(limit - memory, 0), *used)


_STALLED = {
    "full": {"total": 1_234_567, "avg10": 0.02, "avg60": 0.03, "avg300": 0.01},
    "some": {"total": 7_654_321, "avg10": 0.11, "avg60": 0.17, "avg300": 0.09},
}
"""As on a host of cgroup v2. That it never changes costs its readers no less."""

_ROOM = {"availableBytes": 73_496_670_208, "capacityBytes": 270_553_174_016}
_INODES = {"inodesFree": 16_191_814, "inodes": 16_777_216}
_NUMBERS = re.compile(r'"(%\(\w+\)d)"')


def _files(used: int, time: str = "%(time)s") -> dict[str, Any]:
    return {"time": time, **_ROOM, "usedBytes": used, **_INODES, "inodesUsed": used // PAGE}


def _network(names: Sequence[str]) -> dict[str, Any]:
    interfaces = [{"name": name, "rxBytes": "%(received)d", "rxErrors": 0, "txBytes": "%(sent)d", "txErrors": 0} for name in names]
    return {"time": "%(time)s", **interfaces[0], "interfaces": interfaces}


_MORE: Mapping[str, Mapping[str, Any]] = {
    "service": {},
    "container": {"rootfs": _files(20_480), "logs": _files(PAGE)},
    "pod": {
        "network": _network(("eth0",)),
        "volume": [
            {**_files(PAGE, "%(minute)s"), "name": "scratch"},
            {**_files(3 * PAGE, "%(minute)s"), "name": "kube-api-access"},
        ],
        "ephemeral-storage": _files(12 * PAGE),
        "process_stats": {"process_count": 3},
    },
    "node": {
        "network": _network(("eth0", "cni0")),
        "fs": _files(24_296_624_128),
        "runtime": {"imageFs": _files(1_572_864), "containerFs": _files(1_572_864)},
        "rlimit": {"time": "%(time)s", "maxpid": 32_768, "curproc": 192},
    },
}
"""What the full form tells beyond CPU, memory, waiting for disks and swap, by what it is about."""


@lru_cache
def _full_block(indent: str, kind: str, *, limited: bool, swap: int | None) -> str:
    """All that the full form tells of one cgroup: a %-form of what _fill_full_block gives, by names."""
    swappable = {} if swap is None else {"swapAvailableBytes": swap}
    used = dict.fromkeys(("usageBytes", "workingSetBytes", "rssBytes"), "%(memory)d")
    stats = {
        "cpu": {"time": "%(time)s", "usageNanoCores": "%(rate)d", "usageCoreNanoSeconds": "%(cpu)d", "psi": _STALLED},
        "memory": {
            "time": "%(time)s",
            **({"availableBytes": "%(available)d"} if limited else {}),
            **used,
            "pageFaults": "%(faults)d",
            "majorPageFaults": 0,
            "psi": _STALLED,
        },
        "io": {"time": "%(time)s", "psi": _STALLED},
        **_MORE[kind],
        "swap": {"time": "%(time)s", **swappable, "swapUsageBytes": 0},
    }
    lines = _pretty(stats).splitlines()
    return _NUMBERS.sub(r"\1", "\n".join(indent[1:] + line for line in lines[1:-1]))


def _fill_full_block(slot: int, form: str, cgroup: Cgroup, parts: list[str], look: Look) -> None:
    parts[slot] = form % {
        "time": _time(look.time),
        "minute": _time(look.time // _MINUTE * _MINUTE),
        "rate": cgroup.rate,
        "cpu": look.cpu,
        "memory": look.memory,
        "available": max((cgroup.limit or 0) - look.memory, 0),
        "faults": look.memory // PAGE,
        "received": look.cpu // 5_000,
        "sent": look.cpu // 15_000,
    }


def _time(t: int) -> str:
    """Unix ns as RFC 3339, floored to the second, as meta/v1 Time is."""
    return _second(t // SECOND)


@lru_cache(maxsize=4096)
def _second(unix: int) -> str:
    return datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
