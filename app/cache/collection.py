"""The published objects of one kind, as readers see them. Writers replace items and step the version in one synchronous call."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from sortedcontainers import SortedDict

from app.kube.records import Key, Labels


class Item(Struct, gc=False, weakref=False):
    """One published object: `value` is what it says, `version` its resourceVersion.

    The rest is room for its encodings, each made when it is first read and kept as long as the object stays as it is. `body` is its JSON
    without kind and apiVersion, so that one encoding serves every version of the group: `{"metadata":{...},...}`; `metadata_end` is the
    offset behind the metadata object. `row` is the JSON of a Table row's cells, `entry` its protobuf as an element of a list.
    """

    key: Key
    labels: Labels
    version: int
    value: Any
    body: bytes | None = None
    metadata_end: int = 0
    row: bytes | None = None
    entry: bytes | None = None


class Collection:
    """Items of one kind, sorted by namespace and name. Readers take references and the version at once and never write."""

    def __init__(self, why: Callable[[Key], str | None], version: int = 0) -> None:
        """`why(key)` tells why there is no such object, for the 404 text: None if the cluster has nothing that it could be about.

        `version` is that of the empty collection: a list always has one, or informers could not go on from it.
        """
        self._items: SortedDict = SortedDict()
        self._whole: Sequence[Item] | None = None
        self.why = why
        self.version = version

    def __len__(self) -> int:
        return len(self._items)

    def get(self, key: Key) -> Item | None:
        item: Item | None = self._items.get(key)
        return item

    def snapshot(self, namespace: str | None = None) -> Sequence[Item]:
        """All items, or those of one namespace, in order. The sequence does not change afterwards."""
        if namespace is not None:
            return list(map(self._items.__getitem__, self._range(namespace)))
        if self._whole is None:  # made once a version: it costs milliseconds for thousands of items
            self._whole = tuple(map(self._items.__getitem__, self._items))
        return self._whole

    def _range(self, namespace: str) -> Iterator[Key]:
        keys: Iterator[Key] = self._items.irange((namespace, ""), (namespace + "\0", ""), inclusive=(True, False))
        return keys

    def replace(self, items: Iterable[Item], gone: Iterable[Key], version: int) -> None:
        """Put `items` in, take the keys `gone` out, and make `version` the collection's. For the publisher only."""
        for item in items:
            self._items[item.key] = item
        for key in gone:
            self._items.pop(key, None)
        self._whole = None
        self.version = version
