"""Kubernetes' protobuf envelope, read into plain trees and written back: enough of it to compare answers byte for byte.

A tree is a dict of fields in the order of the wire; what is repeated is a list. Field numbers are those of the generated.proto files of
k8s.io/apimachinery, k8s.io/api/apidiscovery and k8s.io/metrics. A field that is not known is an error, never skipped.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MAGIC = b"k8s\x00"

STRING, INTEGER, BYTES = "string", "integer", "bytes"
_MAP_OF_STRINGS = "map"
_MAP_OF_QUANTITIES = "quantities"

_REPEATED = "*"
"""Before a type: the field is repeated."""

_Fields = Mapping[int, tuple[str, str]]

_META: dict[str, _Fields] = {
    "Unknown": {1: ("typeMeta", "TypeMeta"), 2: ("raw", BYTES), 3: ("contentEncoding", STRING), 4: ("contentType", STRING)},
    "TypeMeta": {1: ("apiVersion", STRING), 2: ("kind", STRING)},
    "Time": {1: ("seconds", INTEGER), 2: ("nanos", INTEGER)},
    "Duration": {1: ("duration", INTEGER)},
    "Quantity": {1: ("string", STRING)},
    "ObjectMeta": {
        1: ("name", STRING),
        2: ("generateName", STRING),
        3: ("namespace", STRING),
        4: ("selfLink", STRING),
        5: ("uid", STRING),
        6: ("resourceVersion", STRING),
        7: ("generation", INTEGER),
        8: ("creationTimestamp", "Time"),
        11: ("labels", _MAP_OF_STRINGS),
        12: ("annotations", _MAP_OF_STRINGS),
    },
    "ListMeta": {1: ("selfLink", STRING), 2: ("resourceVersion", STRING), 3: ("continue", STRING), 4: ("remainingItemCount", INTEGER)},
    "PartialObjectMetadata": {1: ("metadata", "ObjectMeta")},
    "PartialObjectMetadataList": {1: ("metadata", "ListMeta"), 2: ("items", "*PartialObjectMetadata")},
    "Status": {
        1: ("metadata", "ListMeta"),
        2: ("status", STRING),
        3: ("message", STRING),
        4: ("reason", STRING),
        5: ("details", "StatusDetails"),
        6: ("code", INTEGER),
    },
    "StatusDetails": {
        1: ("name", STRING),
        2: ("group", STRING),
        3: ("kind", STRING),
        4: ("causes", "*StatusCause"),
        5: ("retryAfterSeconds", INTEGER),
        6: ("uid", STRING),
    },
    "StatusCause": {1: ("reason", STRING), 2: ("message", STRING), 3: ("field", STRING)},
}
_DISCOVERY: dict[str, _Fields] = {
    "APIGroupList": {1: ("groups", "*APIGroup")},
    "APIGroup": {
        1: ("name", STRING),
        2: ("versions", "*GroupVersionForDiscovery"),
        3: ("preferredVersion", "GroupVersionForDiscovery"),
        4: ("serverAddressByClientCIDRs", "*ServerAddressByClientCIDR"),
    },
    "ServerAddressByClientCIDR": {1: ("clientCIDR", STRING), 2: ("serverAddress", STRING)},
    "GroupVersionForDiscovery": {1: ("groupVersion", STRING), 2: ("version", STRING)},
    "APIResourceList": {1: ("groupVersion", STRING), 2: ("resources", "*APIResource")},
    "APIResource": {
        1: ("name", STRING),
        2: ("namespaced", INTEGER),
        3: ("kind", STRING),
        4: ("verbs", "Verbs"),
        5: ("shortNames", "*string"),
        6: ("singularName", STRING),
        7: ("categories", "*string"),
        8: ("group", STRING),
        9: ("version", STRING),
        10: ("storageVersionHash", STRING),
    },
    "Verbs": {1: ("items", "*string")},
    "APIGroupDiscoveryList": {1: ("metadata", "ListMeta"), 2: ("items", "*APIGroupDiscovery")},
    "APIGroupDiscovery": {1: ("metadata", "ObjectMeta"), 2: ("versions", "*APIVersionDiscovery")},
    "APIVersionDiscovery": {1: ("version", STRING), 2: ("resources", "*APIResourceDiscovery"), 3: ("freshness", STRING)},
    "APIResourceDiscovery": {
        1: ("resource", STRING),
        2: ("responseKind", "GroupVersionKind"),
        3: ("scope", STRING),
        4: ("singularResource", STRING),
        5: ("verbs", "*string"),
        6: ("shortNames", "*string"),
        7: ("categories", "*string"),
    },
    "GroupVersionKind": {1: ("group", STRING), 2: ("version", STRING), 3: ("kind", STRING)},
}
_METRICS: dict[str, _Fields] = {
    "NodeMetrics": {
        1: ("metadata", "ObjectMeta"),
        2: ("timestamp", "Time"),
        3: ("window", "Duration"),
        4: ("usage", _MAP_OF_QUANTITIES),
    },
    "NodeMetricsList": {1: ("metadata", "ListMeta"), 2: ("items", "*NodeMetrics")},
    "PodMetrics": {
        1: ("metadata", "ObjectMeta"),
        2: ("timestamp", "Time"),
        3: ("window", "Duration"),
        4: ("containers", "*ContainerMetrics"),
    },
    "PodMetricsList": {1: ("metadata", "ListMeta"), 2: ("items", "*PodMetrics")},
    "ContainerMetrics": {1: ("name", STRING), 2: ("usage", _MAP_OF_QUANTITIES)},
}
_ENTRIES: dict[str, _Fields] = {
    _MAP_OF_STRINGS: {1: ("key", STRING), 2: ("value", STRING)},
    _MAP_OF_QUANTITIES: {1: ("key", STRING), 2: ("value", "Quantity")},
}
_MESSAGES = {**_META, **_DISCOVERY, **_METRICS, **_ENTRIES}


def decode(data: bytes) -> dict[str, Any]:
    """The tree of an answer: the envelope, whose `raw` is the tree of what is in it.

    Raises ValueError if it is none, or if it could not be written back to the very same bytes: then something would be lost.
    """
    if not data.startswith(MAGIC):
        raise ValueError(f"no {MAGIC!r} at the start of {data[:20]!r}")
    tree = _message("Unknown", data[len(MAGIC) :])
    if "kind" not in tree.get("typeMeta", {}) or "raw" not in tree:
        raise ValueError(f"nothing, or nothing known, is in {tree}")
    tree["raw"] = _message(tree["typeMeta"]["kind"], tree["raw"])
    if encode(tree) != data:
        raise ValueError(f"not written in the order of its fields: {tree}")
    return tree


def encode(tree: Mapping[str, Any]) -> bytes:
    """The bytes of a tree, in the order of the tree."""
    return MAGIC + _write("Unknown", {**tree, "raw": _write(tree["typeMeta"]["kind"], tree["raw"])})


def _message(kind: str, data: bytes) -> dict[str, Any]:
    if kind not in _MESSAGES:
        raise ValueError(f"no message {kind} is known")
    fields, tree = _MESSAGES[kind], dict[str, Any]()
    for number, value in _wire(data):
        if number not in fields:
            raise ValueError(f"{kind} has a field {number} that is not known: {value!r}")
        name, of = fields[number]
        if of.startswith(_REPEATED):
            tree.setdefault(name, []).append(_value(of.removeprefix(_REPEATED), value))
        elif of in _ENTRIES:
            tree.setdefault(name, []).append(_message(of, _bytes(value)))
        else:
            tree[name] = _value(of, value)
    return tree


def _value(of: str, value: int | bytes) -> Any:
    if of == INTEGER:
        if isinstance(value, bytes):
            raise ValueError(f"{value!r} where a number was expected")
        return value
    data = _bytes(value)
    if of == BYTES:
        return data
    return data.decode() if of == STRING else _message(of, data)


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError(f"a number, {value}, where bytes were expected")  # noqa: TRY004  # the wire is wrong, not the caller
    return value


def _wire(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and raw values: varints as signed 64-bit integers, or bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        value, at = _varint(data, at)
        if wire_type == 0:
            yield number, value - 2**64 if value >= 2**63 else value
        elif wire_type == 2:
            if at + value > len(data):
                raise ValueError(f"field {number} is cut short")
            yield number, data[at : at + value]
            at += value
        else:
            raise ValueError(f"wire type {wire_type} of field {number} is not known")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a varint is cut short or too long")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _write(kind: str, tree: Mapping[str, Any]) -> bytes:
    numbers = {name: (number, of) for number, (name, of) in _MESSAGES[kind].items()}
    return b"".join(
        _write_field(number, of.removeprefix(_REPEATED), each)
        for name, value in tree.items()
        for number, of in [numbers[name]]
        for each in (value if of.startswith(_REPEATED) or of in _ENTRIES else [value])
    )


def _write_field(number: int, of: str, value: Any) -> bytes:
    if of == INTEGER:
        return _write_varint(number << 3) + _write_varint(value % 2**64)
    data = value if of == BYTES else value.encode() if of == STRING else _write(of, value)
    return _write_varint(number << 3 | 2) + _write_varint(len(data)) + data


def _write_varint(value: int) -> bytes:
    parts: list[int] = []
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def nodes_of(tree: Any) -> Sequence[dict[str, Any]]:
    """All dicts in a tree, itself first: what a normalisation looks at."""
    found: list[dict[str, Any]] = []
    if isinstance(tree, dict):
        found.append(tree)
        found.extend(node for value in tree.values() for node in nodes_of(value))
    elif isinstance(tree, list):
        found.extend(node for value in tree for node in nodes_of(value))
    return found
