"""Large pieces of work take turns on the event loop.

A turn of the loop goes through all that is ready. If twenty kubelets have answered, twenty bodies are read in it, and who asks for one pod
waits for all of them; and where there is more to do than the processor can, more is ready in each turn than in the one before. So bodies
and pieces of lists wait in queues, from which each turn of the loop takes one, or as many as take the time that the rest of the last turn
took, up to some milliseconds. Whoever asks for little waits for little, and nothing waits for ever.

docs/decisions/0035-large-pieces-of-work-take-turns.md has the figures.
"""

import asyncio
from collections import deque
from collections.abc import Callable

IN_A_ROW = 3
"""Scrapes that go first while pieces of lists wait: while there is no time for all, one of four is of a list. With equal shares a list of
150,000 pods would take two thirds of the time, and more scrapes would come than go; with less it would not end."""

SHORT_IN_A_ROW = 2
"""Pieces of short lists that go before anything else, if that waits too. A list of 400 objects is seven pieces, and the HPA waits for all
of them; whoever asks for many such lists leaves a third of what goes to scrapes and long lists."""

_USUAL_S = 0.001
"""How long a lump takes, before any was seen."""

_LEAST_S = 0.00001
"""What a lump is taken to need at least, whatever was seen."""

_MOST_S = 0.002
"""Time of a turn that lumps have at most, where one does not take longer."""

_WEIGHT = 0.1
"""That of the last turn in how long a lump usually takes. They differ: a piece of a list that is encoded takes hardly any time."""


class Lumps:
    """The queues of one event loop: of scrapes, of pieces of lists, and of pieces of short lists."""

    def __init__(self, timer: Callable[[], float]) -> None:
        """`timer` gives seconds, of now and not of the beginning of the loop's turn."""
        self._timer = timer
        self._scrapes: deque[asyncio.Future[None]] = deque()
        self._pieces: deque[asyncio.Future[None]] = deque()
        self._short: deque[asyncio.Future[None]] = deque()
        self._row = self._short_row = 0
        self._running = False
        self._usual = _USUAL_S
        self._gone = 0
        """How many went with this turn of the loop."""
        self._looked = 0.0
        self._began: float | None = None
        """When the first of those began, which was after it was looked last who goes."""

    async def scrape(self) -> None:
        """Before a scrape is worked off: wait until it is its turn. That is now if nothing was worked off in this turn of the loop."""
        await self._turn(self._scrapes)

    async def piece(self, *, short: bool) -> None:
        """The same before each piece of a list. A `short` list waits for those like it only."""
        await self._turn(self._short if short else self._pieces)

    async def _turn(self, queue: deque[asyncio.Future[None]]) -> None:
        loop = asyncio.get_running_loop()
        if not self._running:
            self._running, self._gone = True, 1
            self._looked = self._began = self._timer()
            loop.call_soon(self._look)
            return
        mine = loop.create_future()
        queue.append(mine)
        await mine
        if self._began is None:
            self._began = self._timer()

    def _look(self) -> None:
        """Another turn of the loop: let those go that go with the next one. They run right before this is called again."""
        now = self._timer()
        began = now if self._began is None else self._began
        if self._gone:
            self._usual += _WEIGHT * ((now - began) / self._gone - self._usual)
        most = max(1, int(min(began - self._looked, _MOST_S) / max(self._usual, _LEAST_S)))
        self._looked, self._began, self._gone = now, None, 0
        while self._gone < most and (queue := self._choose()):
            first = queue.popleft()
            if not first.done():  # who was cancelled does not wait any more
                first.set_result(None)
                self._gone += 1
                self._count(queue)
        if self._gone:
            asyncio.get_running_loop().call_soon(self._look)
        else:
            self._running = False

    def _choose(self) -> deque[asyncio.Future[None]]:
        """The queue whose turn it is; an empty one if nobody waits."""
        if self._short and (self._short_row < SHORT_IN_A_ROW or not (self._scrapes or self._pieces)):
            return self._short
        if self._pieces and (self._row >= IN_A_ROW or not self._scrapes):
            return self._pieces
        return self._scrapes

    def _count(self, queue: deque[asyncio.Future[None]]) -> None:
        if queue is self._short:
            self._short_row += 1
            return
        self._short_row = 0
        self._row = self._row + 1 if queue is self._scrapes else 0
