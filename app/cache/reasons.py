"""Why something that exists has no values: one sentence for the 404 text. Pure. No addresses: anyone who may read may see it."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from app.cache.rates import Step
from app.cache.samples import NODE, Series
from app.cache.usage import is_usage_of
from app.kube.records import PodRecord
from app.wire.timestamps import format_time


class Trouble(Struct, frozen=True):
    """A source that fails on a node: the cause's name (collectors._base.Cause), and since when (Unix ns)."""

    cause: str
    since: int


class Knowledge(Struct, frozen=True):
    """What is known of one node. `sources` are the names of all that are switched on, in order of preference.

    `series` are those that have samples, `troubles` those that fail, by source; None if no scrape has ended yet.
    """

    node: str
    sources: Sequence[str]
    series: Sequence[Series]
    troubles: Mapping[str, Trouble] | None


def node_reason(known: Knowledge, ended: int | None) -> str:
    """Why a node has no usage. `ended` is the time (Unix ns) of its last usage, which outlived its time; None if it had none."""
    failing = _failing(known, f"node {known.node}")
    if failing:
        return failing + _expired(ended)
    steps = [step for series in known.series if (step := series.step(NODE)) is not None]
    return _of_steps(steps, known.node, "the node") + _expired(ended)


def pod_reason(pod: PodRecord, known: Knowledge | None, ended: int | None) -> str:
    """Why a pod has no usage. `known` is None where the cluster has no node of that name; `ended` as in node_reason."""
    if pod.phase != "Running":
        return f"the pod is {pod.phase or 'in no phase yet'}, not Running"
    if not pod.node:
        return "the pod is not bound to a node yet"
    if known is None:
        return f"its node {pod.node} is not in the cluster"
    if not any(container.running for container in pod.containers):
        return "none of its containers runs"
    failing = _failing(known, f"its node {known.node}")
    if failing:
        return failing + _expired(ended)
    for position, container in enumerate(pod.containers):
        reason = _container_reason(pod, position, known, ended) if container.running else ""
        if reason:
            return reason
    if ended is not None:
        return f"what the kubelet tells now is older than what was served, of {format_time(ended)}"
    return "its containers are not known by one source alone yet"


def _failing(known: Knowledge, subject: str) -> str:
    """The words for a node of which no source answers; "" where one does."""
    if known.troubles is None:
        return f"{subject} was not scraped yet"
    troubles = [known.troubles[name] for name in known.sources if name in known.troubles]
    if len(troubles) < len(known.sources):
        return ""
    since = min(trouble.since for trouble in troubles)
    causes = ", ".join(dict.fromkeys(trouble.cause for trouble in troubles))
    return f"{subject} cannot be scraped since {format_time(since)} ({causes})"


def _container_reason(pod: PodRecord, position: int, known: Knowledge, ended: int | None) -> str:
    """What keeps a running container from a usage; "" if some source has one."""
    container = pod.containers[position]
    steps = [step for series in known.series if (step := series.step(pod.key, position)) is not None]
    current = [step for step in steps if container.is_same_instance(step.started)]
    if any(step.usage is not None and is_usage_of(container, step) for step in current):
        return ""
    if steps and not current:
        return f"container {container.name} restarted and has no sample since"
    return _of_steps(current, known.node, f"container {container.name}") + _expired(ended)


def _of_steps(steps: Sequence[Step], node: str, subject: str) -> str:
    """What keeps the series of one container or node from a usage that can be served; a series that lives has two samples or not."""
    living = [step for step in steps if not step.dead]
    if not living:
        return f"the kubelet of node {node} reports no new CPU and memory of {subject}"
    if all(step.first and step.usage is None for step in living):
        return "no two samples yet"
    return f"what the kubelet told last of {subject} makes no value"


def _expired(ended: int | None) -> str:
    return f"; the last values, of {format_time(ended)}, expired" if ended is not None else ""
