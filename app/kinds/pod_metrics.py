"""PodMetrics of metrics.k8s.io: what each container of a pod uses. Shape: k8s.io/metrics pkg/apis/metrics."""

from functools import lru_cache

import msgspec
from msgspec import Struct

from app.cache.values import PodUsage
from app.duration import format_duration
from app.kinds._base import Cell, Kind, Subject
from app.kinds._usage import USAGE_COLUMNS, USAGE_SCHEMA, VERSION_PRIORITIES, WINDOW_SCHEMA, Usage, annotations, created
from app.kinds._usage import usage as quantities
from app.kinds._usage_message import usage_fields, window_fields
from app.kube.records import PodRecord
from app.wire.protobuf import delimited, string
from app.wire.quantity import format_bytes, format_cpu
from app.wire.timestamps import format_time

_CONTAINER_USAGE = usage_fields(2)
_encode = msgspec.json.Encoder().encode


class _Container(Struct, frozen=True, gc=False):
    name: str
    usage: Usage


class _Fields(Struct, frozen=True, gc=False):
    timestamp: str
    window: str
    containers: list[_Container]


def project(_pod: PodRecord, usage: PodUsage | None) -> PodUsage | None:
    """A pod's object says its usage; there is none while that of some running container is not known: a pod is whole or not there."""
    return usage


def json(usage: PodUsage) -> bytes:
    """The fields behind metadata; containers in the order of the pod's spec."""
    containers = [_Container(each.name, quantities(each.cpu, each.memory, each.swap)) for each in usage.containers]
    return _encode(_Fields(format_time(usage.time), format_duration(usage.window), containers))


def cells(name: str, usage: PodUsage) -> tuple[Cell, ...]:
    """One cell a column; CPU and memory are the sums of the containers."""
    cpu = sum(container.cpu for container in usage.containers)
    memory = sum(container.memory for container in usage.containers)
    return (name, format_cpu(cpu), format_bytes(memory), format_duration(usage.window))


def protobuf(usage: PodUsage) -> bytes:
    """Fields 2 to 4 of PodMetrics."""
    containers = [delimited(4, _name(each.name) + _CONTAINER_USAGE(each.cpu, each.memory, each.swap)) for each in usage.containers]
    return b"".join((window_fields(usage.time, usage.window), *containers))


@lru_cache(maxsize=1024)  # few names are in use
def _name(name: str) -> bytes:
    return string(1, name)


KIND = Kind(
    group="metrics.k8s.io",
    versions=("v1", "v1beta1"),
    kind="PodMetrics",
    resource="pods",
    singular="",
    namespaced=True,
    about="podmetrics",
    subject=Subject.POD,
    columns=USAGE_COLUMNS,
    schema={
        "description": "What the containers of a pod use, as the kubelet measured it.",
        "required": ["timestamp", "window", "containers"],
        "properties": {
            **WINDOW_SCHEMA,
            "containers": {
                "type": "array",
                "description": "The pod's running containers.",
                "items": {
                    "type": "object",
                    "required": ["name", "usage"],
                    "properties": {
                        "name": {"type": "string", "description": "Name of the container in the pod's spec."},
                        "usage": USAGE_SCHEMA,
                    },
                },
            },
        },
    },
    project=project,
    created=created,
    annotations=annotations,
    json=json,
    cells=cells,
    protobuf=protobuf,
    version_priorities=VERSION_PRIORITIES,
)
