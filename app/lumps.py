"""Large pieces of work take turns on the event loop, and have as much of its time as all else.

A turn of the loop goes through all that is ready. If twenty kubelets have answered, twenty bodies are read in it, and who asks for one pod
waits for all of them; and where there is more to do than the processor can, more is ready in each turn than in the one before. So bodies
and pieces of lists wait in a queue, from which each turn of the loop takes one, or as many as take the time that the rest of the last
turn took. Whoever asks for little waits for little, and nothing waits for ever.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable

IN_A_ROW = 3
"""Scrapes that go first while pieces of lists wait: while there is no time for all, one of four is of a list. With equal shares a
list of 150,000 pods would take two thirds of the time, and more scrapes would come than go; with less it would not end."""


class Lumps:
    """The queues of one event loop: of scrapes, and of pieces of lists."""

    def __init__(self, timer: Callable[[], float] = time.perf_counter) -> None:
        """`timer` gives seconds, now and not as of the beginning of the loop's turn."""
        self._timer = timer
        self._scrapes: deque[asyncio.Future[None]] = deque()
        self._pieces: deque[asyncio.Future[None]] = deque()
        self._row = 0
        self._running = False
        self._let_go = 0
        """How many went with this turn of the loop."""
        self._looked = self._began = 0.0
        """When it was looked last who goes, and when the first of those began."""

    async def turn(self) -> None:
        """Before a scrape is worked off: wait until it is its turn. That is now if nothing was worked off in this turn of the loop."""
        if self._running:
            await self._wait_in(self._scrapes)
        else:
            self._start()

    async def next_turn(self) -> None:
        """Between two pieces of a list: wait for a turn of the loop after this one."""
        if not self._running:
            self._start()
        await self._wait_in(self._pieces)

    def _start(self) -> None:
        self._running, self._let_go = True, 1
        self._looked = self._began = self._timer()
        asyncio.get_running_loop().call_soon(self._look)

    async def _wait_in(self, queue: deque[asyncio.Future[None]]) -> None:
        mine = asyncio.get_running_loop().create_future()
        queue.append(mine)
        await mine
        if not self._began:
            self._began = self._timer()

    def _look(self) -> None:
        """Another turn of the loop: let go of those that go with the next one. They run right before this is called again."""
        now = self._timer()
        lumps, others = now - (self._began or now), (self._began or now) - self._looked
        most = max(1, round(self._let_go * others / lumps)) if lumps > 0 else 1
        self._looked, self._began, self._let_go = now, 0.0, 0
        while self._let_go < most and (queue := self._choose()):
            first = queue.popleft()
            if not first.done():  # who was cancelled does not wait any more
                first.set_result(None)
                self._row = self._row + 1 if queue is self._scrapes else 0
                self._let_go += 1
        if self._let_go:
            asyncio.get_running_loop().call_soon(self._look)
        else:
            self._running = False

    def _choose(self) -> deque[asyncio.Future[None]]:
        """The queue whose turn it is; an empty one if nobody waits."""
        if self._pieces and (self._row >= IN_A_ROW or not self._scrapes):
            return self._pieces
        return self._scrapes
