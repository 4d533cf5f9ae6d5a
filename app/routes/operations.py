"""Operations as OpenAPI v2 and v3 write them: all are GETs. Parameters and bodies differ between the two, the rest is the same."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from app.routes.schemas import V2_REFS, V3_REFS


class Parameter(NamedTuple):
    """A parameter: `place` is path or query, `type` that of its schema."""

    name: str
    place: str
    type: str
    description: str


class Operation(NamedTuple):
    """One GET. `action` is the verb of RBAC, `kind` the group, version and kind that it is about. `model` names the schema of its answer,
    None where that is text; `media` are the types that it comes in."""

    id: str
    description: str
    action: str
    group: str
    version: str
    kind: dict[str, str]
    model: str | None
    media: Sequence[str]
    parameters: Sequence[Parameter]


def path_item(operation: Operation, *, version_3: bool) -> dict[str, Any]:
    """The item of a path whose only operation it is."""
    media, schema = list(operation.media), {"type": "string"}
    if operation.model is not None:
        schema = {"$ref": (V3_REFS if version_3 else V2_REFS) + operation.model}
    answer: dict[str, Any] = {"description": "OK"}
    answer.update({"content": {each: {"schema": schema} for each in media}} if version_3 else {"schema": schema})
    get: dict[str, Any] = {
        "description": operation.description,
        "operationId": operation.id,
        **({} if version_3 else {"produces": media, "schemes": ["https"]}),
        "tags": [f"{camel(operation.group)[:1].lower()}{camel(operation.group)[1:]}_{operation.version}"],
        "parameters": [_parameter(parameter, version_3=version_3) for parameter in operation.parameters],
        "responses": {"200": answer, "401": {"description": "Unauthorized"}},
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.kind,
    }
    return {"get": get}


def camel(group: str) -> str:
    """A group as names of operations have it: without k8s.io, each word with a capital."""
    return "".join(part.capitalize() for part in group.removesuffix(".k8s.io").replace("-", ".").split("."))


def _parameter(parameter: Parameter, *, version_3: bool) -> dict[str, Any]:
    type_ = {"type": parameter.type, "uniqueItems": True}
    required = {"required": True} if parameter.place == "path" else {}
    shape: dict[str, Any] = {"schema": type_} if version_3 else type_
    return {"name": parameter.name, "in": parameter.place, "description": parameter.description, **required, **shape}
