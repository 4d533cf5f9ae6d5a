"""What a pod asked for and may have: sidecars, init containers, resizes, pods as a whole."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cache.reservations import limits_of, requests_of, reserved, scheduled_requests
from app.kube.records import ContainerRecord, PodRecord, Resources

M = 10**6


def container(cpu: int | None = None, **more: Any) -> ContainerRecord:
    """A container with a request and a limit of so many millicores."""
    amount = Resources(cpu=cpu * M) if cpu is not None else Resources()
    return ContainerRecord(more.pop("name", "c"), more.pop("running", True), requests=amount, limits=amount, **more)


def pod(*containers: ContainerRecord, phase: str = "Running", **more: Any) -> PodRecord:
    return PodRecord("ns", "p", "u", "u", "n", (), phase, True, 0, ("", ""), False, containers, **more)


WHOLE = Resources(cpu=900 * M)


@pytest.mark.parametrize(
    ("told", "requests", "limits"),
    [
        pytest.param(pod(container(100), container(50)), 150, 150, id="the sum of the containers"),
        pytest.param(pod(container(100), container(50, sidecar=True)), 150, 150, id="sidecars run as long as the pod does"),
        pytest.param(pod(container(100), container(900, init=True, running=False)), 100, 100, id="init containers are over"),
        pytest.param(pod(container(100), container(None)), 100, None, id="one that runs has no limit: the sum bounds nothing (k9s#972)"),
        pytest.param(pod(container(100), container(None, running=False)), 100, 100, id="one that does not run uses nothing"),
        pytest.param(pod(container(100), container(None, ephemeral=True)), 100, None, id="who debugs it uses what he likes"),
        pytest.param(pod(container(None)), None, None, id="nothing is set"),
        pytest.param(pod(container(100), container(50), requests=WHOLE, limits=WHOLE), 900, 900, id="the pod's own win"),
        pytest.param(pod(container(100), container(None), limits=WHOLE), 100, 900, id="and bound also those without"),
        pytest.param(pod(), None, None, id="no containers"),
    ],
)
def test_requests_and_limits_of_a_pod(told: PodRecord, requests: int | None, limits: int | None) -> None:
    """What its usage is a percentage of."""
    assert requests_of(told).cpu == (requests * M if requests is not None else None)
    assert limits_of(told).cpu == (limits * M if limits is not None else None)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param(pod(container(100), container(900, init=True)), 900, id="an init container that asks for more"),
        pytest.param(pod(container(100), container(50, init=True)), 100, id="one that asks for less"),
        pytest.param(
            pod(container(100), container(50, sidecar=True), container(120, init=True)), 170, id="it runs beside sidecars before it"
        ),
        pytest.param(pod(container(100), container(120, init=True), container(50, sidecar=True)), 150, id="not beside those behind it"),
        pytest.param(pod(container(100), container(900, init=True), requests=WHOLE), 900, id="the pod's own win"),
    ],
)
def test_what_a_node_must_have_for_a_pod(told: PodRecord, expected: int) -> None:
    """As the scheduler counts it."""
    assert scheduled_requests(told).cpu == expected * M


def test_what_is_reserved_on_a_node() -> None:
    """Pods that ended hold nothing; those that have yet to start hold what they asked for and do not count as running."""
    pods = [
        pod(container(100)),
        pod(container(50), phase="Pending"),
        pod(container(900), phase="Succeeded"),
        pod(container(900), phase="Failed"),
    ]

    told = reserved(pods)
    assert (told.requests.cpu, told.limits.cpu, told.running) == (150 * M, 150 * M, 1)
    assert reserved([]).requests == Resources(0, 0, 0)


CONTAINERS = st.builds(
    container,
    st.none() | st.integers(0, 1000),
    running=st.booleans(),
    init=st.booleans(),
    sidecar=st.booleans(),
    ephemeral=st.booleans(),
)


@given(st.lists(st.builds(pod, CONTAINERS, CONTAINERS, CONTAINERS, requests=st.sampled_from([Resources(), WHOLE])), max_size=4))
def test_a_node_must_have_the_sum_of_what_it_must_have_for_each_pod(pods: list[PodRecord]) -> None:
    """However the pods are."""
    assert reserved(pods).requests.cpu == sum(scheduled_requests(each).cpu or 0 for each in pods)
