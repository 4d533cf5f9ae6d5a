"""What the built-in live kinds share: their group, the words of their cells, figures, conditions and schemas.

Numbers in objects are integers with the unit in their name, or quantities: `kubectl get --sort-by` ends with an error where one row has 3
and another 3.5. What is not known is not there; <unknown>, <none> and <host> are words of cells only, where they can be sorted by nothing.
"""

import uuid
from collections.abc import Mapping
from typing import Any

from app.cache.network import counters, rates
from app.cache.reasons import Trouble
from app.cache.stats import in_full
from app.kinds._base import Age, Cell, Column
from app.kube.records import Resources
from app.wire.quantity import format_bytes, format_cpu
from app.wire.timestamps import format_time
from collectors._summary_records import FsStats, NetworkStats, Pressure, Pressures

GROUP, VERSIONS, CATEGORIES = "live.kubeglance.io", ("v1alpha1",), ("live",)
UNKNOWN, NOT_SET, OF_HOST = "<unknown>", "<none>", "<host>"

LONGEST_ERROR = 80
"""Characters of an error in a cell."""

_SUMMARY = "kubelet_summary"
_SECOND = 10**9
_UIDS = uuid.UUID("6b7fb1a6-8a3b-4d1c-9f0e-0d5a2c4b7e11")
_UNITS = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
Object = dict[str, Any]


def uid_of(kind: str, subject: str) -> str:
    """The uid of the object that a kind has about a subject: stable, and another for each kind and each re-created subject."""
    return str(uuid.uuid5(_UIDS, f"{kind}/{subject}"))


def known(**fields: Any) -> Object:
    """Those of the fields that are known."""
    return {name: value for name, value in fields.items() if value is not None and value != {}}


# Figures


def percent(part: int | None, whole: int | None) -> int | None:
    """How many whole percent `part` is of `whole`, rounded down as kubectl does; None where either is not known, or `whole` is 0."""
    return 100 * part // whole if part is not None and whole else None


def used_percent(used: int | None, available: int | None) -> int | None:
    """How full a filesystem is, as df tells it: of what its users can have, rounded up. What is kept back for root is not theirs, so
    this is more than used / capacity. None where there is nothing to be had, or it is not known.
    """
    if used is None or available is None or not used + available:
        return None
    return -(-100 * used // (used + available))


def inodes_percent(fs: FsStats) -> int | None:
    """How many of the inodes are used. None where there are none, or the numbers contradict each other."""
    if not fs.inodes or fs.inodes_used is None or fs.inodes_used > fs.inodes:
        return None
    return -(-100 * fs.inodes_used // fs.inodes)


# Cells


def cpu_cell(nanocores: int | None) -> str:
    """Millicores as `kubectl top` prints them: rounded up."""
    return UNKNOWN if nanocores is None else f"{-(-nanocores // 10**6)}m"


def memory_cell(count: int | None) -> str:
    """Mebibytes as `kubectl top` prints them: rounded down."""
    return UNKNOWN if count is None else f"{count >> 20}Mi"


def size_cell(count: int | None) -> str:
    """Bytes for people, rounded down: 512, 1.2Ki, 44Ki, 1.5Gi."""
    if count is None:
        return UNKNOWN
    if count < 1024:
        return str(count)
    power = min((count.bit_length() - 1) // 10, len(_UNITS))
    tenths = count * 10 >> 10 * power
    return f"{tenths // 10}.{tenths % 10}{_UNITS[power - 1]}" if tenths < 100 and tenths % 10 else f"{tenths // 10}{_UNITS[power - 1]}"


def percent_cell(value: int | None, part: int | None = 0) -> str:
    """A percentage. Where there is none though `part` is known, nothing is set that it could be of."""
    if value is not None:
        return f"{value}%"
    return UNKNOWN if part is None else NOT_SET


def count_cell(value: int | None) -> str:
    """A plain number."""
    return UNKNOWN if value is None else str(value)


def pressure_cell(pressure: Pressure | None) -> str:
    """The share of the last minute in which some task waited."""
    return UNKNOWN if pressure is None else f"{hundredths(pressure.some_avg60)}%"


def pressure_cells(pressures: Pressures | None) -> tuple[str, str, str]:
    """Of CPU, memory and IO."""
    told = pressures or Pressures()
    return pressure_cell(told.cpu), pressure_cell(told.memory), pressure_cell(told.io)


def seen_cell(observed: int) -> Cell:
    """How long ago that was."""
    return Age(observed)


def cut(text: str) -> str:
    """One line, no longer than a table bears."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_ERROR else f"{line[: LONGEST_ERROR - 1]}…"


def hundredths(value: int) -> str:
    """125 -> "1.25", 50 -> "0.5", 0 -> "0"."""
    whole, part = divmod(value, 100)
    return f"{whole}.{part:02d}".rstrip("0") if part else str(whole)


# Fields of objects


def resources(amounts: Resources, pods: int | None = None) -> Object:
    """A ResourceList."""
    told = {
        "cpu": format_cpu(amounts.cpu) if amounts.cpu is not None else None,
        "ephemeral-storage": format_bytes(amounts.storage) if amounts.storage is not None else None,
        "memory": format_bytes(amounts.memory) if amounts.memory is not None else None,
        "pods": str(pods) if pods is not None else None,
    }
    return {name: value for name, value in told.items() if value is not None}


def time_field(ns: int | None) -> str | None:
    """A time; None for 0 too, which is none."""
    return format_time(ns) if ns else None


def window_field(ns: int) -> int:
    """Whole seconds, the nearest."""
    return (ns + _SECOND // 2) // _SECOND


def fs_fields(fs: FsStats | None) -> Object:
    """FsStats, with how full it is."""
    if fs is None:
        return {}
    return known(
        observedAt=time_field(fs.time),
        usedBytes=fs.used,
        availableBytes=fs.available,
        capacityBytes=fs.capacity,
        usedPercent=used_percent(fs.used, fs.available),
        inodes=fs.inodes,
        inodesFree=fs.inodes_free,
        inodesUsed=fs.inodes_used,
        inodesUsedPercent=inodes_percent(fs),
    )


def network_fields(network: NetworkStats | None, earlier: NetworkStats | None) -> Object:
    """NetworkStats of what counts for the node or pod, with rates where two samples make them; and all interfaces."""
    if network is None:
        return {}
    total, rate = counters(network), rates(earlier, network)
    return known(
        observedAt=time_field(network.time),
        rxBytes=total.rx_bytes,
        rxErrors=total.rx_errors,
        txBytes=total.tx_bytes,
        txErrors=total.tx_errors,
        rxBytesPerSecond=rate.rx if rate is not None else None,
        txBytesPerSecond=rate.tx if rate is not None else None,
        windowSeconds=window_field(rate.window) if rate is not None else None,
        interfaces=[
            known(name=each.name, rxBytes=each.rx_bytes, rxErrors=each.rx_errors, txBytes=each.tx_bytes, txErrors=each.tx_errors)
            for each in network.interfaces
        ],
    )


def pressure_fields(pressures: Pressures | None) -> Object:
    """PSI as quantities, in percent."""
    if pressures is None:
        return {}
    return known(cpu=_pressure(pressures.cpu), memory=_pressure(pressures.memory), io=_pressure(pressures.io))


def _pressure(pressure: Pressure | None) -> Object | None:
    if pressure is None:
        return None
    return {
        "someAvg10": hundredths(pressure.some_avg10),
        "someAvg60": hundredths(pressure.some_avg60),
        "someAvg300": hundredths(pressure.some_avg300),
        "fullAvg10": hundredths(pressure.full_avg10),
        "fullAvg60": hundredths(pressure.full_avg60),
        "fullAvg300": hundredths(pressure.full_avg300),
    }


def sources(usage: str | None, *, stats: bool) -> dict[str, bool]:
    """The sources of an object's figures, with whether it has any of them: that of its usage, if it has one, and the full summary."""
    told = {_SUMMARY: stats, in_full(_SUMMARY): stats}
    return told if usage is None else {**told, usage: True}


def fresh(troubles: Mapping[str, Trouble], told: Mapping[str, bool], why: str) -> list[Object]:
    """The condition Fresh. `told` are the sources that the object's figures come from, with whether it has any of them.

    False: a source that figures are from fails now, so that they are of before. Unknown: there are none, `why` says why. Where another
    source fails its figures are not there, and the message says why.
    """
    failing = {name: troubles[name] for name, has in told.items() if has and name in troubles}
    if failing:
        since, causes = _since(failing), _causes(failing)
        return [condition("False", "CollectionFailed", f"the node cannot be scraped since {since} ({causes})", since)]
    if why:
        return [condition("False" if any(told.values()) else "Unknown", "NoUsage", why)]
    missing = {name: troubles[name] for name, has in told.items() if not has and name in troubles}
    if missing:
        return [condition("True", "Collected", f"what else there could be cannot be scraped since {_since(missing)} ({_causes(missing)})")]
    return [condition("True", "Collected")]


def _since(troubles: Mapping[str, Trouble]) -> str:
    return format_time(min(trouble.since for trouble in troubles.values()))


def _causes(troubles: Mapping[str, Trouble]) -> str:
    return ", ".join(f"{name}: {trouble.cause}" for name, trouble in troubles.items())


def condition(status: str, reason: str, message: str = "", since: str | None = None) -> Object:
    """A condition of type Fresh. `since` is when that began, where it is known."""
    return known(type="Fresh", status=status, reason=reason, message=message or None, lastTransitionTime=since)


# Columns

NAME = Column("Name", format="name", description="Name of the object.")
SEEN = Column("Seen", type="date", description="How long ago the kubelet measured CPU and memory; key: .status.observedAt.")


def column(name: str, description: str, *, wide: bool = False, kind: str = "string") -> Column:
    """A column, shown always or with -o wide."""
    return Column(name, type=kind, description=description, priority=1 if wide else 0)


SWAP_USED = column("Swap", "Swap used; key: .status.swap.swapUsageBytes.", wide=True)
PRESSURES = (
    column("CPU-PSI", "Time of the last minute in which some task waited for CPU; key: .status.pressure.cpu.someAvg60.", wide=True),
    column("Mem-PSI", "The same for memory; key: .status.pressure.memory.someAvg60.", wide=True),
    column("IO-PSI", "The same for disks; key: .status.pressure.io.someAvg60.", wide=True),
)


# Schemas


def text(description: str) -> Object:
    return {"type": "string", "description": description}


def integer(description: str) -> Object:
    return {"type": "integer", "format": "int64", "description": description}


def moment(description: str) -> Object:
    return {"type": "string", "format": "date-time", "description": description}


def fields(description: str, **properties: Any) -> Object:
    return {"type": "object", "description": description, "properties": properties}


def items(description: str, **properties: Any) -> Object:
    return {"type": "array", "description": description, "items": {"type": "object", "properties": properties}}


def amounts(description: str) -> Object:
    return {"type": "object", "description": description, "additionalProperties": {"type": "string", "description": "A quantity."}}


FS_PROPERTIES = {
    "observedAt": moment("When the kubelet measured it."),
    "usedBytes": integer("Bytes used."),
    "availableBytes": integer("Bytes that its users can still have."),
    "capacityBytes": integer("Size in bytes."),
    "usedPercent": integer("Used of used + available, rounded up, as df tells it."),
    "inodes": integer("Inodes in all."),
    "inodesFree": integer("Inodes free."),
    "inodesUsed": integer("Inodes used."),
    "inodesUsedPercent": integer("Used inodes of all, rounded up."),
}
_COUNTERS = {
    "rxBytes": integer("Bytes received since the interface came up."),
    "rxErrors": integer("Errors while receiving."),
    "txBytes": integer("Bytes sent since the interface came up."),
    "txErrors": integer("Errors while sending."),
}
NETWORK = fields(
    "Network traffic of the default interface, or where the kubelet knows none of all outer ones.",
    reason=text("Why there are no figures: HostNetwork, where the pod uses its node's network."),
    observedAt=moment("When the kubelet measured it."),
    **_COUNTERS,
    rxBytesPerSecond=integer("Bytes received per second, between the last two samples."),
    txBytesPerSecond=integer("Bytes sent per second, between the last two samples."),
    windowSeconds=integer("Seconds between the two."),
    interfaces=items("Every interface that the kubelet tells.", name=text("Name of the interface."), **_COUNTERS),
)
_PRESSURE = {
    f"{share}Avg{seconds}": text(f"Percent of the last {seconds} seconds in which {share} tasks waited, as a quantity.")
    for share in ("some", "full")
    for seconds in (10, 60, 300)
}
PRESSURE = fields(
    "Pressure stall information. Not there where the host measures none (cgroup v1, Windows).",
    cpu=fields("Waiting for CPU.", **_PRESSURE),
    memory=fields("Waiting for memory.", **_PRESSURE),
    io=fields("Waiting for disks.", **_PRESSURE),
)
CONDITIONS = items(
    "Fresh: whether the sources of these figures answer.",
    type=text("Fresh."),
    status=text("True, False or Unknown."),
    reason=text("Collected, CollectionFailed or NoUsage."),
    message=text("The reason in a sentence."),
    lastTransitionTime=moment("Since when, where that is known."),
)
OBSERVED = {
    "observedAt": moment("When the kubelet measured CPU and memory."),
    "windowSeconds": integer("Seconds over which CPU was averaged."),
}
SWAP = fields("Swap.", swapUsageBytes=integer("Bytes used."), swapAvailableBytes=integer("Bytes that can still be had."))
