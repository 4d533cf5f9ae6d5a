"""The JSON Schema of each kind of declaration with all sources, for editors. The checker knows more rules than it can say."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from app.declared.metric_model import LiveMetric
from app.declared.model import LiveResource
from collectors._source import SourceType

KINDS: Mapping[str, type[BaseModel]] = {"LiveResource": LiveResource, "LiveMetric": LiveMetric}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _Plain(GenerateJsonSchema):
    """Without what says nothing to a reader: titles made of names, null for fields that may be left out, defaults of whole parts."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 -- the signature is pydantic's
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        said = schema.get("default")
        return self.generate_inner(schema["schema"]) if said is None or isinstance(said, BaseModel) else super().default_schema(schema)


def schema(types: Mapping[str, SourceType], kind: str = "LiveResource") -> dict[str, Any]:
    """The schema of a kind of declaration as JSON (draft 2020-12). Each source's own model stands under spec.source.<name>."""
    models: list[type[BaseModel]] = [KINDS[kind], *(each.spec for each in types.values())]
    places, whole = models_json_schema([(model, "validation") for model in models], schema_generator=_Plain)
    definitions: dict[str, Any] = whole["$defs"]
    for each in definitions.values():
        each.pop("title", None)
    definitions[f"{kind}Spec"]["properties"]["source"].update(
        properties={name: places[each.spec, "validation"] for name, each in sorted(types.items())},
        additionalProperties=False,
        minProperties=1,
        maxProperties=1,
    )
    return {"$schema": _DIALECT, "title": kind, **places[KINDS[kind], "validation"], "$defs": definitions}


def text(types: Mapping[str, SourceType], kind: str = "LiveResource") -> str:
    """The schema as a file."""
    return json.dumps(schema(types, kind), indent=2, ensure_ascii=False) + "\n"
