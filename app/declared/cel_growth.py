"""How large the value of a CEL expression can become: the runtime bounds the steps of an evaluation, but not its memory.

Text that is replaced in text that was replaced grows by a factor each time: a few lines would take all memory there is. So an expression
that can make much of little is looked at before it is evaluated: its tree tells a bound for the values that its variables have now.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from app.declared.cel_syntax import Call, Literal, Loop, Many, Member, Name, Node

MOST_STEPS = 10_000
"""Elements that the loops of one evaluation may go through, those of inner loops counted each time: a constant of the runtime."""

_SMALL = 32  # bytes of a number, a boolean or a time as text
_PRECISION = 1000  # digits of the longest number that format() prints
_SCALARS = frozenset({
    "_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "_&&_", "_||_", "!_", "@in", "-_", "_-_", "_*_", "_/_", "_%_",
    "@not_strictly_false", "size", "int", "uint", "double", "bool", "timestamp", "duration", "matches", "startsWith", "endsWith",
    "contains", "indexOf", "lastIndexOf", "getFullYear", "getMonth", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getDate",
    "getHours", "getMinutes", "getSeconds", "getMilliseconds", "hasValue", "type",
})  # fmt: skip

_GROWING = frozenset({"replace", "join", "format", "strings.quote"})
_INDEXED = frozenset({"_[_]", "_?._", "_[?_]"})


def can_grow(node: Node) -> bool:
    """Whether a value can become much larger than the variables and the expression are together."""
    match node:
        case Loop():
            return True
        case Call(function=function, target=target, arguments=arguments):
            return function in _GROWING or any(map(can_grow, arguments)) or (target is not None and can_grow(target))
        case Many(parts=parts):
            return any(map(can_grow, parts))
        case Member(of=of):
            return can_grow(of)
        case _:
            return False


def bound(node: Node, variables: Mapping[str, Any]) -> float:
    """At most about as many bytes as the value takes, with these values of variables."""
    return _bound(node, variables, {})


def _bound(node: Node, variables: Mapping[str, Any], loops: Mapping[str, float]) -> float:
    """`loops` has the sizes of the variables of loops around the node."""
    at_hand, value = _at_hand(node, variables, loops)
    if at_hand:
        return _size(value)
    match node:
        case Literal(value=value):
            return len(value) if isinstance(value, str | bytes) else _SMALL
        case Name(name=name):
            return loops.get(name, 0)
        case Member(of=of, asked=asked):
            return _SMALL if asked else _bound(of, variables, loops)
        case Many(parts=parts):
            return sum(_bound(part, variables, loops) for part in parts)
        case Call():
            return _of_call(node, variables, loops)
        case Loop():
            return _of_loop(node, variables, loops)


def _of_call(call: Call, variables: Mapping[str, Any], loops: Mapping[str, float]) -> float:
    if call.function in _SCALARS or call.function.startswith("math."):
        return _SMALL
    if call.function in _INDEXED:
        return _of_element(call.arguments[0], variables, loops)
    target = _bound(call.target, variables, loops) if call.target is not None else 0
    arguments = [_bound(part, variables, loops) for part in call.arguments]
    match call.function, arguments:
        case "replace", [_, new, *_]:
            return (target + 1) * (new + 1)
        case "join", [separator]:
            return target * (separator + 1)
        case "format", _:
            return target * _PRECISION + sum(arguments)
        case "string" | "_+_" | "_?_:_", _:
            return sum(arguments, _SMALL)
        case _:  # no other function gives back more than its text with each character quoted, or in a list
            return 2 * (target + sum(arguments)) + _SMALL


def _of_element(of: Node, variables: Mapping[str, Any], loops: Mapping[str, float]) -> float:
    """The largest element of a list, or member of a map, that is at hand; else no more than the whole of it."""
    at_hand, value = _at_hand(of, variables, loops)
    if at_hand and isinstance(value, Mapping):
        return max(map(_size, value.values()), default=0)
    if at_hand and isinstance(value, list | tuple):
        return max(map(_size, value), default=0)
    return _bound(of, variables, loops)


def _of_loop(loop: Loop, variables: Mapping[str, Any], loops: Mapping[str, float]) -> float:
    """The sum of what the steps add: what a step makes of nothing, each time, and what one would make of all elements together."""
    over = _bound(loop.over, variables, loops)
    inside = {**loops, loop.total: 0.0}
    of_nothing = _bound(loop.step, variables, {**inside, loop.variable: 0.0})
    of_all = _bound(loop.step, variables, {**inside, loop.variable: over})
    return _bound(loop.start, variables, loops) + _steps(loop.over, variables, loops) * of_nothing + of_all


def _steps(over: Node, variables: Mapping[str, Any], loops: Mapping[str, float]) -> int:
    at_hand, value = _at_hand(over, variables, loops)
    if at_hand:
        return min(len(value), MOST_STEPS) if isinstance(value, list | tuple | Mapping) else 0
    return min(len(over.parts), MOST_STEPS) if isinstance(over, Many) else MOST_STEPS


def _at_hand(node: Node, variables: Mapping[str, Any], loops: Mapping[str, float]) -> tuple[bool, Any]:
    """Whether a node is a variable or a member of one, and its value: None where there is no such member."""
    if isinstance(node, Name) and node.name in variables and node.name not in loops:
        return True, variables[node.name]
    if isinstance(node, Member) and not node.asked:
        at_hand, of = _at_hand(node.of, variables, loops)
        return at_hand, of.get(node.field) if isinstance(of, Mapping) else None
    return False, None


def _size(value: Any) -> float:
    if isinstance(value, str):
        return len(value)
    if not isinstance(value, list | tuple | Mapping):
        return _SMALL
    try:
        return len(msgspec.json.encode(value, enc_hook=repr))
    except (OverflowError, TypeError, UnicodeEncodeError):  # what JSON cannot hold; it is as large as it is
        return len(repr(value))
