"""ObjectMeta and ListMeta (meta/v1) as JSON; app/wire/messages.py has the same in protobuf."""

from functools import lru_cache

import msgspec

from app.wire.timestamps import format_time

Pairs = tuple[tuple[str, str], ...]

_SECOND = 10**9
_encode = msgspec.json.Encoder().encode


def object_metadata(*, namespace: str, name: str, version: int, created: int, labels: Pairs, annotations: Pairs, uid: str = "") -> bytes:
    """The fields of ObjectMeta that are served, in upstream's order. `created` in Unix ns, 0 for no time. Pairs in the order of their
    keys."""
    return b'{"name":%b%b%b,"resourceVersion":"%d"%b%b%b}' % (
        _encode(name),
        _namespace(namespace) if namespace else b"",
        b',"uid":%b' % _encode(uid) if uid else b"",
        version,
        _created(created // _SECOND) if created else b"",
        _map_of_strings("labels", labels) if labels else b"",
        _map_of_strings("annotations", annotations) if annotations else b"",
    )


# Many objects share these. What is encoded once is found by its value.


@lru_cache(maxsize=1024)
def _namespace(namespace: str) -> bytes:
    return b',"namespace":' + _encode(namespace)


@lru_cache(maxsize=1024)
def _created(seconds: int) -> bytes:
    return b',"creationTimestamp":' + _encode(format_time(seconds * _SECOND))


@lru_cache(maxsize=8192)
def _map_of_strings(field: str, pairs: Pairs) -> bytes:
    return b",%b:%b" % (_encode(field), _encode(dict(pairs)))


def list_metadata(version: int, token: str = "", remaining: int | None = None) -> bytes:
    """ListMeta: resourceVersion always, continue and remainingItemCount where there is more."""
    fields: dict[str, str | int] = {"resourceVersion": str(version)}
    if token:
        fields["continue"] = token
    if remaining is not None:
        fields["remainingItemCount"] = remaining
    return _encode(fields)
