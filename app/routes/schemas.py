"""OpenAPI schemas of kinds: published names, the objects' frame, and the cleaning that kube-apiserver's clients need."""

from collections.abc import Mapping
from typing import Any

from app.kinds._base import Kind

OBJECT_META = "io.kubeglance.apis.meta.v1.ObjectMeta"
LIST_META = "io.kubeglance.apis.meta.v1.ListMeta"

# Generated clients know these models by the names that k8s.io/metrics gives them.
_KNOWN_PREFIXES = {"metrics.k8s.io": "io.k8s.metrics.pkg.apis.metrics"}

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
    """The schemas that all kinds share."""
    return {name: clean(schema, prefix) for name, schema in _META_SCHEMAS.items()}


def model_name(kind: Kind, version: str, name: str) -> str:
    """The name of a model: the group reversed, the version and the kind, without any slash."""
    prefix = _KNOWN_PREFIXES.get(kind.group) or ".".join(reversed(kind.group.split(".")))
    return f"{prefix}.{version}.{name}"


def group_version_kind(kind: Kind, version: str, name: str) -> dict[str, str]:
    """x-kubernetes-group-version-kind of one kind."""
    return {"group": kind.group, "kind": name, "version": version}


def kind_schemas(kind: Kind, version: str, prefix: str) -> dict[str, Any]:
    """The schemas of a kind and of its list, by model name. `prefix` is what a $ref begins with."""
    name, list_name = model_name(kind, version, kind.kind), model_name(kind, version, kind.list_kind)
    declared = clean(kind.schema, prefix)
    required = sorted(declared.get("required", ()))
    one = {
        "description": declared.get("description", f"{kind.kind} is served live by kubeglance."),
        "type": "object",
        **({"required": required} if required else {}),
        "properties": {**_frame(kind.kind), "metadata": _reference(OBJECT_META, prefix, "Standard metadata."), **declared["properties"]},
        "x-kubernetes-group-version-kind": [group_version_kind(kind, version, kind.kind)],
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
    return {name: one, list_name: many}


def clean(schema: Any, prefix: str, *, version_2: bool | None = None) -> Any:
    """A schema as it may be published.

    A boolean additionalProperties breaks kube-controller-manager (kubernetes/kubernetes 135145): true becomes
    x-kubernetes-preserve-unknown-fields, false is dropped. In OpenAPI v2 (told by the prefix of its references) there is no anyOf,
    oneOf, allOf, not or nullable.
    """
    old = prefix.startswith("#/definitions/") if version_2 is None else version_2
    if isinstance(schema, list | tuple):
        return [clean(item, prefix, version_2=old) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    cleaned: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "additionalProperties" and isinstance(value, bool):
            if value:
                cleaned["x-kubernetes-preserve-unknown-fields"] = True
        elif key == "properties" and isinstance(value, Mapping):
            cleaned[key] = {name: clean(item, prefix, version_2=old) for name, item in value.items()}
        elif old and key in {"anyOf", "oneOf", "allOf", "not", "nullable"}:
            continue
        else:
            cleaned[key] = clean(value, prefix, version_2=old)
    return cleaned


def _frame(kind: str) -> dict[str, Any]:
    return {
        "apiVersion": {"type": "string", "description": "Group and version of this form of the object, as group/version."},
        "kind": {"type": "string", "description": f"Kind of the object: {kind}."},
    }


def _reference(name: str, prefix: str, description: str) -> dict[str, Any]:
    """A reference with a description of its own. In OpenAPI 3.0 what stands beside a $ref is ignored, so it goes into allOf."""
    reference = {"$ref": prefix + name}
    if prefix.startswith("#/definitions/"):
        return {"description": description, **reference}
    return {"description": description, "default": {}, "allOf": [reference]}
