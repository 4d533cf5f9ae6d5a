"""What an evaluation of a CEL expression can take: the runtime bounds its steps, but neither its memory nor what a step goes through.

Text that is replaced in text that was replaced grows by a factor each time: a few lines would take all memory there is. And each step
holds the interpreter's lock. So an expression that can make much of little is looked at before it is evaluated: its tree gives an
estimate, on the safe side, for the values that its variables have now.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from app.declared.cel_pieces import makes_a_list
from app.declared.cel_syntax import Call, Literal, Loop, Many, Member, Name, Node, parts

MOST_STEPS = 10_000
"""Elements that the loops of one evaluation may go through, those of inner loops counted each time: a constant of the runtime."""

MOST_MADE = 16 << 20
"""Bytes that may be made, where that is more than EACH for each byte of the variables."""

EACH = 8

MOST_READ = 1 << 30
"""Bytes that functions such as contains() may go through: it takes about a second."""

MOST_LISTED = 5_000
"""Elements that map and filter may go through where it is not done piece by piece (app/declared/cel_pieces.py): it takes half a second."""

_SMALL = 32  # bytes of a number, a boolean or a time as text
_PRECISION = 1000  # digits of the longest number that format() prints
_FEW = 8
_TOTAL = "@result"  # the name that the macros give to what a loop makes
_SCALARS = frozenset({
    "_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "_&&_", "_||_", "!_", "@in", "-_", "_-_", "_*_", "_/_", "_%_",
    "@not_strictly_false", "size", "int", "uint", "double", "bool", "timestamp", "duration", "matches", "startsWith", "endsWith",
    "contains", "indexOf", "lastIndexOf", "getFullYear", "getMonth", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getDate",
    "getHours", "getMinutes", "getSeconds", "getMilliseconds", "hasValue", "type",
})  # fmt: skip
"""Functions whose value is small whatever they read."""

_GROWING = frozenset({"replace", "join", "format", "strings.quote"})
_INDEXED = frozenset({"_[_]", "_?._", "_[?_]"})


def can_grow(tree: Node) -> bool:
    """Whether an evaluation can take much more than its variables and the expression are together."""
    sums = 0
    for node in _nodes(tree):
        if isinstance(node, Loop) or (isinstance(node, Call) and node.function in _GROWING):
            return True
        sums += isinstance(node, Call) and node.function == "_+_"
    return sums > _FEW


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for part in parts(node):
        yield from _nodes(part)


class Estimate:
    """What an evaluation takes with these values of variables: `size` of its value, `made` in all, and `read`, in bytes.

    `copied` is how many elements are copied, by two, while loops make lists of variables or of members of them.
    """

    def __init__(self, tree: Node, variables: Mapping[str, Any]) -> None:
        self._variables = variables
        self._sizes: dict[int, float] = {}
        self.made = 0.0
        self.read = 0.0
        self.copied = 0.0
        self.size = self._of(tree, {}, 1)

    @property
    def is_too_large(self) -> bool:
        """Whether it takes more memory than it may."""
        made = self.made + self.size
        return made > MOST_MADE and made > EACH * sum(map(self._size, self._variables.values()))

    def _of(self, node: Node, loops: Mapping[str, float], times: float) -> float:
        """The size of a node's value. `loops` has the sizes of the variables of loops around it; it is evaluated so many times."""
        at_hand, value = self._at_hand(node, loops)
        if at_hand:
            return self._size(value)
        match node:
            case Literal(value=value):
                return len(value) if isinstance(value, str | bytes) else _SMALL
            case Name(name=name):
                return loops.get(name, 0)
            case Member(of=of, asked=asked):
                size = self._of(of, loops, times)
                return _SMALL if asked else size
            case Many(parts=inner):
                self._make(_SMALL * len(inner), times)  # lists and maps hold what is there, and do not copy it
                return sum(self._of(part, loops, times) for part in inner)
            case Call():
                return self._of_call(node, loops, times)
            case Loop():
                return self._of_loop(node, loops, times)

    def _make(self, size: float, times: float) -> None:
        self.made += times * size

    def _of_call(self, call: Call, loops: Mapping[str, float], times: float) -> float:
        if call.function in _INDEXED:
            return self._of_element(call.arguments[0], loops, times)
        target = self._of(call.target, loops, times) if call.target is not None else 0
        arguments = [self._of(part, loops, times) for part in call.arguments]
        self.read += times * (target + sum(arguments))
        if call.function in _SCALARS or call.function.startswith("math."):
            return _SMALL
        match call.function, arguments:
            case "_?_:_", [_, first, second]:
                return max(first, second)
            case "replace", [_, new, *_]:
                size = (target + 1) * (new + 1)
            case "join", [separator]:
                size = target * (separator + 1)
            case "format", _:
                size = target * _PRECISION + sum(arguments)
            case "_+_", [total, element] if isinstance(call.arguments[0], Name) and call.arguments[0].name == _TOTAL:
                return total + element  # what a loop does with its total, which is a list and grows in place
            case "string" | "_+_", _:
                size = sum(arguments, _SMALL)
            case _:  # no other function gives back more than its text with each character quoted, or in a list
                size = 2 * (target + sum(arguments)) + _SMALL
        self._make(size, times)
        return size

    def _of_element(self, of: Node, loops: Mapping[str, float], times: float) -> float:
        """The largest element of a list, or member of a map, that is at hand; else no more than the whole of it."""
        at_hand, value = self._at_hand(of, loops)
        if at_hand and isinstance(value, Mapping | list | tuple):
            return max(map(self._size, value.values() if isinstance(value, Mapping) else value), default=0)
        return self._of(of, loops, times)

    def _of_loop(self, loop: Loop, loops: Mapping[str, float], times: float) -> float:
        """The sum of what the steps add: what a step makes of nothing, each time, and what one would make of all elements together."""
        over = self._of(loop.over, loops, times)
        steps = self._steps(loop.over, loops)
        if makes_a_list(loop) and self._is_at_hand(loop.over, loops):
            self.copied += times * steps**2
        sums = []
        for each, often in ((0.0, steps), (over, 1)):
            inside = {**loops, loop.total: 0.0, loop.variable: each}
            self._of(loop.goes_on, inside, times * often)
            sums.append(often * self._of(loop.step, inside, times * often))
        return self._of(loop.start, loops, times) + sum(sums)

    def _steps(self, over: Node, loops: Mapping[str, float]) -> int:
        at_hand, value = self._at_hand(over, loops)
        if at_hand:
            return len(value) if isinstance(value, list | tuple | Mapping) else 0
        if isinstance(over, Loop):
            return self._steps(over.over, loops)
        return min(len(over.parts), MOST_STEPS) if isinstance(over, Many) else MOST_STEPS

    def _is_at_hand(self, over: Node, loops: Mapping[str, float]) -> bool:
        """Whether what a loop goes over is at hand, or made of what is element by element."""
        return self._is_at_hand(over.over, loops) if isinstance(over, Loop) else self._at_hand(over, loops)[0]

    def _at_hand(self, node: Node, loops: Mapping[str, float]) -> tuple[bool, Any]:
        """Whether a node is a variable or a member of one, and its value: None where there is no such member."""
        if isinstance(node, Name) and node.name in self._variables and node.name not in loops:
            return True, self._variables[node.name]
        if isinstance(node, Member) and not node.asked:
            at_hand, of = self._at_hand(node.of, loops)
            return at_hand, of.get(node.field) if isinstance(of, Mapping) else None
        return False, None

    def _size(self, value: Any) -> float:
        if isinstance(value, str):
            return len(value)
        if not isinstance(value, list | tuple | Mapping):
            return _SMALL
        size = self._sizes.get(id(value))
        if size is None:
            size = self._sizes[id(value)] = _encoded(value)
        return size


def _encoded(value: Any) -> float:
    try:
        return len(msgspec.json.encode(value, enc_hook=repr))
    except (OverflowError, TypeError, UnicodeEncodeError):  # what JSON cannot hold; it is as large as it is
        return len(repr(value))
