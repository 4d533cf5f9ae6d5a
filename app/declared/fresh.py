"""What every object of a declared kind tells of its age: `status.observedAt`, and a condition Fresh.

A declaration whose schema has one of these fields fills it itself; then it is left to it.
"""

from collections.abc import Mapping
from typing import Any

from app.wire.timestamps import format_time

OBSERVED_AT, CONDITIONS = "observedAt", "conditions"

_FRESH = {"type": "Fresh", "status": "True", "reason": "Collected", "message": "the last collection of the source was good"}
_AGED = {
    "type": "Fresh",
    "status": "False",
    "reason": "CollectionFailed",
    "message": "the last collection of the source failed, and these are the values of an earlier one; see kubectl get collectors",
}

_SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    OBSERVED_AT: {"type": "string", "format": "date-time", "description": "When the source was seen to say so, RFC 3339 in UTC."},
    CONDITIONS: {
        "type": "array",
        "description": "Fresh is False while these are values of an earlier collection, for the last one failed.",
        "items": {
            "type": "object",
            "required": ["type", "status"],
            "properties": {
                "type": {"type": "string", "description": "Fresh."},
                "status": {"type": "string", "description": "True or False."},
                "reason": {"type": "string", "description": "The cause in one word."},
                "message": {"type": "string", "description": "The cause in one sentence."},
            },
        },
    },
}


class Freshness:
    """What is added to the status of one kind's objects; `schema` is the declared one of the object."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        declared = schema.get("properties", {}).get("status", {"type": "object"})
        has_room = declared.get("type") == "object" and not isinstance(declared.get("additionalProperties"), Mapping)
        self._added = [name for name in _SCHEMAS if has_room and name not in declared.get("properties", {})]

    def status(self, status: Any, observed: int, *, fresh: bool) -> Any:
        """The status as it is served. `observed` is Unix ns; what the declaration fills in itself stays."""
        if status is None:
            status = {}
        if not self._added or not isinstance(status, dict):
            return status
        whole = dict(status)
        if OBSERVED_AT in self._added:
            whole.setdefault(OBSERVED_AT, format_time(observed))
        if CONDITIONS in self._added:
            whole.setdefault(CONDITIONS, [_FRESH if fresh else _AGED])
        return whole

    def schema(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """The object's schema with what is added."""
        properties = dict(schema.get("properties", {}))
        status = {"type": "object", **properties.get("status", {})}
        if self._added:
            status["properties"] = {**status.get("properties", {}), **{name: _SCHEMAS[name] for name in self._added}}
        return {**schema, "properties": {**properties, "status": status}}
