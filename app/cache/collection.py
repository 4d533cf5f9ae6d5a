"""The published objects of one kind, as readers see them. Writers replace items and step the version in one synchronous call.

Each object has a place, which stays while the object changes. Order and labels belong to the place: a publish, which mostly brings new
values of old objects, leaves both as they are.
"""

from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import Any, Protocol, overload
from weakref import WeakSet

from msgspec import Struct
from sortedcontainers import SortedDict

from app.kube.records import Key, Labels

FREED_AT_ONCE = 256
"""Objects kept for a snapshot that has ended, of which so many are freed with each publish: more than one brings of new ones."""


class Item(Struct, gc=False, weakref=False):
    """One published object: `value` is what it says, `version` its resourceVersion.

    The rest is room for its encodings as an element of a list, each made when it is first read and kept as long as the object stays as it
    is. `body` is its JSON, which has no kind and apiVersion: one encoding serves every version of the group. `row` is the row of a Table
    as kubectl asks for it, `entry` its protobuf.
    """

    key: Key
    labels: Labels
    version: int
    value: Any
    body: bytes | None = None
    row: bytes | None = None
    entry: bytes | None = None


class Late(Protocol):
    """Objects that are brought up to date when they are looked at. Each is known by a number.

    An object is up to date if `seen[number]` is `turn`.
    """

    turn: int
    seen: "array[int]"

    def look(self, number: int, /) -> None:
        """Bring an object up to date."""
        ...


class Place(Struct, gc=False, weakref=False):
    """Where an object stands: `item` is the object as it is now, or, of one that may be late, as it was when it was looked at last.

    `late` brings it up to date, and knows it by `number`; None if it is never late.
    """

    item: Item
    late: Late | None = None
    number: int = 0


def _name(place: Place) -> str:
    return place.item.key[1]


class Snapshot(Sequence[Item]):
    """Items as they were at one moment, in order.

    It holds places, and looks into them when it is read: to take hold of 150,000 items at once would keep all others waiting. A
    collection tells it, as long as anybody has it, what is about to be replaced or to be late.
    """

    def __init__(
        self,
        places: list[Place],
        namespace: str | None,
        *,
        late: bool,
        end: Callable[[dict[int, Item]], None],
        only: Set[int] | None = None,
    ) -> None:
        """`namespace` is that of all of them, None if there may be several. `late` tells whether any may be late now; what becomes late
        afterwards was kept before. `end` takes what was kept, once nobody reads the snapshot any more. `only` are the ids of the places
        if they are not all of the namespace, or of all."""
        self._places = places
        self._namespace = namespace
        self._late = late
        self._end = end
        self._only = only
        self._replaced: dict[int, Item] = {}
        self._read = 0
        self._last: Key | None = None

    def __del__(self) -> None:
        if self._replaced:
            self._end(self._replaced)

    def read_until(self, stop: int) -> None:
        """Items before `stop` are not read again: nothing is kept for them any more."""
        passed = self._places[self._read : stop]
        for place in passed:
            self._replaced.pop(id(place), None)
        if passed:
            self._read, self._last = self._read + len(passed), passed[-1].item.key

    def before_replacing(self, place: Place) -> None:
        """Keep what is in `place` now, unless it is newer than the snapshot."""
        if self._may_have(place):
            self._replaced.setdefault(id(place), place.item)

    def before_late(self, places: Iterable[Place]) -> None:
        """Keep what is in `places` now, up to date, unless it is newer than the snapshot."""
        replaced = self._replaced
        for place in places:
            if id(place) not in replaced and self._may_have(place):
                _look((place,))
                replaced[id(place)] = place.item

    def _may_have(self, place: Place) -> bool:
        """Whether it may be among those that are still read."""
        if self._only is not None and id(place) not in self._only:
            return False
        key = place.item.key
        return (self._namespace is None or self._namespace == key[0]) and (self._last is None or key > self._last)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...

    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        replaced = self._replaced
        if isinstance(index, int):
            place = self._places[index]
            if self._late and id(place) not in replaced:
                _look([place])
            return replaced.get(id(place)) or place.item
        places = self._places[index]
        if self._late:
            _look([place for place in places if id(place) not in replaced] if replaced else places)
        if not replaced:
            return [place.item for place in places]
        return [replaced.get(id(place)) or place.item for place in places]

    def __iter__(self) -> Iterator[Item]:
        return iter(self[:])


class Part(Sequence[Item]):
    """Items of a snapshot from `start` to before `stop`. They are looked at when they are read, as the snapshot does."""

    def __init__(self, snapshot: Snapshot, start: int, stop: int) -> None:
        """Places beyond the end of the snapshot are none."""
        self._snapshot = snapshot
        self._range = range(len(snapshot))[start:stop]

    def __len__(self) -> int:
        return len(self._range)

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...

    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, int):
            return self._snapshot[self._range[index]]
        part = self._range[index]
        return self._snapshot[part.start : part.stop : part.step]


class _Namespace:
    """The places of one namespace: all, and by labels, each in order. Most objects share their labels with others."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.by_labels: dict[Labels, list[Place]] = {}

    def add(self, place: Place) -> None:
        insort(self.places, place, key=_name)
        self._label(place)

    def remove(self, place: Place) -> None:
        _take_out(self.places, place)
        self._unlabel(place)

    def put(self, place: Place, item: Item) -> None:
        """Make `item` the object of `place`."""
        if place.item.labels == item.labels:
            place.item = item
            return
        self._unlabel(place)
        place.item = item
        self._label(place)

    def _label(self, place: Place) -> None:
        insort(self.by_labels.setdefault(place.item.labels, []), place, key=_name)

    def _unlabel(self, place: Place) -> None:
        labels = place.item.labels
        alike = self.by_labels[labels]
        _take_out(alike, place)
        if not alike:
            del self.by_labels[labels]


def _look(places: Iterable[Place]) -> None:
    """Bring those up to date that are late."""
    for place in places:
        late = place.late
        if late is not None and late.seen[place.number] != late.turn:
            late.look(place.number)


def _take_out(places: list[Place], place: Place) -> None:
    del places[bisect_left(places, _name(place), key=_name)]


class Collection:
    """Items of one kind, sorted by namespace and name. Readers take references and the version at once and never write."""

    def __init__(self, why: Callable[[Key], str | None], version: int = 0) -> None:
        """`why(key)` tells why there is no such object, for the 404 text: None if the cluster has nothing that it could be about.

        `version` is that of the empty collection: a list always has one, or informers could not go on from it.
        """
        self._places: dict[Key, Place] = {}
        self._namespaces: SortedDict[str, _Namespace] = SortedDict()
        self._snapshots: WeakSet[Snapshot] = WeakSet()
        self._ended: list[dict[int, Item]] = []
        self._followed = False
        self.why = why
        self.version = version

    def __len__(self) -> int:
        return len(self._places)

    def get(self, key: Key) -> Item | None:
        place = self._places.get(key)
        if place is None:
            return None
        if place.late is not None:
            _look((place,))
        return place.item

    def known(self, key: Key) -> Item | None:
        """The object as it was when it was looked at last."""
        place = self._places.get(key)
        return place.item if place is not None else None

    @property
    def is_held(self) -> bool:
        """Whether somebody reads a snapshot: what is about to become late has to be kept for it."""
        return len(self._snapshots) > 0

    def before_late(self, keys: Iterable[Key]) -> None:
        """Objects are about to become late: whoever reads a snapshot keeps them as they are. For the publisher only."""
        places = [self._places[key] for key in keys if key in self._places]
        for snapshot in self._snapshots:
            snapshot.before_late(places)

    def snapshot(self, namespace: str | None = None) -> Snapshot:
        """All items, or those of one namespace, in order. The sequence does not change afterwards."""
        places: list[Place] = []
        for each in self._in(namespace):
            places += each.places
        return self._held(places, namespace)

    def labelled(self, matches: Callable[[Labels], bool], namespace: str | None = None, *, most: int) -> Snapshot | None:
        """The items of which `matches` takes the labels, in order: the same as those of `snapshot`, and it does not change either.

        Each set of labels is asked about once. None where there are more than `most` of them, or of items: such a list is one for
        several steps.
        """
        namespaces = self._in(namespace)
        if sum(len(each.by_labels) for each in namespaces) > most:
            return None
        found: list[Place] = []
        for each in namespaces:
            taken = [places for labels, places in each.by_labels.items() if matches(labels)]
            if len(found) + sum(map(len, taken)) > most:
                return None
            alike = [place for places in taken for place in places]
            if len(taken) > 1:
                alike.sort(key=_name)
            found += alike
        return self._held(found, namespace, only=set(map(id, found)))

    def _held(self, places: list[Place], namespace: str | None, only: Set[int] | None = None) -> Snapshot:
        snapshot = Snapshot(places, namespace, late=self._followed, end=self._ended.append, only=only)
        self._snapshots.add(snapshot)
        return snapshot

    def _in(self, namespace: str | None) -> Sequence[_Namespace]:
        if namespace is None:
            every: Sequence[_Namespace] = self._namespaces.values()
            return every
        return (self._namespaces[namespace],) if namespace in self._namespaces else ()

    def replace(self, items: Iterable[Item], gone: Iterable[Key], version: int) -> None:
        """Put `items` in, take the keys `gone` out, and make `version` the collection's. For the publisher only."""
        snapshots = tuple(self._snapshots)
        for item in items:
            place = self._places.get(item.key)
            if place is None:
                place = self._places[item.key] = Place(item)
                self._namespaces.setdefault(item.key[0], _Namespace()).add(place)
                continue
            for snapshot in snapshots:
                snapshot.before_replacing(place)
            if place.item.labels is item.labels:
                place.item = item
            else:
                self._namespaces[item.key[0]].put(place, item)
        for key in gone:
            place = self._places.pop(key, None)
            if place is not None:
                self._leave(key[0], place)
        self.version = version
        self._free_some()

    def follow(self, key: Key, late: Late | None, number: int = 0) -> None:
        """From now on an object may be late, and is known by `number`; None: it is not late any more. For the publisher only."""
        place = self._places.get(key)
        if place is not None:
            place.late, place.number = late, number
            self._followed = True

    def renew(self, key: Key, value: Any, version: int) -> None:
        """What an object says that was late. One that said it already keeps its version. For the publisher only."""
        place = self._places.get(key)
        if place is not None and place.item.value != value:
            place.item = Item(place.item.key, place.item.labels, version, value)

    def has_late(self, version: int) -> None:
        """Some of what may be late became so: what is read now is of `version`. For the publisher only."""
        self.version = version
        self._free_some()

    def _free_some(self) -> None:
        """Free a part of what was kept for snapshots that ended. Of 150,000 objects all at once nobody else would get a turn for long."""
        for kept in self._ended:
            for _ in range(min(FREED_AT_ONCE, len(kept))):
                kept.popitem()
        self._ended[:] = filter(None, self._ended)

    def _leave(self, namespace: str, place: Place) -> None:
        of_namespace = self._namespaces[namespace]
        of_namespace.remove(place)
        if not of_namespace.places:
            del self._namespaces[namespace]
