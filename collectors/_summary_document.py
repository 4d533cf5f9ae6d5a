"""The document of /stats/summary: its shape in the short and in the full form, and how its times and numbers are read.

Its shape: k8s.io/kubelet pkg/apis/stats/v1alpha1. Times are whole seconds; nearly every field is optional; counters are uint64, and
a subtraction that went below zero inside the kubelet shows as a huge value.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct, convert, field

UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_WRAPPED = 2**63
"""A number at or above this is a negative one that wrapped around: unknown."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = (2**63 - 1) // 10**9
"""The last second of which int64 holds the nanoseconds."""

Time = TypeVar("Time", str, datetime)
"""Text where all parts are taken to be as they should be: it is cheap to look up; datetime where what is no time must cost its part."""


class Cpu(Struct, Generic[Time], gc=False, rename="camel"):
    """CPUStats: a rate in nanocores, a counter in core-nanoseconds."""

    time: Time | None = None
    usage_nano_cores: int | None = None
    usage_core_nano_seconds: int | None = None


class Memory(Struct, Generic[Time], gc=False, rename="camel"):
    """MemoryStats."""

    time: Time | None = None
    working_set_bytes: int | None = None


class Swap(Struct, gc=False, rename="camel"):
    """SwapStats."""

    swap_usage_bytes: int | None = None


class Container(Struct, Generic[Time], gc=False, rename="camel"):
    """ContainerStats, and those of the node's own services."""

    name: str
    start_time: Time | None = None
    cpu: Cpu[Time] | None = None
    memory: Memory[Time] | None = None
    swap: Swap | None = None


class PodRef(Struct, gc=False):
    """PodReference."""

    name: str
    namespace: str
    uid: str = ""


class Pod(Struct, Generic[Time], gc=False, rename="camel"):
    """PodStats."""

    pod_ref: PodRef
    containers: list[Container[Time]] | None = None


class Node(Struct, Generic[Time], gc=False, rename="camel"):
    """NodeStats."""

    cpu: Cpu[Time] | None = None
    memory: Memory[Time] | None = None
    swap: Swap | None = None
    system_containers: list[Container[Time]] | None = None


class Summary(Struct, Generic[Time], gc=False):
    """The short form: what ?only_cpu_and_memory=true answers."""

    node: Node[Time] | None = None
    pods: list[Pod[Time]] | None = None


class PsiFigures(Struct, gc=False):
    """PSIData: `total` nanoseconds, averages in percent."""

    total: int = 0
    avg10: float = 0.0
    avg60: float = 0.0
    avg300: float = 0.0


class Psi(Struct, gc=False):
    """PSIStats."""

    some: PsiFigures | None = None
    full: PsiFigures | None = None


class FullCpu(Cpu[Time], Generic[Time], gc=False, rename="camel"):
    """CPUStats, all of it that is kept."""

    psi: Psi | None = None


class FullMemory(Memory[Time], Generic[Time], gc=False, rename="camel"):
    """MemoryStats, all of it that is kept."""

    available_bytes: int | None = None
    rss_bytes: int | None = None
    psi: Psi | None = None


class Io(Struct, gc=False):
    """IOStats."""

    psi: Psi | None = None


class FullSwap(Swap, gc=False, rename="camel"):
    """SwapStats with what is left."""

    swap_available_bytes: int | None = None


class Fs(Struct, Generic[Time], gc=False, rename="camel"):
    """FsStats."""

    time: Time | None = None
    available_bytes: int | None = None
    capacity_bytes: int | None = None
    used_bytes: int | None = None
    inodes: int | None = None
    inodes_free: int | None = None
    inodes_used: int | None = None


class PvcRef(Struct, gc=False):
    """PVCReference."""

    name: str
    namespace: str


class Volume(Fs[Time], Generic[Time], gc=False, rename="camel"):
    """VolumeStats."""

    name: str = ""
    pvc_ref: PvcRef | None = None


class Interface(Struct, gc=False, rename="camel"):
    """InterfaceStats."""

    name: str = ""
    rx_bytes: int | None = None
    rx_errors: int | None = None
    tx_bytes: int | None = None
    tx_errors: int | None = None


class Network(Interface, Generic[Time], gc=False, rename="camel"):
    """NetworkStats: the default interface's counters, and all interfaces with theirs."""

    time: Time | None = None
    interfaces: list[Interface] | None = None


class FullContainer(Container[Time], Generic[Time], gc=False, rename="camel"):
    """ContainerStats of the full form."""

    cpu: FullCpu[Time] | None = None
    memory: FullMemory[Time] | None = None
    io: Io | None = None
    rootfs: Fs[Time] | None = None
    logs: Fs[Time] | None = None


class Processes(Struct, gc=False):
    """ProcessStats."""

    process_count: int | None = None


class FullPod(Pod[Time], Generic[Time], gc=False, rename="camel"):
    """PodStats of the full form."""

    containers: list[FullContainer[Time]] | None = None  # type: ignore[assignment]  # read only, so a list of more is one of less
    cpu: FullCpu[Time] | None = None
    memory: FullMemory[Time] | None = None
    io: Io | None = None
    network: Network[Time] | None = None
    volume: list[Volume[Time]] | None = None
    ephemeral: Fs[Time] | None = field(default=None, name="ephemeral-storage")
    processes: Processes | None = field(default=None, name="process_stats")
    swap: Swap | None = None


class Rlimit(Struct, gc=False):
    """RlimitStats."""

    maxpid: int | None = None
    curproc: int | None = None


class Runtime(Struct, Generic[Time], gc=False, rename="camel"):
    """RuntimeStats."""

    image_fs: Fs[Time] | None = None
    container_fs: Fs[Time] | None = None


class FullNode(Node[Time], Generic[Time], gc=False, rename="camel"):
    """NodeStats of the full form."""

    cpu: FullCpu[Time] | None = None
    memory: FullMemory[Time] | None = None
    swap: FullSwap | None = None
    start_time: Time | None = None
    io: Io | None = None
    network: Network[Time] | None = None
    fs: Fs[Time] | None = None
    runtime: Runtime[Time] | None = None
    rlimit: Rlimit | None = None


class FullSummary(Summary[Time], Generic[Time], gc=False):
    """The full form."""

    node: FullNode[Time] | None = None
    pods: list[FullPod[Time]] | None = None  # type: ignore[assignment]  # as FullPod.containers


class Times(dict[str | datetime | None, int | None]):
    """What `_ns` makes of the times of one body. Most occur more than once: a kubelet measures many containers in one second.

    Text that is no time raises ValidationError.
    """

    def __missing__(self, time: str | datetime | None) -> int | None:
        ns = self[time] = _ns(convert(time, datetime)) if time is not None else None
        return ns


def count(value: int | None) -> int | None:
    """A number as it can be: None for one that is negative, or was before it became a uint64."""
    return value if value is not None and 0 <= value < _WRAPPED else None


def newest_start(containers: Iterable[Container[Time]], times: Times) -> int:
    """The latest start among containers (Unix ns), 0 if none is told."""
    return max((times[container.start_time] or 0 for container in containers), default=0)


def _ns(time: datetime) -> int | None:
    """Unix ns of whole seconds; None for a time without a zone, Go's zero time, and whatever is not in 1970 to 2262 (int64 ns)."""
    if time.tzinfo is None:
        return None
    since = time - _EPOCH
    seconds = since.days * 86400 + since.seconds
    return seconds * 10**9 if 0 < seconds < _LAST else None
