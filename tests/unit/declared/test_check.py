"""The checker as a whole: all faults at once, none hides another, and no text makes it fail."""

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from app.declared.check import ALONE, Around, check
from app.declared.documents import read
from app.declared.faults import Path as FaultPath
from app.declared.finding import MOST_FINDINGS
from app.declared.model import LiveResource
from tests.unit.declared.canonical import COOL, QUEUES, changed
from tests.unit.declared.checking import CLUSTER, SHOP, TYPES, checked, no_expressions, queues, said
from tests.unit.declared.metrics import ORDERS, REQUESTS
from tests.unit.declared.test_documents import assert_inside


def test_the_canonical_examples_are_good() -> None:
    """Both, in one file."""
    result = checked(f"{QUEUES}---\n{COOL}")

    assert [] == result.faults
    assert ["queues.msg.example.com", "coolresources.example.com"] == [each.name for each in result.declarations]
    assert [("", "q.yaml:1:1"), ("", "q.yaml:39:1")] == [(each.namespace, str(each.place)) for each in result.declarations]


class Wrong(NamedTuple):
    """A fault in an expression."""

    path: FaultPath
    message: str
    expected: str = ""
    nearest: str = ""
    offset: int | None = None


def test_a_fault_in_an_expression_stands_where_it_is() -> None:
    """Also in a block over several lines."""
    text = queues('name: item.vhost + "/" + item.name', "name: >-\n      item.vhost +\n      item.nme")

    def faults(resource: LiveResource) -> Sequence[Wrong]:
        cel = resource.spec.object.name
        return [
            Wrong(("spec", "object", "name"), 'item has no field "nme"', nearest="name", offset=cel.index("nme")),
            Wrong(("spec", "object", "spec", "queue"), "is no text", "string"),
        ]

    assert [
        '21:12: spec.object.name: item has no field "nme"; did you mean "name"?',
        "24:19: spec.object.spec.queue: is no text; expected string",
    ] == said(text, expressions=faults)


def test_expressions_are_held_against_the_schema() -> None:
    """The real checker of CEL and of jsonPath, in the places of the file."""
    text = QUEUES
    for old, new in [
        ("ready: int(item.messages_ready)", "redy: int(item.messages_ready)"),
        ("jsonPath: .status.ready", "jsonPath: .status.redy"),
        ("value: status.ready,", "value: status.redy + 1,"),
        ("name: item.vhost + ", "name: itm.vhost + "),
    ]:
        text = changed(text, old, new)

    found = said(text, expressions=None)
    assert ["19:11", "23:13", "23:20", "32:52", "34:56"] == [each.split(": ")[0] for each in found], found


def test_expressions_are_not_held_against_a_broken_schema() -> None:
    """Every member would be unknown."""

    def fails(_resource: LiveResource) -> Sequence[Wrong]:
        raise AssertionError("was asked")

    assert ["29:57"] == [each.split(": ")[0] for each in said(queues("queue: {type: string}", "queue: {type: text}"), expressions=fails)]


def test_all_faults_are_told_at_once_and_none_hides_another() -> None:
    """Shape, names, times, source, schema and columns in one go."""
    text = QUEUES
    for old, new in [
        ("Namespaced", "Namespacd"),
        ("[q]", "[Q]"),
        ("url: https", "urll: https"),
        ("interval: 15s", "interval: 500ms"),
        ("queue: {type: string}", "queue: {type: strin}"),
        ("{name: Ready,", "{name: Name,"),
        ("priority: 1", "priorty: 1"),
        ("queue_messages_ready,", "queue-ready,"),
    ]:
        text = changed(text, old, new)

    assert ["7:10", "8:70", "11:7", "15:13", "29:57", "32:12", "33:32", "34:20"] == [each.split(": ")[0] for each in said(text)]


def test_of_very_many_faults_not_all_are_told() -> None:
    """Each costs time, and whoever has so many looks again."""
    unknown = "".join(f"  field{index}: 1\n" for index in range(300))
    bad_names = ", ".join(f"N{index}" for index in range(300))

    for text in (QUEUES + unknown, queues("[live]", f"[{bad_names}]")):
        found = said(text)
        assert MOST_FINDINGS + 1 == len(found)
        assert "1:1: there is more: only 200 faults are told of one document" == found[0]


def test_a_bad_declaration_touches_no_other() -> None:
    """The good one is taken."""
    result = checked(f"{queues('Namespaced', 'Namespacd')}---\n{COOL}")

    assert (["coolresources.example.com"], 1) == ([each.name for each in result.declarations], len(result.faults))


def test_a_document_that_was_not_sound_is_checked_and_not_taken() -> None:
    """A key that is given twice was told by the reader."""
    documents, faults = read(queues("  interval: 15s", "  interval: 15s\n  interval: 5x"), "q.yaml")
    result = check(documents, types=TYPES, expressions=no_expressions)

    assert (1, 1, []) == (len(faults), len(result.faults), result.declarations)


def _paths(value: Any, path: FaultPath = ()) -> list[FaultPath]:
    """Every path in a value."""
    inner: list[tuple[Any, Any]] = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    return [path, *(found for key, part in inner for found in _paths(part, (*path, key)))]


EXAMPLES: list[Mapping[str, Any]] = [read(text, "x.yaml")[0][0].value for text in (QUEUES, COOL, REQUESTS, ORDERS)]

_VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 2**63),
        st.sampled_from([0.5, 1e300]),
        st.text(max_size=8),
        st.sampled_from(["15s", "1Mi", "spec", "type", "$ref", "number", "k8s.io", "a.b"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["type", "properties", "items", "required", "enum", "spec", "name", "x", "value", "valueFrom"]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=6,
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A canonical example in which some parts are taken out, or are something else, as JSON."""
    value: Any = copy.deepcopy(draw(st.sampled_from(EXAMPLES)))
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(_paths(value)))
        if not path:
            continue
        parent = value
        for part in path[:-1]:
            parent = parent[part]
        if isinstance(parent, dict) and draw(st.booleans()):
            if draw(st.booleans()):
                parent.pop(path[-1])
            else:
                parent[draw(st.text(max_size=6))] = draw(_VALUES)
        else:
            parent[path[-1]] = draw(_VALUES)
    return json.dumps(value, indent=1)


@given(mutated(), st.sampled_from([ALONE, Around("shop", SHOP, CLUSTER)]))
def test_no_declaration_crashes_the_checker(text: str, around: Around) -> None:
    """Whatever stands where: faults with places in the file, and a declaration only without errors."""
    documents, faults = read(text, "x.json")
    result = check(documents, around, types=TYPES)

    for fault in result.faults:
        assert_inside(fault.place, text)
        assert fault.message
        assert len(str(fault)) < 1000
    assert len(result.declarations) == (not faults and all(fault.warning for fault in result.faults))
