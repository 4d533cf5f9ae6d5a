"""From responses to series: exact, each item by itself, and none made up."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.declared.declaration import Declared
from app.declared.documents import read
from app.declared.live_metric import MOST_LABEL, LiveMetricMapper, MappedSeries, compile_metric
from app.declared.metric_model import LiveMetric
from app.served_metrics.values import Series
from collectors._base import Cause, CollectError
from tests.unit.declared.metrics import ORDERS, REQUESTS, changed

NOW = 1_700_000_000 * 10**9


def mapper(text: str, namespace: str = "") -> LiveMetricMapper:
    """The mapping of a declaration."""
    ((document,), _) = read(text, "a.yaml")
    return compile_metric(Declared(LiveMetric.model_validate(document.value), document.positions, namespace, document.digest))


def mapped(text: str, *items: Any, namespace: str = "") -> MappedSeries:
    """What becomes of items that are seen now."""
    return mapper(text, namespace).map({"items": list(items)}, NOW, lambda: False)


def pod(name: str, value: Any, code: Any = "200", namespace: str = "shop") -> dict[str, Any]:
    """An item of the custom metric."""
    return {"namespace": namespace, "pod": name, "value": value, "code": code}


def test_an_item_is_a_series() -> None:
    """With its object, its labels, the time of the collection and the declared window."""
    found = mapped(REQUESTS, pod("web-1", 3), pod("web-1", 4, "500"), pod("web-2", "1.50"))

    assert [
        Series(("shop", "web-1"), (("code", "200"),), Decimal(3), NOW, 120 * 10**9),
        Series(("shop", "web-1"), (("code", "500"),), Decimal(4), NOW, 120 * 10**9),
        Series(("shop", "web-2"), (("code", "200"),), Decimal("1.50"), NOW, 120 * 10**9),
    ] == found.objects
    assert [] == found.dropped


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**70, str(2**70)),
        ("18446744073709551617.25", "18446744073709551617.25"),
        (-5, "-5"),
        (0, "0"),
        (1e18, "1000000000000000000"),
        (0.1, "0.1"),
    ],
)
def test_values_are_exact(value: Any, expected: str) -> None:
    """A plain path hands a number on as it is: also beyond 64 bits."""
    (series,) = mapped(REQUESTS, pod("web-1", value)).objects
    assert Decimal(expected) == series.value


@pytest.mark.parametrize(
    ("item", "name", "why"),
    [
        (pod("web-1", None), "shop/web-1", "sample.value: is null"),
        (pod("web-1", "NaN"), "shop/web-1", "sample.value: is NaN"),
        (pod("web-1", float("inf")), "shop/web-1", "sample.value: is infinite"),
        (pod("web-1", True), "shop/web-1", "sample.value: is a boolean, and no number"),
        (pod("web-1", "many"), "shop/web-1", 'sample.value: is "many", and no number'),
        ({"namespace": "shop", "pod": "web-1"}, "shop/web-1", 'sample.value: there is no "value"'),
        ({"namespace": "shop", "value": 1}, "", 'sample.object.name: there is no "pod"'),
        (pod("", 1), "", "sample.object.name: is empty"),
        (pod("web-1", 1, namespace=None), "", "sample.object.namespace: gives null, and not text"),  # type: ignore[arg-type]
        (pod("web-1", 1, ["x"]), "shop/web-1", "sample.labels.code: gives a list, and not text"),
        (pod("web-1", 1, "x" * (MOST_LABEL + 1)), "shop/web-1", "sample.labels.code: has 1025 characters, may have at most 1024"),
        (7, "", "sample.object.name: a member is asked of what has none"),
    ],
)
def test_an_item_that_is_no_series_costs_itself(item: Any, name: str, why: str) -> None:
    """It is named, and is no zero."""
    found = mapped(REQUESTS, item, pod("good", 1))

    assert [("shop", "good")] == [each.object for each in found.objects]
    assert [(0, name, why)] == [(each.index, each.name, each.reason) for each in found.dropped]


def test_of_two_that_are_the_same_series_the_first_is_kept() -> None:
    """An HPA would add both."""
    found = mapped(REQUESTS, pod("web-1", 3), pod("web-1", 4))

    assert [Decimal(3)] == [each.value for each in found.objects]
    assert [(1, "shop/web-1{code=200}", "is the same series as item 0: the first is kept")] == [
        (each.index, each.name, each.reason) for each in found.dropped
    ]


def test_a_label_that_an_item_lacks_is_left_out() -> None:
    """Its series is another one."""
    (series,) = mapped(ORDERS, {"waiting": 3}).objects
    assert () == series.labels
    assert series.object is None


def test_samples_have_the_time_at_which_they_were_measured() -> None:
    """If the source tells it."""
    text = changed(REQUESTS, "    value: item.value\n", "    value: item.value\n    observedAt: item.time\n")
    found = mapped(text, {**pod("web-1", 1), "time": "2023-11-14T22:00:00Z"}, pod("web-2", 1))
    assert [1_699_999_200 * 10**9, NOW] == [each.time for each in found.objects]


def test_of_a_tenant_only_what_is_about_its_own_objects() -> None:
    """The rest is dropped."""
    found = mapped(REQUESTS, pod("web-1", 1), pod("db-1", 1, namespace="alpha"), namespace="shop")

    assert [("shop", "web-1")] == [each.object for each in found.objects]
    assert ['"alpha" is none of the namespaces that it is served in'] == [each.reason for each in found.dropped]


def test_metrics_of_namespaces_are_bounded_by_their_names() -> None:
    """A namespace is in no namespace."""
    text = changed(REQUESTS, "resource: pods", "resource: namespaces")
    text = changed(text, "{namespace: item.namespace, name: item.pod}", "{name: item.namespace}")
    found = mapped(text, pod("x", 1), pod("x", 1, namespace="alpha"), namespace="shop")

    assert [("", "shop")] == [each.object for each in found.objects]


@pytest.mark.parametrize(
    ("response", "cause"),
    [({"items": 3}, Cause.MAPPING), ({}, Cause.MAPPING), ({"items": [pod("a", 1)] * 1001}, Cause.TOO_LARGE)],
    ids=["no list", "no items", "more than there may be"],
)
def test_a_response_without_items_fails_as_a_whole(response: Any, cause: Cause) -> None:
    """What was before stays."""
    with pytest.raises(CollectError) as caught:
        mapper(REQUESTS).map(response, NOW, lambda: False)
    assert caught.value.cause == cause


def test_mapping_ends_at_the_deadline() -> None:
    """Whatever is left."""
    with pytest.raises(CollectError) as caught:
        mapper(REQUESTS).map({"items": [pod("a", 1)]}, NOW, lambda: True)
    assert caught.value.cause == Cause.DEADLINE


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=2), max_leaves=3
)


@given(st.lists(_JSON | st.fixed_dictionaries({}, optional=dict.fromkeys(("namespace", "pod", "value", "code"), _JSON)), max_size=5))
def test_every_item_is_one_series_or_dropped(items: list[Any]) -> None:
    """Whatever a source answers; and every number is finite."""
    found = mapped(REQUESTS, *items)

    assert len(found.objects) + len(found.dropped) == len(items)
    assert all(each.value.is_finite() for each in found.objects)
    assert len({(each.object, each.labels) for each in found.objects}) == len(found.objects)
