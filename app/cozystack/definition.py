"""What an ApplicationDefinition (cozystack.io/v1alpha1) says about a kind. Pure.

Fields: spec.application {kind, plural, singular, openAPISchema as JSON text} and spec.release {prefix}.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from app.wire.object_names import is_label_1035

_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
_PREFIX = re.compile(r"[a-z0-9-]{0,53}")
_MOST_SCHEMA = 1 << 20


class BadDefinition(Exception):
    """An ApplicationDefinition that cannot become a kind: it costs that kind alone. The message says what and where."""


class Definition(Struct, frozen=True):
    """One kind: its names, what the names of its HelmReleases begin with, and the schema of its spec."""

    name: str
    kind: str
    plural: str
    singular: str
    prefix: str
    schema: Mapping[str, Any]


def definition_of(manifest: Mapping[str, Any]) -> Definition:
    """The definition in an ApplicationDefinition. Raises BadDefinition."""
    name = str(manifest["metadata"]["name"])
    spec = _mapping(manifest.get("spec"), "spec")
    application, release = _mapping(spec.get("application"), "spec.application"), _mapping(spec.get("release"), "spec.release")
    kind = _text(application, "spec.application.kind", _is_kind, "a kind in CamelCase")
    plural = _text(application, "spec.application.plural", is_label_1035, "a plural in lower case")
    singular = application.get("singular") or kind.lower()
    if not isinstance(singular, str) or not is_label_1035(singular):
        raise BadDefinition("spec.application.singular is not a singular in lower case")
    prefix = release.get("prefix", "")
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise BadDefinition("spec.release.prefix has other characters than a-z, 0-9 and dashes")
    return Definition(name, kind, plural, singular, prefix, _schema(application.get("openAPISchema")))


def _mapping(value: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadDefinition(f"{path} is missing or no object")
    return value


def _is_kind(text: str) -> bool:
    return _KIND.fullmatch(text) is not None


def _text(values: Mapping[str, Any], path: str, is_valid: Callable[[str], bool], what: str) -> str:
    text = values.get(path.rsplit(".", 1)[1])
    if not isinstance(text, str) or not is_valid(text):
        raise BadDefinition(f"{path} is not {what}")
    return text


def _schema(text: Any) -> Mapping[str, Any]:
    """The schema of the spec; one that is not told allows everything."""
    if text in {None, ""}:
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if not isinstance(text, str) or len(text) > _MOST_SCHEMA:
        raise BadDefinition("spec.application.openAPISchema is no JSON text, or longer than 1 MiB")
    try:
        schema = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise BadDefinition(f"spec.application.openAPISchema is no JSON: {error}") from error
    if not isinstance(schema, dict):
        raise BadDefinition("spec.application.openAPISchema is no JSON object")
    return {**schema, "type": "object"}
