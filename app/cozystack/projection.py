"""From a HelmRelease (helm.toolkit.fluxcd.io/v2) to an application, as Cozystack's own API server shows it. Pure.

The release's name without the prefix is the application's. Values whose names begin with an underscore are Cozystack's own and not shown.
Labels and annotations of users are kept at the release under a prefix; the others are not shown.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from app.cozystack.definition import Definition
from app.declared.objects import LiveObject, LiveValue
from app.declared.times import unix_ns
from app.kinds._base import Age
from app.kube.records import Labels

GROUP = "apps.cozystack.io"
"""The group that the releases' labels name, whatever group the kinds are served in."""

LABEL_KIND, LABEL_GROUP = f"{GROUP}/application.kind", f"{GROUP}/application.group"
_USERS = f"{GROUP}-"
_CONDITIONS = ("Ready", "Released")
_CONDITION_FIELDS = ("type", "status", "reason", "message", "lastTransitionTime")
_UNKNOWN = "<unknown>"
_DEEPEST = 32
"""Levels of a schema whose defaults are filled in."""

Release = Mapping[str, Any]


def kind_of(release: Release) -> str:
    """The kind of application that a release belongs to, "" if to none."""
    labels = _mapping(_mapping(release.get("metadata")).get("labels"))
    kind = labels.get(LABEL_KIND)
    return kind if isinstance(kind, str) and labels.get(LABEL_GROUP) == GROUP else ""


def project(definition: Definition, release: Release, observed: int) -> LiveObject | None:
    """The application of a release, seen at `observed` (Unix ns); None where the release's name does not begin with the prefix, or is
    nothing else.
    """
    metadata = _mapping(release.get("metadata"))
    namespace, full = str(metadata.get("namespace", "")), str(metadata.get("name", ""))
    name = full.removeprefix(definition.prefix)
    if not name or not full.startswith(definition.prefix):
        return None
    status = _mapping(release.get("status"))
    version = status.get("lastAttemptedRevision")
    conditions = list(_conditions(status))
    values = _mapping(_mapping(release.get("spec")).get("values"))
    spec = with_defaults({key: value for key, value in values.items() if not key.startswith("_")}, definition.schema)
    created = _created(metadata)
    told: dict[str, Any] = {}
    if isinstance(version, str) and version:
        told["version"] = version
    if conditions:
        told["conditions"] = conditions
    value = LiveValue(
        spec=spec,
        status=told,
        annotations=_users(metadata.get("annotations")),
        created=created,
        observed=observed,
        cells=(_ready(conditions), Age(created) if created else _UNKNOWN, _short(version)),
        item=release,
    )
    return LiveObject((namespace, name), _users(metadata.get("labels")), value)


def with_defaults(value: Any, schema: Any, depth: int = 0) -> Any:
    """A value with the defaults of its schema in place of what is missing; objects and lists are gone into. The value is not changed."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return value
    if isinstance(value, Mapping):
        filled = dict(value)
        properties = _mapping(schema.get("properties"))
        for name, below in properties.items():
            if name not in filled and isinstance(below, Mapping) and "default" in below:
                filled[name] = deepcopy(below["default"])
        others = schema.get("additionalProperties")
        return {name: with_defaults(part, properties.get(name, others), depth + 1) for name, part in filled.items()}
    if isinstance(value, list):
        return [with_defaults(part, schema.get("items"), depth + 1) for part in value]
    return value


def _conditions(status: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The conditions that say something of the application, without observedGeneration: that is the release's own."""
    conditions = status.get("conditions")
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, Mapping) and condition.get("type") in _CONDITIONS:
            yield {field: condition[field] for field in _CONDITION_FIELDS if isinstance(condition.get(field), str)}


def _ready(conditions: Sequence[Mapping[str, Any]]) -> str:
    return next((str(condition.get("status", "Unknown")) for condition in conditions if condition["type"] == "Ready"), "Unknown")


def _short(version: Any) -> str:
    """The part behind the plus: the application's own version behind the chart's."""
    _, plus, build = version.partition("+") if isinstance(version, str) else ("", "", "")
    return build if plus and build else _UNKNOWN


def _users(pairs: Any) -> Labels:
    """What users set, under the names that they gave it."""
    return tuple(
        sorted(
            (key.removeprefix(_USERS), value)
            for key, value in _mapping(pairs).items()
            if key.startswith(_USERS) and len(key) > len(_USERS) and isinstance(value, str)
        )
    )


def _created(metadata: Mapping[str, Any]) -> int:
    """Unix ns, 0 where it is not told."""
    try:
        return unix_ns(metadata.get("creationTimestamp"))
    except ValueError:
        return 0


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
