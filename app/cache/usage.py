"""The usage of a pod or a node, chosen from what the sources know. Pure.

One value is made of one source: all containers of a pod from the first source, in order of preference, that has every running one.
A pod is whole or it is not there.
"""

from collections.abc import Iterable

from msgspec import Struct

from app.cache.rates import Usage
from app.cache.samples import INSTANCE_SLACK, NODE, Series, is_same_instance
from app.kube.records import ContainerRecord, PodRecord


class ContainerUsage(Struct, frozen=True, gc=False):
    """One container: CPU in nanocores, memory and swap in bytes; `swap` is None where the kubelet reports none."""

    name: str
    cpu: int
    memory: int
    swap: int | None = None


class PodUsage(Struct, frozen=True, gc=False):
    """A whole pod. `time` (Unix ns) and `window` (ns) are those of the container measured earliest; `source` is the source's name."""

    containers: tuple[ContainerUsage, ...]
    time: int
    window: int
    source: str


class NodeUsage(Struct, frozen=True, gc=False):
    """A node: CPU in nanocores over the `window` ns that ended at `time` (Unix ns), memory and swap in bytes; see ContainerUsage."""

    cpu: int
    memory: int
    time: int
    window: int
    source: str
    swap: int | None = None


def pod_usage(pod: PodRecord, sources: Iterable[Series], not_before: int = 0) -> PodUsage | None:
    """The pod's usage, from the first of `sources` that has all running containers and is not older than `not_before` (Unix ns).

    None where there is no such source, no container runs, or the pod is not in phase Running.
    """
    if pod.phase != "Running":
        return None
    running = [container for container in pod.containers if container.running]
    if not running:
        return None
    for series in sources:
        usages = _of_containers(pod, running, series)
        if usages is None:
            continue
        earliest = min(usages, key=lambda usage: usage.time)
        if earliest.time >= not_before:
            containers = tuple(
                ContainerUsage(name=container.name, cpu=usage.cpu, memory=usage.memory, swap=usage.swap)
                for container, usage in zip(running, usages, strict=True)
            )
            return PodUsage(containers=containers, time=earliest.time, window=earliest.window, source=series.source.name)
    return None


def node_usage(sources: Iterable[Series], not_before: int = 0) -> NodeUsage | None:
    """The node's usage, from the first source that has it. A node never uses nothing: a 0 is a failure to measure, and is not served."""
    for series in sources:
        track = series.track(NODE, "")
        usage = track.step.usage if track is not None else None
        if usage is not None and usage.cpu > 0 and usage.memory > 0 and usage.time >= not_before:
            return NodeUsage(usage.cpu, usage.memory, usage.time, usage.window, series.source.name, usage.swap)
    return None


def _of_containers(pod: PodRecord, running: list[ContainerRecord], series: Series) -> list[Usage] | None:
    usages = []
    for container in running:
        track = series.track(pod.key, container.name)
        usage = track.step.usage if track is not None else None
        if track is None or usage is None or not is_usage_of(container, track.step.sample.started, usage):
            return None
        usages.append(usage)
    return usages


def is_usage_of(container: ContainerRecord, started: int | None, usage: Usage) -> bool:
    """Whether a usage is of the instance that runs. Where the source tells no start, all that was measured must lie in its life."""
    if started is None and container.started_ns is not None:
        return usage.time - usage.window >= container.started_ns - INSTANCE_SLACK
    return is_same_instance(container, started)
