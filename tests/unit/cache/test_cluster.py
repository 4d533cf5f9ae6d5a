"""What is kept of nodes and pods, and which changes are told."""

from msgspec.structs import replace

from app.cache.cluster import PodChange, Pods
from app.kube.records import PodRecord
from tests.unit.cache.test_store import pod


def fresh(record: PodRecord, **changes: object) -> PodRecord:
    """The record as decoding makes it: of strings of its own."""
    name = "".join(list(record.name))
    return replace(record, name=name, key=("", ""), labels=tuple((key, value) for key, value in record.labels), **changes)


def test_a_change_keeps_the_parts_that_stay() -> None:
    """Whatever is kept under a pod's key is kept under one key, however often its status is told."""
    pods, told = Pods(), list[PodChange]()
    pods.listeners.append(told.extend)
    first = pod("name-that-is-not-interned")
    pods.apply([first], ())
    pods.apply([fresh(first, ready=False)], ())
    second = pods.get(first.key)

    assert second is not None
    assert (second.key is first.key, second.labels is first.labels, second.name is first.name) == (True, True, True)
    assert told == [PodChange(None, first), PodChange(first, replace(first, ready=False))]


def test_what_is_told_again_is_no_change() -> None:
    """A list after a lost watch repeats nearly all that is known."""
    pods, told = Pods(), list[PodChange]()
    pods.apply([pod()], ())
    pods.listeners.append(told.extend)
    pods.apply([fresh(pod())], ())

    assert told == []


def test_a_pod_is_on_the_node_that_it_names_now() -> None:
    """And on no other; a node without pods has none."""
    pods = Pods()
    pods.apply([pod(on="")], ())
    pods.apply([pod(on="n1")], ())
    pods.apply([pod(on="n2", uid="anew")], ())

    assert [list(pods.on_node(node)) for node in ("", "n1", "n2")] == [[], [], [pod().key]]
