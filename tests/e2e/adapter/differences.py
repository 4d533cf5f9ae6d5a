"""Every difference between kubeglance's answers and prometheus-adapter's to the same file, in one table: what it is, why it is, and how it
shows.

`adapt` turns the adapter's answer into the one that kubeglance is to give. A difference that changes no answer is none any more, and its
entry has to go: tests/e2e/test_adapter_peer.py tells. docs/differences-from-prometheus-adapter.md is written from this table (`make docs`).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from tests.e2e.adapter.answers import Item, Told
from tests.e2e.adapter.cases import Case
from tests.e2e.adapter.series import NODE, PODS, SHOP

_NO_NUMBER = Decimal(-(2**63)) / 1000
"""What Go makes of an infinite float in an int64 of thousandths, on amd64."""


@dataclass(frozen=True)
class Difference:
    """One row of the page: what, how it is there, how it is here, and why it is not the same."""

    what: str
    there: str
    here: str
    why: str
    adapt: Callable[[Case, Told], Told]


def expected(case: Case, there: Told) -> tuple[Told, list[Difference]]:
    """What kubeglance is to answer, and the differences that this shows."""
    shown = list[Difference]()
    for difference in DIFFERENCES:
        adapted = difference.adapt(case, there)
        if adapted != there:
            shown.append(difference)
        there = adapted
    return there, shown


def _api_version(_: Case, told: Told) -> Told:
    return Told(told.status, tuple(item._replace(about=item.about.removeprefix("/")) for item in told.items))


def _without_nan(case: Case, told: Told) -> Told:
    nan = {"odd_nan": Decimal(0), "queue_depth": _NO_NUMBER, "total_backlog": _NO_NUMBER}
    return Told(told.status, tuple(item for item in told.items if item.value != nan.get(case.metric)))


def _without_infinite(case: Case, told: Told) -> Told:
    is_infinite = case.metric == "odd_infinite"
    return Told(told.status, tuple(item for item in told.items if not (is_infinite and item.value == _NO_NUMBER)))


def _exact(case: Case, told: Told) -> Told:
    exact = {"odd_large": Decimal(10) ** 18, "odd_small": Decimal("0.123456")}
    return Told(told.status, tuple(item._replace(value=exact.get(case.metric, item.value)) for item in told.items))


def _no_such_object(case: Case, told: Told) -> Told:
    return Told(404) if "/jobs.batch/test/" in case.path else told


def _without_namespace(case: Case, told: Told) -> Told:
    metric = json.dumps({"name": "node_load1", "selector": None})
    found = Told(200, (Item(f"v1 Node {NODE}", metric, Decimal("1.5")),))
    return found if f"/namespaces/{SHOP}/nodes/{NODE}/" in case.path else told


def _unequal(case: Case, told: Told) -> Told:
    if "metricLabelSelector=verb%21%3DGET" not in case.path:
        return told
    selector = {"matchExpressions": [{"key": "verb", "operator": "NotIn", "values": ["GET"]}]}
    metric = json.dumps({"name": case.metric, "selector": selector}, sort_keys=True)
    posts = enumerate((name for namespace, name, _ in PODS if namespace == SHOP), 1)
    return Told(200, tuple(Item(f"v1 Pod {SHOP}/{name}", metric, Decimal(2 * number)) for number, name in posts))


def _empty(_: Case, told: Told) -> Told:
    return Told(404) if told == Told(200) else told


def _wrong_selector(case: Case, told: Told) -> Told:
    return Told(400) if told.status == 500 and case.path.endswith("%28%28") else told


def _no_query(_: Case, told: Told) -> Told:
    return Told(404) if told.status == 500 else told


DIFFERENCES = (
    Difference(
        "`apiVersion` of described objects of the core group",
        "`/v1`",
        "`v1`",
        "there is no version `/v1`",
        _api_version,
    ),
    Difference(
        "NaN",
        "0 for objects, -9223372036854775808m for external metrics",
        "left out",
        "a number that nobody measured scales something; the HPA counts a pod without a value as missing",
        _without_nan,
    ),
    Difference(
        "infinite numbers",
        "-9223372036854775808m",
        "left out",
        "as NaN",
        _without_infinite,
    ),
    Difference(
        "numbers that are no 64-bit count of thousandths",
        "-9223372036854775808m if too large, cut to thousandths if too fine",
        "as Prometheus tells them, to the billionth",
        "a quantity holds them",
        _exact,
    ),
    Difference(
        "one object by its name, where there is no such object",
        "the value, if there are series of that name",
        "404",
        "dead objects scale nothing",
        _no_such_object,
    ),
    Difference(
        "a kind without namespaces, asked for in a namespace",
        "404",
        "the value",
        "the HPA knows no other path",
        _without_namespace,
    ),
    Difference(
        "`metricLabelSelector=label!=value`",
        "500",
        "the series that fulfil it",
        "it is a selector as others are",
        _unequal,
    ),
    Difference(
        "a query that finds nothing, or nothing that is a number",
        "200 without items",
        "404 with the reason and the query",
        "to the HPA both are no value; to people only one tells why",
        _empty,
    ),
    Difference(
        "a `metricLabelSelector` that is none",
        "500",
        "400",
        "the mistake is the client's",
        _wrong_selector,
    ),
    Difference(
        "a request that no query can be made for: labels that Prometheus cannot have, an external rule without a label for namespaces",
        "500, the reason is in the log only",
        "404 with the reason",
        "whoever asks can mend it",
        _no_query,
    ),
)
