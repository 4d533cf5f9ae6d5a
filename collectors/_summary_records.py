"""What a kubelet's full summary tells beyond CPU and memory, as it is kept: compact, immutable, untracked by the garbage collector.

Bytes, counts and times (Unix ns) are integers. None is "not told", which is never the same as 0: where the kubelet writes a 0 or a number
that wrapped around for what it does not know, the reader in collectors/_summary_stats.py has made None of it.
"""

from collections.abc import Mapping

from msgspec import Struct

Name = tuple[str, str]
"""(namespace, name)."""


class Pressure(Struct, frozen=True, gc=False):
    """Pressure stall information of one resource: the share of time, in hundredths of a percent, in which `some` or all (`full`) tasks
    waited for it, averaged over 10, 60 and 300 seconds. Equal ones of a body are one object."""

    some_avg10: int = 0
    some_avg60: int = 0
    some_avg300: int = 0
    full_avg10: int = 0
    full_avg60: int = 0
    full_avg300: int = 0


class Pressures(Struct, frozen=True, gc=False):
    """The pressures of a node, pod or container."""

    cpu: Pressure | None = None
    memory: Pressure | None = None
    io: Pressure | None = None


class FsStats(Struct, frozen=True, gc=False):
    """A filesystem. `used` is what is stored in it by its owner: of a directory that shares a filesystem (an emptyDir, logs) that is less
    than capacity - available."""

    time: int = 0
    available: int | None = None
    capacity: int | None = None
    used: int | None = None
    inodes: int | None = None
    inodes_free: int | None = None
    inodes_used: int | None = None


class VolumeStats(FsStats, frozen=True, gc=False):
    """A pod's volume, by its name in the pod's spec. `claim` is its persistent volume claim; of a generic ephemeral volume too.

    `block`: a raw block device, of which only the size is known.
    """

    name: str = ""
    claim: Name | None = None
    block: bool = False


class Interface(Struct, frozen=True, gc=False):
    """The counters of a network interface since it came up."""

    name: str
    rx_bytes: int | None = None
    tx_bytes: int | None = None
    rx_errors: int | None = None
    tx_errors: int | None = None


class NetworkStats(Struct, frozen=True, gc=False):
    """All interfaces, in the kubelet's order. `default` names the one that the kubelet takes for the outer one, "" where it knows none: it
    looks for eth0."""

    time: int
    interfaces: tuple[Interface, ...]
    default: str = ""


class ContainerStats(Struct, frozen=True, gc=False):
    """A container. `time` is that of memory and pressures; `rootfs` (its writable layer) and `logs` are bytes, measured at `disk_time`.

    Capacities are not kept: they are the node's.
    """

    name: str
    time: int = 0
    started: int | None = None
    rss: int | None = None
    swap: int | None = None
    rootfs: int | None = None
    rootfs_inodes: int | None = None
    logs: int | None = None
    logs_inodes: int | None = None
    disk_time: int = 0
    pressure: Pressures | None = None


class PodStats(Struct, frozen=True, gc=False):
    """A pod, as its own cgroup has it. `uid` is the kubelet's name for it, `time` that of memory and pressures.

    `ephemeral` is what its containers, logs and emptyDirs keep on the node's disk, without that disk's own sizes. A pod in the host's
    network tells the *node's* network: who knows the pod's spec has to leave that out.
    """

    uid: str
    time: int = 0
    rss: int | None = None
    swap: int | None = None
    processes: int | None = None
    pressure: Pressures | None = None
    network: NetworkStats | None = None
    ephemeral: FsStats | None = None
    volumes: tuple[VolumeStats, ...] = ()
    containers: tuple[ContainerStats, ...] = ()


class NodeStats(Struct, frozen=True, gc=False):
    """A node. `time` is that of memory and pressures, `booted` when it started. `image_fs` holds images, `container_fs` writable layers."""

    time: int = 0
    booted: int | None = None
    available: int | None = None
    rss: int | None = None
    swap: int | None = None
    swap_available: int | None = None
    processes: int | None = None
    most_processes: int | None = None
    pressure: Pressures | None = None
    network: NetworkStats | None = None
    fs: FsStats | None = None
    image_fs: FsStats | None = None
    container_fs: FsStats | None = None


class SummaryStats(Struct, frozen=True, gc=False):
    """One body."""

    node: NodeStats | None
    pods: Mapping[Name, PodStats]
