"""NodeMetrics of metrics.k8s.io: what each node uses. Shape: k8s.io/metrics pkg/apis/metrics."""

import msgspec
from msgspec import Struct

from app.cache.values import NodeUsage
from app.duration import format_duration
from app.kinds._base import Cell, Kind, Subject
from app.kinds._usage import USAGE_COLUMNS, USAGE_SCHEMA, VERSION_PRIORITIES, WINDOW_SCHEMA, Usage, annotations, created
from app.kinds._usage import usage as quantities
from app.kinds._usage_message import usage_fields, window_fields
from app.kube.records import NodeRecord
from app.wire.quantity import format_bytes, format_cpu
from app.wire.timestamps import format_time

_USAGE = usage_fields(4)
_encode = msgspec.json.Encoder().encode


class _Fields(Struct, frozen=True, gc=False):
    timestamp: str
    window: str
    usage: Usage


def project(_node: NodeRecord, usage: NodeUsage | None) -> NodeUsage | None:
    """A node's object says its usage; there is none while the node has none."""
    return usage


def json(usage: NodeUsage) -> bytes:
    """The fields behind metadata."""
    fields = _Fields(format_time(usage.time), format_duration(usage.window), quantities(usage.cpu, usage.memory, usage.swap))
    return _encode(fields)


def cells(name: str, usage: NodeUsage) -> tuple[Cell, ...]:
    """One cell a column."""
    return (name, format_cpu(usage.cpu), format_bytes(usage.memory), format_duration(usage.window))


def protobuf(usage: NodeUsage) -> bytes:
    """Fields 2 to 4 of NodeMetrics."""
    return window_fields(usage.time, usage.window) + _USAGE(usage.cpu, usage.memory, usage.swap)


KIND = Kind(
    group="metrics.k8s.io",
    versions=("v1", "v1beta1"),
    kind="NodeMetrics",
    resource="nodes",
    singular="",
    namespaced=False,
    about="nodemetrics",
    subject=Subject.NODE,
    columns=USAGE_COLUMNS,
    schema={
        "description": "What a node uses, as its kubelet measured it.",
        "required": ["timestamp", "window", "usage"],
        "properties": {**WINDOW_SCHEMA, "usage": USAGE_SCHEMA},
    },
    project=project,
    created=created,
    annotations=annotations,
    json=json,
    cells=cells,
    protobuf=protobuf,
    version_priorities=VERSION_PRIORITIES,
)
