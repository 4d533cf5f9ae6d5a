"""The syntax tree of a compiled CEL expression, read from the protobuf form that the runtime gives out (cel/expr/checked.proto).

The runtime checks what it knows of. What it does not (names of members, how deep macros nest, how large a value can become) is
checked on this tree.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

_VARINT, _FIXED64, _DELIMITED = 0, 1, 2
_EXPR, _SOURCE = 4, 5  # of CheckedExpr
_LITERAL_BOOL, _LITERAL_INT, _LITERAL_STRING, _LITERAL_BYTES = 2, 3, 6, 7  # of Constant


class Literal(Struct, frozen=True):
    """A constant: text, bytes, a whole number or a boolean as they are; None for any other."""

    value: str | bytes | int | bool | None
    at: int


class Name(Struct, frozen=True):
    """A variable, or part of a qualified name."""

    name: str
    at: int


class Member(Struct, frozen=True):
    """`of.field`. `asked` is has(of.field), which only asks whether it is there. `at` is where the dot stands."""

    of: "Node"
    field: str
    asked: bool
    at: int


class Call(Struct, frozen=True):
    """A function or operator; `target` is what stands before the dot of a method. Operators have CEL's names: `_+_`, `_[_]`, `_?_:_`."""

    function: str
    target: "Node | None"
    arguments: tuple["Node", ...]
    at: int


class Many(Struct, frozen=True):
    """A list, or the keys and values of a map."""

    parts: tuple["Node", ...]
    at: int


class Loop(Struct, frozen=True):
    """What the macros all, exists, map and filter become: `variable` goes over `over`, and `total` is made of `start` by every `step`."""

    variable: str
    over: "Node"
    total: str
    start: "Node"
    goes_on: "Node"
    step: "Node"
    result: "Node"
    at: int


Node = Literal | Name | Member | Call | Many | Loop


def parse(serialized: bytes) -> Node:
    """The tree of what Expression.serialize() gives: a CheckedExpr in an Any."""
    checked = _only(serialized, 2)
    positions = _positions(_only(checked, _SOURCE))
    return _node(_only(checked, _EXPR), positions)


def parts(node: Node) -> tuple[Node, ...]:
    """The nodes that a node is directly made of."""
    match node:
        case Member(of=of):
            return (of,)
        case Call(target=target, arguments=arguments):
            return (*arguments, target) if target is not None else arguments
        case Many(parts=inner):
            return inner
        case Loop():
            return (node.over, node.start, node.goes_on, node.step, node.result)
        case _:
            return ()


def depth(node: Node) -> int:
    """How deep loops stand in each other."""
    if isinstance(node, Loop):
        inside = 1 + max(depth(node.goes_on), depth(node.step), depth(node.result))
        return max(depth(node.over), depth(node.start), inside)
    return max(map(depth, parts(node)), default=0)


def _node(message: bytes, positions: dict[int, int]) -> Node:
    fields = dict(_fields(message))
    at = positions.get(int(fields.get(2, 0)), 0)
    if 3 in fields:
        return _literal(fields[3], at)
    if 4 in fields:
        return Name(_text(fields[4], 1), at)
    if 5 in fields:
        select = dict(_fields(fields[5]))
        return Member(_node(select[1], positions), select[2].decode(), bool(select.get(3)), at)
    if 6 in fields:
        call = list(_fields(fields[6]))
        target = next((_node(value, positions) for number, value in call if number == 1), None)
        arguments = tuple(_node(value, positions) for number, value in call if number == 3)
        return Call(_text(fields[6], 2), target, arguments, at)
    if 7 in fields:
        return Many(tuple(_node(value, positions) for number, value in _fields(fields[7]) if number == 1), at)
    if 8 in fields:
        entries = [dict(_fields(value)) for number, value in _fields(fields[8]) if number == 2]
        return Many(tuple(_node(entry[part], positions) for entry in entries for part in (3, 4) if part in entry), at)
    if 9 in fields:
        loop = dict(_fields(fields[9]))
        over, start, goes_on, step, result = (_node(loop[number], positions) for number in (2, 4, 5, 6, 7))
        return Loop(loop[1].decode(), over, loop[3].decode(), start, goes_on, step, result, at)
    return Literal(None, at)


def _literal(message: bytes, at: int) -> Literal:
    for number, value in _fields(message):
        if number == _LITERAL_STRING:
            return Literal(value.decode(), at)
        if number == _LITERAL_BYTES:
            return Literal(value, at)
        if number == _LITERAL_INT:
            return Literal(value - (1 << 64) if value >> 63 else value, at)
        if number == _LITERAL_BOOL:
            return Literal(bool(value), at)
    return Literal(None, at)


def _positions(source: bytes) -> dict[int, int]:
    """Where each node stands, by its id: characters from the start."""
    entries = (dict(_fields(value)) for number, value in _fields(source) if number == 4)
    return {entry.get(1, 0): entry.get(2, 0) for entry in entries}


def _only(message: bytes, wanted: int) -> bytes:
    return next((value for number, value in _fields(message) if number == wanted), b"")


def _text(message: bytes, wanted: int) -> str:
    return _only(message, wanted).decode()


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message in order: numbers as int, all else as bytes."""
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, position = _varint(message, position)
            yield number, value
            continue
        if wire == _DELIMITED:
            length, position = _varint(message, position)
        else:
            length = 8 if wire == _FIXED64 else 4
        yield number, message[position : position + length]
        position += length


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
