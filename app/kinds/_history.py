"""What the history of an object is shown as: the subresource /history, and the column Trend."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from app.cache.history import History, Point, averages
from app.clock import Clock
from app.duration import format_duration, parse_duration
from app.errors import Problem
from app.kinds._base import Asked, Column, Subresource, Told
from app.kube.records import Key
from app.wire.status import bad_request, quote
from app.wire.timestamps import format_time

TREND = Column(
    "Trend",
    description="How it went lately: the average of each eighth of the time that is kept; a dot where nothing was seen.",
    priority=1,
)
"""Always the last column: kubectl pads headings by bytes, and these glyphs have three."""

BLOCKS, BLOCKS_GAP = "▁▂▃▄▅▆▇█", "·"
ASCII, ASCII_GAP = "12345678", "."
_GLYPHS = {"blocks": (BLOCKS, BLOCKS_GAP), "ascii": (ASCII, ASCII_GAP)}

SPANS = 8
"""Glyphs of a trend."""

_SHOWN = 6
"""Fields of a Table of /history that are shown without -o wide."""

_SECOND = 10**9
_NO_TIME = "must be a time in RFC 3339, such as 2026-01-02T15:04:05Z, or a duration, such as 10m"
_MOST_SINCE = 10 * 365 * 24 * 3600.0

_SCHEMA = {
    "description": "The numbers of an object as they were, oldest first. They are kept in memory, and begin anew with the process.",
    "required": ["step", "points"],
    "properties": {
        "step": {
            "type": "string",
            "description": "The time over which each point is averaged, as a Go duration; 0s for points as they were seen.",
        },
        "points": {
            "type": "array",
            "description": "The points, without those at which nothing was seen.",
            "items": {
                "type": "object",
                "required": ["time", "values"],
                "properties": {
                    "time": {"type": "string", "format": "date-time", "description": "When it was seen; with a step, when that begins."},
                    "values": {
                        "type": "object",
                        "description": "Numbers by their path in the object, such as status.ready.",
                        "additionalProperties": {"type": "number"},
                    },
                },
            },
        },
    },
}
_PARAMETERS = {
    "since": "Only points from then on: a time in RFC 3339, or how long ago, such as 10m.",
    "step": "Averages over so much time each, such as 1m, instead of the points as they were seen.",
}


def trend(values: Sequence[float | None], maximum: float | None, glyphs: str) -> str:
    """Averages as glyphs ("blocks" or "ascii"), from 0 to `maximum`, or else to the largest of them."""
    levels, gap = _GLYPHS[glyphs]
    known = [value for value in values if value is not None]
    top = maximum if maximum is not None and maximum > 0 else max(known, default=0.0)
    return "".join(gap if value is None else levels[_level(value, top, len(levels))] for value in values)


def _level(value: float, top: float, levels: int) -> int:
    if top <= 0 or value <= 0:
        return 0
    return min(int(value / top * levels), levels - 1)


def history(kept: History, clock: Clock) -> Subresource:
    """/history of a kind, answered from what is kept."""
    return Subresource("history", "ObjectHistory", _answer(kept, clock), _SCHEMA, _PARAMETERS, tabular=True)


def _answer(kept: History, clock: Clock) -> Callable[[Asked], Awaitable[Told]]:
    async def answer(asked: Asked) -> Told:
        step = int(_seconds(asked.query, "step") * _SECOND)
        since = _since(asked.query, clock.wall())
        # A thousand points of 64 numbers each take some tens of milliseconds.
        return await asyncio.to_thread(_told, kept, asked.item.key, since, step)

    return answer


def _told(kept: History, key: Key, since: int, step: int) -> Told:
    """The points of an object from `since` (Unix ns) on, averaged over `step` ns where that is not 0."""
    points = kept.points(key, since)
    if step:
        points = averages(points, step)
    told = [
        {
            "time": format_time(point.time),
            "values": {path: _number(value) for path, value in zip(kept.fields, point.values, strict=True) if value is not None},
        }
        for point in points
    ]
    body = msgspec.json.encode({"step": format_duration(step), "points": told})
    return Told(body, _columns(kept.fields), tuple(map(_row, points)))


def _columns(fields: Sequence[str]) -> tuple[Column, ...]:
    time = Column("Time", format="date-time", description="When it was seen.")
    return (time, *(Column(path.removeprefix("status."), priority=int(place >= _SHOWN)) for place, path in enumerate(fields)))


def _row(point: Point) -> tuple[str, ...]:
    return (format_time(point.time), *("" if value is None else f"{_number(value)}" for value in point.values))


def _number(value: float) -> int | float:
    return int(value) if value.is_integer() else value


def _seconds(query: Any, name: str) -> float:
    """A duration in the query that is not negative; 0 if there is none. Raises Problem 400."""
    text = query.get(name, "")
    if not text:
        return 0.0
    try:
        seconds = parse_duration(text)
    except ValueError as exc:
        raise _invalid(name, text, str(exc)) from exc
    if not 0 < seconds <= _MOST_SINCE:
        raise _invalid(name, text, "must be more than nothing and less than ten years")
    return seconds


def _since(query: Any, now: float) -> int:
    """The time (Unix ns) from which on points are told. Raises Problem 400."""
    text = query.get("since", "")
    if not text[:4].isdigit() or "-" not in text:
        return int((now - _seconds(query, "since")) * _SECOND) if text else 0
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is None:
            raise _invalid("since", text, _NO_TIME)
        return int(time.timestamp() * _SECOND)
    except (ValueError, OverflowError) as exc:
        raise _invalid("since", text, _NO_TIME) from exc


def _invalid(name: str, text: str, why: str) -> Problem:
    return bad_request(f"{name}: Invalid value: {quote(text)}: {why}")
