"""The kind that a definition declares, in the shape of Cozystack's own API server. Pure."""

from functools import lru_cache
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

import msgspec

from app.cozystack.definition import Definition
from app.declared.objects import LiveValue, annotations, cells, created, observed
from app.kinds._base import Column, Kind, Subresource
from app.kube.records import Key

VERSION = "v1alpha1"
_COLUMNS = (
    Column("Name", format="name", description="Name of the application: that of its HelmRelease without the prefix."),
    Column("Ready", description="Status of the condition Ready."),
    Column("Age", type="date", description="Time since the HelmRelease was created."),
    Column("Version", description="Version of the application: what stands behind the plus of the chart's version."),
)
_CONDITIONS = {
    "type": "array",
    "description": "The HelmRelease's conditions Ready and Released.",
    "items": {
        "type": "object",
        "required": ["type", "status"],
        "properties": {name: {"type": "string"} for name in ("type", "status", "reason", "message", "lastTransitionTime")},
    },
}
_STATUS = {
    "type": "object",
    "description": "What is seen of the application.",
    "properties": {
        "version": {"type": "string", "description": "Chart version that was attempted last."},
        "conditions": _CONDITIONS,
    },
}
_encode = msgspec.json.Encoder().encode


def kind_of(definition: Definition, group: str, subresources: tuple[Subresource, ...] = ()) -> Kind:
    """The kind of a definition in `group`, with what is served below its objects."""
    return Kind(
        group=group,
        versions=(VERSION,),
        kind=definition.kind,
        resource=definition.plural,
        singular=definition.singular,
        namespaced=True,
        columns=_COLUMNS,
        schema={
            "description": f"{definition.kind} is an application of Cozystack, read from its HelmRelease.",
            "properties": {"spec": {"description": "Values of the application.", **definition.schema}, "status": _STATUS},
        },
        created=created,
        measured=observed,
        annotations=annotations,
        json=_json,
        cells=cells,
        uid=lambda key, _value: uid(group, definition.kind, key),
        subresources=subresources,
        edit=f'change the HelmRelease "{definition.prefix}NAME" of that namespace (helm.toolkit.fluxcd.io) instead',
    )


@lru_cache(maxsize=4096)
def uid(group: str, kind: str, key: Key) -> str:
    """An identity of the object's own: that of the release would make two kinds share one, and the garbage collector goes by it."""
    return str(uuid5(NAMESPACE_DNS, f"{group}/{kind}/{key[0]}/{key[1]}"))


def _json(value: LiveValue) -> bytes:
    fields: dict[str, Any] = {"spec": value.spec, "status": value.status}
    return _encode(fields)
