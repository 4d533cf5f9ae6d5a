"""PodStats: what each pod uses of what it asked for and may have, with its network, disk, processes and pressure."""

import msgspec

from app.cache.network import rates
from app.cache.projection import Subject
from app.cache.reservations import limits_of, requests_of
from app.cache.stats import PodNow
from app.cache.views import PodView
from app.kinds import _live as live
from app.kinds._base import Cell, Kind
from app.kinds._history import TREND, trend
from app.kube.records import Key, Labels

_encode = msgspec.json.Encoder().encode


class _Figures:
    """What is told of a pod. CPU and memory are the sums of its containers, so that they equal `kubectl top`."""

    def __init__(self, view: PodView) -> None:
        usage, now = view.usage, view.now
        self.requests, self.limits = requests_of(view.pod), limits_of(view.pod)
        self.cpu = cpu(view)
        self.memory = sum(container.memory for container in usage.containers) if usage is not None else None
        self.rss = now.stats.rss if now is not None else None
        self.swap = _swap(view)
        self.disk = now.stats.ephemeral.used if now is not None and now.stats.ephemeral is not None else None
        self.processes = now.stats.processes if now is not None else None
        self.pressure = now.stats.pressure if now is not None else None


def _swap(view: PodView) -> int | None:
    """The pod's swap as its cgroup has it, else the sum of its containers where all tell it."""
    if view.now is not None and view.now.stats.swap is not None:
        return view.now.stats.swap
    told = [container.swap for container in view.usage.containers] if view.usage is not None else []
    known_ones = [swap for swap in told if swap is not None]
    return sum(known_ones) if known_ones and len(known_ones) == len(told) else None


def observed(view: PodView) -> int:
    """When its figures were measured (Unix ns), 0 if there are none."""
    if view.usage is not None:
        return view.usage.time
    return view.now.stats.time if view.now is not None else 0


def cpu(view: PodView) -> int | None:
    """Nanocores: what its trend is of."""
    return sum(container.cpu for container in view.usage.containers) if view.usage is not None else None


def created(view: PodView) -> int:
    """An object is as old as its pod."""
    return view.pod.created_ns


def annotations(_view: PodView) -> Labels:
    """None: what there is to say is in the status."""
    return ()


def uid(_key: Key, view: PodView) -> str:
    """Another one for a pod that was created anew."""
    return live.uid_of("PodStats", view.pod.uid)


def json(view: PodView) -> bytes:
    """spec and status."""
    pod, now, told = view.pod, view.now, _Figures(view)
    spec = live.known(
        nodeName=pod.node,
        qosClass=pod.qos or None,
        hostNetwork=pod.host_network or None,
        requests=live.resources(told.requests),
        limits=live.resources(told.limits),
    )
    stats = now.stats if now is not None else None
    status = live.known(
        observedAt=live.time_field(observed(view)),
        windowSeconds=live.window_field(view.usage.window) if view.usage is not None else None,
        cpu=live.known(
            usageNanoCores=told.cpu,
            requestPercent=live.percent(told.cpu, told.requests.cpu),
            limitPercent=live.percent(told.cpu, told.limits.cpu),
        ),
        memory=live.known(
            workingSetBytes=told.memory,
            requestPercent=live.percent(told.memory, told.requests.memory),
            limitPercent=live.percent(told.memory, told.limits.memory),
            rssBytes=told.rss,
        ),
        swap=live.known(swapUsageBytes=told.swap),
        network=_network(view),
        ephemeralStorage={**live.fs_fields(stats.ephemeral), **live.known(limitPercent=live.percent(told.disk, told.limits.storage))}
        if stats is not None
        else None,
        processes=live.known(running=told.processes),
        pressure=live.pressure_fields(told.pressure),
        volumes=_volumes(now) or None,
        conditions=live.fresh(
            view.troubles,
            live.sources(view.usage.source if view.usage is not None else None, stats=now is not None),
            view.why,
        ),
    )
    return _encode({"spec": spec, "status": status})


def _network(view: PodView) -> live.Object:
    if view.pod.host_network:
        return {"reason": "HostNetwork"}
    return live.network_fields(view.now.stats.network, view.now.earlier) if view.now is not None else {}


def _volumes(now: PodNow | None) -> list[live.Object]:
    """Every volume that the kubelet measures, emptyDirs among them."""
    return [
        live.known(name=volume.name, persistentVolumeClaim=volume.claim[1] if volume.claim is not None else None, **live.fs_fields(volume))
        for volume in (now.volumes if now is not None else ())
    ]


def cells(name: str, view: PodView) -> tuple[Cell, ...]:
    """One cell a column."""
    told, now = _Figures(view), view.now
    rate = rates(now.earlier, now.stats.network) if now is not None else None
    received = live.OF_HOST if view.pod.host_network else live.size_cell(rate.rx if rate is not None else None)
    sent = live.OF_HOST if view.pod.host_network else live.size_cell(rate.tx if rate is not None else None)
    return (
        name,
        live.cpu_cell(told.cpu),
        live.percent_cell(live.percent(told.cpu, told.requests.cpu), told.cpu),
        live.percent_cell(live.percent(told.cpu, told.limits.cpu), told.cpu),
        live.memory_cell(told.memory),
        live.percent_cell(live.percent(told.memory, told.requests.memory), told.memory),
        live.percent_cell(live.percent(told.memory, told.limits.memory), told.memory),
        received,
        sent,
        live.size_cell(told.disk),
        live.seen_cell(observed(view)),
        view.pod.node,
        live.memory_cell(told.rss),
        live.memory_cell(told.swap),
        live.percent_cell(live.percent(told.disk, told.limits.storage), told.disk),
        live.count_cell(told.processes),
        *live.pressure_cells(told.pressure),
        view.pod.qos or live.UNKNOWN,
        trend(view.trend(view.pod.key), told.limits.cpu, "blocks") or live.NOT_SET,
    )


def node_name(_key: Key, view: PodView) -> str:
    """For the field selector spec.nodeName."""
    return view.pod.node


KIND = Kind(
    group=live.GROUP,
    versions=live.VERSIONS,
    kind="PodStats",
    resource="podstats",
    singular="podstats",
    namespaced=True,
    about="",
    subject=Subject.POD,
    columns=(
        live.NAME,
        live.column("CPU", "CPU of all containers, as kubectl top has it; key: .status.cpu.usageNanoCores."),
        live.column("CPU%R", "Of the CPU that its containers and sidecars request; key: .status.cpu.requestPercent."),
        live.column("CPU%L", f"Of their CPU limits, {live.NOT_SET} if one that runs has none; key: .status.cpu.limitPercent."),
        live.column("Memory", "Working set of all containers, as kubectl top has it; key: .status.memory.workingSetBytes."),
        live.column("Mem%R", "Of the memory that its containers and sidecars request; key: .status.memory.requestPercent."),
        live.column("Mem%L", f"Of their memory limits, {live.NOT_SET} if one that runs has none; key: .status.memory.limitPercent."),
        live.column("Rx/s", f"Bytes received per second, {live.OF_HOST} in the node's network; key: .status.network.rxBytesPerSecond."),
        live.column("Tx/s", f"Bytes sent per second, {live.OF_HOST} in the node's network; key: .status.network.txBytesPerSecond."),
        live.column("Disk", "What it keeps on the node's disk: layers, logs, emptyDirs; key: .status.ephemeralStorage.usedBytes."),
        live.SEEN,
        live.column("Node", "Where it runs; key: .spec.nodeName.", wide=True),
        live.column("RSS", "Anonymous memory of the pod; key: .status.memory.rssBytes.", wide=True),
        live.SWAP_USED,
        live.column("Disk%L", "Of the limit for ephemeral storage; key: .status.ephemeralStorage.limitPercent.", wide=True),
        live.column("Procs", "Processes; key: .status.processes.running.", wide=True),
        *live.PRESSURES,
        live.column("QoS", "Quality of service class; key: .spec.qosClass.", wide=True),
        TREND,
    ),
    schema={
        "description": "What a pod uses now, beside what it requests and what limits it.",
        "properties": {
            "spec": live.fields(
                "What was asked for.",
                nodeName=live.text("The node that runs it."),
                qosClass=live.text("Guaranteed, Burstable or BestEffort."),
                hostNetwork={"type": "boolean", "description": "Whether it uses its node's network."},
                requests=live.amounts("What its containers and sidecars request, or the pod as a whole."),
                limits=live.amounts("What limits it; a resource that some running container has no limit of is not there."),
            ),
            "status": live.fields(
                "What is seen.",
                **live.OBSERVED,
                cpu=live.fields(
                    "CPU, the sum of its containers.",
                    usageNanoCores=live.integer("CPU in nanocores."),
                    requestPercent=live.integer("Of the request, rounded down."),
                    limitPercent=live.integer("Of the limit, rounded down."),
                ),
                memory=live.fields(
                    "Memory, the sum of its containers.",
                    workingSetBytes=live.integer("Memory that cannot be reclaimed easily: what the OOM killer and evictions look at."),
                    requestPercent=live.integer("Of the request, rounded down."),
                    limitPercent=live.integer("Of the limit, rounded down."),
                    rssBytes=live.integer("Anonymous memory of the whole pod."),
                ),
                swap=live.SWAP,
                network=live.NETWORK,
                ephemeralStorage=live.fields(
                    "What it keeps on the node's disk.",
                    **live.FS_PROPERTIES,
                    limitPercent=live.integer("Of the limit for ephemeral storage."),
                ),
                processes=live.fields("Processes.", running=live.integer("How many there are.")),
                pressure=live.PRESSURE,
                volumes=live.items(
                    "The volumes that the kubelet measures.",
                    name=live.text("Name in the pod's spec."),
                    persistentVolumeClaim=live.text("The claim behind it."),
                    **live.FS_PROPERTIES,
                ),
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
    fields={"spec.nodeName": node_name},
    short_names=("pst",),
    categories=live.CATEGORIES,
)
