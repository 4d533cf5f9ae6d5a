"""What is said to be as in a CRD is so: kube-apiserver gets the same schemas, columns and values, and its verdicts are compared."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from app.declared.columns import Columns
from app.declared.model import ColumnModel
from app.declared.validation import Invalid, compile_schema
from app.kinds._base import Age
from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import wait_until

pytestmark = pytest.mark.e2e

GROUP = "rules.example.com"
PATH = f"/apis/{GROUP}/v1/namespaces/default/rules"
STRING, INTEGER = {"type": "string"}, {"type": "integer"}

FIELDS: dict[str, dict[str, Any]] = {
    "integer": INTEGER,
    "int32": {**INTEGER, "format": "int32"},
    "bounded": {**INTEGER, "minimum": 1, "maximum": 9},
    "exclusive": {"type": "number", "minimum": 1, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": True},
    "fives": {**INTEGER, "multipleOf": 5},
    "number": {"type": "number"},
    "string": STRING,
    "short": {**STRING, "minLength": 1, "maxLength": 3},
    "pattern": {**STRING, "pattern": "^a+$"},
    "inside": {**STRING, "pattern": "b"},
    "choice": {**STRING, "enum": ["a", "b"]},
    "time": {**STRING, "format": "date-time"},
    "date": {**STRING, "format": "date"},
    "uuid": {**STRING, "format": "uuid"},
    "byte": {**STRING, "format": "byte"},
    "boolean": {"type": "boolean"},
    "either": {"x-kubernetes-int-or-string": True},
    "list": {"type": "array", "items": INTEGER, "minItems": 1, "maxItems": 2},
    "set": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
    "nested": {"type": "object", "required": ["a"], "properties": {"a": STRING, "b": {"type": "object", "properties": {"c": INTEGER}}}},
    "map": {"type": "object", "additionalProperties": INTEGER, "maxProperties": 2},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "nullable": {**INTEGER, "nullable": True},
}
VALUES: dict[str, list[Any]] = {
    "integer": [7, -1, 2**63 - 1, -(2**63), "7", 7.5, True, [7], {}],
    "int32": [2**31 - 1, 2**31],
    "bounded": [1, 9, 0, 10],
    "exclusive": [1.5, 8.5, 1, 9],
    "fives": [0, 5, 7],
    "number": [1.5, "1.5", True],
    "string": ["", "äöü", 7, True, ["a"]],
    "short": ["a", "äöü", "", "abcd"],
    "pattern": ["aaa", "", "aab"],
    "inside": ["abc", "ac"],
    "choice": ["a", "c"],
    "time": ["2026-01-31T09:15:00Z", "2026-01-31T09:15:00.5+01:00", "2026-01-31", "x"],
    "date": ["2026-01-31", "20260131", "2026-01-32"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "x"],
    "byte": ["YQ==", "!"],
    "boolean": [True, False, "true", 1],
    "either": [5, "50%", True, 1.5],
    "list": [[1], [1, 2], [], [1, 2, 3], ["a"], 1],
    "set": [["a", "b"], ["a", "a"]],
    "nested": [{"a": "x"}, {"a": "x", "d": 1, "b": {"c": 1, "d": 2}}, {}, {"a": "x", "b": {"c": "y"}}, []],
    "map": [{"a": 1}, {"a": "b"}, {"a": 1, "b": 2, "c": 3}],
    "free": [{"a": [1, {"b": None}]}, 1],
    "nullable": [None, 1, "x"],
}
COLUMNS = [
    {"name": "A", "type": "integer", "jsonPath": ".spec.integer"},
    {"name": "B", "type": "integer", "jsonPath": ".spec.number"},
    {"name": "C", "type": "integer", "jsonPath": ".spec.string"},
    {"name": "D", "type": "number", "jsonPath": ".spec.integer"},
    {"name": "E", "type": "number", "jsonPath": ".spec.number"},
    {"name": "F", "type": "string", "jsonPath": ".spec.number"},
    {"name": "G", "type": "string", "jsonPath": ".spec.integer"},
    {"name": "H", "type": "string", "jsonPath": ".spec.boolean"},
    {"name": "I", "type": "string", "jsonPath": ".spec.nested"},
    {"name": "J", "type": "string", "jsonPath": ".spec.list"},
    {"name": "K", "type": "boolean", "jsonPath": ".spec.boolean"},
    {"name": "L", "type": "boolean", "jsonPath": ".spec.string"},
    {"name": "M", "type": "date", "jsonPath": ".spec.time"},
    {"name": "N", "type": "date", "jsonPath": ".spec.string"},
    {"name": "O", "type": "date", "jsonPath": ".spec.integer"},
    {"name": "P", "type": "string", "jsonPath": ".spec.missing"},
    {"name": "Q", "type": "string", "jsonPath": ".spec.list[0]"},
    {"name": "R", "type": "string", "jsonPath": ".spec.list[*]"},
    {"name": "S", "type": "string", "jsonPath": ".spec.free.parts[?(@.type=='Ready')].status"},
    {"name": "T", "type": "string", "jsonPath": ".spec.free.parts[9].status"},
    {"name": "U", "type": "string", "jsonPath": ".metadata.annotations.example\\.com/x"},
    {"name": "V", "type": "string", "jsonPath": ".spec.nested.a"},
    {"name": "W", "type": "string", "jsonPath": ".spec.free.parts[-1].status"},
    {"name": "X", "type": "string", "jsonPath": ".spec.free"},
]
OBJECTS: list[dict[str, Any]] = [
    {
        "integer": 7,
        "number": 1234567.5,
        "string": "yesterday",
        "boolean": True,
        "time": "2020-01-31T09:15:00Z",
        "nested": {"a": "x<y"},
        "list": [3, 4],
        "free": {"parts": [{"type": "Fresh", "status": "1"}, {"type": "Ready", "status": "2"}, {"type": "Ready", "status": "3"}]},
    },
    {"integer": -1, "number": 0.00001, "boolean": False, "string": "2020-01-31T09:15:00Z", "free": {"parts": []}},
    {"integer": 2**53 + 1, "number": 1e17, "list": [1]},
    {"number": 3, "free": {"b": 1.5, "a": [True, None, "x"]}},
    {"number": -2.75},
    {},
]


@pytest.fixture(scope="module")
def rules(plane: ControlPlane) -> Iterator[httpx.Client]:
    """A client of a kube-apiserver with the CRD."""
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"rules.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "Rule", "plural": "rules"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": FIELDS}}}},
                    "additionalPrinterColumns": COLUMNS,
                }
            ],
        },
    }
    with plane.client() as client:
        made = client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json=definition)
        assert made.status_code == 201, made.text
        wait_until("the CRD is served", lambda: client.get(PATH).status_code == 200, seconds=60, every=0.5)
        yield client
        plane.kubectl("delete", "crd", f"rules.{GROUP}", "--wait=false")


def posted(client: httpx.Client, name: str, spec: Any, *, dry_run: bool) -> httpx.Response:
    metadata = {"name": name, "annotations": {"example.com/x": "dotted"}}
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Rule", "metadata": metadata, "spec": spec}
    return client.post(PATH, json=body, params={"dryRun": "All"} if dry_run else {})


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in VALUES.items() for value in values])
def test_values_are_judged_alike(rules: httpx.Client, field: str, value: Any) -> None:
    answer = posted(rules, "a", {field: value}, dry_run=True)
    assert answer.status_code in {201, 422}, answer.text
    validate = compile_schema({"type": "object", "properties": FIELDS})
    if answer.status_code == 201:
        assert validate({field: value}, "spec") == answer.json()["spec"]
    else:
        with pytest.raises(Invalid):
            validate({field: value}, "spec")


def test_cells_are_alike(rules: httpx.Client) -> None:
    columns = Columns([ColumnModel.model_validate(each) for each in COLUMNS])
    for index, spec in enumerate(OBJECTS):
        answer = posted(rules, f"cells-{index}", spec, dry_run=False)
        assert answer.status_code == 201, answer.text
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    table = rules.get(PATH, params={"includeObject": "Object"}, headers={"Accept": accept}).json()
    assert len(OBJECTS) == len(table["rows"])
    for row in table["rows"]:
        ours = columns.cells(row["object"], lambda *each: pytest.fail(str(each)))
        printed = ["(an age)" if isinstance(cell, Age) else cell for cell in ours]
        theirs = ["(an age)" if isinstance(cell, Age) else cell for cell, _ in zip(row["cells"][1:], ours, strict=True)]
        dates = [index for index, cell in enumerate(ours) if isinstance(cell, Age)]
        for date in dates:
            assert theirs[date], "an age"
            theirs[date] = "(an age)"
        assert theirs == printed, json.dumps(row["object"]["spec"])
