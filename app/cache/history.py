"""The last numbers of the objects of a kind: a ring of points, bounded, in memory, and gone with the process.

All objects of a kind are seen at one time, so the times are kept once, and each object has an array beside them: 8 bytes a number.
"""

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from app.kube.records import Key

MOST_BYTES = 32 * 1024 * 1024
"""What the numbers of one kind may take. Of more objects than there is room for, those that came first have a history."""

Numbers = Sequence[float | None]
"""A number for each field of a history, None where the object has none."""


class Point(NamedTuple):
    """What an object said at `time` (Unix ns). Values are float64: of integers beyond 2^53 the last digits are lost."""

    time: int
    values: tuple[float | None, ...]


class Slots(Struct):
    """What a History keeps: the time of each slot (0 for one without points), the newest slot, and the numbers of each object."""

    times: list[int]
    newest: int = 0
    rings: dict[Key, "array[float]"] = {}


class History:
    """The last `points` points of each object, no two within one `interval` (ns) of the wall clock's grid: news that come more often
    replace the point that is there, so that the ring always goes back as far.

    One thread may write while others read: what is written becomes a point when it is whole. For that there is a slot more than points.
    """

    def __init__(self, fields: Sequence[str], points: int, interval: int, *, most_bytes: int = MOST_BYTES) -> None:
        self.fields = tuple(fields)
        self._room = most_bytes // max(8 * (points + 1) * len(self.fields), 1)
        self.points_kept = points
        self.interval = interval
        self.slots = Slots([0] * (points + 1))

    def take(self, time: int, numbers: Mapping[Key, Numbers]) -> None:
        """A point of each object in `numbers`, which are all that there are, as far as there is room; nothing is kept of others."""
        slots, width = self.slots, len(self.fields)
        slot = slots.newest
        if time // self.interval != slots.times[slot] // self.interval:
            slot = (slot + 1) % len(slots.times)
        room = self._room - len(numbers.keys() & slots.rings.keys())
        rings = {}
        for key, values in numbers.items():
            ring = slots.rings.get(key)
            if ring is None:
                if room <= 0:
                    continue
                room -= 1
                ring = array("d", [math.nan]) * (len(slots.times) * width)
            ring[slot * width : (slot + 1) * width] = array("d", [math.nan if value is None else value for value in values])
            rings[key] = ring
        slots.rings = rings
        slots.times[slot] = time
        slots.newest = slot

    def follow(self, other: "History") -> None:
        """Go on from what another one has, if it keeps the same."""
        if (other.fields, other.points_kept, other.interval) == (self.fields, self.points_kept, self.interval):
            self.slots = other.slots

    def points(self, key: Key, since: int = 0) -> list[Point]:
        """The points of an object from `since` (Unix ns) on, oldest first; without those at which it was not there."""
        ring, width = self.slots.rings.get(key), len(self.fields)
        if ring is None:
            return []
        found = []
        for slot, time in self._with_points():
            values = [None if math.isnan(value) else value for value in ring[slot * width : (slot + 1) * width]]
            if time >= since and any(value is not None for value in values):
                found.append(Point(time, tuple(values)))
        return found

    def spans(self, field: int, count: int) -> Callable[[Key], list[float | None]]:
        """For any object: the averages of one field in `count` equal spans of the time that is kept, None for one without points.

        The last span ends with the newest point of all.
        """
        step, width = max(self.points_kept * self.interval // count, 1), len(self.fields)
        until = self.slots.times[self.slots.newest]
        places = [(count - 1 - (until - time) // step, slot * width + field) for slot, time in self._with_points()]

        def of(key: Key) -> list[float | None]:
            bunches: list[list[float | None]] = [[] for _ in range(count)]
            ring = self.slots.rings.get(key)
            if ring is not None:
                for span, place in places:
                    if 0 <= span < count and not math.isnan(ring[place]):
                        bunches[span].append(ring[place])
            return [average(bunch) for bunch in bunches]

        return of

    def _with_points(self) -> list[tuple[int, int]]:
        """The slots that hold points and their times, oldest first."""
        times, newest = self.slots.times, self.slots.newest
        order = [(newest - back) % len(times) for back in range(self.points_kept - 1, -1, -1)]
        return [(slot, times[slot]) for slot in order if times[slot]]


def averages(points: Sequence[Point], step: int) -> list[Point]:
    """The averages of what lies within each `step` (ns) of the wall clock's grid; the time is that of its beginning."""
    bunches: dict[int, list[Point]] = {}
    for point in points:
        bunches.setdefault(point.time - point.time % step, []).append(point)
    return [Point(start, tuple(map(average, zip(*(point.values for point in bunch), strict=True)))) for start, bunch in bunches.items()]


def average(values: Sequence[float | None]) -> float | None:
    """The mean of those that are known, None if none is."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
