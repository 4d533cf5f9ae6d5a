"""From the events of a parser to a plain value and the places of its parts, within bounds."""

from typing import Any

from app.declared.faults import Fault, Path, Place, Positions, path_text

MAX_DEPTH = 64
MAX_NODES = 100_000
"""Most values of one file, those counted that an alias repeats."""


class UnreadableError(Exception):
    """A document that cannot be read on. `fault` says why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


class Budget:
    """How many values a file may still have."""

    def __init__(self, nodes: int = MAX_NODES) -> None:
        self._left = nodes

    @property
    def left(self) -> int:
        return self._left

    def take(self, nodes: int, place: Place) -> None:
        """Raises UnreadableError when there are too many."""
        self._left -= nodes
        if self._left < 0:
            raise UnreadableError(Fault(place, "", f"too many values: a file may have {MAX_NODES:,}, repeated ones counted"))


class _Anchored:
    """What an alias stands for: a value that is complete, how many values it has, and how many levels."""

    __slots__ = ("levels", "nodes", "value")

    def __init__(self, value: Any, nodes: int, levels: int) -> None:
        self.value, self.nodes, self.levels = value, nodes, levels


class _Open:
    """A mapping or a list that is not complete."""

    __slots__ = ("anchor", "key", "left", "levels", "path", "value")

    def __init__(self, value: dict[str, Any] | list[Any], path: Path, anchor: str | None, left: int) -> None:
        self.value, self.path, self.anchor, self.left = value, path, anchor, left
        self.key: str | None = None
        self.levels = 1


class Tree:
    """One document as it is read. Faults that cost only one value are collected, the others raise UnreadableError."""

    def __init__(self, start: Place, budget: Budget) -> None:
        self.value: Any = None
        self.faults: list[Fault] = []
        self._start = start
        self._budget = budget
        self._values: dict[Path, Place] = {}
        self._keys: dict[Path, Place] = {}
        self._written: dict[Path, str] = {}
        self._open: list[_Open] = []
        self._anchors: dict[str, _Anchored] = {}

    @property
    def positions(self) -> Positions:
        return Positions(self._values.get((), self._start), self._values, self._keys, self._written)

    def mapping(self, place: Place, anchor: str | None = None) -> None:
        """A mapping begins: keys and values follow in turn, then `end`."""
        self._begin({}, place, anchor)

    def sequence(self, place: Place, anchor: str | None = None) -> None:
        """A list begins: values follow, then `end`."""
        self._begin([], place, anchor)

    def end(self) -> None:
        """What was begun last is complete."""
        done = self._open.pop()
        if self._open:
            self._open[-1].levels = max(self._open[-1].levels, done.levels + 1)
        if done.anchor is not None:
            self._anchors[done.anchor] = _Anchored(done.value, done.left - self._budget.left, done.levels)

    def scalar(self, value: Any, place: Place, written: str, anchor: str | None = None) -> None:
        """A text, number, true, false or null, and how it is written."""
        self._budget.take(1, place)
        if anchor is not None:
            self._anchors[anchor] = _Anchored(value, 1, 0)
        if self._wants_key:
            self._put_key(value, place, written)
            return
        path = self._put(value, place)
        if isinstance(value, str) and written and written != value:
            self._written[path] = written

    def alias(self, name: str, place: Place) -> None:
        """What the anchor of that name was put at, once more."""
        anchored = self._anchors.get(name)
        if anchored is None:
            inside = any(each.anchor == name for each in self._open)
            what = f"*{name} repeats what it is part of" if inside else f"*{name} has no anchor &{name} before it"
            raise UnreadableError(self._fault(place, what))
        if self._wants_key:
            raise UnreadableError(self._fault(place, f"*{name} cannot be a key"))
        self._budget.take(anchored.nodes, place)
        if len(self._open) + anchored.levels > MAX_DEPTH:
            raise UnreadableError(self._too_deep(place))
        if self._open:
            self._open[-1].levels = max(self._open[-1].levels, anchored.levels + 1)
        self._put(anchored.value, place)

    def fault(self, place: Place, message: str, expected: str = "") -> None:
        """Something is wrong with the value that comes next."""
        self.faults.append(self._fault(place, message, expected))

    @property
    def _wants_key(self) -> bool:
        return bool(self._open) and self._open[-1].key is None and isinstance(self._open[-1].value, dict)

    def _begin(self, value: dict[str, Any] | list[Any], place: Place, anchor: str | None) -> None:
        if self._wants_key:
            raise UnreadableError(self._fault(place, "a key must be text, not a mapping or a list"))
        if len(self._open) >= MAX_DEPTH:
            raise UnreadableError(self._too_deep(place))
        left = self._budget.left
        self._budget.take(1, place)
        path = self._put(value, place)
        self._open.append(_Open(value, path, anchor, left))

    def _put_key(self, value: Any, place: Place, written: str) -> None:
        parent = self._open[-1]
        if not isinstance(value, str):
            self.fault(place, f"the key {written or 'null'} is not text", "it in quotes")
        key = value if isinstance(value, str) else written
        path = (*parent.path, key)
        if key in parent.value:
            before = self._keys[path]
            self.faults.append(Fault(place, path_text(path), f"Duplicate value: is given already in line {before.line}"))
        parent.key = key
        self._keys[path] = place

    def _put(self, value: Any, place: Place) -> Path:
        if not self._open:
            self.value = value
            self._values[()] = place
            return ()
        parent = self._open[-1]
        if isinstance(parent.value, list):
            path = (*parent.path, len(parent.value))
            parent.value.append(value)
        else:
            path = (*parent.path, parent.key or "")
            parent.value[parent.key or ""] = value
            parent.key = None
        self._values[path] = place
        return path

    def _fault(self, place: Place, message: str, expected: str = "") -> Fault:
        path: Path = ()
        if self._open:
            parent = self._open[-1]
            last: tuple[str | int, ...] = (len(parent.value),) if isinstance(parent.value, list) else (parent.key,) if parent.key else ()
            path = (*parent.path, *last)
        return Fault(place, path_text(path), message, expected)

    def _too_deep(self, place: Place) -> Fault:
        return Fault(place, "", f"nested too deeply: a document may have {MAX_DEPTH} levels")
