"""Bodies of lists that were rendered, for whoever asks for the same before anything of their kind changes."""

import asyncio
from collections.abc import Callable, Collection
from typing import NamedTuple

from cachetools import LRUCache
from msgspec import Struct

from app.routes.rendering import Form

BESIDE = 2048
"""Bytes that a list takes beside its body, with the longest text that it is found by: of an empty list, nearly all."""

PASSED_SECONDS = 5.0
"""How often those are let go that nobody can be answered with any more. A burst of lists would else hold megabytes until the next one."""

_LONGEST = 256
"""Characters of a namespace and selectors by which a list is found again. Both may be anything, of lists that are empty."""

Where = tuple[str, str, str]
"""Where a kind is served: group, version, resource."""


class Look(NamedTuple):
    """What a list looks like: where its kind is served, namespace, the texts of label and field selector, form."""

    where: Where
    namespace: str | None
    selectors: tuple[str, str]
    form: Form


class Rendered(Struct, frozen=True):
    """The body of a list at one version, and when one of its objects was measured (Unix ns), 0 if nobody knows."""

    version: int
    body: bytes
    measured: int


class RenderedLists:
    """Lists by what they look like, those that were read last if there is no room for all."""

    def __init__(self, room: int, current: Callable[[Where], int | None]) -> None:
        """`room` is in bytes. `current(where)` is the version of a kind's objects now, None if there is no such kind."""
        self._current = current
        self._lists: LRUCache[Look, Rendered] = LRUCache(room, getsizeof=lambda rendered: len(rendered.body) + BESIDE)
        self._letting_go: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._lists)

    def find(self, look: Look, version: int) -> Rendered | None:
        """The list as it is at `version`."""
        rendered = self._lists.get(look)
        return rendered if rendered is not None and rendered.version == version else None

    def keep(self, look: Look, rendered: Rendered) -> None:
        """Keep a list, in place of an older one that looks the same, unless it is found by too long a text. Needs a running loop."""
        if sum(map(len, (look.namespace or "", *look.selectors))) > _LONGEST:
            return
        self._lists[look] = rendered
        self._letting_go = self._letting_go or asyncio.get_running_loop().call_later(PASSED_SECONDS, self._let_go)

    def forget(self, kinds: Collection[Where]) -> None:
        """Let go of all lists of some kinds."""
        for look in [look for look in self._lists if look.where in kinds]:
            del self._lists[look]

    def _let_go(self) -> None:
        """Let go of lists of versions that have passed."""
        for look, rendered in list(self._lists.items()):
            if rendered.version != self._current(look.where):
                del self._lists[look]
        self._letting_go = asyncio.get_running_loop().call_later(PASSED_SECONDS, self._let_go) if self._lists else None
