"""What a simulated container uses, as pure functions of time: exact, cheap, and monotonic where a counter must be.

CPU is in nanocores (1 core = 10**9) and its counter in core-nanoseconds; memory is in bytes; times are Unix nanoseconds.
"""

import math
from bisect import bisect_right

from msgspec import Struct

SECOND = 10**9
MINUTE = 60 * SECOND
PAGE = 4096
"""Memory moves in pages, as a kernel counts it."""


class Load(Struct, frozen=True):
    """A CPU curve and a memory curve: a mean and a sine of `swing` around it, one turn in `period` ns.

    `phase` (0 to 1) sets where in its turn the sine is at Unix time 0. `cpu_swing` must not exceed `cpu`: a counter never falls.
    """

    cpu: int
    memory: int
    cpu_swing: int = 0
    memory_swing: int = 0
    period: int = 5 * MINUTE
    phase: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.cpu_swing <= self.cpu or not 0 <= self.memory_swing <= self.memory or self.period <= 0:
            raise ValueError(f"{self} is not a load: need 0 <= swing <= mean for CPU and memory, and a period above 0")

    def cpu_between(self, start: int, end: int) -> int:
        """Core-nanoseconds used from `start` to `end`: the integral of the CPU curve, floored."""
        steady = self.cpu * (end - start) // SECOND
        if not self.cpu_swing:
            return steady
        amplitude = self.cpu_swing * self.period / SECOND / math.tau
        return steady + math.floor(amplitude * (math.cos(self._angle(start)) - math.cos(self._angle(end))))

    def memory_at(self, t: int) -> int:
        """Working set in bytes, whole pages."""
        swing = self.memory_swing * math.sin(self._angle(t)) if self.memory_swing else 0
        return int(self.memory + swing) // PAGE * PAGE

    def _angle(self, t: int) -> float:
        # The remainder is taken on integers: Unix nanoseconds do not fit a float.
        return math.tau * ((t % self.period) / self.period + self.phase)


IDLE = Load(cpu=0, memory=8 * PAGE)


class Usage:
    """The loads that one container instance has had since its start, one after the other.

    A change of load is a new segment, so that what was answered for an earlier time stays true.
    """

    __slots__ = ("_counted", "_loads", "_times")

    def __init__(self, load: Load, start: int) -> None:
        self._times = [start]
        self._loads = [load]
        self._counted = [0]

    @property
    def load(self) -> Load:
        """The load of now."""
        return self._loads[-1]

    def change(self, load: Load, at: int) -> None:
        """Follow `load` from `at` on. Raises ValueError if `at` lies before the last change."""
        if at < self._times[-1]:
            raise ValueError(f"a load cannot change at {at}: it has changed at {self._times[-1]} already")
        counted = self.cpu_ns(at)
        self._times.append(at)
        self._loads.append(load)
        self._counted.append(counted)

    def cpu_ns(self, t: int) -> int:
        """The CPU counter at `t`: core-nanoseconds since the start, 0 before it."""
        index = bisect_right(self._times, t) - 1
        if index < 0:
            return 0
        return self._counted[index] + self._loads[index].cpu_between(self._times[index], t)

    def memory_at(self, t: int) -> int:
        """Working set at `t` in bytes, 0 before the start."""
        index = bisect_right(self._times, t) - 1
        return self._loads[index].memory_at(t) if index >= 0 else 0


class Housekeeping:
    """When an agent looks at one cgroup: every 10 to 20 s, never quite evenly, with a phase of its own.

    Between two looks both values and timestamps stand still (seen in the recordings of a real kubelet). `start` is when the cgroup
    appeared; the first look follows within one period.
    """

    __slots__ = ("_first", "_known", "_period", "_seed")

    _JITTER = SECOND

    def __init__(self, start: int, seed: int) -> None:
        self._seed = seed
        self._period = 12 * SECOND + _scramble(seed) % (6 * SECOND)
        self._known: tuple[int, int, int | None, int | None] = (0, 0, None, None)  # from, until, latest, previous: asked again and again
        self._first = start + self._JITTER + _scramble(seed + 1) % (self._period - 2 * self._JITTER)

    def latest(self, t: int) -> int | None:
        """The last look at or before `t`, None if there was none yet."""
        return self._looks(t)[2]

    def previous(self, t: int) -> int | None:
        """The look before the last one at or before `t`, None if there were not two yet."""
        return self._looks(t)[3]

    def _looks(self, t: int) -> tuple[int, int, int | None, int | None]:
        since, until, _, _ = self._known
        if since <= t < until:
            return self._known
        turn = (t - self._first) // self._period + 1
        while turn >= 0 and self._moment(turn) > t:
            turn -= 1
        latest = self._moment(turn) if turn >= 0 else None
        previous = self._moment(turn - 1) if turn >= 1 else None
        self._known = (latest or t, self._moment(max(turn + 1, 0)), latest, previous)
        return self._known

    def _moment(self, turn: int) -> int:
        shift = _scramble(self._seed ^ (turn * 0x9E3779B97F4A7C15)) % (2 * self._JITTER) - self._JITTER
        return self._first + turn * self._period + shift


def _scramble(value: int) -> int:
    """A fixed, well mixed 64-bit number for each number (the finaliser of SplitMix64): cheaper than a seeded random.Random."""
    value = (value + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    return value ^ (value >> 31)
