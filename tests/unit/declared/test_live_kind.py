"""From a declaration to a kind: its names, its schema, the forms of its objects, and their uids."""

import copy
import json
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
import yaml

from app.declared.declaration import Declaration
from app.declared.faults import Place, Positions
from app.declared.live_kind import LiveKind, compile_kind
from app.declared.model import LiveResource
from app.kinds._base import Column
from app.routes.schemas import kind_schemas
from tests.unit.declared.canonical import COOL, QUEUES

NOW = 1764500000 * 10**9
ITEM = {"name": "Orders", "vhost": "eu", "durable": True, "messages_ready": 7, "consumers": 2}
FRESH = {"type": "Fresh", "status": "True", "reason": "Collected", "message": "the last collection of the source was good"}


def compiled(text: str = QUEUES, **changes: Any) -> LiveKind:
    declaration = copy.deepcopy(yaml.safe_load(text))
    for path, value in changes.items():
        *outer, last = path.split("__")
        place = declaration["spec"]
        for name in outer:
            place = place[name]
        place[last] = value
    resource = LiveResource.model_validate(declaration)
    return compile_kind(Declaration(resource, Positions(Place("queues.yaml", 3), {}, {}), "", "digest"))


def objects(live: LiveKind, *items: Any) -> list[Any]:
    return live.map({"items": list(items)}, NOW, lambda: False).objects


def test_names_are_those_of_the_declaration() -> None:
    kind = compiled().kind
    assert (kind.group, kind.versions, kind.kind, kind.resource, kind.singular) == (
        "msg.example.com",
        ("v1alpha1",),
        "Queue",
        "queues",
        "queue",
    )
    assert (kind.short_names, kind.categories, kind.namespaced) == (("q",), ("live",), True)
    assert kind.verbs == ("get", "list")


def test_the_singular_is_the_kind_in_small_letters_if_it_is_left_out() -> None:
    assert compiled(names={"kind": "CoolQueue", "plural": "queues"}).kind.singular == "coolqueue"


def test_whoever_writes_is_told_what_to_edit() -> None:
    assert compiled().kind.edit == "queues.msg.example.com is declared by queues.yaml: edit that"


def test_columns_stand_behind_the_name() -> None:
    kind = compiled().kind
    assert [(each.name, each.type, each.priority) for each in kind.columns] == [
        ("Name", "string", 0),
        ("Ready", "integer", 0),
        ("Load", "string", 1),
    ]
    assert kind.columns[0] == Column("Name", "string", "name", "Name of the object.")
    obj = objects(compiled(), ITEM)[0]
    assert kind.cells(obj.key[1], obj.value) == ("eu-orders-89ea4b9a", 7, "3/c")


def test_an_object_has_spec_status_and_its_age() -> None:
    live = compiled()
    obj = objects(live, ITEM)[0]
    said = json.loads(live.kind.json(obj.value))
    assert said == {
        "spec": {"queue": "Orders", "durable": True},
        "status": {"ready": 7, "consumers": 2, "observedAt": "2025-11-30T10:53:20Z", "conditions": [FRESH]},
    }
    aged = json.loads(live.kind.json(live.aged([obj])[0].value))
    assert (aged["status"]["conditions"][0]["status"], aged["status"]["conditions"][0]["reason"]) == ("False", "CollectionFailed")
    assert aged["status"]["observedAt"] == said["status"]["observedAt"], "it was seen then, and not later"


def test_an_object_without_a_status_of_its_own_tells_its_age_too() -> None:
    live = compiled(COOL)
    obj = objects(live, {"name": "a", "namespace": "default", "message": "hi"})[0]
    assert json.loads(live.kind.json(obj.value)) == {
        "spec": {"message": "hi"},
        "status": {"observedAt": "2025-11-30T10:53:20Z", "conditions": [FRESH]},
    }


@pytest.mark.parametrize(
    ("status", "fields", "has"),
    [
        ({"observedAt": {"type": "string"}}, {"observedAt": "'mine'"}, {"observedAt": "mine", "conditions": [FRESH]}),
        ({"observedAt": {"type": "string"}}, {}, {"conditions": [FRESH]}),
        (
            {"conditions": {"type": "array", "items": {"type": "string"}}},
            {"conditions": "['mine']"},
            {"observedAt": "2025-11-30T10:53:20Z", "conditions": ["mine"]},
        ),
    ],
)
def test_what_the_schema_has_of_its_own_is_left_to_it(status: Any, fields: Any, has: Any) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"status": {"type": "object", "properties": status}}}}
    live = compiled(schema=schema, object__spec=None, object__status=fields, additionalPrinterColumns=[])
    assert json.loads(live.kind.json(objects(live, ITEM)[0].value)) == {"status": has}


def test_a_status_with_members_of_any_name_is_left_alone() -> None:
    schema = {
        "openAPIV3Schema": {"type": "object", "properties": {"status": {"type": "object", "additionalProperties": {"type": "integer"}}}}
    }
    live = compiled(schema=schema, object__spec=None, object__status={"a": "1"}, additionalPrinterColumns=[])
    assert json.loads(live.kind.json(objects(live, ITEM)[0].value)) == {"status": {"a": 1}}


def test_the_published_schema_has_what_is_added_and_nothing_of_the_frame() -> None:
    schema = compiled().kind.schema
    assert set(schema["properties"]) == {"spec", "status"}
    assert set(schema["properties"]["status"]["properties"]) == {"ready", "consumers", "observedAt", "conditions"}
    assert schema["properties"]["status"]["required"] == ["ready"]
    published = kind_schemas(compiled().kind, "v1alpha1", "#/components/schemas/")
    assert published["com.example.msg.v1alpha1.Queue"]["properties"]["status"]["properties"]["ready"]["type"] == "integer"


def test_uids_are_stable_and_unique() -> None:
    live, other = compiled(), compiled(names={"kind": "Other", "plural": "queues"})
    obj = objects(live, ITEM)[0]
    assert live.kind.uid is not None
    assert other.kind.uid is not None
    uid = live.kind.uid(obj.key, obj.value)
    assert uid == "d3a95b41-32f9-5799-889b-bc526a5d7fc3", "the same for ever: whoever keeps uids would take it for another object"
    assert UUID(uid).version == 5
    others = {live.kind.uid(("mq", "b"), obj.value), live.kind.uid(("b", obj.key[1]), obj.value), other.kind.uid(obj.key, obj.value)}
    assert len(others | {uid}) == 4


def test_times_are_the_sources() -> None:
    live = compiled(object__creationTimestamp="item.at", object__observedAt="item.seen")
    value = objects(live, {**ITEM, "at": 1764000000, "seen": 1764400000})[0].value
    assert live.kind.created(value) == 1764000000 * 10**9
    assert live.kind.measured is not None
    assert live.kind.measured(value) == 1764400000 * 10**9


def test_numbers_are_the_fields_that_can_be_drawn() -> None:
    assert compiled().numbers == (("status", "ready"), ("status", "consumers"))
    assert compiled(COOL).numbers == ()


def test_equal_items_give_equal_values() -> None:
    """An object that stays equal stays the same for whoever watches it."""
    live = compiled()
    assert objects(live, ITEM)[0] == objects(live, dict(ITEM))[0]


def test_numbers_of_metrics_are_worked_out_with_the_object() -> None:
    """Exactly; what gives none is none, and a fault is told."""
    metrics = [
        {"name": "ready", "value": "status.ready", "apis": ["custom", "external"]},
        {"name": "load", "value": "status.load", "apis": ["custom"]},
        {"name": "odd", "value": "metadata.name.size() > 3 ? 1 : 1 / 0", "apis": ["custom"]},
    ]
    numbers = {"type": "object", "properties": {"ready": {"type": "integer"}, "load": {"type": "number"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"status": numbers}}}
    live = compiled(
        COOL,
        metrics=metrics,
        object={"name": "item.name", "namespace": "'default'", "status": {"ready": "item.ready", "load": "item.load"}},
        schema=schema,
        additionalPrinterColumns=[],
    )
    found = live.map({"items": [{"name": "full", "ready": 7, "load": 0.25}, {"name": "bad", "ready": 0}]}, 0, lambda: False)

    assert (("ready", frozenset({"custom", "external"})), ("load", frozenset({"custom"})), ("odd", frozenset({"custom"}))) == live.metrics
    assert [(Decimal(7), Decimal("0.25"), Decimal(1)), (Decimal(0), None, None)] == [each.value.metrics for each in found.objects]
    assert ["metric odd: divide by zero"] == [each.reason for each in found.blank]
    assert [each.value.metrics for each in found.objects] == [each.value.metrics for each in live.aged(found.objects)]
