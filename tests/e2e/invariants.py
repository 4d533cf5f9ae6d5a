"""What must be true of every answer at every moment, whatever happens on a node: each breach is a sentence."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.e2e.measurement import Measured
from tests.e2e.node.work import Work

LAG = 3.0
"""Seconds that news from kube-apiserver may be on their way to kubeglance, on a machine that is busy."""
START_SLACK = 2.0
"""Times are whole seconds in one place, exact in another."""
AHEAD = 1.0
OLDEST = 60.0 + 20.0 + 10.0
"""A value's time to live, a kubelet's longest stat period, and a late scrape."""


@dataclass(frozen=True)
class Snapshot:
    """Pods of the namespace as kube-apiserver had them: asked at `begin`, known at `end`."""

    begin: float
    end: float
    pods: Mapping[str, Mapping[str, Any]]


def running(pod: Mapping[str, Any]) -> dict[str, float]:
    """The containers that run, and since when each can have been measured (Unix seconds): it is created some time before it is started,
    but not before the last one of its name ended, nor before the kubelet took the pod on."""
    status = pod.get("status", {})
    found = {}
    for each in [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]:
        if "running" in each.get("state", {}):
            ended = each.get("lastState", {}).get("terminated", {}).get("finishedAt")
            started = each["state"]["running"]["startedAt"]
            found[each["name"]] = _seconds(ended) if ended else min(_seconds(started), _seconds(status.get("startTime") or started))
    return found


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()


def of_pod(item: Measured, now: float, snapshots: Sequence[Snapshot], works: Mapping[str, Work]) -> Iterator[str]:
    """The breaches of one item that was served at `now`. `snapshots` reach from before `now` - LAG to after `now`."""
    recent = [snapshot for snapshot in snapshots if snapshot.end >= now - LAG]
    states = [running(pod) for snapshot in recent if (pod := snapshot.pods.get(item.name)) is not None]
    if not states:
        yield "is served although kube-apiserver has no such pod"
        return
    fitting = [state for state in states if set(state) == set(item.usages)]
    if not fitting:
        yield f"has {sorted(item.usages)}, but {[sorted(state) for state in states]} ran: a part of a pod, or more than it"
    elif all(_too_early(item, min(state.values())) for state in fitting):
        yield f"of {item.time:.3f} over {item.window:.3f} s ({item.source}) began before its containers did: {fitting}"
    for name, usage in item.usages.items():
        work = works.get(name)
        if work is None:
            yield f"has a container {name} that nobody asked for"
            continue
        if not 0 <= usage.cpu <= work.cpu_bound:
            yield f"container {name} cannot have used {usage.cpu / 1e6:.1f}m over {item.window:.1f} s ({item.source})"
        if not 0 < usage.memory <= work.memory_bound:
            yield f"container {name} cannot have held {usage.memory / 2**20:.1f} MiB"
    yield from _of_times(item, now)


def of_node(item: Measured, now: float, cpus: int, memory: int) -> Iterator[str]:
    """The breaches of a node's item; `memory` is the machine's, in bytes."""
    usage = item.usages[""]
    if not 0 < usage.cpu <= cpus * 1.05e9:
        yield f"cannot have used {usage.cpu / 1e9:.2f} of {cpus} CPUs"
    if not 0 < usage.memory <= memory:
        yield f"cannot have held {usage.memory} of {memory} bytes"
    yield from _of_times(item, now)


def _too_early(item: Measured, started: float) -> bool:
    # The kubelet states no window for its own rate: 20 s is nominal, so only the end of it can be held against the start.
    begin = item.time if item.source == "summary" else item.time - item.window
    return begin < started - START_SLACK


def _of_times(item: Measured, now: float) -> Iterator[str]:
    if item.window <= 0:
        yield f"has a window of {item.window} s"
    if item.time > now + AHEAD:
        yield f"is {item.time - now:.1f} s ahead of the clock"
    if item.time < now - OLDEST:
        yield f"is {now - item.time:.0f} s old"
