"""Whom a declaration is held against: everybody with whom it can clash, and hardly anybody else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.declared import check_metric, check_names, check_overlap
from app.declared.declaration import AnyDeclaration, Declaration, is_kind, is_metric
from app.declared.documents import read
from app.declared.faults import Place, Positions
from app.declared.finding import Finding
from app.declared.metric_model import LiveMetric
from app.declared.model import LiveResource
from app.declared.neighbours import Neighbours
from tests.fakes.declared import declaration, live_resource
from tests.unit.declared.metrics import ORDERS

_WORD = st.sampled_from(["queues", "queue", "jobs", "q"])
_GROUP = st.sampled_from(["example.com", "shop.example.com"])
_METRIC = st.fixed_dictionaries(
    {"name": st.sampled_from(["waiting", "late"]), "value": st.just("1"), "apis": st.sampled_from([["custom"], ["custom", "external"]])}
)


def _placed(resource: LiveResource | LiveMetric, namespace: str) -> AnyDeclaration:
    return AnyDeclaration(resource, Positions(Place("a.yaml"), {}, {}), namespace, "")


@st.composite
def _kinds(draw: st.DrawFn) -> AnyDeclaration:
    kind = draw(st.sampled_from(["Queue", "QueueList", "Job"]))
    plural = draw(_WORD)
    names = {"kind": kind, "plural": plural, "singular": draw(_WORD), "shortNames": draw(st.lists(_WORD, max_size=2))}
    said = live_resource(plural, draw(_GROUP), names=names, metrics=draw(st.lists(_METRIC, max_size=2)))
    return _placed(LiveResource.model_validate(said), "")


@st.composite
def _metrics(draw: st.DrawFn) -> AnyDeclaration:
    ((document,), _) = read(ORDERS, "a.yaml")
    said: dict[str, Any] = document.value
    described = draw(st.none() | st.fixed_dictionaries({"resource": _WORD, "group": _GROUP}))
    spec = {**said["spec"], "name": draw(st.sampled_from(["waiting", "late"])), "api": "external" if described is None else "custom"}
    spec |= {"describes": described, "sample": {**said["spec"]["sample"], "object": None if described is None else {"name": "item.name"}}}
    spec["namespaces"] = draw(st.sampled_from(["any", ["shop"]]))
    metric = LiveMetric.model_validate({**said, "metadata": {"name": draw(_WORD)}, "spec": spec})
    return _placed(metric, draw(st.sampled_from(["", "shop"])))


def _clashes(one: AnyDeclaration, others: list[AnyDeclaration]) -> list[Finding]:
    found = list(check_overlap.findings(one.resource, one.namespace, others))
    if isinstance(one.resource, LiveMetric):
        return [*found, *check_metric.beside(one.resource, one.namespace, [each for each in others if is_metric(each)])]
    return [*found, *check_names.beside(one.resource, [each for each in others if is_kind(each)])]


@given(_kinds() | _metrics(), st.lists(_kinds() | _metrics(), max_size=8))
def test_no_clash_is_missed(one: AnyDeclaration, others: list[AnyDeclaration]) -> None:
    """What the rules find among neighbours is what they find among all."""
    assert _clashes(one, Neighbours(others).of(one.resource, one.namespace)) == _clashes(one, others)


@pytest.mark.parametrize(
    ("other", "near"),
    [
        pytest.param(declaration("jobs"), False, id="others have nothing to do with it"),
        pytest.param(declaration("queues"), True, id="one of its name"),
        pytest.param(declaration("queues", "other.com"), True, id="one of another group, that kubectl knows by the same name"),
        pytest.param(declaration("lists", names={"kind": "QueueList", "plural": "lists"}), True, id="the kind of its list"),
    ],
)
def test_who_shares_no_name_is_no_neighbour(other: Declaration, near: bool) -> None:
    """However many there are: so that a thousand declarations are not held against a million."""
    assert Neighbours([other]).of(declaration("queues").resource, "") == ([other] if near else [])
