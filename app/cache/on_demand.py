"""Objects that are brought up to date when somebody looks: for what changes more often than it is read."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from app.cache.collection import Collection, Item
from app.kube.records import Key, Labels


class OnDemand(ABC):
    """A collection as readers of objects see it (app/kinds/_catalog.py), each time as `refresh` leaves it."""

    def __init__(self, version: int) -> None:
        """`version` is that of the empty collection."""
        self._collection = Collection(why=lambda _key: None, version=version)

    @abstractmethod
    def refresh(self, collection: Collection) -> None:
        """Put into the collection what is new, and take out what is gone, in one step; nothing where all is as it was."""

    @property
    def version(self) -> int:
        return self._newest().version

    @property
    def why(self) -> Callable[[Key], str | None]:
        return self._collection.why

    def __len__(self) -> int:
        return len(self._newest())

    def get(self, key: Key) -> Item | None:
        return self._newest().get(key)

    def snapshot(self, namespace: str | None = None) -> Sequence[Item]:
        return self._newest().snapshot(namespace)

    def labelled(self, matches: Callable[[Labels], bool], namespace: str | None = None, *, most: int) -> Sequence[Item] | None:
        return self._newest().labelled(matches, namespace, most=most)

    def _newest(self) -> Collection:
        self.refresh(self._collection)
        return self._collection
