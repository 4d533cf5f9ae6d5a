"""Which usage a pod or node is given, a case each."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from app.cache.rates import SECOND, Step
from app.cache.samples import NODE, Series, Source
from app.cache.usage import node_usage, pod_usage
from app.kube.records import ContainerRecord, PodRecord

T = 1_700_000_000 * SECOND
RESOURCE = Source("resource", lambda last, _new, _agent, _now: last, 60)
SUMMARY = Source("summary", lambda last, _new, _agent, _now: last, 120)


def pod(*containers: ContainerRecord, phase: str = "Running") -> PodRecord:
    return PodRecord(
        namespace="ns",
        name="p",
        uid="u",
        kubelet_uid="u",
        node="n",
        labels=(),
        phase=phase,
        ready=True,
        created_ns=T,
        owner=("", ""),
        host_network=False,
        containers=containers,
    )


def container(name: str, *, running: bool = True, started: int | None = 0, since: int | None = None) -> ContainerRecord:
    return ContainerRecord(
        name=name,
        running=running,
        started_ns=None if started is None else T + started * SECOND,
        since_ns=None if since is None else T + since * SECOND,
    )


def step(at: int | None, *, started: int | None = 0, cpu: int = 100, memory: int = 7) -> Step:
    """Where a series stands whose usage was measured `at` seconds; None for one that has no usage yet."""
    return Step(
        name="",
        cpu=cpu,
        memory=memory,
        time=T + (at or 0) * SECOND,
        window=0 if at is None else 15 * SECOND,
        counter=1,
        started=None if started is None else T + started * SECOND,
    )


def series(source: Source, **steps: Step) -> Callable[[PodRecord], Series]:
    """What a source knows of the containers of a pod, by their names."""
    named = {name: replace(each, name=name) for name, each in steps.items()}
    return lambda pod: Series(source=source, steps={pod.key: tuple(named.get(container.name) for container in pod.containers)})


A, B = container("a"), container("b")

CASES = [
    pytest.param(
        pod(A, B), [series(RESOURCE, a=step(30), b=step(30))], ("resource", ["a", "b"], 30), id="all running containers make a pod"
    ),
    pytest.param(pod(B, A), [series(RESOURCE, a=step(30), b=step(30))], ("resource", ["b", "a"], 30), id="in the order of its spec"),
    pytest.param(
        pod(A, B), [series(RESOURCE, a=step(30), b=step(25))], ("resource", ["a", "b"], 25), id="its time is that of the earliest"
    ),
    pytest.param(pod(A, B), [series(RESOURCE, a=step(30))], None, id="one running container without a series: no pod, never a part of it"),
    pytest.param(pod(A, B), [series(RESOURCE, a=step(30), b=step(None))], None, id="one without a usage: no pod"),
    pytest.param(
        pod(A, container("b", running=False)),
        [series(RESOURCE, a=step(30))],
        ("resource", ["a"], 30),
        id="what does not run is not waited for",
    ),
    pytest.param(pod(container("a", running=False)), [series(RESOURCE, a=step(30))], None, id="nothing runs: no pod, never an empty one"),
    pytest.param(pod(A, phase="Pending"), [series(RESOURCE, a=step(30))], None, id="only pods in phase Running"),
    pytest.param(
        pod(A, B),
        [series(RESOURCE, a=step(30)), series(SUMMARY, a=step(28), b=step(28))],
        ("summary", ["a", "b"], 28),
        id="the next source only for the whole pod: two sources are never mixed",
    ),
    pytest.param(
        pod(A),
        [series(RESOURCE, a=step(30)), series(SUMMARY, a=step(35))],
        ("resource", ["a"], 30),
        id="the preferred source wins, also if older",
    ),
    pytest.param(
        pod(container("a", started=100)),
        [series(RESOURCE, a=step(30, started=0))],
        None,
        id="a sample of an earlier instance is not this one's",
    ),
    pytest.param(
        pod(container("a", started=10, since=5)),
        [series(RESOURCE, a=step(30, started=5))],
        ("resource", ["a"], 30),
        id="one that was created seconds before it was started is, if the one before had ended",
    ),
    pytest.param(
        pod(container("a", started=10, since=9)),
        [series(RESOURCE, a=step(30, started=8))],
        None,
        id="one that was created before the one before ended is not",
    ),
    pytest.param(
        pod(container("a", started=0)),
        [series(RESOURCE, a=step(30, started=20))],
        ("resource", ["a"], 30),
        id="a newer instance than the status tells is",
    ),
    pytest.param(pod(container("a", started=None)), [series(RESOURCE, a=step(30))], ("resource", ["a"], 30), id="an unknown start matches"),
    pytest.param(pod(A), [series(RESOURCE, a=step(30, started=None))], ("resource", ["a"], 30), id="a sample without start matches"),
    pytest.param(
        pod(container("a", started=10)),
        [series(RESOURCE, a=step(30, started=None))],
        ("resource", ["a"], 30),
        id="if its window lies in the life of the container",
    ),
    pytest.param(
        pod(container("a", started=20)),
        [series(RESOURCE, a=step(30, started=None))],
        None,
        id="what was measured before it began is its predecessor's",
    ),
    pytest.param(pod(A), [], None, id="no source: no pod"),
]


@pytest.mark.parametrize(("record", "sources", "expected"), CASES)
def test_pod_usage(record: PodRecord, sources: list[Callable[[PodRecord], Series]], expected: tuple[str, list[str], int] | None) -> None:
    """Each case is a rule for choosing a pod's usage."""
    usage = pod_usage(record, [known(record) for known in sources])

    actual = None if usage is None else (usage.source, [each.name for each in usage.containers], (usage.time - T) // SECOND)
    assert actual == expected


def test_a_served_time_never_goes_back() -> None:
    """While the preferred source is older than what was served, the other one goes on serving."""
    resource, summary = series(RESOURCE, a=step(25)), series(SUMMARY, a=step(28))

    usage = pod_usage(pod(A), [resource(pod(A)), summary(pod(A))], not_before=T + 28 * SECOND)

    assert usage is not None
    assert usage.source == "summary"


@pytest.mark.parametrize(
    ("cpu", "memory", "served"),
    [
        pytest.param(5, 5, True, id="a node with CPU and memory is served"),
        pytest.param(0, 5, False, id="no node uses no CPU"),
        pytest.param(5, 0, False, id="no node uses no memory"),
    ],
)
def test_node_usage(cpu: int, memory: int, served: bool) -> None:
    """A zero of a node is a failure to measure: the node is left out."""
    of_node = Series(source=RESOURCE, steps={NODE: (step(0, started=None, cpu=cpu, memory=memory),)})

    assert (node_usage([of_node]) is not None) == served
