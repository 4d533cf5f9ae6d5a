"""When to scrape: a fixed grid on the wall clock, shifted for each node, so that load is even and replicas sample at the same moments.

Nodes tick in bunches. What one scrape needs of code and tables is still in the processor's caches for the next, so that a bunch costs a
third less than its scrapes would alone; and it is small enough to keep nobody waiting. docs/decisions/0018-nodes-are-scraped-in-bunches.md
has the figures.

Pure: it reads no clock. Delays are measured by the loop's monotonic clock, so a jump of the wall clock costs one odd interval and
neither stops scraping nor starts a storm.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

EARLY_S = 5.0
"""Pause between the tries for a second sample after start: a kubelet's stats advance every 10 to 20 s, each with its own phase."""

SPREAD_S = 5.0
PER_TARGET_S = 0.005
"""What is to be done at once is spread by this much for each target: a scrape with its TLS handshake costs a few milliseconds of CPU."""

_LATE_S = 0.5
"""Timers wake late, so the last early try may begin a little more than an interval after the first scrape."""

_BUNCH = 16
"""Nodes that tick together at least, and twice as many at most. Each keeps others waiting for about a millisecond."""

_FEW = 200
"""Nodes up to which bunches are twice as large: there are then so few that hardly any request meets one."""

_BUSY = 1000
"""Nodes from which on bunches are smaller, in proportion: who scrapes that often has warm caches anyway, and requests wait less."""

_HOUR_MS = 3_600_000


def offsets(node: str, intervals: Sequence[float], nodes: int) -> tuple[float, ...]:
    """The shift in seconds of each collector's grid on `node`, one of `nodes`, in [0, interval).

    The same node has the same shifts in every process (Python's own hash() differs from run to run). The collectors of one node never
    coincide: their shifts differ modulo the greatest common divisor of the intervals. There are as many different shifts as bunches.
    """
    lengths = [max(1, round(interval * 1000)) for interval in intervals]
    step = math.gcd(*lengths) / max(1, len(lengths))
    place = _number(node) % _HOUR_MS
    base = place - place % (min(lengths) / _bunches(nodes))
    return tuple(((base + slot * step) % length) / 1000 for slot, length in enumerate(lengths))


def _bunches(nodes: int) -> int:
    """In how many bunches `nodes` tick: a power of two, for each other number moves every node's tick."""
    bunch = 2 * _BUNCH if nodes <= _FEW else max(1, min(_BUNCH, _BUNCH * _BUSY // nodes))
    return 1 << (max(1, nodes // bunch).bit_length() - 1)


def shift(name: str, interval: float) -> float:
    """The shift in seconds of a grid that stands alone, in [0, interval): the same in every process."""
    return _number(name) % max(1, round(interval * 1000)) / 1000


def first_delays(node: str, intervals: Sequence[float], nodes: int) -> tuple[float, ...]:
    """Seconds to wait before the first scrape of each collector on `node`, one of `nodes` that begin together.

    The collectors take turns, the last in order of preference first: a stand-in is one that has values after one scrape. So the scrapes
    of one node do not meet either, and need one connection.
    """
    turn = min(min(intervals) / 2, SPREAD_S, nodes * len(intervals) * PER_TARGET_S) / len(intervals)
    share = _number(node) / 2**64
    return tuple((place + share) * turn for place in reversed(range(len(intervals))))


def early_pause(targets: int) -> float:
    """Seconds between the tries for a second sample, where there are so many targets. Of thousands none is tried early: that would be
    three times the work of every other interval, when there is most to do anyway.
    """
    return max(EARLY_S, targets * PER_TARGET_S)


def _number(text: str) -> int:
    """64 bits that are spread evenly and are the same everywhere."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())


@dataclass(frozen=True)
class Grid:
    """Ticks at offset, offset + interval, ... of Unix time. The offset is asked for each tick: it changes with the number of nodes."""

    interval: float
    offset: Callable[[], float]

    def wait(self, wall: float, since: float) -> float:
        """Seconds until the tick to wait for, `since` seconds after the last scrape began.

        A tick that is less than half an interval after that scrape is left out: a timer that woke a moment early, or a clock that was
        set back a little, would else scrape twice for one tick. So two scrapes are 0.5 to 1.5 intervals apart, whatever the clock does.
        """
        wait = self.interval - (wall - self.offset()) % self.interval or self.interval
        return wait + self.interval if since + wait < self.interval / 2 else wait


class Schedule:
    """The waits of one loop. Call `wait` before each scrape and `done` after it, with the loop's two clock readings."""

    def __init__(self, grid: Grid, first: float, early: float = EARLY_S) -> None:
        """`first` is the wait before the first scrape, `early` the pause between the tries for a second sample."""
        self._grid = grid
        self._first: float | None = first
        self._early = early
        self._began = 0.0
        self._early_until: float | None = None
        self._early_given = False
        self._rest_until: float | None = None

    def wait(self, wall: float, monotonic: float) -> float:
        """Seconds to wait now."""
        if self._first is not None:
            first, self._first = self._first, None
            return first
        if self._rest_until is not None:
            rest, self._rest_until = self._rest_until - monotonic, None
            return max(0.0, rest)
        since = monotonic - self._began
        if self._early_until is not None and self._began + self._early <= self._early_until:
            return max(0.0, self._early - since)
        return self._grid.wait(wall, since)

    def begins(self, monotonic: float) -> None:
        """A scrape begins."""
        self._began = monotonic

    def succeeded(self, *, settled: bool) -> None:
        """The scrape gave a batch. Until every CPU time has advanced once (`settled`) the next come early, for at most one interval."""
        if settled:
            self._early_until = None
        elif not self._early_given:
            self._early_until = self._began + self._grid.interval + _LATE_S
        self._early_given = True

    def rest(self, monotonic: float, seconds: float) -> None:
        """Do not ask again for `seconds`."""
        self._rest_until = monotonic + seconds
