"""The kubelet's full endpoint, /stats/summary: a rate that the kubelet measured itself, and a stand-in for the light endpoint.

Its shape: k8s.io/kubelet pkg/apis/stats/v1alpha1. Times are whole seconds; nearly every field is optional; counters are uint64, and
a subtraction that went below zero inside the kubelet shows as a huge value.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from sys import intern
from typing import Generic, TypeVar

import msgspec
from msgspec import Raw, Struct, convert

from collectors._base import Batch, Cause, Client, CollectError, PodSamples, Sample, Target

BODY_LIMIT = 8 * 1024 * 1024
"""The short form of a node of 500 pods with 4 containers each is about 2 MB, the full form 4 MB."""
_MOST_DROPPED = 1000
"""A body with more bad parts than this is no summary: reading on would only cost time."""
_WRAPPED = 2**63
"""A counter at or above this is a negative number that wrapped around: unknown."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = (2**63 - 1) // 10**9
"""The last second of which int64 holds the nanoseconds."""

Time = TypeVar("Time", str, datetime)
"""Text where all parts are taken to be as they should be: it is cheap to look up; datetime where what is no time must cost its part."""


class _Cpu(Struct, Generic[Time], gc=False, rename="camel"):
    time: Time | None = None
    usage_nano_cores: int | None = None
    usage_core_nano_seconds: int | None = None


class _Memory(Struct, Generic[Time], gc=False, rename="camel"):
    time: Time | None = None
    working_set_bytes: int | None = None


class _Swap(Struct, gc=False, rename="camel"):
    swap_usage_bytes: int | None = None


class _Container(Struct, Generic[Time], gc=False, rename="camel"):
    name: str
    start_time: Time | None = None
    cpu: _Cpu[Time] | None = None
    memory: _Memory[Time] | None = None
    swap: _Swap | None = None


class _PodRef(Struct, gc=False):
    name: str
    namespace: str
    uid: str = ""


class _Pod(Struct, Generic[Time], gc=False, rename="camel"):
    pod_ref: _PodRef
    containers: list[_Container[Time]] | None = None


class _Node(Struct, Generic[Time], gc=False, rename="camel"):
    cpu: _Cpu[Time] | None = None
    memory: _Memory[Time] | None = None
    swap: _Swap | None = None
    system_containers: list[_Container[Time]] | None = None


class _Summary(Struct, Generic[Time], gc=False):
    node: _Node[Time] | None = None
    pods: list[_Pod[Time]] | None = None


class _LooseSummary(Struct, gc=False):
    """The same document, with every part left undecoded, for bodies in which some part is not as it should be."""

    node: Raw = Raw(b"null")
    pods: list[Raw] | None = None


class _LoosePod(Struct, gc=False, rename="camel"):
    pod_ref: _PodRef
    containers: list[Raw] | None = None


class KubeletSummary:
    """Collector of /stats/summary, in its short form."""

    name = "kubelet_summary"
    interval = 30.0
    path = "/stats/summary?only_cpu_and_memory=true"

    async def collect(self, target: Target, client: Client, *, received: float, layout: object = None) -> Batch:  # noqa: ARG002
        """Scrape once; see Collector.collect. It needs no layout."""
        body = await client.get(target.url + self.path, limit=BODY_LIMIT)
        return parse(body, received=received)


_DECODER = msgspec.json.Decoder(_Summary[str])
_UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def parse(body: bytes, *, received: float) -> Batch:
    """A Batch from the JSON of /stats/summary. `received` (Unix seconds) stamps stats that carry no time.

    A part that cannot be decoded costs itself and is counted. Raises CollectError if the body is not a summary or holds nothing.
    """
    now = int(received) * 10**9
    try:
        batch = _batch(_DECODER.decode(body), 0, now)
    except _UNDECODABLE:
        summary, dropped = _decode_loosely(body)
        batch = _batch(summary, dropped, now)
    if batch.node is None and not batch.pods:
        raise CollectError(Cause.PAYLOAD, f"no usable entry in {len(body)} bytes", "does a kubelet listen on that port?")
    return batch


def _batch(summary: _Summary[Time], dropped: int, now: int) -> Batch:
    """What a summary says. Looks at every time in it, and raises ValidationError if one is text that is no time."""
    times = _Times()
    node, system = summary.node, (summary.node.system_containers if summary.node is not None else None) or ()
    told = summary.pods or ()
    pods = _pods(told, times, now)
    if len(pods) < len(told):
        pods = _pods(_newest_last(told, times), times, now)
    return Batch(
        node=_sample("", None, node, times, now) if node is not None else None,
        pods=pods,
        dropped=dropped,
        agent_started=_agent_started(system, times, now),
    )


class _Times(dict[str | datetime | None, int | None]):
    """What _ns makes of the times of one body. Most occur more than once: a kubelet measures many containers in one second."""

    def __missing__(self, time: str | datetime | None) -> int | None:
        ns = self[time] = _ns(convert(time, datetime)) if time is not None else None
        return ns


def _agent_started(system: Iterable[_Container[Time]], times: _Times, now: int) -> int | None:
    """When the kubelet started."""
    starts = [(container.name, times[container.start_time]) for container in system]
    for container in system:
        _sample(container.name, None, container, times, now)  # for its times
    return next((started for name, started in starts if name == "kubelet"), None)


def _pods(pods: Iterable[_Pod[Time]], times: _Times, now: int) -> dict[tuple[str, str], PodSamples]:
    """By (namespace, name); of two with the same the last."""
    return {
        (intern(pod.pod_ref.namespace), intern(pod.pod_ref.name)): PodSamples(
            uid=pod.pod_ref.uid, containers=_containers(pod.containers or (), times, now)
        )
        for pod in pods
    }


def _newest_last(pods: Iterable[_Pod[Time]], times: _Times) -> list[_Pod[Time]]:
    """Pods ordered so that of two with the same name (one is a leftover) the one with the newest container wins."""
    return sorted(pods, key=lambda pod: max((times[container.start_time] or 0 for container in pod.containers or ()), default=0))


def _containers(containers: Iterable[_Container[Time]], times: _Times, now: int) -> tuple[Sample, ...]:
    """One sample for each name. Of two entries of one name one is a leftover: the later start counts, or neither if that is not told."""
    samples: dict[str, Sample | None] = {}
    for container in containers:
        name = intern(container.name)
        sample = _sample(name, times[container.start_time], container, times, now)
        if name and sample is not None:
            samples[name] = _later(samples[name], sample) if name in samples else sample
    return tuple([sample for sample in samples.values() if sample is not None])


def _later(one: Sample | None, other: Sample) -> Sample | None:
    """The one of the later start; None if that is not told, or was not for those before."""
    if one is None or one.started is None or other.started is None or one.started == other.started:
        return None
    return other if other.started > one.started else one


def _sample(name: str, started: int | None, stats: _Container[Time] | _Node[Time], times: _Times, now: int) -> Sample | None:
    cpu, memory, swap = stats.cpu, stats.memory, stats.swap
    if cpu is None and memory is None:
        return None
    cpu_time = times[cpu.time] if cpu is not None else None
    memory_time = times[memory.time] if memory is not None else None
    return Sample(
        name=name,
        cpu=_count(cpu.usage_core_nano_seconds) if cpu is not None else None,
        cpu_time=(cpu_time or now) if cpu is not None else 0,
        memory=_count(memory.working_set_bytes) if memory is not None else None,
        memory_time=(memory_time or now) if memory is not None else 0,
        started=started,
        cpu_rate=_count(cpu.usage_nano_cores) if cpu is not None else None,
        swap=_count(swap.swap_usage_bytes) if swap is not None else None,
        stamped=cpu is None or cpu_time is not None,
    )


def _count(value: int | None) -> int | None:
    return value if value is not None and 0 <= value < _WRAPPED else None


def _ns(time: datetime) -> int | None:
    """Unix ns of whole seconds; None for a time without a zone, Go's zero time, and whatever is not in 1970 to 2262 (int64 ns)."""
    if time.tzinfo is None:
        return None
    since = time - _EPOCH
    seconds = since.days * 86400 + since.seconds
    return seconds * 10**9 if 0 < seconds < _LAST else None


Part = TypeVar("Part")


def _decode_loosely(body: bytes) -> tuple[_Summary[datetime], int]:
    """The summary without the parts that do not decode, and how many those were."""
    try:
        loose = msgspec.json.decode(body, type=_LooseSummary)
    except _UNDECODABLE as error:
        raise CollectError(Cause.PAYLOAD, f"not a summary: {error}", "does a kubelet listen on that port?") from error
    dropped = 0

    def decode(raw: Raw, kind: type[Part]) -> Part | None:
        nonlocal dropped
        try:
            return msgspec.json.decode(raw, type=kind)
        except _UNDECODABLE:
            dropped += 1
            if dropped > _MOST_DROPPED:
                raise CollectError(Cause.PAYLOAD, f"more than {_MOST_DROPPED} entries cannot be read", "see the kubelet's log") from None
            return None

    pods = []
    for raw_pod in loose.pods or ():
        pod = decode(raw_pod, _LoosePod)
        if pod is not None:
            containers = [decode(raw, _Container[datetime]) for raw in pod.containers or ()]
            pods.append(_Pod(pod.pod_ref, [container for container in containers if container is not None]))
    node = None if bytes(loose.node) == b"null" else decode(loose.node, _Node[datetime])
    return _Summary(node=node, pods=pods), dropped
