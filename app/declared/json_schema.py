"""The JSON Schema of a LiveResource with all sources, for editors. The checker knows more rules than it can say."""

import json
from collections.abc import Mapping
from typing import Any

from app.declared.model import LiveResource
from collectors._source import SourceType

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DEFINITIONS = "#/$defs/{model}"


def schema(types: Mapping[str, SourceType]) -> dict[str, Any]:
    """The schema as JSON. Each source's own model stands under spec.source.<name>."""
    made = LiveResource.model_json_schema(by_alias=True, ref_template=_DEFINITIONS)
    definitions: dict[str, Any] = made["$defs"]
    sources: dict[str, Any] = {}
    for name, kind in sorted(types.items()):
        own = kind.spec.model_json_schema(by_alias=True, ref_template=f"#/$defs/{name}.{{model}}")
        definitions.update({f"{name}.{each}": said for each, said in own.pop("$defs", {}).items()})
        sources[name] = own
    source = definitions["LiveResourceSpec"]["properties"]["source"]
    source.update(properties=sources, additionalProperties=False, minProperties=1, maxProperties=1)
    return {"$schema": _DIALECT, **made}


def text(types: Mapping[str, SourceType]) -> str:
    """The schema as a file."""
    return json.dumps(schema(types), indent=2) + "\n"
