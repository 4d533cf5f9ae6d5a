"""The series of one metric, as its source told them last, each for as long as it lives. Nothing is served that is older: a read looks."""

from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from operator import itemgetter

from msgspec import Struct

from app.kube.records import Key, Labels
from app.served_metrics.missing import OMIT, Missing
from app.served_metrics.values import Series

MOST_HELD = 1000
"""As many as the items of one collection, unless the declaration says otherwise."""

_EXTERNAL: Key = ("", "")


class _Life(Struct, gc=False):
    """A series, when it was measured by our own clock, and when its life ends (both monotonic seconds)."""

    series: Series
    measured: float
    ends: float


class Kept:
    """Series by the object that they describe. All times are monotonic seconds, but for those of samples."""

    def __init__(self, *, ttl: float, missing: Missing = OMIT, most_held: int = MOST_HELD) -> None:
        """`most_held` is how many series are held that the source leaves out: one whose labels change each time would fill the memory."""
        self.ttl = ttl
        self.missing = missing
        self.most_held = most_held
        self.collected: float | None = None
        """When the source answered well last."""
        self._lives: dict[tuple[Key | None, Labels], _Life] = {}
        self._by_namespace: dict[str, dict[Key, tuple[Series, ...]]] = {}
        self._next_end: float | None = None
        """When `_by_namespace` is to be made anew, None where nothing in it ends."""

    def put(self, series: Iterable[Series], *, now: float, wall: int) -> None:
        """Take what the source told just now; `wall` is Unix ns. What it left out lives on only where the policy says so."""
        told = {(each.object, each.labels): each for each in series}
        left_out = [(identity, life) for identity, life in self._lives.items() if identity not in told]
        for _, life in left_out:
            life.ends = min(life.ends, life.measured + self.missing.life(self.ttl, left_out=True))
        if len(left_out) > self.most_held:
            left_out = nlargest(self.most_held, left_out, key=lambda each: each[1].ends)
        lives = dict(left_out)
        for identity, each in told.items():
            measured = now - max(0, wall - each.time) / 1e9
            lives[identity] = _Life(each, measured, measured + self.missing.life(self.ttl, left_out=False))
        self._lives = lives
        self.collected = now
        self._arrange(now)

    def follow(self, other: "Kept") -> None:
        """Go on from the series of an earlier version of the declaration. Their lives stay as that one measured them."""
        self._lives, self.collected = other.left()
        self._next_end = float("-inf")

    def left(self) -> tuple[dict[tuple[Key | None, Labels], _Life], float | None]:
        """What it leaves to the one that takes its place."""
        return self._lives, self.collected

    def objects(self, now: float, namespace: str) -> Mapping[Key, Sequence[Series]]:
        """The living series of the objects of a namespace ("" for those without one) by object, in order, those of one by their labels."""
        if self._next_end is not None and now >= self._next_end:
            self._arrange(now)
        return self._by_namespace.get(namespace, {})

    def all_objects(self, now: float) -> Mapping[Key, Sequence[Series]]:
        """Those of all namespaces, in order."""
        self.objects(now, "")
        return {key: series for _, of in sorted(self._by_namespace.items()) for key, series in of.items()}

    def external(self, now: float) -> Sequence[Series]:
        """All living series of an external metric, by their labels."""
        return self.objects(now, "").get(_EXTERNAL, ())

    def is_out_of_date(self, now: float, since: float) -> bool:
        """Whether the source told nothing for longer than the time to live; `since` counts where it never did."""
        return now - (self.collected if self.collected is not None else since) >= self.ttl

    def count(self, now: float) -> int:
        """How many series live."""
        self.objects(now, "")
        return len(self._lives)

    @property
    def newest(self) -> int:
        """The time of the newest sample (Unix ns), 0 without one."""
        return max((life.series.time for life in self._lives.values()), default=0)

    def _arrange(self, now: float) -> None:
        self._lives = {identity: life for identity, life in self._lives.items() if life.ends > now}
        grouped: dict[Key, list[Series]] = {}
        for life in self._lives.values():
            grouped.setdefault(life.series.object or _EXTERNAL, []).append(life.series)
        self._by_namespace = {}
        for key, of in sorted(grouped.items(), key=itemgetter(0)):
            self._by_namespace.setdefault(key[0], {})[key] = tuple(sorted(of, key=lambda each: each.labels))
        self._next_end = min((life.ends for life in self._lives.values()), default=None)
