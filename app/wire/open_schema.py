"""OpenAPI schemas as they may be published: whatever a declaration has written, what comes out breaks no reader.

One bad schema makes the cluster's merged OpenAPI unreadable, and with it kubectl explain, Helm and Argo CD for every kind there is. So
nothing is passed on because it was there: each keyword is copied by its own rule, and what breaks the rule is left out.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

Schema = dict[str, Any]

MOST_NODES = 20_000
"""Schemas and values that one published schema has; the rest of it is any value. An alias in YAML can make any number of them."""

DEEPEST = 64
"""Levels of a published schema below the first."""

_TYPES = frozenset({"array", "boolean", "integer", "number", "object", "string"})
_REFERENCE = "$ref"
"""No field and no value has such a key either: not every reader knows where it is none."""

_INT64 = range(-(2**63), 2**63)


class Unfit(ValueError):
    """A value that the keyword cannot have."""


def publishable(schema: Any, *, version_2: bool) -> Schema:
    """A copy of `schema` for OpenAPI v2 or v3.

    - A reference becomes any value: there is nothing that it could lead to (CRDs have none either).
    - additionalProperties true becomes x-kubernetes-preserve-unknown-fields, false is dropped: a boolean there breaks
      kube-controller-manager (kubernetes/kubernetes 135145).
    - OpenAPI v2 has no anyOf, oneOf, allOf, not, nullable; an int-or-string has no type.
    - An array without items, or with several, is one of any values: kubectl's readers want exactly one schema.
    - Of x-kubernetes-*, what tells of the values stays. How writes are merged and validated says nothing about a read-only API, and a
      group-version-kind inside would take the place of somebody else's model.
    """
    return _Copy(version_2=version_2).schema(schema, 0)


class _Copy:
    """One copy, with the number of nodes that it may still have."""

    def __init__(self, *, version_2: bool) -> None:
        self._left = MOST_NODES
        self._keywords: dict[str, Callable[[Any, int], Any]] = {
            "description": _text,
            "title": _text,
            "format": _text,
            "pattern": _text,
            "type": _type,
            "enum": self._values,
            "default": self._value,
            "example": self._value,
            **dict.fromkeys(("maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"), _count),
            **dict.fromkeys(("maximum", "minimum", "multipleOf"), _number),
            **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "uniqueItems"), _flag),
            "required": _names,
            "items": self._items,
            "properties": self._properties,
            "additionalProperties": self._additional,
            "x-kubernetes-int-or-string": _flag,
            "x-kubernetes-preserve-unknown-fields": _flag,
        }
        if not version_2:
            several = dict.fromkeys(("allOf", "anyOf", "oneOf"), self._several)
            self._keywords |= {**several, "not": self._items, "nullable": _flag}

    def schema(self, schema: Any, depth: int) -> Schema:
        """The copy of one schema."""
        self._left -= 1
        if not isinstance(schema, Mapping) or _REFERENCE in schema or depth > DEEPEST or self._left < 0:
            return {"x-kubernetes-preserve-unknown-fields": True}
        copied: Schema = {}
        for keyword, value in schema.items():
            rule = self._keywords.get(keyword) if isinstance(keyword, str) else None
            if rule is not None:
                try:
                    copied[keyword] = rule(value, depth + 1)
                except Unfit:
                    continue
        if copied.get("additionalProperties") is True:
            del copied["additionalProperties"]
            copied["x-kubernetes-preserve-unknown-fields"] = True
        if copied.get("x-kubernetes-int-or-string"):
            copied.pop("type", None)
        if copied.get("type") == "array":
            copied.setdefault("items", {})
        return copied

    def _items(self, value: Any, depth: int) -> Schema:
        if not isinstance(value, Mapping):
            raise Unfit
        return self.schema(value, depth)

    def _several(self, value: Any, depth: int) -> list[Schema]:
        if not isinstance(value, list | tuple) or not value:
            raise Unfit
        return [self.schema(each, depth) for each in value[: max(self._left, 1)]]

    def _properties(self, value: Any, depth: int) -> Schema:
        if not isinstance(value, Mapping):
            raise Unfit
        names = [name for name in value if isinstance(name, str) and name != _REFERENCE]
        return {_text(name, depth): self.schema(value[name], depth) for name in names if self._left > 0}

    def _additional(self, value: Any, depth: int) -> Schema | bool:
        if value is True:
            return True
        return self._items(value, depth)

    def _values(self, value: Any, depth: int) -> list[Any]:
        if not isinstance(value, list | tuple) or not value:
            raise Unfit
        return [self._value(each, depth) for each in value]

    def _value(self, value: Any, depth: int) -> Any:
        """A JSON value that every reader can hold."""
        self._left -= 1
        if depth > DEEPEST or self._left < 0:
            raise Unfit
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return _text(value, depth)
        if isinstance(value, int | float):
            return _number(value, depth)
        if isinstance(value, list | tuple):
            return [self._value(each, depth + 1) for each in value]
        if isinstance(value, Mapping) and all(isinstance(name, str) and name != _REFERENCE for name in value):
            return {_text(name, depth): self._value(each, depth + 1) for name, each in value.items()}
        raise Unfit


def _text(value: Any, _depth: int) -> str:
    if not isinstance(value, str):
        raise Unfit
    return value.encode("utf-8", "replace").decode()  # half a surrogate pair is no text in JSON


def _type(value: Any, _depth: int) -> str:
    if not isinstance(value, str) or value not in _TYPES:
        raise Unfit
    return value


def _flag(value: Any, _depth: int) -> bool:
    if value is not True:  # what is false may as well not be there
        raise Unfit
    return True


def _count(value: Any, _depth: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0 or value not in _INT64:
        raise Unfit
    return value


def _number(value: Any, _depth: int) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unfit
    if isinstance(value, int):
        if value not in _INT64:
            raise Unfit
        return value
    if not math.isfinite(value):
        raise Unfit
    return value


def _names(value: Any, depth: int) -> list[str]:
    if not isinstance(value, list | tuple) or not value:
        raise Unfit
    return list(dict.fromkeys(_text(name, depth) for name in value))
