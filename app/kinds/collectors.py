"""Collector: how each source is, with the age of its last good collection, and its last error."""

from typing import Any

import msgspec

from app.cache.reports import MOST_FAILING, Report, TargetReport
from app.duration import format_duration
from app.kinds import _live as live
from app.kinds._base import Cell, Column, Kind
from app.wire.timestamps import format_time

_encode = msgspec.json.Encoder().encode

_REASONS = {
    "Healthy": "the last collection of every target was good",
    "Pending": "not every target was asked yet",
    "Degraded": "some targets fail, or something of what they tell could not be used",
    "Failing": "no target answers as it should",
    "Invalid": "a newer version of what declares it could not be taken; the last good one is served",
}


def state(report: Report) -> str:
    """The word for how a source is."""
    if report.invalid:
        return "Invalid"
    if report.failures:
        return "Degraded" if report.healthy else "Failing"
    if report.healthy < report.targets or not report.targets:
        return "Pending"
    return "Degraded" if report.dropped else "Healthy"


def json(report: Report) -> bytes:
    """The fields behind metadata."""
    word = state(report)
    spec = {
        "source": report.source,
        "interval": _duration(report.interval),
        "ttl": _duration(report.ttl),
        "endpoint": report.endpoint,
        "file": report.file,
    }
    status: dict[str, Any] = {
        "state": word,
        "targetCount": report.targets,
        "healthyTargetCount": report.healthy,
        "items": report.items,
        "droppedItems": report.dropped,
        "consecutiveFailures": report.failures,
        "observedAt": live.time_field(report.last),
        "nextAt": live.time_field(report.next),
        "tookMilliseconds": _milliseconds(report.took) if report.last else None,
        "bytes": report.size or None,
        "lastError": report.error,
        "invalid": report.invalid,
        "targets": [_target(each) for each in report.failing[:MOST_FAILING]],
        "conditions": [_healthy(report, word)],
    }
    return _encode({"spec": _told(spec), "status": _told(status)})


def cells(name: str, report: Report) -> tuple[Cell, ...]:
    """One cell a column."""
    return (
        name,
        report.source or live.NOT_SET,
        f"{report.healthy}/{report.targets}",
        report.items,
        _duration(report.interval) or live.NOT_SET,
        live.seen_cell(report.last),
        f"{_milliseconds(report.took)}ms" if report.last else live.UNKNOWN,
        state(report),
        live.cut(_without_folder(report.invalid or report.error, report.file)) or live.NOT_SET,
        report.endpoint or live.NOT_SET,
        live.time_field(report.next) or live.NOT_SET,
        report.failures,
        _duration(report.ttl) or live.NOT_SET,
        live.size_cell(report.size or None),
        _without_folder(report.file, report.file) or live.NOT_SET,
    )


def _healthy(report: Report, word: str) -> dict[str, str]:
    """For `kubectl wait --for=condition=Healthy`."""
    status = {"Healthy": "True", "Pending": "Unknown"}.get(word, "False")
    return {"type": "Healthy", "status": status, "reason": word, "message": report.invalid or report.error or _REASONS[word]}


def _target(target: TargetReport) -> dict[str, Any]:
    return {
        "name": target.name,
        "cause": target.cause,
        "message": target.message,
        "since": format_time(target.since),
        "consecutiveFailures": target.failures,
    }


def _told(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that something is known of."""
    return {name: value for name, value in fields.items() if value not in ("", None, [])}


def _duration(seconds: float) -> str:
    """As a Go duration, "" for none."""
    return format_duration(round(seconds * 1000) * 10**6) if seconds else ""


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _without_folder(text: str, file: str) -> str:
    """The text with the last part of the path of `file` (PATH:LINE) alone, where it begins with it: a table has no room for folders."""
    folder = file.rpartition("/")[0] if file.startswith("/") else ""
    return text.removeprefix(f"{folder}/") if folder else text


KIND = Kind(
    group=live.GROUP,
    versions=live.VERSIONS,
    kind="Collector",
    resource="collectors",
    singular="collector",
    namespaced=False,
    short_names=("col",),
    categories=live.CATEGORIES,
    columns=(
        Column("Name", format="name", description="The collector of kubelets, the declaration, or the route."),
        Column("Source", description="What is asked: kubelet, adapter (of a route), or the source of the declaration."),
        Column("Targets", description="Targets of which the last collection was good, of all."),
        Column("Items", type="integer", description="What the last good collections gave."),
        Column("Interval", description="How often each target is asked."),
        Column("Last", type="date", description="How long ago the last good collection was."),
        Column("Took", description="How long the last good collection took."),
        Column("Status", description=f"{', '.join(_REASONS)}; see status.conditions."),
        Column("Error", description=f"The last error, cut at {live.LONGEST_ERROR} characters; status.lastError has all of it."),
        Column("Endpoint", description="Where it asks.", priority=1),
        Column("Next", description="When the next collection is due.", priority=1),
        Column("Failures", type="integer", description="Collections that failed in a row, of the worst target.", priority=1),
        Column("TTL", description="How long objects outlive the last good collection.", priority=1),
        Column("Bytes", description="Size of the last answer.", priority=1),
        Column("File", description="Where the declaration stands.", priority=1),
    ),
    schema={
        "description": "How a source of live objects is: what it gave, when, and what is wrong with it.",
        "properties": {
            "spec": live.fields(
                "What is asked.",
                source=live.text("What is asked: kubelet, adapter (of a route), or the source of the declaration."),
                interval=live.text("How often each target is asked, as a Go duration."),
                ttl=live.text("How long objects outlive the last good collection, as a Go duration."),
                endpoint=live.text("Where it asks."),
                file=live.text("Where the declaration stands."),
            ),
            "status": live.fields(
                "What came of it.",
                state=live.text(f"{', '.join(_REASONS)}."),
                targetCount=live.integer("Targets that are asked."),
                healthyTargetCount=live.integer("Those of which the last collection was good."),
                items=live.integer("What the last good collections gave."),
                droppedItems=live.integer("What of it could not be used."),
                consecutiveFailures=live.integer("Collections that failed in a row, of the worst target."),
                observedAt=live.moment("The last good collection."),
                nextAt=live.moment("When the next collection is due."),
                tookMilliseconds=live.integer("How long the last good collection took."),
                bytes=live.integer("Size of the last answer."),
                lastError=live.text("The last error, without secrets."),
                invalid=live.text("What is wrong with a newer version of the declaration, which is not served."),
                targets=live.items(
                    f"Targets that fail, by name, {MOST_FAILING} at most.",
                    name=live.text("Name of the target: of a kubelet, the node's."),
                    cause=live.text("The kind of failure; docs/known-issues.md has a remedy for each."),
                    message=live.text("What happened."),
                    since=live.moment("When it began to fail."),
                    consecutiveFailures=live.integer("How often it failed in a row."),
                ),
                conditions=live.items(
                    "Healthy: True, False, or Unknown while not every target was asked.",
                    type=live.text("Healthy."),
                    status=live.text("True, False or Unknown."),
                    reason=live.text("The state."),
                    message=live.text("The error, or what the state means."),
                ),
            ),
        },
    },
    created=lambda _report: 0,
    measured=lambda _report: 0,
    annotations=lambda _report: (),
    json=json,
    cells=cells,
    edit="it tells of kubeglance's own sources: change its flags, or the declaration in the column FILE of -o wide",
)
