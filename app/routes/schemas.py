"""OpenAPI schemas of kinds: published names, and the frame that every object and every list has."""

import re
from collections.abc import Mapping
from typing import Any

from app.kinds._base import Kind
from app.wire.open_schema import publishable

V2_REFS, V3_REFS = "#/definitions/", "#/components/schemas/"
"""What a $ref begins with."""

OBJECT_META = "io.kubeglance.apis.meta.v1.ObjectMeta"
LIST_META = "io.kubeglance.apis.meta.v1.ListMeta"

# Generated clients know these models by the names that k8s.io/metrics gives them.
_KNOWN_PREFIXES = {"metrics.k8s.io": "io.k8s.metrics.pkg.apis.metrics"}

_NO_NAME = re.compile(r"[^A-Za-z0-9._-]")
"""What no model's name has: a slash there makes the cluster's merged OpenAPI unreadable."""

_STRING_MAP = {"type": "object", "additionalProperties": {"type": "string", "default": ""}}

_META_SCHEMAS: dict[str, dict[str, Any]] = {
    OBJECT_META: {
        "description": "ObjectMeta names an object and holds what is known of it from outside. kubeglance fills the fields listed here.",
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Name of the object, unique in its namespace."},
            "namespace": {"type": "string", "description": "Namespace of the object; absent for cluster-scoped kinds."},
            "uid": {"type": "string", "description": "Identity of the object over time, where its source has one."},
            "resourceVersion": {
                "type": "string",
                "description": "Opaque version of the object. It may be compared for equality and given back to this server, nothing else.",
            },
            "creationTimestamp": {"type": "string", "format": "date-time", "description": "Time of creation, RFC 3339 in UTC."},
            "labels": {**_STRING_MAP, "description": "Labels, for selectors; those of the thing that the object is about."},
            "annotations": {**_STRING_MAP, "description": "Annotations: notes of kubeglance on where the values come from."},
        },
    },
    LIST_META: {
        "description": "ListMeta tells of a list as a whole: its version, and how to go on if there is more.",
        "type": "object",
        "properties": {
            "resourceVersion": {"type": "string", "description": "Version of the collection from which the list was read."},
            "continue": {"type": "string", "description": "Token for the next page; absent on the last one."},
            "remainingItemCount": {
                "type": "integer",
                "format": "int64",
                "description": "How many objects follow this page. Absent if that is not known, as with selectors.",
            },
        },
    },
}


def meta_schemas(prefix: str) -> dict[str, Any]:
    """The schemas that all kinds share. `prefix` is what a $ref begins with."""
    return {name: publishable(schema, version_2=prefix == V2_REFS) for name, schema in _META_SCHEMAS.items()}


def model_name(kind: Kind, version: str, name: str) -> str:
    """The name of a model: the group reversed, the version and the kind, without any slash."""
    prefix = _KNOWN_PREFIXES.get(kind.group) or ".".join(reversed(kind.group.split(".")))
    return _NO_NAME.sub("_", f"{prefix}.{version}.{name}")


def group_version_kind(kind: Kind, version: str, name: str) -> dict[str, str]:
    """x-kubernetes-group-version-kind of one kind."""
    return {"group": kind.group, "kind": name, "version": version}


def kind_schemas(kind: Kind, version: str, prefix: str) -> dict[str, Any]:
    """The schemas of a kind, of its list and of what is below its objects, by model name. `prefix` is what a $ref begins with."""
    name, list_name = model_name(kind, version, kind.kind), model_name(kind, version, kind.list_kind)
    below = {
        model_name(kind, version, subresource.kind): _object(kind, version, subresource.kind, subresource.schema, prefix)
        for subresource in kind.subresources
        if subresource.schema is not None
    }
    many = {
        "description": f"{kind.list_kind} is a list of {kind.kind}.",
        "type": "object",
        "required": ["items"],
        "properties": {
            **_frame(kind.list_kind),
            "metadata": _reference(LIST_META, prefix, "Standard list metadata."),
            "items": {
                "type": "array",
                "description": f"The {kind.kind} objects, sorted by namespace and name.",
                "items": {"$ref": prefix + name},
            },
        },
        "x-kubernetes-group-version-kind": [group_version_kind(kind, version, kind.list_kind)],
    }
    return {**below, name: _object(kind, version, kind.kind, kind.schema, prefix), list_name: many}


def _object(kind: Kind, version: str, name: str, schema: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The schema of an object: the frame of all, and what its kind has beyond."""
    declared = publishable(schema, version_2=prefix == V2_REFS)
    required = sorted(declared.get("required", ()))
    own = {field: field_schema for field, field_schema in declared.get("properties", {}).items() if field not in _FRAME}
    return {
        "description": declared.get("description", f"{name} is served live by kubeglance."),
        "type": "object",
        **({"required": required} if required else {}),
        "properties": {**_frame(name), "metadata": _reference(OBJECT_META, prefix, "Standard metadata."), **own},
        "x-kubernetes-group-version-kind": [group_version_kind(kind, version, name)],
    }


_FRAME = frozenset({"apiVersion", "kind", "metadata"})


def _frame(kind: str) -> dict[str, Any]:
    return {
        "apiVersion": {"type": "string", "description": "Group and version of this form of the object, as group/version."},
        "kind": {"type": "string", "description": f"Kind of the object: {kind}."},
    }


def _reference(name: str, prefix: str, description: str) -> dict[str, Any]:
    """A reference with a description of its own. In OpenAPI 3.0 what stands beside a $ref is ignored, so it goes into allOf."""
    reference = {"$ref": prefix + name}
    if prefix == V2_REFS:
        return {"description": description, **reference}
    return {"description": description, "default": {}, "allOf": [reference]}
