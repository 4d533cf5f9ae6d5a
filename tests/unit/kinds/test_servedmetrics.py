"""ServedMetric: what is served to autoscalers, as kubectl shows it."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.kinds import servedmetrics
from app.kinds._base import Age
from app.kinds.servedmetrics import ServedMetricNow, name_of
from app.wire.object_names import is_name

STAMP = 1_700_000_000 * 10**9
REQUESTS = ServedMetricNow("http_requests", "custom", "pods", True, "http-requests", "prometheus", 3, STAMP, "")


@pytest.mark.parametrize(
    ("metric", "resource", "expected"),
    [
        ("http_requests", "pods", "http-requests.pods"),
        ("hits", "ingresses.networking.k8s.io", "hits.ingresses.networking.k8s.io"),
        ("orders_waiting", "", "orders-waiting"),
        ("5xx", "", "5xx"),
        ("Orders", "", "orders-[0-9a-f]{8}"),
        ("job:orders:rate5m", "pods", "job-orders-rate5m-pods-[0-9a-f]{8}"),
        ("a__b", "", "a-b-[0-9a-f]{8}"),
        ("a.b", "", "a-b-[0-9a-f]{8}"),
    ],
)
def test_names_are_readable(metric: str, resource: str, expected: str) -> None:
    """With a hash where others would read alike."""
    assert re.fullmatch(expected, name_of(metric, resource))


_METRICS = st.tuples(st.text("ab_:.A-", min_size=1, max_size=6), st.sampled_from(["", "pods", "a", "b.a"]))


@given(_METRICS, _METRICS)
def test_two_metrics_have_two_names(first: tuple[str, str], second: tuple[str, str]) -> None:
    """Whatever they are called; all are names of objects."""
    assert is_name(name_of(*first))
    assert first == second or name_of(*first) != name_of(*second)


def test_it_tells_what_is_served_and_how_it_is() -> None:
    """In spec what, in status how."""
    assert json.loads(servedmetrics.json(REQUESTS)) == {
        "spec": {
            "metric": "http_requests",
            "api": "custom.metrics.k8s.io",
            "resource": "pods",
            "namespaced": True,
            "provider": "http-requests",
            "source": "prometheus",
        },
        "status": {
            "series": 3,
            "lastSampleAt": "2023-11-14T22:13:20Z",
            "conditions": [{"type": "Serving", "status": "True", "reason": "HasSeries"}],
        },
    }


@pytest.mark.parametrize(
    ("metric", "condition"),
    [
        (replace(REQUESTS, series=0, error="dial"), {"status": "False", "reason": "NoSeries", "message": "dial"}),
        (replace(REQUESTS, series=0), {"status": "False", "reason": "NoSeries", "message": "there are no samples"}),
        (
            replace(REQUESTS, series=None, last=0),
            {"status": "Unknown", "reason": "NotAskedFor", "message": "its series are known when it is asked for"},
        ),
    ],
)
def test_what_is_not_known_is_no_zero(metric: ServedMetricNow, condition: dict[str, str]) -> None:
    """A metric that nobody asked for has no number of series."""
    status = json.loads(servedmetrics.json(metric))["status"]
    assert [{"type": "Serving", **condition}] == status["conditions"]
    assert status.get("series") == metric.series


def test_columns_have_their_cells() -> None:
    """Errors are cut, what is not known is said."""
    kind = servedmetrics.KIND
    known = kind.cells("http-requests.pods", replace(REQUESTS, error="x\n" * 100))
    unknown = kind.cells("orders", ServedMetricNow("orders", "external", "", False, "route", "", None, 0, ""))

    assert ("http-requests.pods", "http_requests", "custom", "pods", "prometheus", "3", Age(STAMP)) == known[:7]
    assert 80 == len(str(known[7]))
    assert ("orders", "orders", "external", "<none>", "<none>", "<unknown>", Age(0), "<none>", "route", "false") == unknown
    assert len(kind.columns) == len(known)
