"""Lists as joins of encoded objects, whole or in pieces: whatever a list's length, it takes the loop some milliseconds at a time."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from operator import attrgetter
from typing import NamedTuple

import structlog

from app.cache.collection import Item, Snapshot
from app.lumps import Lumps

SHORT = 512
"""Objects of a list that waits only for others like it, and that is made whole whatever was asked for."""

AT_ONCE = 64
"""Objects that are encoded and joined before others get their turn: up to 3 milliseconds where each has to be worked out first
(app/cache/step_columns.py) of memory that nobody has touched for long."""

MOST_KEPT = 16_384
"""Objects of the longest list whose encodings stay with the objects. What made 150,000 readable would otherwise be held until they change:
some 50 MB for each form, for a list that is asked for by hand. It comes in pages then, and what is left counts too."""

_log = structlog.get_logger(__name__)


class Page(NamedTuple):
    """What ListMeta tells of a list: its version, and where there is more, the token for the next page and how much that is."""

    version: int
    token: str = ""
    remaining: int | None = None


class ListForm:
    """How lists of one form are made.

    `encode(item)` makes an element; `kept` names the attribute in which an item keeps it, "" for forms that few ask for. `separator`
    stands between elements. `frame(page, length)` gives what stands before and behind them all. `length` is theirs, with separators: a
    form that is `measured` cannot begin without it, others ask only whether it is 0.
    """

    def __init__(
        self,
        encode: Callable[[Item], bytes],
        frame: Callable[[Page, int | None], tuple[bytes, bytes]],
        *,
        separator: bytes = b"",
        kept: str = "",
        measured: bool = False,
    ) -> None:
        self.encode = encode
        self.frame = frame
        self.separator = separator
        self.measured = measured
        self._kept = kept
        self._known: Callable[[Item], bytes | None] = attrgetter(kept) if kept else _nothing

    def elements(self, items: Sequence[Item], *, keep: bool) -> tuple[list[bytes], int]:
        """The elements of `items`, and how many had to be encoded. With `keep` these stay with their items.

        An object that cannot be encoded costs itself only.
        """
        known = list(map(self._known, items))
        if all(known):
            return known, 0  # type: ignore[return-value]  # none of them is None
        encoded = 0
        for index, item in enumerate(items):
            if known[index] is None:
                known[index] = self._encoded(item)
                encoded += 1
                if keep and self._kept:
                    setattr(item, self._kept, known[index])
        return [element for element in known if element is not None], encoded

    def _encoded(self, item: Item) -> bytes | None:
        try:
            return self.encode(item)
        except Exception:  # noqa: BLE001  an odd value costs its object only
            _log.exception("an object cannot be encoded and is left out of lists; please report it", key=item.key)
            return None


def _nothing(_item: Item) -> None:
    return None


async def whole(form: ListForm, items: Sequence[Item], page: Page, lumps: Lumps, *, most: int) -> bytes | None:
    """The body of a list, None if its elements have more than `most` bytes."""
    elements: list[bytes] = []
    keep, short = _stays(items, page), len(items) + (page.remaining or 0) <= SHORT
    length, fresh = 0, AT_ONCE
    for begin in range(0, len(items), AT_ONCE):
        if fresh >= AT_ONCE:
            fresh = 0
            await lumps.piece(short=short)
        more, encoded = form.elements(items[begin : begin + AT_ONCE], keep=keep)
        elements += more
        length += sum(map(len, more))
        if length > most:
            return None
        fresh += encoded
    start, end = form.frame(page, length + len(form.separator) * max(len(elements) - 1, 0))
    if not elements:
        return start + end
    elements[0] = start + elements[0]  # so that what may be megabytes is copied once
    elements[-1] += end
    return form.separator.join(elements)


async def measure(form: ListForm, items: Sequence[Item], page: Page, lumps: Lumps) -> tuple[int, int]:
    """The lengths of a list's elements, with separators, and of its body."""
    length = 0
    async with aclosing(_pieces(form, items, page, lumps)) as pieces:
        async for elements in pieces:
            length += len(elements)
    start, end = form.frame(page, length)
    return length, len(start) + length + len(end)


async def stream(form: ListForm, items: Sequence[Item], page: Page, length: int | None, lumps: Lumps) -> AsyncGenerator[bytes, None]:
    """The body of a list, made as it is taken: who does not read holds some hundred objects. `length` is that of the elements."""
    start, end = form.frame(page, length)
    yield start
    passed = 0
    async with aclosing(_pieces(form, items, page, lumps)) as pieces:
        async for elements in pieces:
            yield elements
            passed += AT_ONCE
            if isinstance(items, Snapshot):
                items.read_until(passed)
    yield end


def _stays(items: Sequence[Item], page: Page) -> bool:
    """Whether what is encoded for a list stays with its objects."""
    return len(items) + (page.remaining or 0) <= MOST_KEPT


async def _pieces(form: ListForm, items: Sequence[Item], page: Page, lumps: Lumps) -> AsyncGenerator[bytes, None]:
    """The elements, joined in parts, and what stands between the parts."""
    keep, separator = _stays(items, page), b""
    for begin in range(0, len(items), AT_ONCE):
        await lumps.piece(short=False)
        elements, _ = form.elements(items[begin : begin + AT_ONCE], keep=keep)
        yield separator + form.separator.join(elements) if elements else b""
        separator = form.separator if elements else separator
