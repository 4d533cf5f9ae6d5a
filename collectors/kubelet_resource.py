"""The kubelet's light endpoint, /metrics/resource: CPU and memory of the node and of every container.

Its families and labels: k8s.io/kubernetes pkg/kubelet/metrics/collectors/resource_metrics.go. A kubelet that fails inside answers
200 with only `scrape_error 1`.
"""

import re
from typing import NamedTuple

import httpx

from collectors._base import Batch, Cause, CollectError, PodSamples, Sample, Target
from collectors._exposition import parse_labels
from collectors._transport import fetch

BODY_LIMIT = 4 * 1024 * 1024
"""A node of 500 pods with 4 containers each answers with about 1.5 MB."""
_MAX_INT64 = 2**63 - 1

# One pass over the body: scope, family, label text, value, stamp; or, in the last group, a line that begins so and goes on otherwise.
_LINES = re.compile(
    r"^(container|node)_(cpu_usage_seconds_total|memory_working_set_bytes|start_time_seconds|swap_usage_bytes)"
    r"(?:(?:[ \t]*\{(.*)\})?[ \t]+([-+0-9.eE]+)(?:[ \t]+([-+]?[0-9]+))?[ \t\r]*$|([ \t{].*)$)",
    re.MULTILINE | re.ASCII,
)
# Every kubelet writes its labels so, and each label text stands in three families: it is read once.
_CANONICAL = re.compile(r'container="([^"\\]+)",namespace="([^"\\]+)",pod="([^"\\]+)"')
_CPU, _MEMORY = "cpu_usage_seconds_total", "memory_working_set_bytes"
_START, _SWAP = "start_time_seconds", "swap_usage_bytes"
_FAILED_INSIDE = re.compile(r"^(?:resource_)?scrape_error(?:\{\})? 1(?:\.0)?\s*$", re.MULTILINE)

Series = tuple[str, str, str]
"""(namespace, pod, container); ("", "", "") is the node itself."""
_NODE: Series = ("", "", "")


class Reading(NamedTuple):
    """One value of a series: nanoseconds or bytes, and when it was measured (Unix ns)."""

    value: int
    time: int


class KubeletResource:
    """Collector of /metrics/resource."""

    name = "kubelet_resource"
    interval = 15.0
    path = "/metrics/resource"

    async def collect(self, target: Target, client: httpx.AsyncClient, *, received: float) -> Batch:
        """Scrape once; see Collector.collect."""
        body = await fetch(client, target, target.path or self.path, limit=BODY_LIMIT)
        return parse(body, received=received)


def parse(body: bytes, *, received: float) -> Batch:
    """A Batch from the text of /metrics/resource. `received` (Unix seconds) stamps samples that carry no time.

    Lines that break the grammar, or carry NaN, infinite, negative or overlarge values, are dropped and counted. Raises CollectError
    if nothing usable is left.
    """
    text = body.decode("utf-8", "replace")
    readings = _Readings()
    now = int(received * 1e9)
    known: dict[str, Series | None] = {}
    for scope, family, labels, value, stamp, _odd in _LINES.findall(text):
        if scope == "node":
            series: Series | None = _NODE
        elif labels in known:
            series = known[labels]
        else:
            series = known[labels] = _series(labels)
        number = _integer(family, value)
        time = now if not stamp else int(stamp[:20]) * 1_000_000
        if series is None or number is None or not 0 <= time <= _MAX_INT64:
            readings.dropped += 1
        else:
            readings.add(family, series, Reading(number, time))
    node = readings.sample(_NODE, "")
    pods = readings.pods()
    if node is None and not pods:
        if _FAILED_INSIDE.search(text):
            raise CollectError(Cause.PAYLOAD, "the kubelet reports scrape_error 1 and no values", "see the kubelet's log")
        raise CollectError(Cause.PAYLOAD, f"no usable line in {len(body)} bytes", "does a kubelet listen on that port?")
    return Batch(node=node, pods=pods, dropped=readings.dropped)


def _series(text: str) -> Series | None:
    """Whose line it is, by its label text; None if it cannot be read, lacks a label, or is the pause container's."""
    canonical = _CANONICAL.fullmatch(text)
    if canonical is not None:
        container, namespace, pod = canonical.groups()
    else:
        labels = parse_labels(text) or {}
        container, namespace, pod = labels.get("container", ""), labels.get("namespace", ""), labels.get("pod", "")
    return (namespace, pod, container) if namespace and pod and container and container != "POD" else None


def _integer(family: str, text: str) -> int | None:
    """The value in nanoseconds or bytes, None where it cannot be one: no number, negative, over int64, a start before 1970."""
    try:
        value = float(text)
    except ValueError:
        return None
    scaled = value if family in {_MEMORY, _SWAP} else value * 1e9
    if not 0 <= scaled <= _MAX_INT64 or (family == _START and scaled < 1):  # the product of a finite value may be infinite
        return None
    return round(scaled)


class _Readings:
    """What a body says, by series. Two series of the same name in one body are two instances of a container, of which one is stale."""

    def __init__(self) -> None:
        self.dropped = 0
        self._cpu: dict[Series, Reading] = {}
        self._memory: dict[Series, Reading] = {}
        self._started: dict[Series, Reading] = {}
        self._swap: dict[Series, Reading] = {}
        self._rival_memory: dict[Series, list[Reading]] = {}

    def add(self, family: str, series: Series, reading: Reading) -> None:
        """Take a reading; of two CPU readings the newer instance stays: the later stamp, then the smaller counter."""
        if family == _CPU:
            rival = self._cpu.get(series)
            if rival is None or (reading.time, -reading.value) > (rival.time, -rival.value):
                self._cpu[series] = reading
        elif family == _MEMORY:
            if series in self._memory:
                self._rival_memory.setdefault(series, [self._memory[series]]).append(reading)
            self._memory[series] = reading
        elif family == _SWAP:
            self._swap[series] = reading
        else:
            rival = self._started.get(series)
            if rival is None or reading.value > rival.value:
                self._started[series] = reading

    def sample(self, series: Series, name: str) -> Sample | None:
        """The instance that won: its CPU, and the memory that was measured with it (kubelets stamp both alike)."""
        cpu, memory = self._cpu.get(series), self._memory.get(series)
        started, swap = self._started.get(series), self._swap.get(series)
        if cpu is None and memory is None:
            return None
        rivals = self._rival_memory.get(series)
        if rivals is not None and cpu is not None:
            memory = min(rivals, key=lambda rival: abs(rival.time - cpu.time))
        return Sample(
            name=name,
            cpu=cpu.value if cpu else None,
            cpu_time=cpu.time if cpu else 0,
            memory=memory.value if memory else None,
            memory_time=memory.time if memory else 0,
            started=started.value if started else None,
            swap=swap.value if swap else None,
        )

    def pods(self) -> dict[tuple[str, str], PodSamples]:
        """Samples of containers, by (namespace, pod)."""
        grouped: dict[tuple[str, str], list[Sample]] = {}
        for series in {**self._cpu, **self._memory}:
            if series == _NODE:
                continue
            sample = self.sample(series, series[2])
            if sample is not None:
                grouped.setdefault(series[:2], []).append(sample)
        return {key: PodSamples(uid="", containers=tuple(samples)) for key, samples in grouped.items()}
