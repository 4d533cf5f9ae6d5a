"""ContainerStats: what each container uses of what it asked for and may have, how often it was restarted and why."""

import msgspec

from app.cache.views import ContainerView
from app.kinds import _live as live
from app.kinds._base import Cell, Kind
from app.kinds._history import TREND, trend
from app.kube.records import ContainerRecord, Key, Labels
from collectors._summary_records import ContainerStats

_NOTHING = ContainerStats("")
_encode = msgspec.json.Encoder().encode


def observed(view: ContainerView) -> int:
    """When its figures were measured (Unix ns), 0 if there are none."""
    if view.usage is not None and view.whole is not None:
        return view.whole.time
    return view.stats.time if view.stats is not None else 0


def cpu(view: ContainerView) -> int | None:
    """Nanocores: what its trend is of."""
    return view.usage.cpu if view.usage is not None else None


def created(view: ContainerView) -> int:
    """An object is as old as its pod."""
    return view.pod.created_ns


def annotations(_view: ContainerView) -> Labels:
    """None: what there is to say is in the status."""
    return ()


def uid(_key: Key, view: ContainerView) -> str:
    """Another one for the container of a pod that was created anew."""
    return live.uid_of("ContainerStats", f"{view.pod.uid}/{view.container.name}")


def type_of(container: ContainerRecord) -> str:
    """What a container is in its pod."""
    if container.sidecar:
        return "sidecar"
    if container.init:
        return "init"
    return "ephemeral" if container.ephemeral else "app"


def _swap(view: ContainerView) -> int | None:
    if view.stats is not None and view.stats.swap is not None:
        return view.stats.swap
    return view.usage.swap if view.usage is not None else None


def json(view: ContainerView) -> bytes:
    """spec and status."""
    pod, container, usage, stats = view.pod, view.container, view.usage, view.stats or _NOTHING
    cpu, memory = (usage.cpu, usage.memory) if usage is not None else (None, None)
    spec = live.known(
        podName=pod.name,
        containerName=container.name,
        nodeName=pod.node,
        type=type_of(container),
        requests=live.resources(container.requests),
        limits=live.resources(container.limits),
    )
    status = live.known(
        observedAt=live.time_field(observed(view)),
        windowSeconds=live.window_field(view.whole.window) if usage is not None and view.whole is not None else None,
        startTime=live.time_field(stats.started or container.started_ns) if container.running else None,
        restartCount=container.restarts,
        lastTerminationReason=container.ended or None,
        cpu=live.known(
            usageNanoCores=cpu,
            requestPercent=live.percent(cpu, container.requests.cpu),
            limitPercent=live.percent(cpu, container.limits.cpu),
        ),
        memory=live.known(
            workingSetBytes=memory,
            requestPercent=live.percent(memory, container.requests.memory),
            limitPercent=live.percent(memory, container.limits.memory),
            rssBytes=stats.rss,
        ),
        swap=live.known(swapUsageBytes=_swap(view)),
        rootfs=live.known(observedAt=live.time_field(stats.disk_time), usedBytes=stats.rootfs, inodesUsed=stats.rootfs_inodes),
        logs=live.known(observedAt=live.time_field(stats.disk_time), usedBytes=stats.logs, inodesUsed=stats.logs_inodes),
        pressure=live.pressure_fields(stats.pressure),
        conditions=live.fresh(
            view.troubles,
            live.sources(view.whole.source if usage is not None and view.whole is not None else None, stats=view.stats is not None),
            view.why,
        ),
    )
    return _encode({"spec": spec, "status": status})


def cells(name: str, view: ContainerView) -> tuple[Cell, ...]:
    """One cell a column."""
    pod, container, usage, stats = view.pod, view.container, view.usage, view.stats or _NOTHING
    cpu, memory = (usage.cpu, usage.memory) if usage is not None else (None, None)
    return (
        name,
        live.cpu_cell(cpu),
        live.percent_cell(live.percent(cpu, container.requests.cpu), cpu),
        live.percent_cell(live.percent(cpu, container.limits.cpu), cpu),
        live.memory_cell(memory),
        live.percent_cell(live.percent(memory, container.requests.memory), memory),
        live.percent_cell(live.percent(memory, container.limits.memory), memory),
        container.restarts,
        container.ended or live.NOT_SET,
        live.seen_cell(observed(view)),
        pod.name,
        container.name,
        type_of(container),
        live.memory_cell(stats.rss),
        live.memory_cell(_swap(view)),
        live.size_cell(stats.rootfs),
        live.size_cell(stats.logs),
        *live.pressure_cells(stats.pressure),
        pod.node,
        trend(view.trend((pod.namespace, name)), container.limits.cpu, "blocks") or live.NOT_SET,
    )


def pod_name(_key: Key, view: ContainerView) -> str:
    """For the field selector spec.podName."""
    return view.pod.name


def node_name(_key: Key, view: ContainerView) -> str:
    """For the field selector spec.nodeName."""
    return view.pod.node


_DISK = {
    "observedAt": live.moment("When the kubelet measured it."),
    "usedBytes": live.integer("Bytes used."),
    "inodesUsed": live.integer("Files."),
}

KIND = Kind(
    group=live.GROUP,
    versions=live.VERSIONS,
    kind="ContainerStats",
    resource="containerstats",
    singular="containerstats",
    namespaced=True,
    columns=(
        live.NAME,
        live.column("CPU", "CPU, as kubectl top has it; key: .status.cpu.usageNanoCores."),
        live.column("CPU%R", "Of its CPU request; key: .status.cpu.requestPercent."),
        live.column("CPU%L", f"Of its CPU limit, {live.NOT_SET} if it has none; key: .status.cpu.limitPercent."),
        live.column("Memory", "Working set, as kubectl top has it; key: .status.memory.workingSetBytes."),
        live.column("Mem%R", "Of its memory request; key: .status.memory.requestPercent."),
        live.column("Mem%L", f"Of its memory limit, {live.NOT_SET} if it has none; key: .status.memory.limitPercent."),
        live.column("Restarts", "How often it was restarted; key: .status.restartCount.", kind="integer"),
        live.column("Last", "Why it ended the last time; key: .status.lastTerminationReason."),
        live.SEEN,
        live.column("Pod", "Its pod; key: .spec.podName.", wide=True),
        live.column("Container", "Its name in the pod; key: .spec.containerName.", wide=True),
        live.column("Type", "app, sidecar, init or ephemeral; key: .spec.type.", wide=True),
        live.column("RSS", "Anonymous memory; key: .status.memory.rssBytes.", wide=True),
        live.SWAP_USED,
        live.column("Rootfs", "What it wrote over its image; key: .status.rootfs.usedBytes.", wide=True),
        live.column("Logs", "Its logs on the node; key: .status.logs.usedBytes.", wide=True),
        *live.PRESSURES,
        live.column("Node", "Where it runs; key: .spec.nodeName.", wide=True),
        TREND,
    ),
    schema={
        "description": "What a container uses now, beside what it requests and what limits it. Its name is POD.CONTAINER.",
        "properties": {
            "spec": live.fields(
                "What was asked for.",
                podName=live.text("Name of its pod."),
                containerName=live.text("Its name in the pod."),
                nodeName=live.text("The node that runs it."),
                type=live.text("app, sidecar (an init container that goes on), init or ephemeral."),
                requests=live.amounts("What it requests; after a resize in place, what is in force."),
                limits=live.amounts("What limits it; after a resize in place, what is in force."),
            ),
            "status": live.fields(
                "What is seen.",
                **live.OBSERVED,
                startTime=live.moment("When this instance was started."),
                restartCount=live.integer("How often it was restarted."),
                lastTerminationReason=live.text("Why it ended the last time, such as OOMKilled or Error."),
                cpu=live.fields(
                    "CPU.",
                    usageNanoCores=live.integer("CPU in nanocores."),
                    requestPercent=live.integer("Of the request, rounded down."),
                    limitPercent=live.integer("Of the limit, rounded down."),
                ),
                memory=live.fields(
                    "Memory.",
                    workingSetBytes=live.integer("Memory that cannot be reclaimed easily: what the OOM killer and evictions look at."),
                    requestPercent=live.integer("Of the request, rounded down."),
                    limitPercent=live.integer("Of the limit, rounded down."),
                    rssBytes=live.integer("Anonymous memory."),
                ),
                swap=live.SWAP,
                rootfs=live.fields("Its writable layer.", **_DISK),
                logs=live.fields("Its logs.", **_DISK),
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
    fields={"spec.podName": pod_name, "spec.nodeName": node_name},
    short_names=("cst",),
    categories=live.CATEGORIES,
)
