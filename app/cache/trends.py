"""How one number of each object of a kind went lately. It is looked at now and then: nothing is kept up to date by scrapes for it."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from app.cache.collection import Item
from app.cache.history import History
from app.clock import Clock
from app.kube.records import Key

SPANS = 8
"""Averages that a trend has."""

POINTS, INTERVAL_S = 48, 300
"""What is kept of each object: four hours, in 400 bytes."""

EVERY_S = 30.0
PIECE = 500
"""Objects that are looked at before others get their turn: some milliseconds."""

_SECOND = 10**9
_FIELDS = ("",)


class Objects(Protocol):
    """Where the objects are."""

    def snapshot(self) -> Sequence[Item]: ...


class Trends:
    """The trends of one kind. `number(value)` is what is looked at, None where an object has none.

    Where there are more than `most` objects nothing is looked at: it would cost a large cluster more than scraping does.
    """

    def __init__(self, number: Callable[[Any], float | None], clock: Clock, most: int | None = None) -> None:
        self._number = number
        self._most = most
        self._clock = clock
        self._history = History(_FIELDS, POINTS, INTERVAL_S * _SECOND)
        self._averages = self._history.spans(0, SPANS)

    def of(self, key: Key) -> tuple[float | None, ...]:
        """The averages of an object over eight equal spans of the time that is kept, None where nothing was seen."""
        return tuple(self._averages(key))

    async def run(self, objects: Objects) -> None:
        """Look, for ever."""
        while True:
            await self.look(objects)
            await asyncio.sleep(EVERY_S)

    async def look(self, objects: Objects) -> None:
        """Take a point of each object."""
        members, numbers = objects.snapshot(), {}
        if self._most is not None and len(members) > self._most:
            members = ()
        for start in range(0, len(members), PIECE):
            for item in members[start : start + PIECE]:
                numbers[item.key] = (self._number(item.value),)
            await asyncio.sleep(0)
        self._history.take(int(self._clock.wall() * _SECOND), numbers)
        self._averages = self._history.spans(0, SPANS)
