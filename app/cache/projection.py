"""From a projected object to a published item: its JSON is made once, here, and only joined afterwards."""

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Struct, UnsetType

from app.cache.collection import Collection, Item
from app.kube.records import Key, Labels
from app.wire.timestamps import format_time


class Subject(Enum):
    """What the objects of a kind are about, one object each."""

    NODE = "node"
    POD = "pod"


class Projected(Struct, frozen=True, gc=False):
    """An object before it is published.

    `created` (Unix ns) becomes metadata.creationTimestamp; `fields` is encoded behind metadata, in its own order and names; `value`
    is kept for the cells. Equal `labels` and `value` mean an unchanged object.
    """

    labels: Labels
    annotations: Labels
    created: int
    value: Any
    fields: Struct


class Projection(NamedTuple):
    """One kind as the publisher sees it: what its objects are about, the pure function that makes them, and where they go."""

    subject: Subject
    project: Callable[[Any], Projected | None]
    collection: Collection


class _Metadata(Struct, rename="camel"):
    """The fields of ObjectMeta that are served, in the order of k8s.io/apimachinery meta/v1."""

    name: str
    namespace: str | UnsetType
    resource_version: str
    creation_timestamp: str
    labels: dict[str, str] | UnsetType
    annotations: dict[str, str] | UnsetType


_ENCODER = msgspec.json.Encoder()
_HEAD = b'{"metadata":'


def publish(key: Key, projected: Projected, version: int) -> Item:
    """The item of `projected` at `version`."""
    namespace, name = key
    metadata = _Metadata(
        name=name,
        namespace=namespace or UNSET,
        resource_version=str(version),
        creation_timestamp=format_time(projected.created),
        labels=dict(projected.labels) if projected.labels else UNSET,
        annotations=dict(projected.annotations) if projected.annotations else UNSET,
    )
    head = _HEAD + _ENCODER.encode(metadata)
    fields = _ENCODER.encode(projected.fields)
    body = head + b"," + fields[1:] if len(fields) > 2 else head + b"}"
    return Item(
        key=key,
        labels=projected.labels,
        version=version,
        body=body,
        metadata_end=len(head),
        value=projected.value,
        created=projected.created,
        annotations=projected.annotations,
    )
