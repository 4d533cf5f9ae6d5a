"""Objects that are joined when they are read: who belongs to them is known beforehand, what they say is not worked out until then.

What a node's or pod's usage and statistics are changes with every scrape, and is mostly read by nobody in between.
"""

from collections.abc import Callable, Sequence
from typing import Any, overload

from app.cache.collection import Collection, Item
from app.kube.records import Key, Labels

Join = Callable[[Item], tuple[Any, int]]
"""(member) -> (what its object says now, the version of the newest part of that, 0 if there is none besides the member)."""


class JoinedSnapshot(Sequence[Item]):
    """The members of one moment. What each says is joined when it is read, so that a long list is never of one moment: an object may be
    newer than the list's version, and none is older. Who goes on from that version misses nothing.
    """

    def __init__(self, members: Sequence[Item], join: Callable[[Item], Item]) -> None:
        self._members = members
        self._join = join

    def __len__(self) -> int:
        return len(self._members)

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...

    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, int):
            return self._join(self._members[index])
        return [self._join(member) for member in self._members[index]]


class Joined:
    """The objects of one kind as readers see them (app/kinds/_catalog.py). It never tells a version below one that it told."""

    def __init__(self, members: Collection, join: Join, newest: Callable[[], int]) -> None:
        """`members` has key and labels of each object, and what `join` needs to know of it. `newest()` is the version of all parts."""
        self._members = members
        self._join_member = join
        self._newest = newest

    @property
    def version(self) -> int:
        return max(self._members.version, self._newest())

    @property
    def why(self) -> Callable[[Key], str | None]:
        return self._members.why

    def __len__(self) -> int:
        return len(self._members)

    def get(self, key: Key) -> Item | None:
        member = self._members.get(key)
        return self._join(member) if member is not None else None

    def snapshot(self, namespace: str | None = None) -> JoinedSnapshot:
        return JoinedSnapshot(self._members.snapshot(namespace), self._join)

    def labelled(self, matches: Callable[[Labels], bool], namespace: str | None = None, *, most: int) -> Sequence[Item] | None:
        members = self._members.labelled(matches, namespace, most=most)
        return JoinedSnapshot(members, self._join) if members is not None else None

    def _join(self, member: Item) -> Item:
        value, version = self._join_member(member)
        return Item(member.key, member.labels, max(member.version, version), value)
