"""app/federation/answers.py: what other adapters answer, as our own."""

import contextlib
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.federation.answers import BackendError, Listed, listed_in, series_in
from app.served_metrics.values import NAMESPACES, NODES, PODS, Question, Resource, Series

TIME = "2025-11-30T10:53:20Z"
SECOND = 10**9


def custom(name: str, value: Any = "10500m", *, namespace: str = "shop", **more: Any) -> dict[str, Any]:
    return {"describedObject": {"kind": "Pod", "name": name, "namespace": namespace}, "timestamp": TIME, "value": value, **more}


def external(value: Any, labels: Any = None, **more: Any) -> dict[str, Any]:
    return {"metricName": "depth", "metricLabels": labels, "timestamp": TIME, "value": value, **more}


PODS_OF_SHOP = Question("custom", "hits", PODS, "shop")
DEPTH = Question("external", "depth", namespace="shop")


def test_what_is_listed() -> None:
    """Resources and groups apart; what is no metric is left out."""
    names = ["pods/hits", "jobs.batch/hits", "namespaces/hits", "/custommetrics", "nothing", "a/b/c", 7]
    found = listed_in({"resources": [{"name": name, "namespaced": name != "namespaces/hits"} for name in names] + ["x"]}, "custom")

    assert found == (Listed(PODS, "hits", True), Listed(Resource("batch", "jobs"), "hits", True), Listed(NAMESPACES, "hits", False))
    assert listed_in({"resources": [{"name": "depth", "namespaced": True}, {"name": "a/b"}]}, "external") == (Listed(None, "depth", True),)
    assert listed_in({"resources": [{"name": "pods", "kind": "Pod"}]}, "external") == ()


def test_values_in_both_versions() -> None:
    """Exact, with their own times and windows, by object."""
    items = [custom("web-1", "1000E", window=30), custom("web-0", windowSeconds=60), custom("web-2", "-3")]

    time = 1764500000 * SECOND
    assert series_in({"items": items}, PODS_OF_SHOP, namespaced=True) == [
        Series(("shop", "web-0"), (), Decimal("10.5"), time, 60 * SECOND),
        Series(("shop", "web-1"), (), Decimal(10**21), time, 30 * SECOND),
        Series(("shop", "web-2"), (), Decimal(-3), time, None),
    ]
    assert series_in({"items": [external("7", {"b": "2", "a": "1"}), external("1")]}, DEPTH, namespaced=True) == [
        Series(None, (), Decimal(1), time),
        Series(None, (("a", "1"), ("b", "2")), Decimal(7), time),
    ]
    assert series_in({"items": []}, DEPTH, namespaced=True) == []


def test_objects_without_a_namespace() -> None:
    """Whatever namespace an adapter says of them: an HPA asks for them in its own."""
    for resource, namespaced in ((NODES, False), (NAMESPACES, True)):
        question = Question("custom", "hits", resource, "shop" if resource == NODES else "", "x")
        assert [("", "x")] == [each.object for each in series_in({"items": [custom("x")]}, question, namespaced=namespaced)]


@pytest.mark.parametrize(
    ("answer", "question", "reason"),
    [
        ([], PODS_OF_SHOP, "its answer is no list of values"),
        ({"items": ["x"]}, PODS_OF_SHOP, "it is no object"),
        ({"items": [custom("web", None)]}, PODS_OF_SHOP, "value is missing, or no text"),
        ({"items": [custom("web", 7)]}, PODS_OF_SHOP, "value is missing, or no text"),
        ({"items": [custom("web", "NaN")]}, PODS_OF_SHOP, '"NaN" is not a quantity'),
        ({"items": [custom("web", timestamp=None)]}, PODS_OF_SHOP, "timestamp is no time"),
        ({"items": [custom("web", timestamp="0001-01-01T00:00:00Z")]}, PODS_OF_SHOP, "timestamp was never set"),
        ({"items": [custom("web", window=-1)]}, PODS_OF_SHOP, "window is no number of seconds"),
        ({"items": [custom("")]}, PODS_OF_SHOP, "describedObject has no name"),
        ({"items": [custom("web", namespace="mail")]}, PODS_OF_SHOP, "it is of namespace mail, and shop was asked for"),
        ({"items": [custom("web")]}, Question("custom", "hits", PODS, "shop", "x"), "it is of web, and x was asked for"),
        ({"items": [external("1"), external("x")]}, DEPTH, '"x" is not a quantity'),
        ({"items": [external("1", {"a": 1})]}, DEPTH, "metricLabels are no labels"),
    ],
)
def test_what_cannot_be_read(answer: Any, question: Question, reason: str) -> None:
    """Never a zero, never a part of a sum, and nothing of a namespace that was not asked for."""
    with pytest.raises(BackendError, match=reason.replace("(", r"\(")):
        series_in(answer, question, namespaced=True)


def test_one_bad_value_of_an_object_costs_that_object() -> None:
    """The HPA takes its pod for missing."""
    assert len(series_in({"items": [custom("web-0", "x"), custom("web-1")]}, PODS_OF_SHOP, namespaced=True)) == 1


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8), st.sampled_from([TIME, "5", "pods/hits", "shop"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["items", "resources", "name", "namespace", "describedObject", "value", "timestamp", "window", "metricLabels"]),
            inner,
            max_size=6,
        ),
    ),
    max_leaves=20,
)


@given(JSON, st.sampled_from([PODS_OF_SHOP, DEPTH, Question("custom", "hits", NODES)]))
def test_no_answer_crashes_it(answer: Any, question: Question) -> None:
    """Series, metrics, or why there are none."""
    with contextlib.suppress(BackendError):
        series_in(answer, question, namespaced=True)
    for api in ("custom", "external"):
        with contextlib.suppress(BackendError):
            listed_in(answer, api)
