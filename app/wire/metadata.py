"""ObjectMeta and ListMeta (meta/v1) as JSON; app/wire/messages.py has the same in protobuf."""

import msgspec
from msgspec import UNSET, Struct, UnsetType

from app.wire.timestamps import format_time

Pairs = tuple[tuple[str, str], ...]


class _ObjectMeta(Struct, rename="camel"):
    """The fields that are served, in upstream's order."""

    name: str
    namespace: str | UnsetType
    resource_version: str
    creation_timestamp: str
    labels: dict[str, str] | UnsetType
    annotations: dict[str, str] | UnsetType


_ENCODER = msgspec.json.Encoder()


def object_metadata(*, namespace: str, name: str, version: int, created: int, labels: Pairs, annotations: Pairs) -> bytes:
    """ObjectMeta. `created` in Unix ns. Pairs in the order of their keys."""
    return _ENCODER.encode(
        _ObjectMeta(
            name=name,
            namespace=namespace or UNSET,
            resource_version=str(version),
            creation_timestamp=format_time(created),
            labels=dict(labels) if labels else UNSET,
            annotations=dict(annotations) if annotations else UNSET,
        )
    )


def list_metadata(version: int, token: str = "", remaining: int | None = None) -> bytes:
    """ListMeta: resourceVersion always, continue and remainingItemCount where there is more."""
    fields: dict[str, str | int] = {"resourceVersion": str(version)}
    if token:
        fields["continue"] = token
    if remaining is not None:
        fields["remainingItemCount"] = remaining
    return msgspec.json.encode(fields)
