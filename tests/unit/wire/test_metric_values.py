"""Values of metrics are the bytes that k8s.io/metrics makes of the same values: metric_values.json was printed by its types, v0.37.2."""

import json
from itertools import product
from pathlib import Path

import pytest

from app.wire.label_selectors import EVERYTHING, LabelSelector, parse_label_selector
from app.wire.metric_values import NO_METADATA, ExternalMetricValues, Measured, MetricValues, Reference, label_selector
from app.wire.protobuf import delimited

_GOLDENS = json.loads((Path(__file__).parent / "metric_values.json").read_text())
_AT, _SECOND = 1_764_500_000_000_000_999, 10**9
_POD = Reference("Pod", "v1", "n", "p")
_SELECTOR = "a=b,c in (e,d),f,!g,h notin (i)"
_CUSTOM = list(product(("", _SELECTOR), (None, 60 * _SECOND), ("v1beta1", "v1beta2")))
_EXTERNAL = list(product((None, 60 * _SECOND), ((), (("a", "1"), ("b", "2")))))


def _list(group_version: str, kind: str, item: bytes) -> str:
    return f'{{"kind":"{kind}","apiVersion":"{group_version}","metadata":{{}},"items":[{item.decode()}]}}'


@pytest.mark.parametrize(("case", "golden"), list(zip(_CUSTOM, _GOLDENS[: len(_CUSTOM)], strict=True)))
def test_custom(case: tuple[str, int | None, str], golden: dict[str, str]) -> None:
    """Both versions, with and without window and selector."""
    selector, window, version = case
    values = MetricValues(version, "m", parse_label_selector(selector))
    measured = Measured("10500m", _AT, window)

    assert golden["json"] == _list(f"custom.metrics.k8s.io/{version}", "MetricValueList", values.json(_POD, measured))
    assert golden["protobuf"] == (NO_METADATA + delimited(2, values.protobuf(_POD, measured))).hex()


@pytest.mark.parametrize(("case", "golden"), list(zip(_EXTERNAL, _GOLDENS[len(_CUSTOM) :], strict=True)))
def test_external(case: tuple[int | None, tuple[tuple[str, str], ...]], golden: dict[str, str]) -> None:
    """With and without window and labels; a metric without labels says null."""
    window, labels = case
    values = ExternalMetricValues("s0")
    measured = Measured("80473159m", _AT, window)

    assert golden["json"] == _list("external.metrics.k8s.io/v1beta1", "ExternalMetricValueList", values.json(labels, measured))
    assert golden["protobuf"] == (NO_METADATA + delimited(2, values.protobuf(labels, measured))).hex()


def test_cluster_scoped_objects_have_no_namespace() -> None:
    """As with every ObjectReference: an empty namespace is left out of the JSON."""
    value = json.loads(MetricValues("v1beta2", "m", EVERYTHING).json(Reference("Node", "v1", "", "n1"), Measured("1", _AT, None)))

    assert {"kind": "Node", "name": "n1", "apiVersion": "v1"} == value["describedObject"]


@pytest.mark.parametrize(("window", "seconds"), [(1, 1), (_SECOND, 1), (_SECOND + 1, 2), (59_999_999_999, 60)])
def test_windows_are_whole_seconds(window: int, seconds: int) -> None:
    """The fraction is not cut: a window of none would say that nothing was measured."""
    value = json.loads(ExternalMetricValues("m").json((), Measured("1", _AT, window)))

    assert seconds == value["window"]


@pytest.mark.parametrize(
    ("selector", "told"),
    [
        (EVERYTHING, None),
        (parse_label_selector("a==b"), {"matchLabels": {"a": "b"}}),
        (parse_label_selector("a!=b"), {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}),
        (parse_label_selector("a=b,c>3"), None),
    ],
)
def test_the_selector_that_is_told(selector: LabelSelector, told: object) -> None:
    """As meta/v1 LabelSelector. One with a comparison has no such form: a part of it would be another selector."""
    assert told == label_selector(selector)
