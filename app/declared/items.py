"""The items of a response, and what an expression makes of one: what live kinds and metrics have in common.

An item is judged by itself: an error in one of its expressions costs that item and nothing else.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from app.declared.cel import Bound, CelError, Missing, Program, compile_cel
from app.declared.cel_syntax import Member, Name, Node
from app.declared.model import CollectedSpec
from app.declared.objects import Dropped
from app.declared.times import unix_ns
from collectors._base import Cause, CollectError

MOST_TOLD = 100
"""Reasons that are told of one response. What is dropped beyond that is counted, and its reason is MORE."""

MORE = "dropped too; the reasons of the first are told"

NAME_SHOWN = 80


class Unmappable(Exception):
    """An item that becomes nothing: its name as far as it is known, and why in one sentence."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(reason)
        self.name = name
        self.reason = reason

    def dropped(self, index: int, before: Sequence[Dropped]) -> Dropped:
        """The item as one more that was dropped."""
        return Dropped(index, self.name[:NAME_SHOWN], self.reason if len(before) < MOST_TOLD else MORE)


class Leaf(NamedTuple):
    """An expression over `item`, and its path, such as "status.ready", below the field `root` of the declaration."""

    root: str
    path: str
    program: Program

    @property
    def place(self) -> str:
        """For people."""
        return f"{self.root}.{self.path}"


def leaf(root: str, path: str, text: str) -> Leaf:
    """Compile it. Raises CelError."""
    return Leaf(root, path, compile_cel(text, {"item": None}))


class Items:
    """What `spec.items` gives of responses."""

    def __init__(self, spec: CollectedSpec) -> None:
        """Raises CelError."""
        self._program = compile_cel(spec.items, {"response": None})
        self._path = plain_path(self._program.tree)
        self._most = spec.limits.items

    def of(self, response: Any, deadline: Callable[[], bool]) -> Iterator[tuple[int, Any]]:
        """Each item with its index. Raises CollectError where the response as a whole gives none, or `deadline()` turns true."""
        items = self._list(response)
        for index, item in enumerate(items):
            if deadline():
                what = f"{index} of {len(items)} items were mapped in the time that there is"
                raise CollectError(Cause.DEADLINE, what, "ask the source for less, or map with simpler expressions")
            yield index, item

    def _list(self, response: Any) -> Sequence[Any]:
        """null is an empty list: so do servers in Go write one."""
        try:
            items = self._program({"response": response}) if self._path is None else walk(response, self._path)
        except CelError as error:
            raise CollectError(Cause.MAPPING, f"spec.items: {error.message}", "compare spec.items with what the source answers") from error
        if items is None:
            return ()
        if not isinstance(items, list | tuple):
            what = f"spec.items: gives {kind_of(items)}, and not a list"
            raise CollectError(Cause.MAPPING, what, "compare spec.items with what the source answers")
        if len(items) > self._most:
            what = f"{len(items)} items, and spec.limits.items is {self._most}"
            raise CollectError(Cause.TOO_LARGE, what, "raise spec.limits.items, or ask the source for less")
        return items


def needed(of: Leaf, over: Bound) -> Any:
    """The value of an expression that must have one. Raises Unmappable."""
    try:
        return of.program.evaluate(over)
    except CelError as error:
        raise Unmappable("", f"{of.place}: {error.message}") from None


def texts(leaves: Sequence[tuple[str, Leaf]], over: Bound) -> Iterator[tuple[str, str]]:
    """Labels or annotations: those that have a value, as text. Raises Unmappable."""
    for name, of in leaves:
        try:
            value = of.program.evaluate(over)
        except Missing:
            continue
        except CelError as error:
            raise Unmappable("", f"{of.place}: {error.message}") from None
        if value is None:
            continue
        if isinstance(value, bool):
            yield name, "true" if value else "false"
        elif isinstance(value, str | int):
            yield name, str(value)
        else:
            raise Unmappable("", f"{of.place}: gives {kind_of(value)}, and not text")


def time_of(of: Leaf | None, over: Bound) -> int | None:
    """Unix ns, None where the item does not tell. Raises Unmappable."""
    if of is None:
        return None
    try:
        value = of.program.evaluate(over)
        return unix_ns(value) if value is not None else None
    except Missing:
        return None
    except CelError as error:
        raise Unmappable("", f"{of.place}: {error.message}") from None
    except ValueError as error:
        raise Unmappable("", f"{of.place}: {error}") from None


_KINDS = {
    type(None): "null", bool: "a boolean", int: "a whole number", float: "a number", str: "text", list: "a list", dict: "a mapping",
}  # fmt: skip


def kind_of(value: Any) -> str:
    """What a value is, in words."""
    return _KINDS.get(type(value), "something else")


def plain_path(tree: Node) -> tuple[str, ...] | None:
    """The members from the variable to the value, None if an expression is more than a path.

    A path needs no CEL: what it leads to is handed on as it is, so that one odd value costs its item and not the response, and numbers
    stay exact.
    """
    names: list[str] = []
    while isinstance(tree, Member) and not tree.asked:
        names.append(tree.field)
        tree = tree.of
    return tuple(reversed(names)) if isinstance(tree, Name) else None


def walk(value: Any, path: Sequence[str]) -> Any:
    """What stands at a plain path of a value. Raises Missing."""
    for name in path:
        if not isinstance(value, Mapping):
            raise Missing(f'"{name}" is asked of {kind_of(value)}')
        if name not in value:
            raise Missing(f'there is no "{name}"')
        value = value[name]
    return value
