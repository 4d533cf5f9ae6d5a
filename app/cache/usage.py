"""The usage of a pod or a node, chosen from what the sources know. Pure.

One value is made of one source: all containers of a pod from the first source, in order of preference, that has every running one.
A pod is whole or it is not there.
"""

from collections.abc import Iterable

from app.cache.rates import Step
from app.cache.samples import NODE, Series, Steps
from app.cache.values import NodeUsage, PodUsage
from app.kube.records import INSTANCE_SLACK, ContainerRecord, PodRecord


def pod_usage(pod: PodRecord, sources: Iterable[Series], not_before: int = 0) -> PodUsage | None:
    """The pod's usage, from the first of `sources` that has all running containers and is not older than `not_before` (Unix ns).

    None where there is no such source, no container runs, or the pod is not in phase Running.
    """
    if pod.phase != "Running":
        return None
    for series in sources:
        steps = series.steps.get(pod.key)
        usage = _of_steps(pod, steps, series.source.name) if steps is not None else None
        if usage is not None and usage.time >= not_before:
            return usage
    return None


def node_usage(sources: Iterable[Series], not_before: int = 0) -> NodeUsage | None:
    """The node's usage, from the first source that has it. A node never uses nothing: a 0 is a failure to measure, and is not served."""
    for series in sources:
        step = series.step(NODE)
        if step is not None and step.window and step.cpu > 0 and step.memory > 0 and step.time >= not_before:
            return NodeUsage(step.cpu, step.memory, step.time, step.window, series.source.name, step.swap)
    return None


def _of_steps(pod: PodRecord, steps: Steps, source: str) -> PodUsage | None:
    """The pod's usage as one source tells it; None if some running container has none, or nothing runs."""
    containers = []
    earliest: Step | None = None
    for position, container in enumerate(pod.containers):
        if not container.running:
            continue
        step = steps[position]
        if step is None or not step.window or not is_usage_of(container, step):
            return None
        containers.append(step)
        if earliest is None or step.time < earliest.time:
            earliest = step
    return PodUsage(tuple(containers), earliest.time, earliest.window, source) if earliest is not None else None


def is_usage_of(container: ContainerRecord, step: Step) -> bool:
    """Whether a usage is of the instance that runs. Where the source tells no start, all that was measured must lie in its life."""
    if step.started is not None or container.started_ns is None:
        return container.is_same_instance(step.started)
    return step.time - step.window >= container.started_ns - INSTANCE_SLACK
