"""VolumeStats: df for persistent volume claims. Each claim has an object, mounted or not; one without figures says why."""

import msgspec

from app.cache.volumes import Mount, State, VolumeNow
from app.kinds import _live as live
from app.kinds._base import Cell, Column, Kind
from app.kinds._history import TREND, trend
from app.kube.records import Key
from app.wire.quantity import format_bytes
from collectors._summary_records import FsStats

_NOTHING = FsStats()
_encode = msgspec.json.Encoder().encode


def uid(key: Key, volume: VolumeNow) -> str:
    """Another for each claim, also of the same name."""
    return live.uid_of("VolumeStats", volume.claim.uid if volume.claim is not None else "/".join(key))


def observed(volume: VolumeNow) -> int:
    """When its figures were measured (Unix ns), 0 if there are none."""
    return volume.stats.time if volume.stats is not None else 0


def json(volume: VolumeNow) -> bytes:
    """The fields behind metadata."""
    claim, stats = volume.claim, volume.stats or _NOTHING
    spec = {}
    if claim is not None:
        spec = live.known(
            requests={"storage": format_bytes(claim.requested)} if claim.requested is not None else None,
            requestedBytes=claim.requested,
            storageClassName=claim.storage_class or None,
            volumeName=claim.volume or None,
            volumeMode=_mode(volume),
        )
    status = live.known(
        state=volume.state,
        reason=volume.reason or None,
        **live.fs_fields(stats),
        sharedFilesystem=True if volume.shared else None,
        mounts=[live.known(pod=mount.pod, node=mount.node or None) for mount in volume.mounts] or None,
        conditions=[_fresh(volume)],
    )
    return _encode({"spec": spec, "status": status})


def cells(name: str, volume: VolumeNow) -> tuple[Cell, ...]:
    """One cell a column."""
    claim, stats = volume.claim, volume.stats or _NOTHING
    return (
        name,
        live.size_cell(stats.used),
        live.size_cell(stats.capacity),
        _percent(live.used_percent(stats.used, stats.available)),
        live.percent_cell(live.inodes_percent(stats), stats.used),
        volume.state,
        _first([mount.pod for mount in volume.mounts]),
        live.seen_cell(observed(volume)),
        live.size_cell(stats.available),
        live.size_cell(claim.requested if claim is not None else None),
        (claim.storage_class if claim is not None else "") or live.NOT_SET,
        (claim.volume if claim is not None else "") or live.NOT_SET,
        _mode(volume) or live.UNKNOWN,
        _first(_nodes(volume.mounts)),
        live.count_cell(stats.inodes_used),
        live.count_cell(stats.inodes_free),
        volume.reason or live.NOT_SET,
        trend(volume.trend, 100, "blocks") or live.NOT_SET,
    )


def fullness(volume: VolumeNow) -> int | None:
    """How full it is, in percent: what its trend is of."""
    return live.used_percent(volume.stats.used, volume.stats.available) if volume.stats is not None else None


def _mode(volume: VolumeNow) -> str | None:
    if volume.claim is None:
        return None
    return "Block" if volume.claim.block else "Filesystem"


def _percent(value: int | None) -> str:
    return live.UNKNOWN if value is None else f"{value}%"


def _first(names: list[str]) -> str:
    """The first of some, and how many more there are."""
    if not names:
        return live.NOT_SET
    return names[0] if len(names) == 1 else f"{names[0]} (+{len(names) - 1})"


def _nodes(mounts: tuple[Mount, ...]) -> list[str]:
    return list(dict.fromkeys(mount.node for mount in mounts if mount.node))


def _fresh(volume: VolumeNow) -> live.Object:
    """The condition Fresh: False where figures are of before, Unknown where there are none."""
    if volume.state in {State.REPORTED, State.BLOCK}:
        return live.condition("True", "Collected")
    return live.condition("False" if volume.stats is not None else "Unknown", volume.state, volume.reason)


KIND = Kind(
    group=live.GROUP,
    versions=live.VERSIONS,
    kind="VolumeStats",
    resource="volumestats",
    singular="volumestats",
    namespaced=True,
    columns=(
        Column("Name", format="name", description="Name of the persistent volume claim."),
        live.column("Used", "Bytes used; key: .status.usedBytes."),
        live.column("Size", "Size of its file system or device; key: .status.capacityBytes."),
        live.column("Use%", "Used of used + available, rounded up, as df tells it; key: .status.usedPercent."),
        live.column("IUse%", f"Used inodes of all, {live.NOT_SET} where there are none; key: .status.inodesUsedPercent."),
        live.column("State", f"{', '.join(State)}; see Reason; key: .status.state."),
        live.column("Pod", "The first pod that mounts it, and how many more do; key: .status.mounts[0].pod."),
        Column("Seen", type="date", description="How long ago the kubelet measured it; key: .status.observedAt."),
        live.column("Avail", "Bytes that its users can still have; key: .status.availableBytes.", wide=True),
        live.column("Requested", "What the claim asks for; key: .spec.requestedBytes.", wide=True),
        live.column("Class", "Storage class; key: .spec.storageClassName.", wide=True),
        live.column("Volume", "The persistent volume; key: .spec.volumeName.", wide=True),
        live.column("Mode", "Filesystem or Block; key: .spec.volumeMode.", wide=True),
        live.column("Node", "The first node that it is mounted on, and how many more; key: .status.mounts[0].node.", wide=True),
        live.column("IUsed", "Inodes used; key: .status.inodesUsed.", wide=True),
        live.column("IFree", "Inodes free; key: .status.inodesFree.", wide=True),
        live.column("Reason", "Why there are no figures, or what to know of them; key: .status.reason.", wide=True),
        TREND,
    ),
    schema={
        "description": "How full the volume of a persistent volume claim is, as the kubelet that mounts it measures it.",
        "properties": {
            "spec": live.fields(
                "What was asked for.",
                requests=live.amounts("What the claim asks for."),
                requestedBytes=live.integer("The same in bytes."),
                storageClassName=live.text("Storage class."),
                volumeName=live.text("The persistent volume that the claim is bound to."),
                volumeMode=live.text("Filesystem or Block."),
            ),
            "status": live.fields(
                "What is seen.",
                state=live.text(f"What is known: {', '.join(State)}."),
                reason=live.text("Why there are no figures, or what to know of them, in a sentence."),
                **live.FS_PROPERTIES,
                sharedFilesystem={
                    "type": "boolean",
                    "description": "The file system is larger than the claim: the figures are those of all that is stored in it.",
                },
                mounts=live.items("The pods that mount it.", pod=live.text("Name of the pod."), node=live.text("Where it runs.")),
                conditions=live.items(
                    "Fresh: whether there are figures, and of now.",
                    type=live.text("Fresh."),
                    status=live.text("True, False or Unknown."),
                    reason=live.text("Collected, or the state."),
                    message=live.text("The reason."),
                ),
            ),
        },
    },
    created=lambda volume: volume.claim.created_ns if volume.claim is not None else 0,
    measured=observed,
    annotations=lambda _volume: (),
    uid=uid,
    json=json,
    cells=cells,
    short_names=("vst",),
    categories=live.CATEGORIES,
    edit="it follows from the PersistentVolumeClaim of the same name and from what kubelets measure",
)
