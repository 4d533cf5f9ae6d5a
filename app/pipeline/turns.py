"""First scrapes take turns, so that a large cluster that is seen for the first time is scraped at the pace that this process can keep.

A first scrape shakes hands and makes what later ones only change: some milliseconds of CPU. Of thousands that begin together all are behind
one another when their deadlines end, and what was done for them is lost; they begin anew, together. One that begins when there is room is
in time. Later scrapes need no turns: the grid spreads them.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

MOST = 32
"""First scrapes that go on at one time: enough to keep the process busy while answers are on their way."""

PATIENCE_S = 0.25
"""A scrape that goes on for so long mostly waits. It costs nothing then, so the next may begin: dead nodes hold up nobody."""


class Turn:
    """The room that one first scrape takes up."""

    def __init__(self, room: asyncio.Semaphore) -> None:
        """Takes it, until `leave` or for PATIENCE_S."""
        self._room: asyncio.Semaphore | None = room
        self._timer = asyncio.get_running_loop().call_later(PATIENCE_S, self.leave)

    def stay(self) -> None:
        """Keep the room, if it is not gone yet, however long it takes: what waits now is not the other side."""
        self._timer.cancel()

    def leave(self) -> None:
        """Give the room to the next. Doing it twice is fine."""
        self._timer.cancel()
        if self._room is not None:
            self._room.release()
            self._room = None


class Turns:
    """Lets first scrapes begin in the order in which they came, MOST at a time."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(MOST)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Turn]:
        """Wait for room, and take it."""
        await self._room.acquire()
        turn = Turn(self._room)
        try:
            yield turn
        finally:
            turn.leave()
