"""Two small kinds, one namespaced and one not, and a live one as declarations make them, with items made by hand."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from app.cache.collection import Collection, Item
from app.kinds._base import Age, Cell, Column, Kind, Subject
from app.kube.records import Key, Labels
from app.routes.rendering import PLAIN, Renderer
from tests.fakes.clock import EPOCH, ManualClock


def _project(_record: object, usage: int | None) -> int | None:
    return usage


def _created(_value: int) -> int:
    return int(EPOCH) * 10**9


def _annotations(_value: int) -> Labels:
    return ()


def _json(value: int) -> bytes:
    return b'{"usage":{"cpu":"%dm"}}' % value


def _cells(name: str, value: int) -> tuple[Cell, ...]:
    return (name, f"{value}m", "15s")


_COLUMNS = (
    Column("Name", format="name", description="Name of the resource"),
    Column("cpu", format="quantity"),
    Column("Window", format="duration"),
)

PODS = Kind(
    group="metrics.k8s.io",
    versions=("v1", "v1beta1"),
    kind="PodMetrics",
    resource="pods",
    singular="",
    namespaced=True,
    about="podmetrics",
    subject=Subject.POD,
    columns=_COLUMNS,
    schema={"properties": {"usage": {"type": "object", "additionalProperties": True}}, "required": ["usage"], "description": "Pods."},
    project=_project,
    created=_created,
    annotations=_annotations,
    json=_json,
    cells=_cells,
)

NODES = Kind(
    group="metrics.k8s.io",
    versions=("v1", "v1beta1"),
    kind="NodeMetrics",
    resource="nodes",
    singular="",
    namespaced=False,
    about="nodemetrics",
    subject=Subject.NODE,
    columns=_COLUMNS,
    schema={"properties": {"window": {"type": "string", "nullable": True}}, "description": "Nodes."},
    project=_project,
    created=_created,
    annotations=_annotations,
    json=_json,
    cells=_cells,
    short_names=("nm",),
    categories=("live",),
)


class Queue(Struct, frozen=True):
    """What a queue says: messages, the node it is on, when it was made and seen (Unix ns, 0 if nobody knows)."""

    ready: int = 0
    node: str = ""
    created: int = 0
    seen: int = int(EPOCH) * 10**9


def live_kind(resource: str = "queues", kind: str = "Queue", group: str = "example.com", **changes: Any) -> Kind:
    """A kind of no subject, with uid, an age, a field selector and a sentence for writers; `changes` are fields of Kind."""
    fields: dict[str, Any] = {
        "group": group,
        "versions": ("v1alpha1",),
        "kind": kind,
        "resource": resource,
        "singular": kind.lower(),
        "namespaced": True,
        "columns": (Column("Name", format="name"), Column("Ready", type="integer"), Column("Seen", type="date")),
        "schema": {"properties": {"status": {"type": "object", "properties": {"ready": {"type": "integer"}}}}},
        "created": lambda value: value.created,
        "measured": lambda value: value.seen,
        "annotations": lambda _value: (),
        "json": lambda value: b'{"status":{"ready":%d}}' % value.ready,
        "cells": lambda name, value: (name, value.ready, Age(value.seen)),
        "uid": lambda key, _value: f"uid-of-{key[0]}-{key[1]}",
        "fields": {"spec.node": lambda _key, value: value.node},
        "edit": "edit queues.yaml, the declaration of this kind",
    }
    return Kind(**{**fields, **changes})


def make_queue(namespace: str, name: str, *, version: int = 7, **value: Any) -> Item:
    """An object of a live kind; keyword arguments are the fields of Queue."""
    return Item((namespace, name), (), version, Queue(**value))


def make_item(namespace: str, name: str, *, version: int = 7, labels: Mapping[str, str] | None = None, value: int = 1) -> Item:
    """An item as a publisher makes it."""
    return Item((namespace, name), tuple(sorted((labels or {}).items())), version, value)


def json_of(kind: Kind, item: Item) -> bytes:
    """The object in JSON, as a GET has it."""
    return Renderer(kind, kind.versions[0], ManualClock()).one(item, PLAIN)


def make_collection(*items: Item, version: int = 7, known: frozenset[Key] = frozenset()) -> Collection:
    """A collection of `items`; the cluster also knows the keys in `known`, which have no values because they are late."""
    collection = Collection(lambda key: "late" if key in known or collection.get(key) is not None else None)
    collection.replace(items, (), version)
    return collection


class FakeVersions:
    """Versions below a million are this instance's own."""

    def is_own(self, version: int) -> bool:
        return version < 1_000_000
