"""Bodies of /stats/summary, good and bad, and what is made of them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors._base import Batch, Cause, CollectError, Sample
from collectors.kubelet_summary import parse

RECEIVED = 1_700_000_100.9
TIME = "2023-11-14T22:13:20Z"
NS = 1_700_000_000 * 10**9


def container(**changes: Any) -> dict[str, Any]:
    return {
        "name": "c",
        "startTime": "2023-11-14T22:00:00Z",
        "cpu": {"time": TIME, "usageNanoCores": 50_000_000, "usageCoreNanoSeconds": 123_000_000_000},
        "memory": {"time": TIME, "workingSetBytes": 4096},
    } | changes


def pod(*containers: Any, **changes: Any) -> dict[str, Any]:
    return {"podRef": {"name": "p", "namespace": "ns", "uid": "u"}, "containers": list(containers)} | changes


def summary(*pods: Any, **node: Any) -> dict[str, Any]:
    return {"node": {"nodeName": "n", "cpu": container()["cpu"], "memory": container()["memory"]} | node, "pods": list(pods)}


def read(document: object) -> Batch:
    return parse(json.dumps(document).encode(), received=RECEIVED)


def only(batch: Batch) -> Sample:
    """The one container of the pod."""
    (sample,) = batch.pods["ns", "p"].containers
    return sample


def test_a_body_in_the_form_of_kubelets() -> None:
    """Times are whole seconds; the kubelet's own rate and its own start come along."""
    batch = read(summary(pod(container()), systemContainers=[{"name": "kubelet", "startTime": "2023-11-14T22:13:00Z"}]))

    expected = Sample(
        name="c", cpu=123_000_000_000, cpu_time=NS, memory=4096, memory_time=NS, started=NS - 800 * 10**9, cpu_rate=50_000_000
    )
    assert only(batch) == expected
    assert batch.pods["ns", "p"].uid == "u"
    assert batch.node is not None
    assert (batch.node.name, batch.node.cpu_rate) == ("", 50_000_000)
    assert batch.agent_started == NS - 20 * 10**9


@pytest.mark.parametrize(
    ("changes", "field", "expected"),
    [
        pytest.param({"cpu": None}, "cpu_rate", None, id="no CPU block: unknown, not 0"),
        pytest.param({"cpu": {"time": TIME}}, "cpu", None, id="no counter: unknown"),
        pytest.param(
            {"memory": {"time": TIME, "workingSetBytes": 2**64 - 4096}}, "memory", None, id="a uint64 that wrapped below zero: unknown"
        ),
        pytest.param({"memory": {"workingSetBytes": 1}}, "memory_time", 1_700_000_100 * 10**9, id="no time: when it was asked"),
        pytest.param({"startTime": None}, "started", None, id="no start"),
        pytest.param({"swap": {"time": TIME, "swapUsageBytes": 512}}, "swap", 512, id="swap"),
        pytest.param({}, "swap", None, id="no swap block: unknown, not 0"),
        pytest.param({"startTime": "0001-01-01T00:00:00Z"}, "started", None, id="Go's zero time is no start"),
        pytest.param({"startTime": "2023-11-14T22:00:00"}, "started", None, id="a time without a zone is nobody's"),
        pytest.param({"startTime": "0001-01-01T00:00:00"}, "started", None, id="and the first of them no crash"),
        pytest.param({"startTime": "9999-12-31T23:59:59-14:00"}, "started", None, id="a time beyond int64 nanoseconds"),
        pytest.param(
            {"cpu": {"time": "9999-12-31T23:59:59-14:00", "usageCoreNanoSeconds": 1}},
            "cpu_time",
            1_700_000_100 * 10**9,
            id="is no time of a stat",
        ),
    ],
)
def test_optional_fields(changes: dict[str, Any], field: str, expected: int | None) -> None:
    """Nearly every field may be missing, and nothing missing becomes 0."""
    assert getattr(only(read(summary(pod(container(**changes))))), field) == expected


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(pod(container(), podRef=None), id="a pod without a reference"),
        pytest.param(pod(container(cpu="fast"), podRef={"name": "q", "namespace": "ns"}), id="a container of the wrong type"),
        pytest.param("pod", id="a pod that is text"),
        pytest.param(pod(container(startTime="yesterday"), podRef={"name": "q", "namespace": "ns"}), id="a time that is none"),
    ],
)
def test_a_bad_part_costs_that_part(bad: object) -> None:
    """The rest of the body is kept, and the loss is counted."""
    batch = read(summary(bad, pod(container())))

    assert only(batch).cpu == 123_000_000_000
    assert batch.node is not None
    assert batch.dropped == 1


@pytest.mark.parametrize("time", ["2023-11-14T23:13:20+01:00", "2023-11-14T22:13:20.7Z", "2023-11-14 22:13:20z"])
def test_times_are_read_in_every_spelling_of_rfc_3339(time: str) -> None:
    """Other zones, fractions, and what else the standard allows."""
    sample = only(read(summary(pod(container(cpu={"time": time, "usageCoreNanoSeconds": 1}, startTime=time)))))

    assert (sample.cpu_time, sample.started, sample.stamped) == (NS, NS, True)


@pytest.mark.parametrize(
    ("document", "dropped", "lost"),
    [
        pytest.param(summary(pod(container(cpu={"time": "now"}))), 1, "container", id="of a container's CPU"),
        pytest.param(summary(pod(container(memory={"time": "now"}))), 1, "container", id="of a container's memory"),
        pytest.param(summary(pod(container()), cpu={"time": "now"}), 1, "node", id="of the node's CPU"),
        pytest.param(
            summary(pod(container()), systemContainers=[{"name": "x", "startTime": "now"}]), 1, "node", id="of a system container"
        ),
        pytest.param(summary(pod(container()), systemContainers=[{"name": "x", "memory": {"time": "now"}}]), 1, "node", id="of its memory"),
        pytest.param(summary(pod(container()), systemContainers=[{"name": "x", "swap": {"time": "now"}}]), 0, "", id="that nobody reads"),
    ],
)
def test_text_that_is_no_time_costs_its_part(document: Any, dropped: int, lost: str) -> None:
    """A time that is read is checked, also where its value is not used."""
    batch = read(document)

    assert batch.dropped == dropped
    assert (batch.node is None) == (lost == "node")
    assert (batch.pods["ns", "p"].containers == ()) == (lost == "container")


def test_names_are_kept_once_for_all_nodes() -> None:
    """Thousands of nodes have a container of one name."""
    assert only(read(summary(pod(container(name="proxy"))))).name is only(read(summary(pod(container(name="proxy"))))).name


def test_a_bad_container_does_not_cost_its_pod() -> None:
    """Others of the pod are kept: whether that is enough for the pod is the cache's to say."""
    assert only(read(summary(pod(container(), container(name=7))))).name == "c"


LIVE, LEFTOVER = container(), container(startTime="2023-11-14T20:00:00Z", cpu={"time": TIME, "usageCoreNanoSeconds": 1})


@pytest.mark.parametrize("entries", [[LIVE, LEFTOVER], [LEFTOVER, LIVE]], ids=["leftover last", "leftover first"])
def test_of_two_entries_of_one_container_the_later_start_counts(entries: list[Any]) -> None:
    """In whatever order they stand."""
    assert only(read(summary(pod(*entries)))).cpu == 123_000_000_000


def test_two_entries_that_cannot_be_told_apart_are_neither() -> None:
    """A guess is never served."""
    batch = read(summary(pod(container(startTime=None), container(startTime=None))))

    assert batch.pods["ns", "p"].containers == ()


def test_deep_nesting_is_a_bad_body() -> None:
    """What nests deeper than the decoder goes costs the scrape, not the process."""
    with pytest.raises(CollectError):
        parse(b'{"pods":' + b"[" * 100_000 + b"]" * 100_000 + b"}", received=RECEIVED)


def test_a_body_of_bad_parts_is_given_up() -> None:
    """Megabytes of nonsense are not read to the end."""
    with pytest.raises(CollectError, match="more than 1000 entries"):
        parse(b'{"node":{},"pods":[' + b",".join([b"1"] * 5000) + b"]}", received=RECEIVED)


def test_a_bad_node_block_does_not_cost_the_pods() -> None:
    """Pods are read although the node's own figures cannot be."""
    batch = read(summary(pod(container()), cpu=[]))

    assert (batch.node, only(batch).cpu) == (None, 123_000_000_000)


def test_of_two_pods_of_one_name_the_one_with_the_newest_container_counts() -> None:
    """A leftover of a re-created pod does not speak for it."""
    old = pod(container(startTime="2023-11-14T20:00:00Z"), podRef={"name": "p", "namespace": "ns", "uid": "old"})

    for pods in ([old, pod(container())], [pod(container()), old]):
        assert read(summary(*pods)).pods["ns", "p"].uid == "u"


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"null", b"<html>", b'{"pods":[]}', b"\xff\xfe", b'{"pods": 5}'])
def test_a_body_without_values_is_a_failed_scrape(body: bytes) -> None:
    """What is not a summary, or says nothing, must not erase what is known."""
    with pytest.raises(CollectError) as caught:
        parse(body, received=RECEIVED)

    assert caught.value.cause is Cause.PAYLOAD


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["node", "pods", "podRef", "name", "namespace", "containers", "cpu", "time"]), inner, max_size=4),
    ),
    max_leaves=20,
)


@given(JSON)
def test_no_document_crashes_the_parser(document: object) -> None:
    """Any JSON gives a batch or a CollectError."""
    outcome: Batch | CollectError
    try:
        outcome = read(document)
    except CollectError as error:
        outcome = error

    assert isinstance(outcome, Batch) or outcome.cause is Cause.PAYLOAD
