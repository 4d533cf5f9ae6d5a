"""What is wrong with expressions: a table of faults, each with its path, its place in the text and the nearest right word."""

import copy
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from app.declared.expressions import ExpressionFault, faults_of
from app.declared.faults import path_text
from app.declared.model import LiveResource
from tests.unit.declared.canonical import COOL, QUEUES

STATUS = "spec.object.status"
COLUMNS = "spec.additionalPrinterColumns[0]"

SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"queue": {"type": "string"}, "durable": {"type": "boolean"}}},
        "status": {
            "type": "object",
            "required": ["ready"],
            "properties": {
                "ready": {"type": "integer", "format": "int64"},
                "consumers": {"type": "integer"},
                "load": {"type": "number", "multipleOf": 0.1},
                "tags": {"type": "array", "items": {"type": "string"}},
                "size": {"x-kubernetes-int-or-string": True},
                "maybe": {"type": "integer", "nullable": True},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "of": {"type": "object", "additionalProperties": {"type": "integer"}},
                "parts": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"type": {"type": "string"}, "status": {"type": "string"}}},
                },
            },
        },
    },
}


def declared(text: str = QUEUES, **changes: Any) -> LiveResource:
    declaration = copy.deepcopy(yaml.safe_load(text))
    declaration["spec"]["schema"] = {"openAPIV3Schema": SCHEMA} if text == QUEUES else declaration["spec"]["schema"]
    for path, value in changes.items():
        *outer, last = path.split("__")
        place = declaration["spec"]
        for name in outer:
            place = place[name]
        place[last] = value
    return LiveResource.model_validate(declaration)


def told(**changes: Any) -> list[tuple[str, str, str, str, int | None]]:
    return [(path_text(each.path), each.message, each.expected, each.nearest, each.offset) for each in faults_of(declared(**changes))]


@pytest.mark.parametrize("text", [QUEUES, COOL])
def test_the_examples_have_no_faults(text: str) -> None:
    assert faults_of(declared(text)) == []


def status(**fields: Any) -> dict[str, Any]:
    return {"object__status": {"ready": "int(item.ready)", **fields}}


def column(cel: str, type_: str = "string") -> dict[str, Any]:
    return {"additionalPrinterColumns": [{"name": "X", "type": type_, "cel": cel}]}


def path(json_path: str, type_: str = "string") -> dict[str, Any]:
    return {"additionalPrinterColumns": [{"name": "X", "type": type_, "jsonPath": json_path}]}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"items": "respons.items"}, ("spec.items", 'nothing is named "respons"', "", "response", 0)),
        ({"items": "'x'"}, ("spec.items", "gives string", "a list: each element is an item", "", None)),
        ({"items": "response["}, ("spec.items", "ends too early", "", "", 9)),
        ({"object__name": "true"}, ("spec.object.name", "gives bool", "string", "", None)),
        ({"object__name": "item.name + 1 + 'x'"}, ("spec.object.name", '"+" cannot take int and string', "", "", 14)),
        ({"object__namespace": "1"}, ("spec.object.namespace", "gives int", "string", "", None)),
        ({"object__namespace": "mq"}, ("spec.object.namespace", 'nothing is named "mq"', "one of item, or a function of CEL", "", 0)),
        ({"object__labels": {"a": "[1]"}}, ("spec.object.labels.a", "gives list(int)", "string", "", None)),
        (
            {"object__creationTimestamp": "true"},
            ("spec.object.creationTimestamp", "gives bool", "timestamp, RFC 3339 text or Unix seconds", "", None),
        ),
        (status(redy="1"), (f"{STATUS}.redy", 'the schema has no "redy" here', "", "ready", None)),
        (status(consumers="'x'"), (f"{STATUS}.consumers", "gives string", "int, as the schema says integer: int(...) around it", "", None)),
        (status(consumers="1.0"), (f"{STATUS}.consumers", "gives double", "int, as the schema says integer: int(...) around it", "", None)),
        (status(tags="'x'"), (f"{STATUS}.tags", "gives string", "a list", "", None)),
        (
            status(tags=["'x'", "1"]),
            (f"{STATUS}.tags[1]", "gives int", "string, as the schema says string: string(...) around it", "", None),
        ),
        (status(size="1.5"), (f"{STATUS}.size", "gives double", "int or string", "", None)),
        (status(consumers="null"), (f"{STATUS}.consumers", "gives null", "int, as the schema says integer", "", None)),
        (status(consumers=3), (f"{STATUS}.consumers", "is not text", 'CEL, and a constant is CEL too: "3"', "", None)),
        (status(consumers=True), (f"{STATUS}.consumers", "is not text", 'CEL, and a constant is CEL too: "true"', "", None)),
        (status(consumers={"a": "1"}), (f"{STATUS}.consumers", "is a mapping", "CEL, or what the schema says: integer", "", None)),
        (status(consumers=["1"]), (f"{STATUS}.consumers", "is a list", "CEL, or what the schema says: integer", "", None)),
        (status(parts=[{"typ": "'x'"}]), (f"{STATUS}.parts[0].typ", 'the schema has no "typ" here', "", "type", None)),
        (
            {"object__status": {"consumers": "1"}},
            (STATUS, "the schema requires ready, and nothing here gives it, so every item would be dropped", "ready", "", None),
        ),
        (column("status.redy"), (f"{COLUMNS}.cel", 'the schema has no "redy" here', "", "ready", 7)),
        (column("'a' + string(status.redy)"), (f"{COLUMNS}.cel", 'the schema has no "redy" here', "", "ready", 20)),
        (column("has(status.redy) ? 'a' : 'b'"), (f"{COLUMNS}.cel", 'the schema has no "redy" here', "", "ready", 11)),
        (column("status['redy']"), (f"{COLUMNS}.cel", 'the schema has no "redy" here', "", "ready", 8)),
        (column("status.?redy.orValue('')"), (f"{COLUMNS}.cel", 'the schema has no "redy" here', "", "ready", 8)),
        (column("metadata.nam"), (f"{COLUMNS}.cel", 'the schema has no "nam" here', "", "name", 9)),
        (column("status.parts.filter(p, p.typ == 'x')[0].status"), (f"{COLUMNS}.cel", 'the schema has no "typ" here', "", "type", 25)),
        (column("status.parts.filter(p, p.type == 'x')[0].stat"), (f"{COLUMNS}.cel", 'the schema has no "stat" here', "", "status", 41)),
        (column("status.ready + 'x'"), (f"{COLUMNS}.cel", '"+" cannot take int and string', "", "", 13)),
        (column("spec.queue + status.ready"), (f"{COLUMNS}.cel", '"+" cannot take string and int', "", "", 11)),
        (column("status.load > 1.0 && status.load + 1 == 0 ? 'a' : 'b'"), (f"{COLUMNS}.cel", '"+" cannot take double and int', "", "", 33)),
        (column("status.ready.x"), (f"{COLUMNS}.cel", "expression of type 'int' cannot be the operand of a select operation", "", "", 12)),
        (column("status.tags.map(t, t + 1)"), (f"{COLUMNS}.cel", '"+" cannot take string and int', "", "", 21)),
        (column("status.of.x + 'a'"), (f"{COLUMNS}.cel", '"+" cannot take int and string', "", "", 12)),
        (column("item.name"), (f"{COLUMNS}.cel", 'nothing is named "item"', "one of metadata, spec, status, or a function of CEL", "", 0)),
        (
            column("spec.queue", "integer"),
            (f"{COLUMNS}.cel", "gives string, and the column is of type integer", "double or int or uint", "", None),
        ),
        (path(".status.redy"), (f"{COLUMNS}.jsonPath", 'the schema has no "redy" here', "", "ready", 8)),
        (path(".metadata.annotation.x"), (f"{COLUMNS}.jsonPath", 'the schema has no "annotation" here', "", "annotations", 10)),
        (path('.status.parts[?(@.typ=="x")].status'), (f"{COLUMNS}.jsonPath", 'the schema has no "typ" here', "", "type", 18)),
        (path(".status.parts[*].stat"), (f"{COLUMNS}.jsonPath", 'the schema has no "stat" here', "", "status", 17)),
        (
            path(".status..ready"),
            (
                f"{COLUMNS}.jsonPath",
                "descends to any depth, which columns do not",
                'a path such as .status.ready, or .status.conditions[?(@.type=="Ready")].status',
                "",
                7,
            ),
        ),
        (
            path(".spec.queue", "integer"),
            (f"{COLUMNS}.type", "is string in the schema, so a column of type integer would be blank", "", "string", None),
        ),
        (
            path(".status.ready", "date"),
            (f"{COLUMNS}.type", "is integer in the schema, so a column of type date would be blank", "", "integer", None),
        ),
        (
            {"metrics": [{"name": "m", "value": "spec.queue", "apis": ["custom"]}]},
            ("spec.metrics[0].value", "gives string", "a number: int or double", "", None),
        ),
        (
            {"metrics": [{"name": "m", "value": "status.redy", "apis": ["custom"]}]},
            ("spec.metrics[0].value", 'the schema has no "redy" here', "", "ready", 7),
        ),
        (
            {"subresources": {"history": {"trend": ".spec.queue"}}},
            ("spec.subresources.history.trend", "is string in the schema", "a field of type integer or number", "", None),
        ),
        (
            {"subresources": {"history": {"trend": ".status.ready", "maximum": ".status.mayb"}}},
            ("spec.subresources.history.maximum", 'the schema has no "mayb" here', "", "maybe", 8),
        ),
        (
            {"tests": [{"input": {}, "expect": {"items": {"a": {"status": {}}}}}]},
            ("spec.tests[0].expect.items.a", "names no namespace", "NAMESPACE/NAME", "", None),
        ),
        (
            {"tests": [{"input": {}, "expect": {"items": {"mp/a": {"status": {}}}}}]},
            ("spec.tests[0].expect.items[mp/a]", "mp is not one of allowNamespaces", "mq", "", None),
        ),
        (
            {"tests": [{"input": {}, "expect": {"items": {"mq/a": {"stats": {}}}}}]},
            ("spec.tests[0].expect.items[mq/a].stats", "is no field of the object", "metadata, spec, status", "status", None),
        ),
    ],
)
def test_faults(changes: dict[str, Any], fault: tuple[str, str, str, str, int | None]) -> None:
    found = told(**changes)
    assert found[:1] == [fault]
    assert len(found) == 1


@pytest.mark.parametrize(
    "changes",
    [
        status(load="1"),
        status(load="item.load"),
        status(maybe="null"),
        status(size="'50%'"),
        status(tags="item.tags.map(t, string(t))"),
        status(free={"a": {"b": "1"}}),
        status(of={"any": "1"}),
        status(parts="item.parts"),
        column("has(status.ready) && status.ready > 1 ? 'many' : 'few'"),
        column("status.?ready.orValue(0) > 1 ? 'a' : 'b'"),
        column("string(status.maybe)"),
        column("string(status.free.any.thing)"),
        column("string(status.of.anything + 1)"),
        column("status.parts.filter(p, p.type == 'x')[0].status"),
        column("status.parts.exists(status, status.type == 'x') ? 'a' : 'b'"),
        column("[1].map(status_ready, status.ready + status_ready).size() > 0 ? 'a' : 'b'"),
        column("metadata.labels['a/b'] + metadata.annotations.x"),
        column("string(timestamp(status.observedAt))"),
        column("status . ready > 1 ? 'a' : 'b'"),
        column("status.ready", "integer"),
        column("status.load > 1 ? 'a' : 'b'"),
        column("timestamp(status.observedAt)", "date"),
        path(".status.observedAt", "date"),
        path('.status.conditions[?(@.type=="Fresh")].status'),
        path(".metadata.creationTimestamp", "date"),
        path(r".metadata.labels.a\.b/c"),
        path(".status.free.any.thing", "integer"),
        path(".status.load", "integer"),
        {"object__creationTimestamp": "timestamp(item.at)", "object__observedAt": "item.at"},
        {"object__name": "item.id"},
        {"object__labels": {"example.com/a": "string(item.x)", "b": "1"}},
        {"metrics": [{"name": "m", "value": "double(status.ready) * 2.0", "apis": ["custom"]}]},
        {"tests": [{"input": {}, "expect": {"count": 0, "items": {"other/a": {}}}}], "allowNamespaces": ["mq", "other"]},
    ],
)
def test_no_faults(changes: dict[str, Any]) -> None:
    assert told(**changes) == []


def test_all_are_told_at_once() -> None:
    changes = {"items": "1 +", "object__name": "nme", **status(redy="1", consumers="'x'"), **column("status.redy + spec.quue")}
    assert len(told(**changes)) == 6


def test_a_pattern_of_another_dialect_is_told() -> None:
    declaration = yaml.safe_load(COOL)
    declaration["spec"]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["message"]["pattern"] = "(?=a)"
    faults = faults_of(LiveResource.model_validate(declaration))
    assert [path_text(each.path) for each in faults] == ["spec.schema.openAPIV3Schema.properties.spec.properties.message.pattern"]
    assert faults[0].expected == "a regular expression of RE2"


TEXT = st.text(max_size=20) | st.sampled_from(
    ["item.a", "status.ready", "spec.queue + 'x'", "1", "has(status.x)", "response", "[1]", "{'a': 1}"]
)


@given(TEXT, TEXT, TEXT, TEXT)
def test_no_text_crashes_it(items: str, name: str, ready: str, cel: str) -> None:
    for text in (items, name, cel):
        if not text:
            return
    resource = declared(items=items, object__name=name, **status(consumers=ready), **column(cel))
    for fault in faults_of(resource):
        assert isinstance(fault, ExpressionFault)
        assert fault.message
