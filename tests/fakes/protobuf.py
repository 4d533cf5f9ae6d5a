"""Reads protobuf as a client does: an object in its envelope becomes what its JSON would be.

Fields: generated.proto in k8s.io/apimachinery and k8s.io/metrics. Shares nothing with the encoder, so that the two can prove each other.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from app.duration import format_duration
from app.wire.timestamps import format_time

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

_MAGIC = b"k8s\0"
_VARINT, _LENGTH_DELIMITED = 0, 2
_SECOND = 10**9

Reader = Callable[[Any], Any]
"""From a field's raw value, an int or bytes, to its JSON; None for what JSON leaves out."""


class Field(NamedTuple):
    """A field of a message: its JSON name, and how it is read; `plural` is "list", "map" or nothing."""

    name: str
    read: Reader
    plural: str = ""


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message by number: an int for a varint, else bytes. Raises ValueError for what is no message."""
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        value, position = _varint(message, position)
        if tag & 7 == _VARINT:
            yield tag >> 3, value
            continue
        if tag & 7 != _LENGTH_DELIMITED or position + value > len(message):
            raise ValueError(f"field {tag >> 3} is cut off, or of a wire type that Kubernetes does not use")
        yield tag >> 3, message[position : position + value]
        position += value


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(message) and shift < 70:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, position
    raise ValueError("a varint is cut off")


def _reader(layout: Mapping[int, Field]) -> Reader:
    """A reader of messages with these fields by number; others are passed over."""

    def read(message: bytes) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for number, raw in fields(message):
            field = layout.get(number)
            value = field.read(raw) if field is not None else None
            if field is None or value is None:
                continue
            if field.plural == "list":
                found.setdefault(field.name, []).append(value)
            elif field.plural == "map":
                found.setdefault(field.name, {})[value["key"]] = value["value"]
            else:
                found[field.name] = value
        return found

    return read


def decode(body: bytes) -> dict[str, Any]:
    """The object in an envelope. Raises ValueError for what is none, or of a kind that is not known here."""
    if not body.startswith(_MAGIC):
        raise ValueError("this is not protobuf of Kubernetes: it does not begin with k8s and a zero")
    unknown = dict(fields(body[len(_MAGIC) :]))
    api_version, kind = (raw.decode() for raw in dict(fields(unknown[1])).values())
    read = _OF_VERSIONS.get((api_version, kind)) or _KINDS.get(kind)
    if read is None:
        raise ValueError(f"kind {kind} of {api_version} is not known")
    return {"kind": kind, "apiVersion": api_version, **read(unknown[2])}


def _text(raw: bytes) -> str | None:
    """A string; JSON leaves an empty one out."""
    return raw.decode() or None


def _number(raw: int) -> int | None:
    """An integer; JSON leaves 0 out."""
    return raw or None


def _string(raw: bytes) -> str:
    return raw.decode()


def _time(raw: bytes) -> str | None:
    return format_time(dict(fields(raw))[1] * _SECOND) if raw else None


def _duration(raw: bytes) -> str:
    return format_duration(dict(fields(raw))[1])


def _quantity(raw: bytes) -> str:
    return _string(dict(fields(raw))[1])


def _map(name: str, value: Reader) -> Field:
    return Field(name, _reader({1: Field("key", _string), 2: Field("value", value)}), "map")


def _texts(*names: str) -> dict[int, Field]:
    return {index: Field(name, _text) for index, name in enumerate(names, 1) if name}


_OBJECT_META = _reader(
    {
        **_texts("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion"),
        8: Field("creationTimestamp", _time),
        11: _map("labels", _string),
        12: _map("annotations", _string),
    }
)
_LIST_META = _reader({**_texts("selfLink", "resourceVersion", "continue"), 4: Field("remainingItemCount", _number)})
_METADATA, _LIST_METADATA = {1: Field("metadata", _OBJECT_META)}, {1: Field("metadata", _LIST_META)}
_MEASURED = {**_METADATA, 2: Field("timestamp", _time), 3: Field("window", _duration)}
_CONTAINER = _reader({1: Field("name", _string), 2: _map("usage", _quantity)})
_LABEL_SELECTOR = _reader(
    {
        1: _map("matchLabels", _string),
        2: Field("matchExpressions", _reader({**_texts("key", "operator"), 3: Field("values", _string, "list")}), "list"),
    }
)
_REFERENCE = _reader(_texts("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"))
_VALUE = {3: Field("timestamp", _time), 5: Field("value", _quantity)}
_METRIC_VALUES = {
    "custom.metrics.k8s.io/v1beta1": {
        **_VALUE,
        1: Field("describedObject", _REFERENCE),
        2: Field("metricName", _text),
        4: Field("window", _number),
        6: Field("selector", _LABEL_SELECTOR),
    },
    "custom.metrics.k8s.io/v1beta2": {
        **_VALUE,
        1: Field("describedObject", _REFERENCE),
        2: Field("metric", _reader({1: Field("name", _text), 2: Field("selector", _LABEL_SELECTOR)})),
        4: Field("windowSeconds", _number),
    },
    "external.metrics.k8s.io/v1beta1": {
        **_VALUE,
        1: Field("metricName", _text),
        2: _map("metricLabels", _string),
        4: Field("window", _number),
    },
}
_CAUSE = _reader(_texts("reason", "message", "field"))
_DETAILS = _reader(
    {**_texts("name", "group", "kind"), 4: Field("causes", _CAUSE, "list"), 5: Field("retryAfterSeconds", _number), 6: Field("uid", _text)}
)
_OBJECTS = {
    "NodeMetrics": _reader({**_MEASURED, 4: _map("usage", _quantity)}),
    "PodMetrics": _reader({**_MEASURED, 4: Field("containers", _CONTAINER, "list")}),
    "PartialObjectMetadata": _reader(_METADATA),
}
_KINDS = {
    **_OBJECTS,
    **{f"{kind}List": _reader({**_LIST_METADATA, 2: Field("items", read, "list")}) for kind, read in _OBJECTS.items()},
    "Status": _reader(
        {
            **_LIST_METADATA,
            2: Field("status", _text),
            3: Field("message", _text),
            4: Field("reason", _text),
            5: Field("details", _DETAILS),
            6: Field("code", _number),
        }
    ),
}
_OF_VERSIONS = {
    ("meta.k8s.io/v1beta1", "PartialObjectMetadataList"): _reader(
        {1: Field("items", _OBJECTS["PartialObjectMetadata"], "list"), 2: Field("metadata", _LIST_META)}
    ),
    **{
        (api_version, "ExternalMetricValueList" if api_version.startswith("external") else "MetricValueList"): _reader(
            {2: Field("items", _reader(layout), "list")}
        )
        for api_version, layout in _METRIC_VALUES.items()
    },
}
"""Kinds of which the versions are laid out differently."""
