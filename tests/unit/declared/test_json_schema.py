"""The JSON Schema of editors: it takes what the checker takes, and refuses what is misspelt."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from app.declared.documents import read
from app.declared.json_schema import schema
from collectors import sources
from tests.unit.declared.canonical import COOL, QUEUES, changed

SCHEMA = schema(sources())
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
_SAYS_NOTHING = {"$schema", "$defs", "title", "description", "default", "examples", "format"}
_KNOWN = _SAYS_NOTHING | {
    "$ref", "type", "properties", "required", "additionalProperties", "items", "anyOf", "oneOf", "enum", "const", "pattern",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems",
    "minProperties", "maxProperties",
}  # fmt: skip


def refused(value: Any, said: Any = SCHEMA, path: str = "") -> Iterator[str]:
    """Where a value does not keep to the part of JSON Schema that ours uses (draft 2020-12)."""
    if said is True or said == {}:
        return
    if "$ref" in said:
        yield from refused(value, SCHEMA["$defs"][said["$ref"].removeprefix("#/$defs/")], path)
    choices = said.get("anyOf") or said.get("oneOf")
    if choices and all(list(refused(value, each, path)) for each in choices):
        yield path
    types = said.get("type", [])
    wanted = [types] if isinstance(types, str) else types
    if wanted and not any(isinstance(value, _TYPES[each]) and (each == "boolean" or not isinstance(value, bool)) for each in wanted):
        yield path
        return
    if value not in said.get("enum", [value]) or value != said.get("const", value):
        yield path
    if isinstance(value, dict):
        yield from _refused_object(value, said, path)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from refused(part, said.get("items", True), f"{path}[{index}]")


def _refused_object(value: Mapping[str, Any], said: Mapping[str, Any], path: str) -> Iterator[str]:
    yield from (f"{path}.{name}" for name in said.get("required", ()) if name not in value)
    if not said.get("minProperties", 0) <= len(value) <= said.get("maxProperties", len(value)):
        yield path
    for name, part in value.items():
        inner = said.get("properties", {}).get(name, said.get("additionalProperties", True))
        if inner is False:
            yield f"{path}.{name}"
        else:
            yield from refused(part, inner, f"{path}.{name}")


def value_of(text: str) -> Any:
    """The value of a declaration."""
    return read(text, "a.yaml")[0][0].value


@pytest.mark.parametrize("text", [QUEUES, COOL], ids=["queues", "cool"])
def test_the_examples_are_accepted(text: str) -> None:
    """As the checker accepts them."""
    assert [] == list(refused(value_of(text)))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("priority: 1", "priorty: 1", [".spec.additionalPrinterColumns[1].priorty"], id="an unknown field"),
        pytest.param("  group: msg.example.com\n", "", [".spec.group"], id="a field that is missing"),
        pytest.param("Namespaced", "Namespacd", [".spec.scope"], id="a word that is none of those"),
        pytest.param("  source:\n    http:", "  source:\n    htp:", [".spec.source.htp"], id="an unknown source"),
        pytest.param("  source:\n", "  source:\n    static: {items: []}\n", [".spec.source"], id="two sources"),
        pytest.param(
            "{value: ro}", "{value: ro, valueFrom: {env: X}}", [".spec.source.http.auth.basic.username"], id="a value of two places"
        ),
        pytest.param("url: https", "urll: https", [".spec.source.http.url", ".spec.source.http.urll"], id="a field of a source"),
        pytest.param("items: 1000", "items: many", [".spec.limits.items"], id="text for a number"),
        pytest.param("interval: 15s", "interval: 15", [".spec.interval"], id="a number for a duration"),
    ],
)
def test_mistakes_are_refused(old: str, new: str, expected: list[str]) -> None:
    """So that an editor underlines them."""
    assert expected == list(refused(value_of(changed(QUEUES, old, new))))


def _parts(said: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(said, dict):
        yield said
        for word in ("properties", "$defs"):
            for part in said.get(word, {}).values():
                yield from _parts(part)
        for part in [said.get("items"), said.get("additionalProperties"), *said.get("anyOf", ()), *said.get("oneOf", ())]:
            yield from _parts(part)


def test_every_source_is_there_and_no_reference_leads_nowhere() -> None:
    """Only words that the tests above understand are used."""
    parts = list(_parts(SCHEMA))

    assert sorted(sources()) == sorted(SCHEMA["$defs"]["LiveResourceSpec"]["properties"]["source"]["properties"])
    assert {part["$ref"].removeprefix("#/$defs/") for part in parts if "$ref" in part} == set(SCHEMA["$defs"])
    assert set() == {word for part in parts for word in part} - _KNOWN


def test_every_field_is_described() -> None:
    """An editor shows it, and so does docs/reference-liveresource.md."""
    missing = [
        f"{name}.{field}"
        for name, model in SCHEMA["$defs"].items()
        for field, said in model.get("properties", {}).items()
        if not said.get("description") and "$ref" not in said and "const" not in said
    ]

    assert [] == missing
