"""The kubelet's full endpoint, /stats/summary: a rate that the kubelet measured itself, and a stand-in for the light endpoint.

Its shape: k8s.io/kubelet pkg/apis/stats/v1alpha1. Times are whole seconds; nearly every field is optional; counters are uint64, and
a subtraction that went below zero inside the kubelet shows as a huge value.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from collectors._base import Batch, Cause, Client, CollectError, PodSamples, Sample, Target

BODY_LIMIT = 8 * 1024 * 1024
"""The short form of a node of 500 pods with 4 containers each is about 2 MB, the full form 4 MB."""
_MOST_DROPPED = 1000
"""A body with more bad parts than this is no summary: reading on would only cost time."""
_WRAPPED = 2**63
"""A counter at or above this is a negative number that wrapped around: unknown."""


class _Cpu(Struct, gc=False, rename="camel"):
    time: datetime | None = None
    usage_nano_cores: int | None = None
    usage_core_nano_seconds: int | None = None


class _Memory(Struct, gc=False, rename="camel"):
    time: datetime | None = None
    working_set_bytes: int | None = None


class _Swap(Struct, gc=False, rename="camel"):
    swap_usage_bytes: int | None = None


class _Container(Struct, gc=False, rename="camel"):
    name: str
    start_time: datetime | None = None
    cpu: _Cpu | None = None
    memory: _Memory | None = None
    swap: _Swap | None = None


class _PodRef(Struct, gc=False):
    name: str
    namespace: str
    uid: str = ""


class _Pod(Struct, gc=False, rename="camel"):
    pod_ref: _PodRef
    containers: list[_Container] | None = None


class _Node(Struct, gc=False, rename="camel"):
    cpu: _Cpu | None = None
    memory: _Memory | None = None
    swap: _Swap | None = None
    system_containers: list[_Container] | None = None


class _Summary(Struct, gc=False):
    node: _Node | None = None
    pods: list[_Pod] | None = None


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


_DECODER = msgspec.json.Decoder(_Summary)
_UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def parse(body: bytes, *, received: float) -> Batch:
    """A Batch from the JSON of /stats/summary. `received` (Unix seconds) stamps stats that carry no time.

    A part that cannot be decoded costs itself and is counted. Raises CollectError if the body is not a summary or holds nothing.
    """
    dropped = 0
    try:
        summary = _DECODER.decode(body)
    except _UNDECODABLE:
        summary, dropped = _decode_loosely(body)
    now = int(received) * 10**9
    node = _sample("", None, summary.node, now) if summary.node else None
    pods = {
        (pod.pod_ref.namespace, pod.pod_ref.name): PodSamples(uid=pod.pod_ref.uid, containers=_containers(pod.containers or (), now))
        for pod in _newest_last(summary.pods or ())
    }
    if node is None and not pods:
        raise CollectError(Cause.PAYLOAD, f"no usable entry in {len(body)} bytes", "does a kubelet listen on that port?")
    system = summary.node.system_containers if summary.node else None
    agent = next((_ns(container.start_time) for container in system or () if container.name == "kubelet"), None)
    return Batch(node=node, pods=pods, dropped=dropped, agent_started=agent)


def _newest_last(pods: Iterable[_Pod]) -> list[_Pod]:
    """Pods ordered so that of two with the same name (one is a leftover) the one with the newest container wins."""
    return sorted(pods, key=lambda pod: max((_ns(container.start_time) or 0 for container in pod.containers or ()), default=0))


def _containers(containers: Iterable[_Container], now: int) -> tuple[Sample, ...]:
    """One sample for each name. Of two entries of one name one is a leftover: the later start counts, or neither if that is not told."""
    samples: dict[str, Sample | None] = {}
    for container in containers:
        sample = _sample(container.name, _ns(container.start_time), container, now)
        if not container.name or sample is None:
            continue
        rival = samples.get(container.name)
        if container.name not in samples:
            samples[container.name] = sample
        elif rival is None or rival.started is None or sample.started is None or rival.started == sample.started:
            samples[container.name] = None
        elif sample.started > rival.started:
            samples[container.name] = sample
    return tuple(sample for sample in samples.values() if sample is not None)


def _sample(name: str, started: int | None, stats: _Container | _Node, now: int) -> Sample | None:
    cpu, memory, swap = stats.cpu, stats.memory, stats.swap
    if cpu is None and memory is None:
        return None
    return Sample(
        name=name,
        cpu=_count(cpu.usage_core_nano_seconds) if cpu else None,
        cpu_time=(_ns(cpu.time) or now) if cpu else 0,
        memory=_count(memory.working_set_bytes) if memory else None,
        memory_time=(_ns(memory.time) or now) if memory else 0,
        started=started,
        cpu_rate=_count(cpu.usage_nano_cores) if cpu else None,
        swap=_count(swap.swap_usage_bytes) if swap else None,
        stamped=cpu is None or _ns(cpu.time) is not None,
    )


def _count(value: int | None) -> int | None:
    return value if value is not None and 0 <= value < _WRAPPED else None


def _ns(time: datetime | None) -> int | None:
    """Unix ns of whole seconds; None for no time, one without a zone, Go's zero time, and whatever is not in 1970 to 2262 (int64 ns)."""
    if time is None or time.tzinfo is None:
        return None
    seconds = int(time.timestamp())
    return seconds * 10**9 if 0 < seconds < _WRAPPED // 10**9 else None


Part = TypeVar("Part")


def _decode_loosely(body: bytes) -> tuple[_Summary, int]:
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
            containers = [decode(raw, _Container) for raw in pod.containers or ()]
            pods.append(_Pod(pod.pod_ref, [container for container in containers if container is not None]))
    node = None if bytes(loose.node) == b"null" else decode(loose.node, _Node)
    return _Summary(node=node, pods=pods), dropped
