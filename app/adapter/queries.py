"""Queries that somebody needs, kept warm: each text is asked once on its interval, however many ask for it.

The first who asks waits for the first answer, but not for long; all who come meanwhile wait for the same one. What nobody asked for in a
while is dropped.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from itertools import count
from typing import Any, Protocol

from app.adapter.prometheus import Result
from app.clock import Clock
from app.served_metrics.objects import Tasks
from collectors._base import CollectError

WAIT_S = 5.0
"""How long a question waits for a first answer: an HPA gives up after half a minute."""

_AT_ONCE = 8
MOST_QUERIES = 5000
MOST_OF_ONE = 1000
"""Of one metric in one namespace: whoever may read it may ask with any selector, and must not take the room of all others."""


class Asked(Protocol):
    """A Prometheus."""

    async def query(self, text: str) -> Result: ...


class Kept:
    """One query. Times are monotonic seconds; `asked` is when its last answer was asked for, None where there is none."""

    def __init__(self, text: str, owner: Hashable, number: int) -> None:
        self.text = text
        self.owner = owner
        self.number = number
        self.used = 0.0
        self.result: Result | None = None
        self.asked: float | None = None
        self.error: CollectError | None = None
        self.tried = asyncio.Event()
        self.made: dict[Any, Any] = {}
        """What readers made of the result, by what they like: gone with it."""

    def take(self, result: Result, asked: float) -> None:
        """A good answer."""
        self.result, self.asked, self.error, self.made = result, asked, None, {}


class Queries:
    """All queries that are kept warm. `tasks` run them, from when it is set."""

    def __init__(
        self, prometheus: Asked, clock: Clock, *, interval: float, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        """`interval` is in seconds. Results count for 4 of them, a minute at least; queries are kept for as long after they were used."""
        self._prometheus = prometheus
        self._clock = clock
        self._interval = interval
        self._sleep = sleep
        self.ttl = max(4 * interval, 60.0)
        self._kept: dict[str, Kept] = {}
        self._owned: Counter[Hashable] = Counter()
        self._numbers = count()
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self.asked_total = 0
        self.tasks: Tasks | None = None

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, text: str) -> Kept | None:
        """The query as it is kept, None if it is not; that it was looked at is no use of it."""
        return self._kept.get(text)

    async def ask(self, text: str, owner: Hashable = None) -> Kept | None:
        """The query with its newest answer, or with none. None where too many are asked, or too many of the same `owner`."""
        kept = self._kept.get(text)
        if kept is None:
            if self.tasks is None or len(self._kept) >= MOST_QUERIES or self._owned[owner] >= MOST_OF_ONE:
                return None
            kept = self._kept[text] = Kept(text, owner, next(self._numbers))
            self._owned[owner] += 1
            self.tasks.start(kept.number, lambda: self._run(kept))
        kept.used = self._clock.monotonic()
        if not kept.tried.is_set():
            try:
                async with asyncio.timeout(WAIT_S):
                    await kept.tried.wait()
            except TimeoutError:
                pass
        return kept

    def is_fresh(self, kept: Kept) -> bool:
        """Whether its result still counts."""
        return kept.asked is not None and self._clock.monotonic() - kept.asked <= self.ttl

    def age(self, kept: Kept) -> float | None:
        """How old its result is (s); None where it never had one."""
        return None if kept.asked is None else self._clock.monotonic() - kept.asked

    def expire(self) -> None:
        """Drop what nobody asked for in a while."""
        now = self._clock.monotonic()
        for kept in [kept for kept in self._kept.values() if now - kept.used > self.ttl]:
            del self._kept[kept.text]
            self._owned[kept.owner] -= 1
            if self.tasks is not None:
                self.tasks.stop(kept.number)
        self._owned = +self._owned  # without those that own none

    async def _run(self, kept: Kept) -> None:
        while True:
            async with self._turns:
                began = self._clock.monotonic()
                self.asked_total += 1
                try:
                    kept.take(await self._prometheus.query(kept.text), began)
                except CollectError as exc:
                    kept.error = exc
            kept.tried.set()
            await self._sleep(self._interval)
