"""What a pod asked for, and what may run over that: the denominators of its percentages. Pure."""

from collections.abc import Iterable

from msgspec import Struct

from app.kube.records import ContainerRecord, PodRecord, Resources

_NOTHING = Resources()
ENDED = ("Succeeded", "Failed")
"""Phases of pods that hold nothing on their node any more."""


class Reserved(Struct, frozen=True, gc=False):
    """What the pods of a node asked for, as the scheduler counts it, the sum of their limits, and how many of them run."""

    requests: Resources = Resources(0, 0, 0)
    limits: Resources = Resources(0, 0, 0)
    running: int = 0


def requests_of(pod: PodRecord) -> Resources:
    """Of each resource the pod's own request (KEP-2837), else the sum over its containers and sidecars; ordinary init containers are over
    when these run.
    """
    return _prefer(pod.requests, _sum(container.requests for container in _lasting(pod)))


def limits_of(pod: PodRecord) -> Resources:
    """Of each resource the pod's own limit, else the sum over its containers and sidecars; None where one that runs has no limit: it may
    use what it likes, and the sum bounds nothing.
    """
    lasting = _lasting(pod)
    total = _sum(container.limits for container in lasting)
    running = [container.limits for container in pod.containers if container.running and not container.init]
    bounded = Resources(
        total.cpu if all(limits.cpu is not None for limits in running) else None,
        total.memory if all(limits.memory is not None for limits in running) else None,
        total.storage if all(limits.storage is not None for limits in running) else None,
    )
    return _prefer(pod.limits, bounded)


def reserved(pods: Iterable[PodRecord]) -> Reserved:
    """The sums over a node's pods. Those that ended count no more.

    A node has a hundred pods, and a list a hundred nodes in one step: so what nearly every pod is, containers alone, is added up as it
    comes.
    """
    cpu = memory = storage = 0
    cpu_limits = memory_limits = storage_limits = 0
    running = 0
    for pod in pods:
        if pod.phase in ENDED:
            continue
        running += pod.phase == "Running"
        for requests, limits in _parts(pod):
            cpu += requests.cpu or 0
            memory += requests.memory or 0
            storage += requests.storage or 0
            cpu_limits += limits.cpu or 0
            memory_limits += limits.memory or 0
            storage_limits += limits.storage or 0
    return Reserved(Resources(cpu, memory, storage), Resources(cpu_limits, memory_limits, storage_limits), running)


def _parts(pod: PodRecord) -> list[tuple[Resources, Resources]]:
    """Requests and limits that sum up to what a node must have for the pod."""
    if pod.requests == _NOTHING and pod.limits == _NOTHING and not any(each.init or each.ephemeral for each in pod.containers):
        return [(each.requests, each.limits) for each in pod.containers]
    return [(scheduled_requests(pod), _prefer(pod.limits, _sum(container.limits for container in _lasting(pod))))]


def scheduled_requests(pod: PodRecord) -> Resources:
    """What a node must have for the pod: the most that it asks for at any time. An init container runs beside the sidecars before it."""
    most = requests_of(pod)
    sidecars = Resources()
    for container in pod.containers:
        if container.sidecar:
            sidecars = _sum((sidecars, container.requests))
        elif container.init:
            most = _most(most, _sum((sidecars, container.requests)))
    return _prefer(pod.requests, most)


def _lasting(pod: PodRecord) -> list[ContainerRecord]:
    """The containers that run as long as the pod does."""
    return [container for container in pod.containers if not (container.init or container.ephemeral)]


def _prefer(one: Resources, other: Resources) -> Resources:
    return Resources(
        one.cpu if one.cpu is not None else other.cpu,
        one.memory if one.memory is not None else other.memory,
        one.storage if one.storage is not None else other.storage,
    )


def _sum(amounts: Iterable[Resources]) -> Resources:
    """By resource; None where none of them has any."""
    cpu: int | None = None
    memory: int | None = None
    storage: int | None = None
    for each in amounts:
        if each.cpu is not None:
            cpu = (cpu or 0) + each.cpu
        if each.memory is not None:
            memory = (memory or 0) + each.memory
        if each.storage is not None:
            storage = (storage or 0) + each.storage
    return Resources(cpu, memory, storage)


def _most(one: Resources, other: Resources) -> Resources:
    return Resources(_larger(one.cpu, other.cpu), _larger(one.memory, other.memory), _larger(one.storage, other.storage))


def _larger(one: int | None, other: int | None) -> int | None:
    known = [value for value in (one, other) if value is not None]
    return max(known) if known else None
