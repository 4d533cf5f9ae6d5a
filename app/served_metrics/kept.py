"""The series of one metric, as its source told them last, each for as long as it lives. Nothing is served that is older: a read looks.

What the source told is arranged in a thread, for tens of thousands of series take a while; having it served is one short step.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import islice, takewhile
from operator import attrgetter, itemgetter

from msgspec import Struct

from app.kube.records import Key, Labels
from app.served_metrics.in_order import in_order
from app.served_metrics.missing import OMIT, Missing
from app.served_metrics.values import Series

MOST_HELD = 1000
"""As many as the items of one collection, unless the declaration says otherwise."""

_EXTERNAL: Key = ("", "")
_Identity = tuple[Key | None, Labels]


class _Life(Struct, frozen=True, gc=False):
    """A series, when it was measured by our own clock, and when its life ends (both monotonic seconds)."""

    series: Series
    measured: float
    ends: float


class Arranged(Struct, frozen=True):
    """What is to be served from when the source answered well at `collected` (monotonic seconds), None where it never did.

    `lives` are in the order in which they end. Namespaces ("" for what has none) are in order, the objects of each are, and the series of
    an object by their labels.
    """

    collected: float | None = None
    lives: Sequence[_Life] = ()
    by_namespace: Mapping[str, Mapping[Key, Sequence[Series]]] = {}


class Kept:
    """Series by the object that they describe. All times are monotonic seconds, but for those of samples."""

    def __init__(self, *, ttl: float, missing: Missing = OMIT, most_held: int = MOST_HELD) -> None:
        """`most_held` is how many series are held that the source leaves out: one whose labels change each time would fill the memory."""
        self.ttl = ttl
        self.missing = missing
        self.most_held = most_held
        self.served = Arranged()
        """What may have ended is let go by the next read."""

    @property
    def collected(self) -> float | None:
        """When the source answered well last."""
        return self.served.collected

    def arranged(self, series: Iterable[Series], *, now: float, wall: int) -> Arranged:
        """What is to be served once the source told these just now; `wall` is Unix ns. What it left out lives on only where the policy
        says so. Takes a while and changes nothing: it may be called in a thread, for one answer at a time."""
        told = {(each.object, each.labels): each for each in series}
        lives = self._left_out(told.keys(), now)
        life = self.missing.life(self.ttl, left_out=False)
        for each in told.values():
            measured = now - max(0, wall - each.time) / 1e9
            if measured + life > now:
                lives.append(_Life(each, measured, measured + life))
        grouped: dict[Key, list[Series]] = {}
        for living in lives:
            grouped.setdefault(living.series.object or _EXTERNAL, []).append(living.series)
        by_namespace: dict[str, dict[Key, Sequence[Series]]] = {}
        for key, of in in_order(list(grouped.items()), itemgetter(0)):
            by_namespace.setdefault(key[0], {})[key] = tuple(in_order(of, attrgetter("labels")))
        return Arranged(now, tuple(in_order(lives, attrgetter("ends"))), by_namespace)

    def take(self, arranged: Arranged) -> None:
        """Serve this."""
        self.served = arranged

    def follow(self, other: "Kept") -> None:
        """Go on from the series of an earlier version of the declaration. Their lives stay as that one measured them."""
        self.served = other.served

    def objects(self, now: float, namespace: str) -> Mapping[Key, Sequence[Series]]:
        """The living series of the objects of a namespace ("" for those without one) by object, in order, those of one by their labels."""
        self._end(now)
        return self.served.by_namespace.get(namespace, {})

    def all_objects(self, now: float) -> Mapping[Key, Sequence[Series]]:
        """Those of all namespaces, in order."""
        self._end(now)
        return {key: series for of in self.served.by_namespace.values() for key, series in of.items()}

    def external(self, now: float) -> Sequence[Series]:
        """All living series of an external metric, by their labels."""
        return self.objects(now, "").get(_EXTERNAL, ())

    def is_out_of_date(self, now: float, since: float) -> bool:
        """Whether the source told nothing for longer than the time to live; `since` counts where it never did."""
        return now - (self.collected if self.collected is not None else since) >= self.ttl

    def count(self, now: float) -> int:
        """How many series live."""
        self._end(now)
        return len(self.served.lives)

    @property
    def newest(self) -> int:
        """The time of the newest sample (Unix ns), 0 without one."""
        return max((life.series.time for life in self.served.lives), default=0)

    def _left_out(self, told: Set[_Identity], now: float) -> list[_Life]:
        """The lives that go on though the source left them out."""
        life = self.missing.life(self.ttl, left_out=True)
        left_out = [
            _Life(each.series, each.measured, ends)
            for each in self.served.lives
            if (ends := min(each.ends, each.measured + life)) > now and (each.series.object, each.series.labels) not in told
        ]
        if len(left_out) > self.most_held:
            left_out = list(islice(in_order(left_out, lambda each: -each.ends), self.most_held))
        return left_out

    def _end(self, now: float) -> None:
        """Let go what ended: whoever reads may have what was there before in hand, so that it stays as it is."""
        served = self.served
        if not served.lives or now < served.lives[0].ends:
            return
        if served.lives[-1].ends <= now:  # as when a source fails for long
            self.served = Arranged(served.collected)
            return
        ended = list(takewhile(lambda life: life.ends <= now, served.lives))
        gone: dict[Key, set[Labels]] = {}
        for life in ended:
            gone.setdefault(life.series.object or _EXTERNAL, set()).add(life.series.labels)
        changed = {namespace: dict(served.by_namespace[namespace]) for namespace in {key[0] for key in gone}}
        for key, labels in gone.items():
            objects = changed[key[0]]
            objects[key] = tuple(each for each in objects[key] if each.labels not in labels)
            if not objects[key]:
                del objects[key]
        self.served = Arranged(served.collected, served.lives[len(ended) :], {**served.by_namespace, **changed})
