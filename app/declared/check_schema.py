"""The schema of a declared kind: structural, as that of a CustomResourceDefinition, and such that kubectl can sort by every field.

One schema that is broken breaks the merged OpenAPI of the whole cluster, so nothing is passed on that is not known here.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from app.declared.faults import Path
from app.declared.finding import Finding, duplicate, invalid, listed, repeated
from app.nearest import nearest_word

SCHEMA: Path = ("spec", "schema", "openAPIV3Schema")
PARTS = ("spec", "status")
"""What of an object a declaration fills."""

_ROOT = {"apiVersion": "string", "kind": "string", "metadata": "object"}
"""What every object has; CRDs may repeat it in their schemas."""

TYPES = ("object", "array", "string", "integer", "number", "boolean")
_FORMATS = frozenset(
    {"int32", "int64", "float", "double", "byte", "binary", "date", "date-time", "password", "duration", "uuid", "quantity"}
)
_COMBINED = "what it says written out as type, properties and bounds"
_NOT_SUPPORTED = {
    "$ref": "the schema itself: a structural schema has no references",
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "not"), _COMBINED),
    "default": "the CEL of the field to give it",
    "x-kubernetes-validations": "minimum, maxLength, pattern, enum and the like",
    "x-kubernetes-embedded-resource": "properties",
}


class _Keyword(NamedTuple):
    """What a keyword holds, in words and as a rule, and the types that it belongs to (all if none is named)."""

    expected: str
    holds: Callable[[Any], bool]
    types: tuple[str, ...] = ()


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return _is_number(value) and value == int(value)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


_SCALARS: Mapping[Any, Callable[[Any], bool]] = {
    "string": _is_text,
    "boolean": _is_bool,
    "number": _is_number,
    "integer": _is_integer,
}
_COUNT, _NUMBER, _BOOL, _TEXT = "a whole number from 0 on", "a number", "true or false", "text"
KEYWORDS: Mapping[str, _Keyword] = {
    "type": _Keyword(f"one of {listed(TYPES)}", lambda value: value in TYPES),
    "format": _Keyword(f"one of {listed(sorted(_FORMATS))}", lambda value: isinstance(value, str) and value in _FORMATS),
    "title": _Keyword(_TEXT, _is_text),
    "description": _Keyword(_TEXT, _is_text),
    "example": _Keyword("", lambda _: True),
    "externalDocs": _Keyword("a mapping", lambda value: isinstance(value, dict)),
    "nullable": _Keyword(_BOOL, _is_bool),
    "enum": _Keyword("a list with at least one value", lambda value: isinstance(value, list) and bool(value)),
    "properties": _Keyword("a mapping of names to schemas", lambda value: isinstance(value, dict), ("object",)),
    "required": _Keyword("a list of names", _is_names, ("object",)),
    # A boolean here is fine in a CRD, and makes kube-apiserver's merged OpenAPI v2 unreadable when it comes from an aggregated server.
    "additionalProperties": _Keyword("a schema", lambda value: isinstance(value, dict), ("object",)),
    "minProperties": _Keyword(_COUNT, _is_count, ("object",)),
    "maxProperties": _Keyword(_COUNT, _is_count, ("object",)),
    "items": _Keyword("a schema", lambda value: isinstance(value, dict), ("array",)),
    "minItems": _Keyword(_COUNT, _is_count, ("array",)),
    "maxItems": _Keyword(_COUNT, _is_count, ("array",)),
    "uniqueItems": _Keyword(_BOOL, _is_bool, ("array",)),
    "minLength": _Keyword(_COUNT, _is_count, ("string",)),
    "maxLength": _Keyword(_COUNT, _is_count, ("string",)),
    "pattern": _Keyword("a regular expression", _is_text, ("string",)),
    "minimum": _Keyword(_NUMBER, _is_number, ("integer", "number")),
    "maximum": _Keyword(_NUMBER, _is_number, ("integer", "number")),
    "exclusiveMinimum": _Keyword(_BOOL, _is_bool, ("integer", "number")),
    "exclusiveMaximum": _Keyword(_BOOL, _is_bool, ("integer", "number")),
    "multipleOf": _Keyword("a number above 0", lambda value: _is_number(value) and value > 0, ("integer", "number")),
    "x-kubernetes-preserve-unknown-fields": _Keyword("true", lambda value: value is True, ("object",)),
    "x-kubernetes-int-or-string": _Keyword("true", lambda value: value is True),
    "x-kubernetes-list-type": _Keyword('"atomic", "set" or "map"', lambda value: value in {"atomic", "set", "map"}, ("array",)),
    "x-kubernetes-list-map-keys": _Keyword("a list of names", _is_names, ("array",)),
    "x-kubernetes-map-type": _Keyword('"atomic" or "granular"', lambda value: value in {"atomic", "granular"}, ("object",)),
}
"""All that a schema may say."""


def findings(schema: Mapping[str, Any]) -> Iterator[Finding]:
    """All that is wrong with the schema of an object; `schema` is openAPIV3Schema."""
    if schema.get("type", "object") != "object":
        yield invalid((*SCHEMA, "type"), schema["type"], '"object"')
        return
    yield from _node(schema, SCHEMA)
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, dict) else ():
        path = (*SCHEMA, "properties", name)
        if name in _ROOT:
            if isinstance(part, dict) and part.get("type", _ROOT[name]) == _ROOT[name]:
                continue
            yield Finding((*path, "type"), f"every object has {name}, and it is a {_ROOT[name]}", "no schema of it")
        elif name not in PARTS:
            yield Finding(path, "only spec and status can be filled", listed(PARTS), nearest_word(str(name), PARTS), key=True)


def _node(schema: Any, path: Path) -> Iterator[Finding]:
    if not isinstance(schema, dict):
        yield invalid(path, schema, "a schema: a mapping with a type")
        return
    kind = schema.get("type")
    yield from _typed(schema, path)
    for word, value in schema.items():
        yield from _keyword(word, value, kind, (*path, word))
    yield from _names(schema, path)
    yield from _values(schema, path)
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, dict) else ():
        yield from _node(part, (*path, "properties", name))
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield from _node(schema[word], (*path, word))


def _typed(schema: Mapping[str, Any], path: Path) -> Iterator[Finding]:
    kind, free = schema.get("type"), schema.get("x-kubernetes-preserve-unknown-fields") is True
    either = schema.get("x-kubernetes-int-or-string") is True
    if "type" not in schema and not free and not either:
        yield Finding((*path, "type"), "Required value", listed(TYPES))
    if "type" in schema and either:
        yield Finding((*path, "type"), "Forbidden: x-kubernetes-int-or-string has two types", "no type")
    if kind == "array" and "items" not in schema:
        yield Finding((*path, "items"), "Required value", "the schema of the list's items")
    if "properties" in schema and "additionalProperties" in schema:
        yield Finding((*path, "additionalProperties"), "Forbidden: properties are there already", "one of the two")
    if kind == "number" and "multipleOf" not in schema:
        what = "kubectl get --sort-by fails where one object has 3 and another 3.5"
        yield Finding((*path, "type"), what, "integer with the unit in the field's name, string for a quantity, or multipleOf")


def _keyword(word: str, value: Any, kind: Any, path: Path) -> Iterator[Finding]:
    if word in _NOT_SUPPORTED:
        yield Finding(path, "not supported", _NOT_SUPPORTED[word], key=True)
        return
    keyword = KEYWORDS.get(word)
    if keyword is None:
        yield Finding(path, "unknown field", nearest=nearest_word(word, KEYWORDS), key=True)
    elif not keyword.holds(value):
        choices = {"type": TYPES, "format": _FORMATS}.get(word, ())
        near = nearest_word(value, choices) if isinstance(value, str) else ""
        yield invalid(path, value, keyword.expected, near)
    elif keyword.types and kind in TYPES and kind not in keyword.types:
        yield Finding(path, f"has no meaning for type {kind}", f"type {' or '.join(keyword.types)}", key=True)


def _names(schema: Mapping[str, Any], path: Path) -> Iterator[Finding]:
    required, properties = schema.get("required"), schema.get("properties")
    if not _is_names(required) or not isinstance(required, list):
        return
    known = properties if isinstance(properties, dict) else {}
    free = "additionalProperties" in schema or schema.get("x-kubernetes-preserve-unknown-fields") is True
    again = repeated(required)
    for index, name in enumerate(required):
        if index in again:
            yield duplicate((*path, "required", index), name)
        elif name not in known and not free:
            yield invalid((*path, "required", index), name, "a name of properties", nearest_word(name, known))


def _values(schema: Mapping[str, Any], path: Path) -> Iterator[Finding]:
    """Values of enum must be of the type, and bounds must leave something between them."""
    kind, choices = schema.get("type"), schema.get("enum")
    choices = choices if isinstance(choices, list) else []
    again = repeated(choices)
    for index, choice in enumerate(choices):
        if (is_of := _SCALARS.get(kind)) is not None and not is_of(choice) and not (choice is None and schema.get("nullable") is True):
            yield invalid((*path, "enum", index), choice, f"a value of type {kind}")
        elif index in again:
            yield duplicate((*path, "enum", index), choice)
    for low, high in (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"), ("minProperties", "maxProperties")):
        least, most = schema.get(low), schema.get(high)
        if _is_number(least) and _is_number(most) and least > most:  # type: ignore[operator]
            yield invalid((*path, high), most, f"at least {low}, which is {least}")
