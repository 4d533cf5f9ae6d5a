"""The kubelet's light endpoint, /metrics/resource: CPU and memory of the node and of every container.

Its families and labels: k8s.io/kubernetes pkg/kubelet/metrics/collectors/resource_metrics.go. A kubelet that fails inside answers
200 with only `scrape_error 1`.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import httpx

from collectors._base import Batch, Cause, CollectError, PodSamples, Sample, Target
from collectors._exposition import parse_line
from collectors._transport import fetch

BODY_LIMIT = 16 * 1024 * 1024
_MAX_INT64 = 2**63 - 1

# One pass over the body. Container lines in the form that kubelets write give five groups; whatever else starts with one of the
# names falls into the sixth or eighth group and is read by the tolerant parser.
_LINES = re.compile(
    r"^(?:container_(cpu_usage_seconds_total|memory_working_set_bytes|start_time_seconds)"
    r'(?:\{container="([^"\\\n]*)",namespace="([^"\\\n]*)",pod="([^"\\\n]*)"\} ([0-9][0-9.e+]*)(?: ([0-9]+))?$|([ \t{].*)$)'
    r"|node_(cpu_usage_seconds_total|memory_working_set_bytes)([ \t{].*)$)",
    re.MULTILINE,
)
_CPU, _MEMORY, _START = "cpu_usage_seconds_total", "memory_working_set_bytes", "start_time_seconds"
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
    for name, series, value, stamp in _scan(text, readings):
        number = _integer(name, value)
        time = now if stamp is None else stamp * 1_000_000
        if number is None or not 0 <= time <= _MAX_INT64:
            readings.dropped += 1
        else:
            readings.add(name, series, Reading(number, time))
    node = readings.sample(_NODE, "")
    pods = readings.pods()
    if node is None and not pods:
        if _FAILED_INSIDE.search(text):
            raise CollectError(Cause.PAYLOAD, "the kubelet reports scrape_error 1 and no values", "see the kubelet's log")
        raise CollectError(Cause.PAYLOAD, f"no usable line in {len(body)} bytes", "does a kubelet listen on that port?")
    return Batch(node=node, pods=pods, dropped=readings.dropped)


def _scan(text: str, readings: "_Readings") -> Iterator[tuple[str, Series, float, int | None]]:
    """Every line of interest as (family, series, value, stamp in ms); lines that cannot be read are counted."""
    for family, container, namespace, pod, value, stamp, odd, node_family, node_rest in _LINES.findall(text):
        if value:
            try:
                yield family, (namespace, pod, container), float(value), int(stamp) if stamp else None
            except ValueError:
                readings.dropped += 1
            continue
        line = parse_line(f"x{odd or node_rest}")
        if line is None:
            readings.dropped += 1
        elif node_family:
            yield node_family, _NODE, line.value, line.stamp
        else:
            labels = line.labels
            yield family, (labels.get("namespace", ""), labels.get("pod", ""), labels.get("container", "")), line.value, line.stamp


def _integer(family: str, value: float) -> int | None:
    """The value in nanoseconds or bytes, None where it cannot be one: NaN, infinite, negative, over int64, a start before 1970."""
    scaled = value if family == _MEMORY else value * 1e9
    if not 0 <= scaled <= _MAX_INT64:  # false for NaN too; the product of a finite value may be infinite
        return None
    number = round(scaled)
    return None if family == _START and number == 0 else number


class _Readings:
    """What a body says, by series. Two series of the same name in one body are two instances of a container, of which one is stale."""

    def __init__(self) -> None:
        self.dropped = 0
        self._cpu: dict[Series, Reading] = {}
        self._memory: dict[Series, Reading] = {}
        self._started: dict[Series, Reading] = {}
        self._rival_memory: dict[Series, list[Reading]] = {}

    def add(self, family: str, series: Series, reading: Reading) -> None:
        """Take a reading; of two CPU readings the newer instance stays: the later stamp, then the smaller counter."""
        if series is not _NODE and (not all(series) or series[2] == "POD"):
            self.dropped += 1
            return
        if family == _CPU:
            rival = self._cpu.get(series)
            if rival is None or (reading.time, -reading.value) > (rival.time, -rival.value):
                self._cpu[series] = reading
        elif family == _MEMORY:
            if series in self._memory:
                self._rival_memory.setdefault(series, [self._memory[series]]).append(reading)
            self._memory[series] = reading
        else:
            rival = self._started.get(series)
            if rival is None or reading.value > rival.value:
                self._started[series] = reading

    def sample(self, series: Series, name: str) -> Sample | None:
        """The instance that won: its CPU, and the memory that was measured with it (kubelets stamp both alike)."""
        cpu, memory, started = self._cpu.get(series), self._memory.get(series), self._started.get(series)
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
        )

    def pods(self) -> dict[tuple[str, str], PodSamples]:
        """Samples of containers, by (namespace, pod)."""
        grouped: dict[tuple[str, str], list[Sample]] = {}
        for series in self._cpu.keys() | self._memory.keys():
            if series == _NODE:
                continue
            sample = self.sample(series, series[2])
            if sample is not None:
                grouped.setdefault(series[:2], []).append(sample)
        return {key: PodSamples(uid="", containers=tuple(samples)) for key, samples in grouped.items()}
