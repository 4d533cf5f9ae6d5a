"""Values against the schema of a declaration, by the rules that kube-apiserver has for objects of a CRD.

What the schema does not have is left out, as CRDs prune. A value that breaks the schema is an error: nothing is bent to fit. Numbers are
the exception, for JSON has but one kind of them: an integer field takes 7.0 as 7, a number field takes 7 as 7.0, and a double is rounded to
the multipleOf of its field, which is what makes 0.30000000000000004 the 0.3 that was meant.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import ROUND_HALF_EVEN, Decimal, DecimalException
from typing import Any
from uuid import UUID

from app.declared.cel import compile_cel
from app.duration import parse_duration
from app.wire.quantity import parse_cpu

Schema = Mapping[str, Any]
Validate = Callable[[Any, str], Any]
"""A value and its path to the value as it is served. Raises Invalid."""

_INT64 = 1 << 63
_INT32 = 1 << 31
_TYPE_NAMES = {str: "text", bool: "a boolean", int: "a whole number", float: "a number", list: "a list", dict: "a mapping"}
_WANTED = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
}
_SHOWN = 40


class Invalid(Exception):
    """A value that breaks its schema: `path` is where, `message` how, as a sentence that goes on after the path."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message


class Absent(Invalid):
    """A required member that is not there."""


def compile_schema(schema: Schema) -> Validate:
    """The check of one schema; app/declared/check_schema.py has which keywords there are. Raises CelError for a pattern that is none."""
    if schema.get("x-kubernetes-int-or-string"):
        check: Validate = _int_or_string
    else:
        check = _CHECKS.get(schema.get("type", ""), _anything)(schema)
    choices = schema.get("enum")
    if choices is not None:
        check = _with_choices(check, choices)
    return _or_null(check) if schema.get("nullable") is True else check


def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """A check of text by a regular expression, in RE2 as in Kubernetes: no input makes it slow. Raises CelError."""
    program = compile_cel(f"text.matches({json.dumps(pattern, ensure_ascii=False)})", {"text": None})
    program({"text": ""})  # what is wrong with a pattern is told by its first use
    return lambda text: program({"text": text}) is True


def _or_null(check: Validate) -> Validate:
    return lambda value, path: None if value is None else check(value, path)


def _anything(_schema: Schema) -> Validate:
    return lambda value, _path: value


def _wrong_type(value: Any, path: str, wanted: str) -> Invalid:
    return Invalid(path, f"is {_TYPE_NAMES.get(type(value), 'null')}, must be {_WANTED[wanted]}")


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _int_or_string(value: Any, path: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise Invalid(path, f"is {_TYPE_NAMES.get(type(value), 'null')}, must be a whole number or text")
    return value


def _with_choices(check: Validate, choices: list[Any]) -> Validate:
    def with_choices(value: Any, path: str) -> Any:
        value = check(value, path)
        if not any(value == choice and isinstance(value, bool) == isinstance(choice, bool) for choice in choices):
            raise Invalid(path, f"is {_shown(value)}, must be one of {', '.join(map(_shown, choices))}")
        return value

    return with_choices


def _boolean(_schema: Schema) -> Validate:
    def check(value: Any, path: str) -> bool:
        if not isinstance(value, bool):
            raise _wrong_type(value, path, "boolean")
        return value

    return check


def _integer(schema: Schema) -> Validate:
    limit = _INT32 if schema.get("format") == "int32" else _INT64
    in_bounds = _bounds(schema)

    def check(value: Any, path: str) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise _wrong_type(value, path, "integer")
        if not -limit <= value < limit:
            raise Invalid(path, f"is {value}, must fit into {'int32' if limit == _INT32 else 'int64'}")
        in_bounds(value, path)
        multiple = schema.get("multipleOf")
        if multiple is not None and Decimal(value) % Decimal(repr(multiple)) != 0:
            raise Invalid(path, f"is {value}, must be a multiple of {multiple}")
        return value

    return check


def _number(schema: Schema) -> Validate:
    in_bounds = _bounds(schema)
    multiple = schema.get("multipleOf")
    unit = Decimal(repr(multiple)) if multiple is not None else None

    def check(value: Any, path: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _wrong_type(value, path, "number")
        number = float(value)
        if unit is not None:
            number = _rounded(number, unit)
        in_bounds(number, path)
        return number

    return check


def _rounded(number: float, unit: Decimal) -> float:
    """The multiple of `unit` that is nearest; numbers that are too large to have one nearby stay."""
    try:
        return float((Decimal(repr(number)) / unit).to_integral_value(ROUND_HALF_EVEN) * unit) + 0.0  # +0.0: no minus zero
    except DecimalException:
        return number


def _bounds(schema: Schema) -> Callable[[Any, str], None]:
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum") is True, schema.get("exclusiveMaximum") is True

    def check(value: Any, path: str) -> None:
        if low is not None and (value < low or (above and value == low)):
            raise Invalid(path, f"is {value}, must be {'more than' if above else 'at least'} {low}")
        if high is not None and (value > high or (below and value == high)):
            raise Invalid(path, f"is {value}, must be {'less than' if below else 'at most'} {high}")

    return check


def _string(schema: Schema) -> Validate:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    pattern = schema.get("pattern")
    matches = compile_pattern(pattern) if pattern is not None else None
    form = schema.get("format", "")
    has_form = _FORMATS.get(form)

    def check(value: Any, path: str) -> str:
        if not isinstance(value, str):
            raise _wrong_type(value, path, "string")
        if len(value) < least:
            raise Invalid(path, f"has {len(value)} characters, must have at least {least}")
        if most is not None and len(value) > most:
            raise Invalid(path, f"has {len(value)} characters, may have at most {most}")
        if matches is not None and not matches(value):
            raise Invalid(path, f"is {_shown(value)}, must match {pattern}")
        if has_form is not None and not has_form(value):
            raise Invalid(path, f"is {_shown(value)}, must have the format {form}")
        return value

    return check


def _array(schema: Schema) -> Validate:
    of_item = compile_schema(schema.get("items") or {})
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    unique = schema.get("uniqueItems") is True or schema.get("x-kubernetes-list-type") == "set"

    def check(value: Any, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise _wrong_type(value, path, "array")
        if len(value) < least:
            raise Invalid(path, f"has {len(value)} items, must have at least {least}")
        if most is not None and len(value) > most:
            raise Invalid(path, f"has {len(value)} items, may have at most {most}")
        checked = [of_item(item, f"{path}[{index}]") for index, item in enumerate(value)]
        if unique and len({json.dumps(item, sort_keys=True) for item in checked}) < len(checked):
            raise Invalid(path, "has an item twice")
        return checked

    return check


def _object(schema: Schema) -> Validate:
    properties = {name: (compile_schema(part), part.get("nullable") is True) for name, part in schema.get("properties", {}).items()}
    additional = schema.get("additionalProperties")
    of_others = compile_schema(additional) if isinstance(additional, Mapping) else None
    others_may_be_null = isinstance(additional, Mapping) and additional.get("nullable") is True
    keeps_others = schema.get("x-kubernetes-preserve-unknown-fields") is True
    required = schema.get("required", ())
    least, most = schema.get("minProperties", 0), schema.get("maxProperties")

    def check(value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _wrong_type(value, path, "object")
        checked = {}
        for name, part in value.items():
            known = properties.get(name)
            if known is not None:
                if part is not None or known[1]:
                    checked[name] = known[0](part, f"{path}.{name}")
            elif of_others is not None:
                if part is not None or others_may_be_null:
                    checked[name] = of_others(part, f"{path}.{name}")
            elif keeps_others:
                checked[name] = part
        for name in required:
            if name not in checked:
                raise Absent(f"{path}.{name}", "is required, and there is none")
        if len(checked) < least:
            raise Invalid(path, f"has {len(checked)} members, must have at least {least}")
        if most is not None and len(checked) > most:
            raise Invalid(path, f"has {len(checked)} members, may have at most {most}")
        return checked

    return check


_CHECKS: Mapping[str, Callable[[Schema], Validate]] = {
    "array": _array,
    "boolean": _boolean,
    "integer": _integer,
    "number": _number,
    "object": _object,
    "string": _string,
}


# Formats; those that are not here are notes for readers, as in Kubernetes.

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def has_form(value: str) -> bool:
        try:
            parse(value)
        except (ValueError, OverflowError, binascii.Error):
            return False
        return True

    return has_form


def _date_time(value: str) -> None:
    if _DATE_TIME.fullmatch(value) is None:
        raise ValueError
    datetime.fromisoformat(value[:19])


def _date(value: str) -> None:
    if _DATE.fullmatch(value) is None:
        raise ValueError
    date.fromisoformat(value)


_FORMATS: Mapping[str, Callable[[str], bool]] = {
    "byte": _parses(lambda value: base64.b64decode(value, validate=True)),
    "date": _parses(_date),
    "date-time": _parses(_date_time),
    "duration": _parses(parse_duration),
    "quantity": _parses(parse_cpu),
    "uuid": _parses(UUID),
}
