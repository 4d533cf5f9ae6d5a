"""What is published of a declared schema breaks no reader, whatever was declared."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.wire.open_schema import DEEPEST, MOST_NODES, publishable

ANY = {"x-kubernetes-preserve-unknown-fields": True}
TYPES = {"array", "boolean", "integer", "number", "object", "string"}


@pytest.mark.parametrize(
    ("declared", "published"),
    [
        pytest.param({"$ref": "#/definitions/other"}, ANY, id="a reference leads nowhere"),
        pytest.param({"items": {"$ref": "x"}, "type": "array"}, {"items": ANY, "type": "array"}, id="nor does one inside"),
        pytest.param({"type": "array"}, {"type": "array", "items": {}}, id="an array has items"),
        pytest.param({"type": "array", "items": [{"type": "string"}]}, {"type": "array", "items": {}}, id="an array has one schema"),
        pytest.param({"type": ["string", "null"]}, {}, id="a type is one of six words"),
        pytest.param({"type": "text"}, {}, id="and no other"),
        pytest.param({"properties": {"a/b": {"type": "string"}}}, {"properties": {"a/b": {"type": "string"}}}, id="fields have any name"),
        pytest.param({"properties": {"a": True, 1: {}}}, {"properties": {"a": ANY}}, id="a field is a schema"),
        pytest.param({"properties": {"$ref": {}}, "default": {"$ref": 1}}, {"properties": {}}, id="nothing else looks like a reference"),
        pytest.param({"properties": [], "required": "a"}, {}, id="wrong shapes"),
        pytest.param({"required": ["a", "a", "b"]}, {"required": ["a", "b"]}, id="required says each once"),
        pytest.param({"additionalProperties": True}, ANY, id="any further field"),
        pytest.param({"additionalProperties": False}, {}, id="no further field"),
        pytest.param({"additionalProperties": {"type": "string"}}, {"additionalProperties": {"type": "string"}}, id="a map"),
        pytest.param({"maxLength": 5.0, "minLength": -1, "maxItems": True, "minItems": 2**63}, {}, id="counts are whole numbers"),
        pytest.param({"maxLength": 5}, {"maxLength": 5}, id="a count"),
        pytest.param({"maximum": math.inf, "minimum": 10**400, "multipleOf": "1"}, {}, id="numbers that nobody can hold"),
        pytest.param({"maximum": 0.5}, {"maximum": 0.5}, id="a number"),
        pytest.param({"default": {"a": [1, None, "x"]}}, {"default": {"a": [1, None, "x"]}}, id="a value"),
        pytest.param({"default": {"a": {1, 2}}, "enum": []}, {}, id="what is no JSON"),
        pytest.param({"enum": ["a", math.nan]}, {}, id="an enum of which one value is none"),
        pytest.param({"description": 3, "pattern": None}, {}, id="texts are texts"),
        pytest.param({"description": "\ud800"}, {"description": "?"}, id="half a surrogate pair"),
        pytest.param({"x-kubernetes-int-or-string": True, "type": "string"}, {"x-kubernetes-int-or-string": True}, id="int or string"),
        pytest.param({"x-kubernetes-group-version-kind": [{"group": "apps", "kind": "Deployment"}]}, {}, id="somebody else's model"),
        pytest.param({"x-kubernetes-list-type": "map", "x-kubernetes-validations": [{"rule": "true"}]}, {}, id="how writes are merged"),
        pytest.param({"discriminator": "kind", "externalDocs": 5, "foo": 1, "$schema": "x"}, {}, id="keywords of other dialects"),
        pytest.param("string", ANY, id="no schema at all"),
        pytest.param(None, ANY, id="nothing"),
    ],
)
def test_what_is_published(declared: Any, published: Any) -> None:
    assert published == publishable(declared, version_2=True) == publishable(declared, version_2=False)


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_alternatives_are_for_version_3(keyword: str) -> None:
    declared = {keyword: [{"type": "string"}, {"$ref": "x"}], "not": {"type": "object"}, "nullable": True}

    assert {} == publishable(declared, version_2=True)
    assert {keyword: [{"type": "string"}, ANY], "not": {"type": "object"}, "nullable": True} == publishable(declared, version_2=False)


def test_a_schema_that_contains_itself() -> None:
    """An alias in YAML makes such a thing. It ends somewhere, with any value."""
    declared: dict[str, Any] = {"type": "object"}
    declared["properties"] = {"left": declared, "right": declared}
    published = publishable(declared, version_2=False)

    assert len(msgspec.json.encode(published)) < 200 * MOST_NODES
    depth = 0
    while "properties" in published:
        published, depth = published["properties"]["left"], depth + 1
    assert depth == DEEPEST + 1


def test_a_value_that_contains_itself() -> None:
    declared: list[Any] = []
    declared += [declared, declared]

    assert {} == publishable({"default": declared, "enum": declared}, version_2=True)


_WORDS = [
    "$ref", "type", "properties", "items", "additionalProperties", "required", "enum", "default", "anyOf", "allOf", "not", "nullable",
    "description", "pattern", "format", "maximum", "maxLength", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-group-version-kind", "x-kubernetes-list-type", "title", "uniqueItems", "foo",
]  # fmt: skip
_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.sampled_from(sorted(TYPES)))
ODD_SCHEMAS = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(st.sampled_from(_WORDS), st.text(max_size=4)), inner, max_size=6)
    ),
    max_leaves=40,
)


def check(schema: Any) -> None:
    """That a schema is one that gnostic, kube-openapi and kube-controller-manager's type checker read."""
    assert isinstance(schema, dict)
    assert "$ref" not in schema
    assert not isinstance(schema.get("additionalProperties"), bool)
    assert schema.get("type", "string") in TYPES
    if schema.get("type") == "array":
        assert isinstance(schema["items"], dict)
    assert all(isinstance(name, str) for name in schema.get("required", ()))
    inner = [
        *schema.get("properties", {}).values(),
        *(schema[word] for word in ("items", "additionalProperties", "not") if word in schema),
        *(each for word in ("allOf", "anyOf", "oneOf") for each in schema.get(word, ())),
    ]
    for each in inner:
        check(each)


@given(ODD_SCHEMAS, st.booleans())
def test_nothing_odd_gets_out(declared: Any, version_2: bool) -> None:
    """Whatever is declared: it can be encoded, and every reader can read it; and it is clean already when it comes a second time."""
    published = publishable(declared, version_2=version_2)

    check(published)
    assert published == msgspec.json.decode(msgspec.json.encode(published))
    assert published == publishable(published, version_2=version_2)
