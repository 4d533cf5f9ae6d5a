"""Why something has no values: a sentence for each way in which that comes about."""

from collections.abc import Callable

import pytest

from app.cache.projection import Subject
from app.kube.records import ContainerRecord, PodRecord
from collectors._base import Batch, Cause, CollectError, PodSamples
from tests.unit.cache.test_store import RESOURCE, SUMMARY, World, batch, node, pod, reading

Act = Callable[[World], object]
POD, NODE = (Subject.POD, ("ns", "p")), (Subject.NODE, ("", "n1"))
FAILURE = CollectError(Cause.DEADLINE, "https://10.0.0.1:10250 hangs")


def with_(record: PodRecord, **changes: object) -> PodRecord:
    return PodRecord(**{field: getattr(record, field) for field in record.__struct_fields__} | changes)


def nothing(_world: World) -> None:
    """Only the cluster is known."""


def all_fail(world: World) -> None:
    world.store.failed("n1", RESOURCE, FAILURE)
    world.clock.advance(30)
    world.store.failed("n1", SUMMARY, CollectError(Cause.FORBIDDEN, "403"))


def one_sample(world: World) -> None:
    world.store.publish("n1", RESOURCE, batch(0))
    world.store.failed("n1", SUMMARY, FAILURE)


def expired(world: World) -> None:
    world.store.publish("n1", RESOURCE, batch(0))
    world.store.publish("n1", RESOURCE, batch(15))
    world.clock.advance(60)
    all_fail(world)


def stale(world: World) -> None:
    world.store.publish("n1", RESOURCE, batch(0))
    for _ in range(6):
        world.store.publish("n1", RESOURCE, batch(15))
        world.clock.advance(15)


def foreign_only(world: World) -> None:
    world.store.publish("n1", RESOURCE, Batch(node=None, pods={("ns", "p"): PodSamples("", (reading(0, 1, name="other"),))}))


def restarted(world: World) -> None:
    world.store.publish("n1", RESOURCE, batch(0))
    world.store.publish("n1", RESOURCE, batch(15))
    world.pods.apply([pod(started=20)], [])


def became(**changes: object) -> Act:
    return lambda world: world.pods.apply([with_(pod(), **changes)], [])


CASES = [
    pytest.param(nothing, POD, "its node n1 was not scraped yet", id="never scraped"),
    pytest.param(nothing, NODE, "node n1 was not scraped yet", id="a node never scraped"),
    pytest.param(all_fail, POD, "its node n1 cannot be scraped since 2025-11-30T10:53:20Z (deadline, forbidden)", id="the node fails"),
    pytest.param(all_fail, NODE, "node n1 cannot be scraped since 2025-11-30T10:53:20Z (deadline, forbidden)", id="a node that fails"),
    pytest.param(one_sample, POD, "no two samples yet", id="one sample"),
    pytest.param(one_sample, NODE, "no two samples yet", id="one sample of a node"),
    pytest.param(
        expired,
        POD,
        "its node n1 cannot be scraped since 2025-11-30T10:54:20Z (deadline, forbidden); the last values, of 2025-11-30T10:53:35Z, expired",
        id="expired because the node fails",
    ),
    pytest.param(
        stale,
        POD,
        "the kubelet of node n1 reports no new CPU and memory of container c; the last values, of 2025-11-30T10:53:35Z, expired",
        id="expired although scrapes succeed",
    ),
    pytest.param(
        foreign_only, POD, "the kubelet of node n1 reports no new CPU and memory of container c", id="a body that tells nothing of it"
    ),
    pytest.param(foreign_only, NODE, "the kubelet of node n1 reports no new CPU and memory of the node", id="nor of its node"),
    pytest.param(restarted, POD, "container c restarted and has no sample since", id="restarted"),
    pytest.param(became(phase="Pending"), POD, "the pod is Pending, not Running", id="not running"),
    pytest.param(became(node=""), POD, "the pod is not bound to a node yet", id="not bound"),
    pytest.param(became(node="n9"), POD, "its node n9 is not in the cluster", id="a node that is not there"),
    pytest.param(became(containers=(ContainerRecord("c", False),)), POD, "none of its containers runs", id="nothing runs"),
]


@pytest.mark.parametrize(("act", "about", "reason"), CASES)
def test_reasons(act: Act, about: tuple[Subject, tuple[str, str]], reason: str) -> None:
    """Each case says what is known, and that nobody is told an address."""
    world = World()
    world.nodes.apply([node()], [])
    world.pods.apply([pod()], [])
    act(world)
    told = world.store.why(*about)

    assert told == reason
    assert "10.0.0.1" not in told


def test_what_the_cluster_does_not_have_has_no_reason() -> None:
    """None: the 404 then speaks of the pod or node itself."""
    world = World()

    assert (world.store.why(*POD), world.store.why(*NODE)) == (None, None)


def test_a_recovered_source_is_no_reason_any_more() -> None:
    """A batch ends the trouble of its source."""
    world = World()
    world.nodes.apply([node()], [])
    world.pods.apply([pod()], [])
    all_fail(world)
    world.store.publish("n1", RESOURCE, batch(0))

    assert world.store.why(*POD) == "no two samples yet"
