"""Clocks for tests: one that a test moves by hand, and one that follows the event loop's own (virtual) time."""

import asyncio

EPOCH = 1_764_500_000.0
"""2025-11-30 10:53:20 UTC: a wall time to start from."""


class ManualClock:
    """Stands still until `advance`. `jump` moves the wall clock alone, as an administrator or NTP does."""

    def __init__(self, wall: float = EPOCH, monotonic: float = 1000.0) -> None:
        self._wall = wall
        self._monotonic = monotonic

    def wall(self) -> float:
        return self._wall

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError("time does not go back; use jump for the wall clock")
        self._wall += seconds
        self._monotonic += seconds

    def jump(self, seconds: float) -> None:
        self._wall += seconds


class LoopClock:
    """Follows the running loop's time: with looptime a test sleeps hours in no time, and this clock agrees."""

    def __init__(self, wall: float = EPOCH) -> None:
        self._loop = asyncio.get_running_loop()
        self._offset = wall - self._loop.time()

    def wall(self) -> float:
        return self._loop.time() + self._offset

    def monotonic(self) -> float:
        return self._loop.time()

    def jump(self, seconds: float) -> None:
        self._offset += seconds
