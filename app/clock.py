"""The only place that asks the machine for the time. Everything else is handed a Clock, so that tests own time."""

import time
from typing import Protocol


class Clock(Protocol):
    """Two readings of time: one to stamp things with, one to measure with."""

    def wall(self) -> float:
        """Unix time in seconds, UTC. May jump: use it for stamps and for the wall-clock grid, never for an age."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, never going back. Use it for ages, deadlines and time-outs."""
        ...


class SystemClock:
    """The machine's clock."""

    def wall(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()
