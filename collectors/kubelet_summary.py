"""The kubelet's full endpoint, /stats/summary: a rate that the kubelet measured itself, and a stand-in for the light endpoint.

Two forms are asked: the short one has CPU and memory; the full one also has what the built-in live kinds show, and a kubelet that fails at
any part of it answers 500 for all.
"""

from collections.abc import Iterable
from sys import intern
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from collectors._base import Batch, Cause, Client, CollectError, PodSamples, Sample, Target
from collectors._summary_document import UNDECODABLE, Container, FullSummary, Node, Pod, Summary, Time, Times, count, newest_start
from collectors._summary_salvage import salvage, salvage_full
from collectors._summary_stats import stats_of

BODY_LIMIT = 8 * 1024 * 1024
"""The short form of a node of 500 pods with 4 containers each is about 2 MB, the full form 5 MB."""
_FAILS_AS_A_WHOLE = {Cause.STATUS, Cause.TOO_LARGE}
"""What a kubelet that cannot tell all can yet answer in short."""


class KubeletSummary:
    """Collector of /stats/summary: in its full form with `full`, else, or where the full one fails, in its short form."""

    name = "kubelet_summary"
    interval = 30.0
    path = "/stats/summary?only_cpu_and_memory=true"
    full_path = "/stats/summary"

    def __init__(self, *, full: bool = False) -> None:
        self._full = full

    async def collect(self, target: Target, client: Client, *, received: float, layout: object = None) -> Batch:  # noqa: ARG002
        """Scrape once; see Collector.collect. It needs no layout."""
        if not self._full:
            return parse(await client.get(target.url + self.path, limit=BODY_LIMIT), received=received)
        try:
            body = await client.get(target.url + self.full_path, limit=BODY_LIMIT)
        except CollectError as error:
            if error.cause not in _FAILS_AS_A_WHOLE:
                raise
            body = await client.get(target.url + self.path, limit=BODY_LIMIT)
            return replace(parse(body, received=received), lacking=error)
        return parse(body, received=received, full=True)


AnyPod = TypeVar("AnyPod", bound=Pod[Any])

_SHORT = msgspec.json.Decoder(Summary[str])
_FULL = msgspec.json.Decoder(FullSummary[str])


def parse(body: bytes, *, received: float, full: bool = False) -> Batch:
    """A Batch from the JSON of /stats/summary, with `stats` if it is the full form. `received` (Unix seconds) stamps stats that carry no
    time.

    A part that cannot be decoded costs itself and is counted. Raises CollectError if the body is not a summary or holds nothing.
    """
    now, times = int(received) * 10**9, Times()
    try:
        if full:
            whole = _FULL.decode(body)
            batch = _with_stats(_batch(whole, 0, now, times), whole, times)
        else:
            batch = _batch(_SHORT.decode(body), 0, now, times)
    except UNDECODABLE:
        summary, dropped = salvage(body)
        batch = _batch(summary, dropped, now, times)
        if full:
            rest, dropped = salvage_full(body)
            batch = replace(_with_stats(batch, rest, times), dropped=max(batch.dropped, dropped))
    if batch.node is None and not batch.pods:
        raise CollectError(Cause.PAYLOAD, f"no usable entry in {len(body)} bytes", "does a kubelet listen on that port?")
    return batch


def _with_stats(batch: Batch, summary: FullSummary[Time], times: Times) -> Batch:
    """The batch with what else a full summary says."""
    pods = summary.pods or ()
    return replace(batch, stats=stats_of(summary.node, pods if len(batch.pods) == len(pods) else _newest_last(pods, times), times))


def _batch(summary: Summary[Time], dropped: int, now: int, times: Times) -> Batch:
    """What a summary says. Looks at every time in it, and raises ValidationError if one is text that is no time."""
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


def _agent_started(system: Iterable[Container[Time]], times: Times, now: int) -> int | None:
    """When the kubelet started."""
    starts = [(container.name, times[container.start_time]) for container in system]
    for container in system:
        _sample(container.name, None, container, times, now)  # for its times
    return next((started for name, started in starts if name == "kubelet"), None)


def _pods(pods: Iterable[Pod[Time]], times: Times, now: int) -> dict[tuple[str, str], PodSamples]:
    """By (namespace, name); of two with the same the last."""
    return {
        (intern(pod.pod_ref.namespace), intern(pod.pod_ref.name)): PodSamples(
            uid=pod.pod_ref.uid, containers=_containers(pod.containers or (), times, now)
        )
        for pod in pods
    }


def _newest_last(pods: Iterable[AnyPod], times: Times) -> list[AnyPod]:
    """Pods ordered so that of two with the same name (one is a leftover) the one with the newest container wins."""
    return sorted(pods, key=lambda pod: newest_start(pod.containers or (), times))


def _containers(containers: Iterable[Container[Time]], times: Times, now: int) -> tuple[Sample, ...]:
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


def _sample(name: str, started: int | None, stats: Container[Time] | Node[Time], times: Times, now: int) -> Sample | None:
    cpu, memory, swap = stats.cpu, stats.memory, stats.swap
    if cpu is None and memory is None:
        return None
    cpu_time = times[cpu.time] if cpu is not None else None
    memory_time = times[memory.time] if memory is not None else None
    return Sample(
        name=name,
        cpu=count(cpu.usage_core_nano_seconds) if cpu is not None else None,
        cpu_time=(cpu_time or now) if cpu is not None else 0,
        memory=count(memory.working_set_bytes) if memory is not None else None,
        memory_time=(memory_time or now) if memory is not None else 0,
        started=started,
        cpu_rate=count(cpu.usage_nano_cores) if cpu is not None else None,
        swap=count(swap.swap_usage_bytes) if swap is not None else None,
        stamped=cpu is None or cpu_time is not None,
    )
