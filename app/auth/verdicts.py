"""What was found out about callers a moment ago: looked up twice for each request, so that a look is a look into a dict and at the time."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Verdicts(Generic[V]):
    """Verdicts by what was asked, each for `ttl` seconds from when it came; the oldest go when there are `most`."""

    def __init__(self, most: int, ttl: float, monotonic: Callable[[], float]) -> None:
        self._most = most
        self._ttl = ttl
        self._monotonic = monotonic
        self._kept: dict[Hashable, tuple[float, V]] = {}  # all last equally long, so that the first in it end first

    def __len__(self) -> int:
        """How many are kept, with those that ended and were not asked for since."""
        return len(self._kept)

    def get(self, asked: Hashable) -> V | None:
        """The verdict, None if there is none any more."""
        kept = self._kept.get(asked)
        if kept is None or kept[0] <= self._monotonic():
            return None
        return kept[1]

    def put(self, asked: Hashable, verdict: V) -> None:
        """Keep a verdict that came now."""
        now, kept = self._monotonic(), self._kept
        kept.pop(asked, None)
        while kept:
            oldest = next(iter(kept))
            if len(kept) < self._most and kept[oldest][0] > now:
                break
            del kept[oldest]
        kept[asked] = (now + self._ttl, verdict)
