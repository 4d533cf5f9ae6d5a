"""The text of /metrics/resource read line by line, in whatever spelling and order the format allows: the reference of what a body says.

Its families and labels: k8s.io/kubernetes pkg/kubelet/metrics/collectors/resource_metrics.go. A kubelet that fails inside answers
200 with only `scrape_error 1`.
"""

import re
from sys import intern
from typing import NamedTuple

from collectors._base import Batch, Cause, CollectError, PodSamples, Sample
from collectors._exposition import parse_labels

MAX_INT64 = 2**63 - 1
CPU, MEMORY = "cpu_usage_seconds_total", "memory_working_set_bytes"
START, SWAP = "start_time_seconds", "swap_usage_bytes"

# One pass over the body: scope, family, label text, value, stamp; or, in the last group, a line that begins so and goes on otherwise.
_LINES = re.compile(
    rf"^(container|node)_({CPU}|{MEMORY}|{START}|{SWAP})"
    r"(?:(?:[ \t]*\{(.*)\})?[ \t]+([-+0-9.eE]+)(?:[ \t]+([-+]?[0-9]+))?[ \t\r]*$|([ \t{].*)$)",
    re.MULTILINE | re.ASCII,
)
# Every kubelet writes its labels so, and each label text stands in three families: it is read once.
_CANONICAL = re.compile(r'container="([^"\\]+)",namespace="([^"\\]+)",pod="([^"\\]+)"')
_FAILED_INSIDE = re.compile(r"^(?:resource_)?scrape_error(?:\{\})? 1(?:\.0)?\s*$", re.MULTILINE)

Series = tuple[str, str, str]
"""(namespace, pod, container); ("", "", "") is the node itself."""
NODE: Series = ("", "", "")

_STOPPED_AFTER = 60 * 10**9
"""Kubelets measure everything that lives every 10 to 20 s, also when they are slow within a minute: what is older has stopped."""


class Reading(NamedTuple):
    """One value of a series: nanoseconds or bytes; when it was measured (Unix ns), and whether the line told that."""

    value: int
    time: int
    stamped: bool


class Readings:
    """What lines say, by series.

    Two different readings of one series are of two instances of a container, one of them a leftover. Nothing but time tells which line is
    whose: neither their order nor which counter is smaller. So the newer reading counts if all others stopped; if not, that value is not
    told, and the sample is not whole. /stats/summary tells instances apart, for there each has its own start.
    """

    def __init__(self) -> None:
        self.dropped = 0
        self._readings: dict[str, dict[Series, Reading]] = {family: {} for family in (CPU, MEMORY, START, SWAP)}
        self._rivals: dict[Series, dict[str, list[Reading]]] = {}

    def add(self, family: str, series: Series, reading: Reading) -> None:
        """Take a reading."""
        first = self._readings[family].setdefault(series, reading)
        if first != reading:
            self._rivals.setdefault(series, {}).setdefault(family, [first]).append(reading)

    def node(self) -> Sample | None:
        """What is known of the node."""
        return self._sample(NODE, "")

    def pods(self) -> dict[tuple[str, str], PodSamples]:
        """Samples of containers, by (namespace, pod)."""
        grouped: dict[tuple[str, str], list[Sample]] = {}
        for series in {**self._readings[CPU], **self._readings[MEMORY]}:
            if series == NODE:
                continue
            sample = self._sample(series, series[2])
            if sample is not None:
                grouped.setdefault(series[:2], []).append(sample)
        return {key: PodSamples(uid="", containers=tuple(samples)) for key, samples in grouped.items()}

    def _sample(self, series: Series, name: str) -> Sample | None:
        """What is known of one container or the node; None without CPU and memory."""
        cpu, memory, started, swap = (readings.get(series) for readings in self._readings.values())
        rivals = self._rivals.get(series)
        if rivals is not None:
            cpu, memory, started, swap = _of_one_instance(rivals, cpu, memory, started, swap)
        if cpu is None and memory is None:
            return None
        # Whatever the kubelet's clock shows, values of which one or both carry no stamp are taken to have been measured together.
        memory_time = 0 if memory is None else memory.time if cpu is None or (cpu.stamped and memory.stamped) else cpu.time
        return Sample(
            name=name,
            cpu=cpu.value if cpu else None,
            cpu_time=cpu.time if cpu else 0,
            memory=memory.value if memory else None,
            memory_time=memory_time,
            started=started.value if started else None,
            swap=swap.value if swap else None,
            stamped=cpu is None or cpu.stamped,
        )


def read_lines(body: bytes, now: int) -> Batch:
    """A Batch from a body. `now` (Unix ns) stamps samples that carry no time.

    A last line without its line feed is dropped: it may have been cut within a number. Raises CollectError if nothing usable is left.
    """
    text, line_feed, cut = body.decode("utf-8", "replace").rpartition("\n")
    text += line_feed
    readings = take_lines(text, now)
    readings.dropped += len(_LINES.findall(cut))
    node, pods = readings.node(), readings.pods()
    if node is None and not pods:
        if _FAILED_INSIDE.search(text):
            raise CollectError(Cause.PAYLOAD, "the kubelet reports scrape_error 1 and no values", "see the kubelet's log")
        raise CollectError(Cause.PAYLOAD, f"no usable line in {len(body)} bytes", "does a kubelet listen on that port?")
    return Batch(node=node, pods=pods, dropped=readings.dropped)


def take_lines(text: str, now: int) -> Readings:
    """What whole lines say. Those that break the grammar, or carry NaN, infinite, negative or overlarge values, are dropped and counted."""
    readings = Readings()
    known: dict[str, Series | None] = {}
    for scope, family, labels, value, stamp, _odd in _LINES.findall(text):
        if scope == "node":
            series: Series | None = NODE
        elif labels in known:
            series = known[labels]
        else:
            series = known[labels] = read_series(labels)
        number = _integer(family, value)
        time = now if not stamp else int(stamp[:20]) * 1_000_000
        if series is None or number is None or not 0 <= time <= MAX_INT64:
            readings.dropped += 1
        else:
            readings.add(family, series, Reading(number, time, bool(stamp)))
    return readings


def read_series(text: str) -> Series | None:
    """Whose line it is, by the text between its braces; None if it cannot be read, lacks a label, or is the pause container's."""
    canonical = _CANONICAL.fullmatch(text)
    if canonical is not None:
        container, namespace, pod = canonical.groups()
    else:
        labels = parse_labels(text) or {}
        container, namespace, pod = labels.get("container", ""), labels.get("namespace", ""), labels.get("pod", "")
    if not (namespace and pod and container) or container == "POD":
        return None
    return intern(namespace), intern(pod), intern(container)


def _integer(family: str, text: str) -> int | None:
    """The value in nanoseconds or bytes, None where it cannot be one: no number, negative, over int64, a start before 1970."""
    try:
        value = float(text)
    except ValueError:
        return None
    scaled = value if family in {MEMORY, SWAP} else value * 1e9
    if not 0 <= scaled <= MAX_INT64 or (family == START and scaled < 1):  # the product of a finite value may be infinite
        return None
    # Starts are floats near 2e9: exact to a quarter of a microsecond only, which would make 9.999999808 s of the 10 s since then.
    return round(value * 1e3) * 1_000_000 if family == START else round(scaled)


def _of_one_instance(
    rivals: dict[str, list[Reading]], cpu: Reading | None, memory: Reading | None, started: Reading | None, swap: Reading | None
) -> tuple[Reading | None, Reading | None, Reading | None, Reading | None]:
    """CPU, memory, start and swap of the one instance that lives, as far as it can be told; the arguments are the first readings.

    Starts carry no stamp. The newest is that of the newest CPU only if every instance has both.
    """
    cpus, starts = len(rivals.get(CPU, (cpu,))), len(rivals.get(START, (started,)))
    if starts > cpus:
        return None, None, None, None
    newest = _living(rivals.get(CPU), cpu)
    memory = _living(rivals.get(MEMORY), memory)
    if newest is None or memory is None:
        return None, None, None, None
    if not (newest.stamped and memory.stamped) or abs(newest.time - memory.time) > _STOPPED_AFTER:
        return None, None, None, None
    if cpus > 1:
        started = max(rivals[START]) if starts == cpus else None
    return newest, memory, started, _living(rivals.get(SWAP), swap)


def _living(rivals: list[Reading] | None, only: Reading | None) -> Reading | None:
    """The newest of `rivals` if all others stopped long before; `only` if there are none. Without stamps nothing is told."""
    if rivals is None:
        return only
    if not all(reading.stamped for reading in rivals):
        return None
    *others, newest = sorted(rivals, key=lambda reading: reading.time)
    return newest if newest.time - others[-1].time > _STOPPED_AFTER else None
