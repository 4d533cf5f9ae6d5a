"""Values against a schema: one table of what is taken as it is or bent, one of what is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.declared.cel import CelError
from app.declared.validation import Absent, Invalid, compile_pattern, compile_schema

INTEGER, NUMBER, STRING = {"type": "integer"}, {"type": "number"}, {"type": "string"}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "value", "served", "why"),
    [
        (INTEGER, 7, 7, "an integer"),
        (INTEGER, 2**63 - 1, 2**63 - 1, "up to the end of int64"),
        (INTEGER, 7.0, 7, "JSON has one kind of numbers: 7.0 is 7"),
        (NUMBER, 7, 7.0, "and 7 is 7.0, so that kubectl can sort"),
        ({**NUMBER, "multipleOf": 0.1}, 0.30000000000000004, 0.3, "a double is rounded to what was meant"),
        ({**NUMBER, "multipleOf": 0.5}, 7, 7.0, "a multiple stays"),
        ({**NUMBER, "multipleOf": 0.5}, -0.1, 0.0, "no minus zero"),
        ({**NUMBER, "multipleOf": 0.01}, 1e300, 1e300, "what is too large for decimals stays"),
        ({**INTEGER, "minimum": 1, "maximum": 7}, 7, 7, "bounds are inside"),
        ({**STRING, "maxLength": 2}, "äö", "äö", "length is in characters"),
        ({**STRING, "pattern": "^a+$"}, "aaa", "aaa", "a pattern"),
        ({**STRING, "pattern": "b"}, "abc", "abc", "is not anchored"),
        ({**STRING, "pattern": '^"\\\\\n$'}, '"\\\n', '"\\\n', "quotes, backslashes and line ends in patterns"),
        ({**STRING, "enum": ["a", "b"]}, "b", "b", "one of the choices"),
        ({**STRING, "format": "date-time"}, "2026-01-31T09:15:00.5+01:00", "2026-01-31T09:15:00.5+01:00", "a time stays as it is"),
        ({**STRING, "format": "quantity"}, "1500m", "1500m", "a quantity"),
        ({**STRING, "format": "duration"}, "1h30m", "1h30m", "a duration"),
        ({**STRING, "format": "password"}, "x", "x", "a format that nothing checks"),
        ({"x-kubernetes-int-or-string": True}, "50%", "50%", "int or string: text"),
        ({"x-kubernetes-int-or-string": True}, 5, 5, "int or string: int"),
        ({"type": "array", "items": INTEGER}, [1, 2.0], [1, 2], "items are looked at"),
        ({"type": "array", "items": STRING, "uniqueItems": True}, ["a", "b"], ["a", "b"], "no item twice"),
        (of(a=INTEGER), {"a": 1, "b": 2}, {"a": 1}, "what the schema does not have is left out, as CRDs prune"),
        (of(a=INTEGER), {"a": None}, {}, "null is nothing"),
        (of(a={**INTEGER, "nullable": True}), {"a": None}, {"a": None}, "but where it may be null"),
        ({"type": "array", "items": {**INTEGER, "nullable": True}}, [1, None], [1, None], "items too"),
        ({"type": "object", "additionalProperties": {**INTEGER, "nullable": True}}, {"a": None}, {"a": None}, "and members of any name"),
        ({**INTEGER, "nullable": True, "enum": [1]}, None, None, "whatever the choices are"),
        (of(a=of(b=STRING)), {"a": {"b": "x", "c": 1}}, {"a": {"b": "x"}}, "at any depth"),
        ({"type": "object", "additionalProperties": INTEGER}, {"a": 1.0, "b": None}, {"a": 1}, "members of any name"),
        ({**of(), "x-kubernetes-preserve-unknown-fields": True}, {"a": [1, "x"]}, {"a": [1, "x"]}, "unknown members are kept if told so"),
        ({"x-kubernetes-preserve-unknown-fields": True}, [1], [1], "anything"),
        ({"type": "boolean"}, False, False, "a boolean"),
    ],
)
def test_takes(schema: Any, value: Any, served: Any, why: str) -> None:
    got = compile_schema(schema)(value, "x")
    assert (repr(got), type(got)) == (repr(served), type(served)), why


@pytest.mark.parametrize(
    ("schema", "value", "says"),
    [
        (INTEGER, "7", "x: is text, must be a whole number"),
        (INTEGER, 7.5, "x: is a number, must be a whole number"),
        (INTEGER, True, "x: is a boolean, must be a whole number"),
        (INTEGER, 2**63, "x: is 9223372036854775808, must fit into int64"),
        ({**INTEGER, "format": "int32"}, 2**31, "x: is 2147483648, must fit into int32"),
        ({**INTEGER, "minimum": 1}, 0, "x: is 0, must be at least 1"),
        ({**INTEGER, "minimum": 1, "exclusiveMinimum": True}, 1, "x: is 1, must be more than 1"),
        ({**NUMBER, "maximum": 1}, 1.5, "x: is 1.5, must be at most 1"),
        ({**NUMBER, "maximum": 1, "exclusiveMaximum": True}, 1, "x: is 1.0, must be less than 1"),
        ({**INTEGER, "multipleOf": 5}, 7, "x: is 7, must be a multiple of 5"),
        (NUMBER, "7", "x: is text, must be a number"),
        (STRING, 7, "x: is a whole number, must be text"),
        ({**STRING, "minLength": 2}, "a", "x: has 1 characters, must have at least 2"),
        ({**STRING, "maxLength": 2}, "abc", "x: has 3 characters, may have at most 2"),
        ({**STRING, "pattern": "^a+$"}, "b", 'x: is "b", must match ^a+$'),
        ({**STRING, "enum": ["a", "b"]}, "c", 'x: is "c", must be one of "a", "b"'),
        ({**INTEGER, "enum": [1]}, 2, "x: is 2, must be one of 1"),
        ({**STRING, "format": "date-time"}, "2026-02-31T09:15:00Z", 'x: is "2026-02-31T09:15:00Z", must have the format date-time'),
        ({**STRING, "format": "date"}, "20260131", 'x: is "20260131", must have the format date'),
        ({**STRING, "format": "uuid"}, "x", 'x: is "x", must have the format uuid'),
        ({**STRING, "format": "byte"}, "!", 'x: is "!", must have the format byte'),
        ({"x-kubernetes-int-or-string": True}, True, "x: is a boolean, must be a whole number or text"),
        ({"type": "boolean"}, 1, "x: is a whole number, must be true or false"),
        ({"type": "array", "items": INTEGER}, {}, "x: is a mapping, must be a list"),
        ({"type": "array", "items": INTEGER}, [1, None], "x[1]: is null, must be a whole number"),
        ({"type": "array", "items": INTEGER}, [1, "a"], "x[1]: is text, must be a whole number"),
        ({"type": "array", "items": INTEGER, "minItems": 1}, [], "x: has 0 items, must have at least 1"),
        ({"type": "array", "items": INTEGER, "maxItems": 1}, [1, 2], "x: has 2 items, may have at most 1"),
        ({"type": "array", "items": INTEGER, "uniqueItems": True}, [1, 1.0], "x: has an item twice"),
        ({"type": "array", "items": STRING, "x-kubernetes-list-type": "set"}, ["a", "a"], "x: has an item twice"),
        (of(a=INTEGER), [], "x: is a list, must be a mapping"),
        (of(a=of(b=INTEGER)), {"a": {"b": "c"}}, "x.a.b: is text, must be a whole number"),
        ({**of(a=INTEGER), "required": ["a"]}, {}, "x.a: is required, and there is none"),
        ({**of(a=INTEGER), "required": ["a"]}, {"a": None}, "x.a: is required, and there is none"),
        ({**of(a=INTEGER), "minProperties": 1}, {}, "x: has 0 members, must have at least 1"),
        ({"type": "object", "additionalProperties": INTEGER, "maxProperties": 1}, {"a": 1, "b": 2}, "x: has 2 members, may have at most 1"),
        ({"type": "object", "additionalProperties": INTEGER}, {"a": "b"}, "x.a: is text, must be a whole number"),
    ],
)
def test_refuses(schema: Any, value: Any, says: str) -> None:
    with pytest.raises(Invalid) as refused:
        compile_schema(schema)(value, "x")
    assert str(refused.value) == says


def test_what_is_absent_is_told_apart() -> None:
    """The mapping knows why there is none, and says so."""
    with pytest.raises(Absent) as absent:
        compile_schema({**of(a=INTEGER), "required": ["a"]})({}, "x")
    assert absent.value.path == "x.a"


def test_a_pattern_that_takes_for_ever_elsewhere_does_not_here() -> None:
    assert not compile_pattern("^(a+)+$")("a" * 5000 + "b")


def test_a_pattern_that_is_none_is_an_error() -> None:
    with pytest.raises(CelError, match="invalid regular expression"):
        compile_pattern("(?=a)")


SCHEMAS = st.recursive(
    st.sampled_from([INTEGER, NUMBER, STRING, {"type": "boolean"}, {**STRING, "pattern": "a"}, {**INTEGER, "nullable": True}, {}]),
    lambda inner: (
        inner.map(lambda each: {"type": "array", "items": each})
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(lambda each: of(**each))
        | inner.map(lambda each: {"type": "object", "additionalProperties": each})
    ),
    max_leaves=4,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(SCHEMAS, JSON)
def test_what_was_taken_once_is_taken_as_it_is(schema: Any, value: Any) -> None:
    validate = compile_schema(schema)
    try:
        served = validate(value, "x")
    except Invalid:
        return
    assert repr(validate(served, "x")) == repr(served)
