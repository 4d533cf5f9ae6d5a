"""From a full summary to the records that are kept of it. Pure.

What a kubelet writes for what it does not know is told apart here from what it measured: zeros of volumes, numbers that wrapped around,
pressures of a host that has none.
"""

from collections.abc import Iterable
from sys import intern

from collectors._summary_document import (
    Fs,
    FullContainer,
    FullNode,
    FullPod,
    Interface,
    Io,
    Network,
    Psi,
    PsiFigures,
    Time,
    Times,
    Volume,
    count,
)
from collectors._summary_records import (
    ContainerStats,
    FsStats,
    NetworkStats,
    NodeStats,
    PodStats,
    Pressure,
    Pressures,
    SummaryStats,
    VolumeStats,
)
from collectors._summary_records import Interface as InterfaceStats

_Shares = tuple[float, ...]
"""Percent: some over 10, 60 and 300 seconds, and full."""
_NOT_FULL = PsiFigures()
_CALM = Pressure()
_ALL_CALM = Pressures(_CALM, _CALM, _CALM)
_TOKEN = "kube-api-access-"  # noqa: S105 -- a name
"""What the volume with the ServiceAccount's token is called, which Kubernetes adds to every pod: it says nothing of any of them."""
_MOST_VOLUMES, _MOST_INTERFACES = 256, 128
"""No pod mounts, and no node has, so many that a person would read them: more are cut."""


def stats_of(node: FullNode[Time] | None, pods: Iterable[FullPod[Time]], times: Times) -> SummaryStats:
    """The records of a body. Of two pods of one name the last counts. Raises ValidationError for text that is no time."""
    told = list(pods)
    pressures = _PressureReader() if _has_pressure(node, told) else None
    return SummaryStats(
        node=_node(node, times, pressures) if node is not None else None,
        pods={(intern(pod.pod_ref.namespace), intern(pod.pod_ref.name)): _pod(pod, times, pressures) for pod in told},
    )


def _has_pressure(node: FullNode[Time] | None, pods: Iterable[FullPod[Time]]) -> bool:
    """Whether this host measures pressure. Where it does not (cgroup v1, a kernel without PSI) kubelets write zeros; where it does, the
    node's own total is above 0 within moments of its start, and grows for ever.
    """
    return any(
        figures is not None and figures.total > 0
        for part in (*((node,) if node is not None else ()), *pods)
        for block in (part.cpu, part.memory, part.io)
        if block is not None and block.psi is not None
        for figures in (block.psi.some, block.psi.full)
    )


class _PressureReader:
    """Reads the pressures of one body. A node has hundreds, most of them zeros: equal ones are read once, and are one object."""

    def __init__(self) -> None:
        self._seen: dict[_Shares, Pressure | None] = {(0.0,) * 6: _CALM}

    def read(self, cpu: Psi | None, memory: Psi | None, io: Psi | None) -> Pressures | None:
        """The pressures of one node, pod or container; None if it tells none."""
        of_cpu, of_memory, of_io = self._one(cpu), self._one(memory), self._one(io)
        if of_cpu is _CALM and of_memory is _CALM and of_io is _CALM:
            return _ALL_CALM
        if of_cpu is None and of_memory is None and of_io is None:
            return None
        return Pressures(of_cpu, of_memory, of_io)

    def _one(self, psi: Psi | None) -> Pressure | None:
        if psi is None or psi.some is None:
            return None
        some, full = psi.some, psi.full or _NOT_FULL
        shares = (some.avg10, some.avg60, some.avg300, full.avg10, full.avg60, full.avg300)
        if shares not in self._seen:
            self._seen[shares] = _pressure_of(shares)
        return self._seen[shares]


def _pressure_of(shares: _Shares) -> Pressure | None:
    """None if one of them is no share."""
    return Pressure(*(round(100 * share) for share in shares)) if all(0 <= share <= 100 for share in shares) else None


def _pressure(reader: _PressureReader | None, part: FullNode[Time] | FullPod[Time] | FullContainer[Time]) -> Pressures | None:
    if reader is None:
        return None
    cpu, memory, io = part.cpu, part.memory, part.io
    return reader.read(cpu.psi if cpu is not None else None, memory.psi if memory is not None else None, _psi(io))


def _psi(io: Io | None) -> Psi | None:
    return io.psi if io is not None else None


def _node(node: FullNode[Time], times: Times, pressures: _PressureReader | None) -> NodeStats:
    memory, swap, limits, runtime = node.memory, node.swap, node.rlimit, node.runtime
    return NodeStats(
        time=(times[memory.time] or 0) if memory is not None else 0,
        booted=times[node.start_time],
        available=count(memory.available_bytes) if memory is not None else None,
        rss=count(memory.rss_bytes) if memory is not None else None,
        swap=count(swap.swap_usage_bytes) if swap is not None else None,
        swap_available=count(swap.swap_available_bytes) if swap is not None else None,
        processes=count(limits.curproc) if limits is not None else None,
        most_processes=count(limits.maxpid) if limits is not None else None,
        pressure=_pressure(pressures, node),
        network=_network(node.network, times),
        fs=_fs(node.fs, times),
        image_fs=_fs(runtime.image_fs, times) if runtime is not None else None,
        container_fs=_fs(runtime.container_fs, times) if runtime is not None else None,
    )


def _pod(pod: FullPod[Time], times: Times, pressures: _PressureReader | None) -> PodStats:
    memory, swap, processes = pod.memory, pod.swap, pod.processes
    return PodStats(
        uid=pod.pod_ref.uid,
        time=(times[memory.time] or 0) if memory is not None else 0,
        rss=count(memory.rss_bytes) if memory is not None else None,
        swap=count(swap.swap_usage_bytes) if swap is not None else None,
        processes=count(processes.process_count) if processes is not None else None,
        pressure=_pressure(pressures, pod),
        network=_network(pod.network, times),
        ephemeral=_share(pod.ephemeral, times),
        volumes=_volumes(pod.volume, times),
        containers=_containers(pod.containers or (), times, pressures),
    )


def _containers(containers: Iterable[FullContainer[Time]], times: Times, pressures: _PressureReader | None) -> tuple[ContainerStats, ...]:
    """One record for each name. Of two entries of one name one is a leftover: the later start counts, or neither if that is not told."""
    kept: dict[str, ContainerStats | None] = {}
    for container in containers:
        stats = _container(container, times, pressures)
        kept[stats.name] = _later(kept[stats.name], stats) if stats.name in kept else stats
    return tuple([stats for stats in kept.values() if stats is not None])


def _later(one: ContainerStats | None, other: ContainerStats) -> ContainerStats | None:
    if one is None or one.started is None or other.started is None or one.started == other.started:
        return None
    return other if other.started > one.started else one


def _container(container: FullContainer[Time], times: Times, pressures: _PressureReader | None) -> ContainerStats:
    memory, swap, rootfs, logs = container.memory, container.swap, container.rootfs, container.logs
    disk = rootfs if rootfs is not None else logs
    return ContainerStats(
        name=intern(container.name),
        time=(times[memory.time] or 0) if memory is not None else 0,
        started=times[container.start_time],
        rss=count(memory.rss_bytes) if memory is not None else None,
        swap=count(swap.swap_usage_bytes) if swap is not None else None,
        rootfs=count(rootfs.used_bytes) if rootfs is not None else None,
        rootfs_inodes=count(rootfs.inodes_used) if rootfs is not None else None,
        logs=count(logs.used_bytes) if logs is not None else None,
        logs_inodes=count(logs.inodes_used) if logs is not None else None,
        disk_time=(times[disk.time] or 0) if disk is not None else 0,
        pressure=_pressure(pressures, container),
    )


def _fs(fs: Fs[Time] | None, times: Times) -> FsStats | None:
    """A filesystem. Without inodes there is nothing that could be free or used of them: some have none, and say 0."""
    if fs is None:
        return None
    inodes = count(fs.inodes) or None
    return FsStats(
        time=times[fs.time] or 0,
        available=count(fs.available_bytes),
        capacity=count(fs.capacity_bytes),
        used=count(fs.used_bytes),
        inodes=inodes,
        inodes_free=count(fs.inodes_free) if inodes else None,
        inodes_used=count(fs.inodes_used) if inodes else None,
    )


def _share(fs: Fs[Time] | None, times: Times) -> FsStats | None:
    """What somebody has of the node's filesystem, without the sizes of that: they are the node's."""
    if fs is None:
        return None
    return FsStats(times[fs.time] or 0, used=count(fs.used_bytes), inodes_used=count(fs.inodes_used))


def _volumes(told: list[Volume[Time]] | None, times: Times) -> tuple[VolumeStats, ...]:
    """The volumes that a person or a program fills."""
    return tuple([_volume(volume, times) for volume in (told or ())[:_MOST_VOLUMES] if not volume.name.startswith(_TOKEN)])


def _volume(volume: Volume[Time], times: Times) -> VolumeStats:
    """A volume's numbers. Kubelets write all six always, 0 for what the plugin did not tell.

    A capacity and nothing else is a block device. What is used is believed to be 0 only where something else shows that it was counted: all
    is available, or there are files.
    """
    capacity, available, used = count(volume.capacity_bytes) or None, count(volume.available_bytes), count(volume.used_bytes)
    inodes = count(volume.inodes) or None
    inodes_free = count(volume.inodes_free) if inodes else None
    inodes_used = count(volume.inodes_used) if inodes else None
    block = capacity is not None and not (available or used or inodes)
    if capacity is None or block:
        available = None
    if not used and (capacity is None or available != capacity) and not inodes_used:
        used = None
    return VolumeStats(
        time=times[volume.time] or 0,
        available=available,
        capacity=capacity,
        used=used,
        inodes=inodes,
        inodes_free=inodes_free,
        inodes_used=inodes_used,
        name=intern(volume.name),
        claim=(intern(volume.pvc_ref.namespace), intern(volume.pvc_ref.name)) if volume.pvc_ref is not None else None,
        block=block,
    )


def _network(network: Network[Time] | None, times: Times) -> NetworkStats | None:
    """All interfaces; the default one alone where no others are listed. None without a time: counters of no time make no rate, and None
    without any counter."""
    if network is None:
        return None
    time = times[network.time]
    told = (network.interfaces or ())[:_MOST_INTERFACES]
    own = _interface(network)
    interfaces = tuple([_interface(each) for each in told]) or ((own,) if _counts(own) else ())
    if time is None or not interfaces:
        return None
    return NetworkStats(time, interfaces, own.name if _counts(own) else "")


def _interface(told: Interface) -> InterfaceStats:
    return InterfaceStats(intern(told.name), count(told.rx_bytes), count(told.tx_bytes), count(told.rx_errors), count(told.tx_errors))


def _counts(interface: InterfaceStats) -> bool:
    return interface.rx_bytes is not None or interface.tx_bytes is not None
