"""What is compared of an OpenAPI document: which paths do what, and the shape of the metrics types, with references followed.

Descriptions, meta types, parameters and the paths of discovery are left out: nothing that reads values depends on them.
"""

from collections.abc import Mapping
from typing import Any

_TYPES = "io.k8s.metrics.pkg.apis.metrics."
_NAMED = {"ObjectMeta": "ObjectMeta", "ListMeta": "ListMeta", "Quantity": "string", "Duration": "string", "Time": "string date-time"}
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")


def view(document: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an OpenAPI v2 or v3 document that is compared."""
    schemas = document.get("definitions") or document["components"]["schemas"]
    return {
        "version": document.get("swagger") or document["openapi"],
        "paths": {
            path: {method: _action(item[method]) for method in _METHODS if method in item}
            for path, item in sorted(document["paths"].items())
            if "x-kubernetes-action" in str(item)
        },
        "types": {
            name: {"shape": _shape(schema, schemas), "of": schema["x-kubernetes-group-version-kind"]}
            for name, schema in sorted(schemas.items())
            if name.startswith(_TYPES) and "x-kubernetes-group-version-kind" in schema
        },
    }


def _action(operation: Mapping[str, Any]) -> str:
    of = operation["x-kubernetes-group-version-kind"]
    return f"{operation['x-kubernetes-action']} {of['group']}/{of['version']} {of['kind']}"


def _shape(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Any:
    """A schema as text and dicts: types, properties, which of them are required."""
    if "allOf" in schema:
        return _shape(schema["allOf"][0], schemas)
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        last = name.rpartition(".")[2]
        return _NAMED[last] if last in _NAMED else _shape(schemas[name], schemas)
    if schema["type"] == "array":
        return [_shape(schema["items"], schemas)]
    if "additionalProperties" in schema:
        return {"*": _shape(schema["additionalProperties"], schemas)}
    if schema["type"] == "object":
        required = schema.get("required", ())
        return {f"{name}{'' if name in required else '?'}": _shape(value, schemas) for name, value in sorted(schema["properties"].items())}
    return f"{schema['type']} {schema.get('format', '')}".strip()
