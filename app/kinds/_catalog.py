"""Which kinds are served now, with their objects. Built-in kinds stay; declared ones come, change and go while requests are served."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from app.cache.collection import Item
from app.kinds._base import Kind
from app.kube.records import Key, Labels


class Objects(Protocol):
    """The objects of one kind as readers see them; app/cache/collection.py has what each answers."""

    @property
    def version(self) -> int: ...

    @property
    def why(self) -> Callable[[Key], str | None]: ...

    def __len__(self) -> int: ...

    def get(self, key: Key) -> Item | None: ...

    def snapshot(self, namespace: str | None = None) -> Sequence[Item]: ...

    def labelled(self, matches: Callable[[Labels], bool], namespace: str | None = None, *, most: int) -> Sequence[Item] | None: ...


class Served(NamedTuple):
    """A kind and its published objects."""

    kind: Kind
    collection: Any


class Catalog:
    """All kinds that are served: `fixed` ones, and those that each owner put in. Listeners hear of changes, after they were made.

    Within one group version a resource is served once: the first one that was put in stays.
    """

    def __init__(self, fixed: Sequence[Served] = ()) -> None:
        self._fixed = tuple(fixed)
        self._of_owners: dict[str, tuple[Served, ...]] = {}
        self.listeners: list[Callable[[], None]] = []

    def __iter__(self) -> Iterator[Served]:
        yield from self._fixed
        for served in self._of_owners.values():
            yield from served

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(served.kind for served in self)

    def put(self, changes: Mapping[str, Sequence[Served]]) -> None:
        """Make `changes[owner]` all that `owner` serves, for each owner; an empty sequence takes it away. One change for all of them."""
        for owner, served in changes.items():
            if served:
                self._of_owners[owner] = tuple(served)
            else:
                self._of_owners.pop(owner, None)
        for listener in self.listeners:
            listener()
