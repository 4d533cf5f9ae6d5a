"""NodeStats: what each node uses of what it has, how much of that is promised to pods, its disks, network, processes and pressure."""

import msgspec

from app.cache.network import rates
from app.cache.projection import Subject
from app.cache.views import NodeView
from app.kinds import _live as live
from app.kinds._base import Cell, Kind
from app.kinds._history import TREND, trend
from app.kube.records import Key, Labels
from collectors._summary_records import FsStats, NodeStats

_NOTHING = NodeStats()
_encode = msgspec.json.Encoder().encode


class _Figures:
    """What is told of a node. Usage is of capacity: the node's own services use what is not allocatable too, so that of this it could be
    more than all. What pods request is of what they can have, allocatable.
    """

    def __init__(self, view: NodeView) -> None:
        capacity, allocatable, held = view.node.capacity, view.node.allocatable, view.reserved
        self.cpu = view.usage.cpu if view.usage is not None else None
        self.memory = view.usage.memory if view.usage is not None else None
        self.cpu_used = live.percent(self.cpu, capacity.cpu)
        self.memory_used = live.percent(self.memory, capacity.memory)
        self.cpu_requested = live.percent(held.requests.cpu or 0, allocatable.cpu)
        self.memory_requested = live.percent(held.requests.memory or 0, allocatable.memory)
        self.cpu_limited = live.percent(held.limits.cpu or 0, allocatable.cpu)
        self.memory_limited = live.percent(held.limits.memory or 0, allocatable.memory)
        self.stats = view.now.stats if view.now is not None and view.now.stats is not None else _NOTHING
        swap = self.stats.swap
        self.swap = swap if swap is not None or view.usage is None else view.usage.swap
        self.rates = rates(view.now.earlier, self.stats.network) if view.now is not None else None


def observed(view: NodeView) -> int:
    """When its figures were measured (Unix ns), 0 if there are none."""
    if view.usage is not None:
        return view.usage.time
    return view.now.stats.time if view.now is not None and view.now.stats is not None else 0


def cpu(view: NodeView) -> int | None:
    """Nanocores: what its trend is of."""
    return view.usage.cpu if view.usage is not None else None


def created(view: NodeView) -> int:
    """An object is as old as its node."""
    return view.node.created_ns


def annotations(_view: NodeView) -> Labels:
    """None: what there is to say is in the status."""
    return ()


def uid(_key: Key, view: NodeView) -> str:
    """Another one for a node that was created anew."""
    return live.uid_of("NodeStats", view.node.uid)


def json(view: NodeView) -> bytes:
    """spec and status."""
    node, told = view.node, _Figures(view)
    stats = told.stats
    spec = live.known(
        capacity=live.resources(node.capacity),
        allocatable=live.resources(node.allocatable, node.most_pods),
        requests=live.resources(view.reserved.requests),
        limits=live.resources(view.reserved.limits),
    )
    status = live.known(
        observedAt=live.time_field(observed(view)),
        windowSeconds=live.window_field(view.usage.window) if view.usage is not None else None,
        startTime=live.time_field(stats.booted),
        cpu=live.known(
            usageNanoCores=told.cpu,
            usedPercent=told.cpu_used,
            requestedPercent=told.cpu_requested,
            limitedPercent=told.cpu_limited,
        ),
        memory=live.known(
            workingSetBytes=told.memory,
            availableBytes=stats.available,
            rssBytes=stats.rss,
            usedPercent=told.memory_used,
            requestedPercent=told.memory_requested,
            limitedPercent=told.memory_limited,
        ),
        swap=live.known(swapUsageBytes=told.swap, swapAvailableBytes=stats.swap_available),
        fs=live.fs_fields(stats.fs),
        imageFs=live.fs_fields(stats.image_fs),
        containerFs=live.fs_fields(stats.container_fs),
        network=live.network_fields(stats.network, view.now.earlier if view.now is not None else None),
        pods=live.known(running=view.reserved.running, allocatable=node.most_pods),
        processes=live.known(running=stats.processes, max=stats.most_processes),
        pressure=live.pressure_fields(stats.pressure),
        conditions=live.fresh(
            view.troubles,
            live.sources(view.usage.source if view.usage is not None else None, stats=stats is not _NOTHING),
            view.why,
        ),
    )
    return _encode({"spec": spec, "status": status})


def cells(name: str, view: NodeView) -> tuple[Cell, ...]:
    """One cell a column."""
    told = _Figures(view)
    stats = told.stats
    return (
        name,
        live.cpu_cell(told.cpu),
        live.percent_cell(told.cpu_used, None),
        live.percent_cell(told.cpu_requested, None),
        live.memory_cell(told.memory),
        live.percent_cell(told.memory_used, None),
        live.percent_cell(told.memory_requested, None),
        _full(stats.fs),
        _of(view.reserved.running, view.node.most_pods),
        live.seen_cell(observed(view)),
        live.percent_cell(told.cpu_limited, None),
        live.percent_cell(told.memory_limited, None),
        live.memory_cell(stats.rss),
        live.memory_cell(told.swap),
        _full(stats.image_fs),
        live.percent_cell(live.inodes_percent(stats.fs) if stats.fs is not None else None, None),
        live.size_cell(told.rates.rx if told.rates is not None else None),
        live.size_cell(told.rates.tx if told.rates is not None else None),
        _of(stats.processes, stats.most_processes),
        *live.pressure_cells(stats.pressure),
        trend(view.trend(view.node.key), view.node.capacity.cpu, "blocks") or live.NOT_SET,
    )


def _full(fs: FsStats | None) -> str:
    return live.percent_cell(live.used_percent(fs.used, fs.available) if fs is not None else None, None)


def _of(part: int | None, most: int | None) -> str:
    """12/110, or 12 where nothing is known to limit it."""
    if part is None:
        return live.UNKNOWN
    return str(part) if most is None else f"{part}/{most}"


_FS = live.fields("The filesystem of the kubelet: volumes, logs, and mostly images too.", **live.FS_PROPERTIES)

KIND = Kind(
    group=live.GROUP,
    versions=live.VERSIONS,
    kind="NodeStats",
    resource="nodestats",
    singular="nodestats",
    namespaced=False,
    subject=Subject.NODE,
    columns=(
        live.NAME,
        live.column("CPU", "CPU of all that runs on the node; key: .status.cpu.usageNanoCores."),
        live.column("CPU%", "Of its capacity; key: .status.cpu.usedPercent."),
        live.column("CPU-Req%", "What its pods request, of what is allocatable; key: .status.cpu.requestedPercent."),
        live.column("Memory", "Working set of all that runs on the node; key: .status.memory.workingSetBytes."),
        live.column("Mem%", "Of its capacity; key: .status.memory.usedPercent."),
        live.column("Mem-Req%", "What its pods request, of what is allocatable; key: .status.memory.requestedPercent."),
        live.column("Disk%", "Of the kubelet's filesystem, as df tells it; key: .status.fs.usedPercent."),
        live.column("Pods", "Pods that run, of how many may; key: .status.pods.running."),
        live.SEEN,
        live.column("CPU-Lim%", "Limits of its pods, of what is allocatable; key: .status.cpu.limitedPercent.", wide=True),
        live.column("Mem-Lim%", "Limits of its pods, of what is allocatable; key: .status.memory.limitedPercent.", wide=True),
        live.column("RSS", "Resident memory; key: .status.memory.rssBytes.", wide=True),
        live.SWAP_USED,
        live.column("ImageFS%", "Of the filesystem of images, as df tells it; key: .status.imageFs.usedPercent.", wide=True),
        live.column("Inodes%", "Inodes of the kubelet's filesystem; key: .status.fs.inodesUsedPercent.", wide=True),
        live.column("Rx/s", "Bytes received per second; key: .status.network.rxBytesPerSecond.", wide=True),
        live.column("Tx/s", "Bytes sent per second; key: .status.network.txBytesPerSecond.", wide=True),
        live.column("PIDs", "Processes and threads, of how many may be; key: .status.processes.running.", wide=True),
        *live.PRESSURES,
        TREND,
    ),
    schema={
        "description": "What a node uses now, beside what it has and what its pods request of it.",
        "properties": {
            "spec": live.fields(
                "What it has, and what of that is promised.",
                capacity=live.amounts("All that it has."),
                allocatable=live.amounts("What pods can have of it."),
                requests=live.amounts("What its pods request, as the scheduler counts it."),
                limits=live.amounts("What limits its pods; those without a limit add nothing."),
            ),
            "status": live.fields(
                "What is seen.",
                **live.OBSERVED,
                startTime=live.moment("When it booted."),
                cpu=live.fields(
                    "CPU.",
                    usageNanoCores=live.integer("CPU in nanocores."),
                    usedPercent=live.integer("Of capacity, rounded down."),
                    requestedPercent=live.integer("Requests of allocatable, rounded down."),
                    limitedPercent=live.integer("Limits of allocatable, rounded down."),
                ),
                memory=live.fields(
                    "Memory.",
                    workingSetBytes=live.integer("Memory that cannot be reclaimed easily: what evictions look at."),
                    availableBytes=live.integer("What is left above the working set."),
                    rssBytes=live.integer("Resident memory."),
                    usedPercent=live.integer("Of capacity, rounded down."),
                    requestedPercent=live.integer("Requests of allocatable, rounded down."),
                    limitedPercent=live.integer("Limits of allocatable, rounded down."),
                ),
                swap=live.SWAP,
                fs=_FS,
                imageFs=live.fields("The filesystem of images.", **live.FS_PROPERTIES),
                containerFs=live.fields("The filesystem of containers' own layers.", **live.FS_PROPERTIES),
                network=live.NETWORK,
                pods=live.fields(
                    "Pods on it.",
                    running=live.integer("How many run."),
                    allocatable=live.integer("How many may."),
                ),
                processes=live.fields(
                    "Processes and threads.", running=live.integer("How many there are."), max=live.integer("How many may be.")
                ),
                pressure=live.PRESSURE,
                conditions=live.CONDITIONS,
            ),
        },
    },
    created=created,
    measured=observed,
    annotations=annotations,
    uid=uid,
    json=json,
    cells=cells,
    short_names=("nst",),
    categories=live.CATEGORIES,
)
