"""Cells of printer columns: as kube-apiserver makes those of CRDs, and by CEL."""

from typing import Any

import pytest

from app.declared.columns import Columns, cell_of
from app.declared.model import ColumnModel
from app.kinds._base import Age

OBJECT = {
    "metadata": {"name": "a", "labels": {"app": "web"}},
    "spec": {"on": True},
    "status": {"ready": 7, "load": 2.0, "when": "2025-11-30T10:53:20Z", "conditions": [{"type": "Ready", "status": "True"}]},
}


@pytest.mark.parametrize(
    ("type_", "value", "cell", "why"),
    [
        ("integer", 7, 7, "an integer"),
        ("integer", 7.9, 7, "a double is cut, as int64() of Go does"),
        ("integer", 1e20, None, "what is no int64 is blank; Go shows the least one there is"),
        ("integer", "7", None, "text is no integer, and blank"),
        ("integer", True, None, "nor is a boolean"),
        ("number", 7, 7.0, "a number is a double"),
        ("number", "7", None, "text is no number"),
        ("boolean", False, False, "a boolean"),
        ("boolean", "false", None, "text is no boolean"),
        ("string", "a", "a", "text"),
        ("string", 7, "7", "a number as text"),
        ("string", 3.0, "3", "Go prints no fraction where there is none"),
        ("string", 3.5, "3.5", "the fewest digits"),
        ("string", 123456.0, "123456", "up to six places"),
        ("string", 1234567.5, "1.2345675e+06", "and with an exponent from there"),
        ("string", 100000000.0, "1e+08", "of two places"),
        ("string", 0.0001, "0.0001", "small numbers"),
        ("string", -0.00001234, "-1.234e-05", "and smaller ones"),
        ("string", 0.0, "0", "zero"),
        ("string", True, "true", "a boolean as text"),
        ("string", ["a", {"b": "<1>"}], '["a",{"b":"\\u003c1\\u003e"}]', "lists and maps as encoding/json writes them"),
        ("date", "2025-11-30T10:53:20Z", Age(1764500000 * 10**9), "a time is shown as an age"),
        ("date", "yesterday", "<invalid>", "text that is no time"),
        ("date", 1764500000, None, "a number is no date"),
        ("string", None, None, "null is blank"),
        ("date", None, None, "in every type"),
    ],
)
def test_cells_by_type(type_: str, value: Any, cell: Any, why: str) -> None:
    got = cell_of(type_, value)
    assert (got, type(got)) == (cell, type(cell)), why


def columns(*models: dict[str, Any]) -> Columns:
    return Columns([ColumnModel.model_validate(each) for each in models])


def no_errors(column: str, why: str) -> None:
    raise AssertionError(f"{column}: {why}")


@pytest.mark.parametrize(
    ("column", "cell", "why"),
    [
        ({"type": "integer", "jsonPath": ".status.ready"}, 7, "a path"),
        ({"type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'}, "True", "a path with a filter"),
        ({"type": "integer", "jsonPath": ".status.missing"}, None, "nothing there"),
        ({"type": "string", "jsonPath": ".metadata.labels.app"}, "web", "a label"),
        ({"type": "string", "cel": "string(status.ready) + '/' + metadata.labels.app"}, "7/web", "CEL over the object"),
        ({"type": "string", "cel": "status.missing"}, None, "CEL over what is not there is blank, and no error"),
        ({"type": "string", "cel": "1.0 / 0.0 > 1.0 ? 'much' : 'little'"}, "much", "CEL of its own"),
        ({"type": "integer", "cel": "status.ready * 2"}, 14, "an int"),
        ({"type": "boolean", "cel": "status.ready > 3"}, True, "a boolean"),
        ({"type": "date", "cel": "timestamp(status.when)"}, Age(1764500000 * 10**9), "a timestamp is shown as an age"),
        ({"type": "string", "cel": "duration('90s')"}, "1m30s", "a duration is text"),
    ],
)
def test_columns(column: dict[str, Any], cell: Any, why: str) -> None:
    assert columns({"name": "X", **column}).cells(OBJECT, no_errors) == (cell,), why


def test_an_error_costs_the_cell_and_is_told() -> None:
    told: list[tuple[str, str]] = []
    both = columns(
        {"name": "Bad", "type": "string", "cel": "status.ready / 0"}, {"name": "Good", "type": "integer", "jsonPath": ".status.ready"}
    )
    assert both.cells(OBJECT, lambda *each: told.append(each)) == (None, 7)
    assert told == [("Bad", "divide by zero")]


def test_an_object_without_a_part_has_blank_cells() -> None:
    both = columns({"name": "A", "type": "string", "cel": "spec.x"}, {"name": "B", "type": "string", "jsonPath": ".spec.x"})
    assert both.cells({"metadata": {"name": "a"}, "spec": {}, "status": {}}, no_errors) == (None, None)
    assert both.cells({"metadata": {"name": "a"}}, no_errors) == (None, None)
