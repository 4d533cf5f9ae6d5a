"""The bodies are those of app/simulation, which are those of a recorded kubelet, and tell just what the plan says."""

import re
from typing import Any

import msgspec
import pytest

from app.simulation.curves import Load as Curve
from app.simulation.exposition import resource_metrics
from app.simulation.model import ContainerSpec, SimulatedCluster
from app.simulation.summary import summary
from benchmarks.kubelet_bodies import Cgroup, NodeBodies
from benchmarks.plan import MEMORY_SWING, SECOND, Load, Plan
from collectors import kubelet_resource, kubelet_summary
from collectors._base import Sample
from tests.fakes.clock import ManualClock

SINCE = 1_796_000_000
PLAN = Plan(nodes=3, pods=7, containers=2, since=SINCE)
NOW = (SINCE + 3600) * SECOND


@pytest.fixture
def reference() -> tuple[str, bytes, bytes]:
    """What app/simulation answers for the same names: resource metrics, the short summary, the full one."""
    cluster = SimulatedCluster(ManualClock(wall=NOW / SECOND))
    node = cluster.add_node(PLAN.node_name(1), created=PLAN.booted * SECOND)
    for pod in PLAN.pods_of(1):
        specs = [ContainerSpec(name, Curve(cpu=10**7, memory=2**24), memory_limit=pod.memory_limit(name)) for name in pod.containers]
        cluster.add_pod(pod.namespace, pod.name, node.name, specs, uid=pod.uid, started=pod.started * SECOND)
    return resource_metrics(node, NOW), summary(node, NOW, only_cpu_and_memory=True), summary(node, NOW)


def test_the_lines_are_those_of_the_reference_but_for_the_values(reference: tuple[str, bytes, bytes]) -> None:
    def without_values(text: str) -> list[str]:
        return [re.sub(r" [^ ]+( \d{13})?$", "", line) if not line.startswith("#") else line for line in text.splitlines()]

    ours = NodeBodies(PLAN, 1, {}).resource.at(NOW).decode()
    assert without_values(reference[0]) == without_values(ours)
    assert ours.endswith("\n")


def test_the_summary_has_the_form_of_the_reference(reference: tuple[str, bytes, bytes]) -> None:
    def names(text: bytes) -> list[str]:
        return re.findall(r'^ *"\w+":', text.decode(), re.MULTILINE)

    ours = NodeBodies(PLAN, 1, {}).summary.at(NOW)
    assert names(reference[1]) == names(ours)
    assert _keys(msgspec.json.decode(reference[1])) == _keys(msgspec.json.decode(ours))


def test_the_full_summary_has_the_form_of_the_reference(reference: tuple[str, bytes, bytes]) -> None:
    """But for the volume of the pod's token, and numbers of pressure: a real pod has the one, and a host of cgroup v2 tells the other."""
    ours = msgspec.json.decode(NodeBodies(PLAN, 1, {}).full_summary.at(NOW))
    for pod in ours["pods"]:
        assert pod["volume"].pop()["name"] == "kube-api-access"
    assert _names(msgspec.json.decode(reference[2])) == _names(ours)


def test_collectors_read_what_the_plan_says() -> None:
    bodies = NodeBodies(PLAN, 1, {})
    first, second = (kubelet_resource.parse(bodies.resource.at(NOW + 30 * turn * SECOND), received=0) for turn in range(2))
    told = kubelet_summary.parse(bodies.summary.at(NOW), received=0)
    assert first.dropped == second.dropped == told.dropped == 0
    assert told.agent_started == PLAN.booted * SECOND
    for pod in PLAN.pods_of(1):
        key = (pod.namespace, pod.name)
        assert told.pods[key].uid == pod.uid
        for name, before, after, seen in zip(
            pod.containers, first.pods[key].containers, second.pods[key].containers, told.pods[key].containers, strict=True
        ):
            assert before.name == after.name == seen.name == name
            assert pod.load(name).cpu == pytest.approx(_rate(before, after), rel=1e-6)
            assert pod.load(name).cpu == seen.cpu_rate
            assert before.memory == seen.memory
            assert 0 <= (before.memory or 0) - pod.load(name).memory <= MEMORY_SWING
            assert before.started == pytest.approx(pod.created_ns(name), abs=SECOND / 1000)
            assert seen.started == pod.started * SECOND
            assert seen.cpu_time == before.cpu_time // SECOND * SECOND
    assert PLAN.node_load(1).cpu == pytest.approx(_rate(first.node, second.node), rel=1e-6)


def test_uids_of_a_real_kube_apiserver_are_told() -> None:
    pod = next(PLAN.pods_of(0))
    told = kubelet_summary.parse(NodeBodies(PLAN, 0, {f"{pod.namespace}/{pod.name}": "abc"}).summary.at(NOW), received=0)
    assert told.pods[pod.namespace, pod.name].uid == "abc"


def test_values_stand_still_between_two_looks() -> None:
    cgroup = Cgroup("x", [(SINCE * SECOND, Load(cpu=10**7, memory=2**24))])
    look = cgroup.look(NOW)
    assert look == cgroup.look(look.time) == cgroup.look(look.until - 1)
    assert cgroup.look(look.until).time == look.until
    assert 10 * SECOND <= look.until - look.time <= 20 * SECOND
    assert look.time <= NOW < look.until


def test_a_body_is_the_same_whatever_was_asked_before() -> None:
    asked, fresh = NodeBodies(PLAN, 2, {}), NodeBodies(PLAN, 2, {})
    for step in range(0, 60, 7):
        asked.resource.at(NOW + step * SECOND)
        asked.summary.at(NOW + step * SECOND)
        asked.full_summary.at(NOW + step * SECOND)
    later = NOW + 63 * SECOND
    assert fresh.resource.at(later) == asked.resource.at(later)
    assert fresh.summary.at(later) == asked.summary.at(later)
    assert fresh.full_summary.at(later) == asked.full_summary.at(later)


def _rate(before: Sample | None, after: Sample | None) -> float:
    """Nanocores, by the two samples' own times."""
    assert before is not None
    assert after is not None
    return ((after.cpu or 0) - (before.cpu or 0)) / (after.cpu_time - before.cpu_time) * SECOND


def _keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _keys(inner) for name, inner in value.items()}
    return [_keys(inner) for inner in value] if isinstance(value, list) else type(value)


def _names(value: Any) -> Any:
    """The names of a document in their order."""
    if isinstance(value, dict):
        return [(name, _names(inner)) for name, inner in value.items()]
    return [_names(inner) for inner in value] if isinstance(value, list) else None
