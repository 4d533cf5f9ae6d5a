"""Which kinds are served now, with their objects. Built-in kinds stay; declared ones come, change and go while requests are served."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import structlog

from app.cache.collection import Item
from app.kinds._base import Kind
from app.kube.records import Key, Labels

_log = structlog.get_logger(__name__)


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
    """A kind and its published objects. A kind that changed comes with objects of its own: items keep what they were encoded as."""

    kind: Kind
    collection: Objects


class Catalog:
    """All kinds that are served: `fixed` ones, and those that each owner put in. Listeners hear of changes, after they were made.

    Within one group version a resource, a kind and its list are served once: what was put in first stays, and what it stands in the way
    of is served when it goes.
    """

    def __init__(self, fixed: Sequence[Served] = ()) -> None:
        self._fixed = tuple(fixed)
        self._of_owners: dict[str, tuple[Served, ...]] = {}
        self._hidden: list[Kind] = []
        self._served = self._without_clashes()
        self.listeners: list[Callable[[], None]] = []

    def __iter__(self) -> Iterator[Served]:
        return iter(self._served)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(served.kind for served in self._served)

    def put(self, changes: Mapping[str, Sequence[Served]]) -> None:
        """Make `changes[owner]` all that `owner` serves, for each owner; an empty sequence takes it away. One change for all of them."""
        for owner, served in changes.items():
            if served:
                self._of_owners[owner] = tuple(served)
            else:
                self._of_owners.pop(owner, None)
        self._served = self._without_clashes()
        for listener in self.listeners:
            listener()

    def _without_clashes(self) -> tuple[Served, ...]:
        """What is served of all there is; what is not, for another has its names, is told once."""
        taken: set[tuple[str, str, str]] = set()
        chosen: list[Served] = []
        hidden: list[Kind] = []
        for served in (*self._fixed, *(each for of_owner in self._of_owners.values() for each in of_owner)):
            kind = served.kind
            names = {
                (kind.group, version, name)
                for version in kind.versions
                for name in (f"resource {kind.resource}", f"kind {kind.kind}", f"kind {kind.list_kind}")
            }
            if taken.isdisjoint(names):
                taken |= names
                chosen.append(served)
            else:
                hidden.append(kind)
        for kind in hidden:
            if not any(kind is known for known in self._hidden):
                _log.warning("a kind is not served: another has its names", group=kind.group, kind=kind.kind, resource=kind.resource)
        self._hidden = hidden
        return tuple(chosen)
