"""Values of metrics for the HPA, in JSON and protobuf: MetricValue (custom.metrics.k8s.io v1beta2 and v1beta1) and ExternalMetricValue.

Fields: types.go and generated.proto in k8s.io/metrics pkg/apis/custom_metrics and external_metrics. A selector is null where none was sent,
as are the labels of an external metric that has none: other than fields that are omitted, these are there.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from app.wire.label_selectors import LabelSelector
from app.wire.messages import Pairs, map_entry, time
from app.wire.protobuf import delimited, integer, string
from app.wire.timestamps import format_time

CUSTOM, EXTERNAL = "custom.metrics.k8s.io", "external.metrics.k8s.io"
"""The groups."""

VERSIONS = {CUSTOM: ("v1beta2", "v1beta1"), EXTERNAL: ("v1beta1",)}
"""Of each group, preferred first."""

NO_METADATA = delimited(1, string(1, "") + string(2, "") + string(3, ""))
"""The field `metadata` of a list without a version, in protobuf. In JSON it is {}."""

_SECOND = 10**9
_OPERATORS = {"in": "In", "notin": "NotIn", "!=": "NotIn", "exists": "Exists", "!": "DoesNotExist"}
_encode = msgspec.json.Encoder().encode


class Reference(NamedTuple):
    """The object that a value describes (core/v1 ObjectReference). `namespace` is "" for what is cluster-scoped."""

    kind: str
    api_version: str
    namespace: str
    name: str


class Measured(NamedTuple):
    """A quantity as text, when it was measured (Unix ns), and over what time (ns), None for a moment's."""

    quantity: str
    time: int
    window: int | None


class MetricValues:
    """The values of one metric of described objects, in one version. `selector` is the one of series that the request had."""

    def __init__(self, version: str, metric: str, selector: LabelSelector) -> None:
        name, told = _encode(metric), label_selector(selector)
        shown = _encode(told)
        if version == "v1beta1":
            self._before, self._window, self._behind = b'"metricName":%b' % name, b"window", b',"selector":%b' % shown
            self._fields = string(2, metric)
            self._last_fields = b"" if told is None else delimited(6, _selector_message(told))
        else:
            self._before, self._window, self._behind = b'"metric":{"name":%b,"selector":%b}' % (name, shown), b"windowSeconds", b""
            identifier = string(1, metric) + (b"" if told is None else delimited(2, _selector_message(told)))
            self._fields, self._last_fields = delimited(2, identifier), b""

    def json(self, described: Reference, measured: Measured) -> bytes:
        """One MetricValue."""
        return b'{"describedObject":%b,%b,%b%b}' % (
            _reference(described),
            self._before,
            _measured(measured, self._window),
            self._behind,
        )

    def protobuf(self, described: Reference, measured: Measured) -> bytes:
        """The same as a message."""
        return b"".join((_reference_field(described), self._fields, _measured_fields(measured), self._last_fields))


class ExternalMetricValues:
    """The values of one external metric."""

    def __init__(self, metric: str) -> None:
        self._name, self._field = _encode(metric), string(1, metric)

    def json(self, labels: Pairs, measured: Measured) -> bytes:
        """One ExternalMetricValue."""
        shown = _encode(dict(labels) if labels else None)
        return b'{"metricName":%b,"metricLabels":%b,%b}' % (self._name, shown, _measured(measured, b"window"))

    def protobuf(self, labels: Pairs, measured: Measured) -> bytes:
        """The same as a message."""
        entries = b"".join([map_entry(2, key, value.encode()) for key, value in labels])
        return b"".join((self._field, entries, _measured_fields(measured)))


def label_selector(selector: LabelSelector) -> dict[str, Any] | None:
    """A selector as meta/v1 LabelSelector; None for one that selects all, and for one with `>` or `<`, which have no form there."""
    requirements = selector.requirements
    if not requirements or any(requirement.operator in {">", "<"} for requirement in requirements):
        return None
    labels: dict[str, str] = {}
    expressions: list[dict[str, Any]] = []
    for requirement in requirements:
        if requirement.operator in {"=", "=="}:
            labels[requirement.key] = requirement.values[0]
            continue
        values = {"values": list(requirement.values)} if requirement.values else {}
        expressions.append({"key": requirement.key, "operator": _OPERATORS[requirement.operator], **values})
    return {**({"matchLabels": labels} if labels else {}), **({"matchExpressions": expressions} if expressions else {})}


def _selector_message(told: dict[str, Any]) -> bytes:
    labels = [map_entry(1, key, value.encode()) for key, value in told.get("matchLabels", {}).items()]
    expressions = [
        delimited(
            2,
            string(1, each["key"]) + string(2, each["operator"]) + b"".join([string(3, value) for value in each.get("values", ())]),
        )
        for each in told.get("matchExpressions", ())
    ]
    return b"".join(labels + expressions)


@lru_cache(maxsize=8192)  # the HPA asks for the same objects again and again
def _reference(described: Reference) -> bytes:
    namespace = {"namespace": described.namespace} if described.namespace else {}
    return _encode({"kind": described.kind, **namespace, "name": described.name, "apiVersion": described.api_version})


@lru_cache(maxsize=8192)
def _reference_field(described: Reference) -> bytes:
    kind, api_version, namespace, name = described
    texts = (kind, namespace, name, "", api_version, "", "")
    return delimited(1, b"".join([string(number, text) for number, text in enumerate(texts, 1)]))


def _measured(measured: Measured, window_name: bytes) -> bytes:
    quantity, at, window = measured
    over = b"" if window is None else b',"%b":%d' % (window_name, _seconds(window))
    return b'"timestamp":"%b"%b,"value":"%b"' % (format_time(at).encode(), over, quantity.encode())


def _measured_fields(measured: Measured) -> bytes:
    quantity, at, window = measured
    over = b"" if window is None else integer(4, _seconds(window))
    return b"".join((delimited(3, time(at)), over, delimited(5, string(1, quantity))))


def _seconds(window: int) -> int:
    """Whole seconds, at least those that were measured over."""
    return -(-window // _SECOND)
