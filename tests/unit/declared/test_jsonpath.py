"""JSONPath of printer columns: what a path finds first, and which texts are no path."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.declared.jsonpath import JsonPathError, parse

OBJECT = {
    "metadata": {"name": "a", "annotations": {"example.com/x": "dotted"}},
    "spec": {"on": True, "none": None, "empty": []},
    "status": {
        "ready": 7,
        "conditions": [
            {"type": "Fresh", "status": "True", "age": 3},
            {"type": "Ready", "status": "False", "age": 2.5},
            {"type": "Ready", "status": "Second"},
        ],
        "map": {"b": 2, "a": 1},
    },
}


@pytest.mark.parametrize(
    ("path", "found", "why"),
    [
        (".status.ready", 7, "a member of a member"),
        (".spec.on", True, "a boolean"),
        (".spec.none", None, "null is nothing"),
        (".spec.missing.deeper", None, "what is missing has no members"),
        (".status.ready.deeper", None, "a number has no members"),
        (r".metadata.annotations.example\.com/x", "dotted", "a dot of a name is escaped"),
        (".metadata.annotations['example.com/x']", "dotted", "or stands in quotes"),
        ('.metadata.annotations["example.com/x"]', "dotted", "of either kind"),
        (".status.conditions[0].type", "Fresh", "an element by its index"),
        (".status.conditions[-1].status", "Second", "from the end"),
        (".status.conditions[9].type", None, "an element that is not there"),
        (".spec.empty[0]", None, "nor in an empty list"),
        (".status.conditions[*].type", "Fresh", "the first of all"),
        (".status.map.*", 1, "members come in the order of their names"),
        ('.status.conditions[?(@.type=="Ready")].status', "False", "the first that is equal"),
        (".status.conditions[?(@.type == 'Ready')].status", "False", "with blanks and other quotes"),
        (".status.conditions[?(@.age<3)].type", "Ready", "numbers compare"),
        (".status.conditions[?(@.age>=3)].type", "Fresh", "in both directions"),
        ('.status.conditions[?(@.type!="Fresh")].type', "Ready", "what differs"),
        (".status.conditions[?(@.missing)].type", None, "what has no such member"),
        (".status.conditions[?(@.age)].type", "Fresh", "what has it"),
        ('.status.conditions[?(@.age=="3")].type', None, "text is no number"),
        (".status[?(@.ready==7)]", None, "a filter is for lists"),
        (".status.conditions[*].age[0]", None, "no branch leads on"),
    ],
)
def test_finds_the_first_match(path: Any, found: Any, why: Any) -> None:
    assert parse(path).find(OBJECT) == found, why


@pytest.mark.parametrize(
    ("path", "offset", "why"),
    [
        ("", 0, "nothing"),
        ("status", 0, "no dot at the start"),
        ("{.status}", 0, "kubectl's braces are not for columns"),
        ("..status", 0, "any depth"),
        (".status..ready", 7, "any depth further on"),
        (".status.", 7, "a dot without a name"),
        (".status[0:2]", 7, "a slice"),
        (".status[a,b]", 7, "a union"),
        (".status[?(@.a==b)]", 15, "a word without quotes"),
        (".status[?(@.a=='b'", 7, "a filter without an end"),
        (".status ready", 7, "a blank"),
        ("." + "a" * 1024, 1024, "too long"),
    ],
)
def test_refuses(path: Any, offset: Any, why: Any) -> None:
    with pytest.raises(JsonPathError) as refused:
        parse(path)
    assert refused.value.offset == offset, why


@given(st.one_of(st.text(max_size=40), st.from_regex(r"(\.[a-z]{1,3}|\[[0-9*]\]|\[\?\(@\.[a-z]==(\"a\"|1)\)\]){0,6}", fullmatch=True)))
def test_no_text_crashes_it(text: Any) -> None:
    """A path that finds what is there, or why it is none."""
    with suppress(JsonPathError):
        parse(text).find(OBJECT)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc") | st.text(max_size=3), inner, max_size=3),
)


@given(JSON, st.sampled_from([".a", ".a.b", ".a[0]", ".*", ".a[*].b", '.a[?(@.b=="x")].c', ".a[?(@.b<3)]", ".a[?(@.b)].c"]))
def test_no_value_crashes_it(value: Any, path: Any) -> None:
    parse(path).find(value)
