"""What the kinds of metrics.k8s.io share: the usage of a node or a container, its columns and its schema."""

from msgspec import UNSET, Struct, UnsetType

from app.cache.values import NodeUsage, PodUsage
from app.kinds._base import Column
from app.kube.records import Labels
from app.wire.quantity import format_bytes, format_cpu

SOURCE_ANNOTATION = "kubeglance.io/source"
_SUMMARY: Labels = ((SOURCE_ANNOTATION, "summary"),)

VERSION_PRIORITIES = {"v1": 200, "v1beta1": 100}
"""v1 (KEP-5207, Kubernetes 1.37) goes first where both are registered; 100 is metrics-server's own for v1beta1."""


class Usage(Struct, frozen=True, gc=False):
    """A ResourceList with quantities, in the order in which Go prints a map. `swap` stands there only where it is known (KEP-2400)."""

    cpu: str
    memory: str
    swap: str | UnsetType = UNSET


def usage(cpu: int, memory: int, swap: int | None) -> Usage:
    """From nanocores and bytes."""
    return Usage(format_cpu(cpu), format_bytes(memory), UNSET if swap is None else format_bytes(swap))


USAGE_COLUMNS = (
    Column("Name", format="name", description="Name of the node or pod."),
    Column("cpu", format="quantity", description="CPU in cores, averaged over the window."),
    Column("memory", format="quantity", description="Working set in bytes at the end of the window."),
    Column("Window", format="duration", description="The time over which CPU was measured."),
)

WINDOW_SCHEMA = {
    "timestamp": {"type": "string", "format": "date-time", "description": "When the kubelet measured: the end of the window."},
    "window": {"type": "string", "description": "The time over which CPU was averaged, as a Go duration."},
}

USAGE_SCHEMA = {
    "type": "object",
    "description": "Quantities by resource: cpu in cores, memory (working set) in bytes, and swap in bytes where the kubelet reports it.",
    "additionalProperties": {"type": "string", "description": "A quantity, such as 250m or 64Mi."},
}


def created(usage: NodeUsage | PodUsage) -> int:
    """An object is of the time when its usage was measured."""
    return usage.time


def annotations(usage: NodeUsage | PodUsage) -> Labels:
    """Tells where a value comes from when it is not the light endpoint: the summary's rate is the kubelet's own."""
    return _SUMMARY if usage.source == "kubelet_summary" else ()
