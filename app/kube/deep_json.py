"""Decoding JSON from kube-apiserver, whatever its depth: anybody who may create a pod can nest a field of it thousands of levels deep."""

import re
from typing import Any, TypeVar, overload

import msgspec

UNDECODABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What `decode` raises for bytes that are not JSON of that type."""

DEPTH = 64
"""What nests deeper than this is cut out. Nothing that is read here lies deeper than a dozen levels."""

# One match a bracket, with all that stands before it: strings, whole or without an end, and whatever is neither.
_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z))*+([\[\]{}])', re.DOTALL)
T = TypeVar("T")


@overload
def decode(body: bytes | msgspec.Raw) -> Any: ...
@overload
def decode(body: bytes | msgspec.Raw, kind: type[T]) -> T: ...
def decode(body: bytes | msgspec.Raw, kind: Any = Any) -> Any:
    """The value in `body`. Raises one of UNDECODABLE.

    The decoder skips what is not asked for, but recursively, and gives up at the interpreter's recursion limit (about 1,000 levels, where
    kube-apiserver takes 10,000): then the deep parts are cut out first, so that one such object costs neither its page nor the watch.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except RecursionError:
        return msgspec.json.decode(shallow(bytes(body)), type=kind)


def shallow(body: bytes, depth: int = DEPTH) -> bytes:
    """`body` with every array and object below `depth` levels replaced by null. Not JSON in, not JSON out; it never recurses."""
    pieces: list[bytes] = []
    level = kept_to = 0
    end = 0
    while (found := _BRACKET.match(body, end)) is not None:  # match, not search: a search would go on inside of a string
        mark, end = found[1], found.end()
        if mark in b"[{":
            level += 1
            if level == depth + 1:
                pieces += (body[kept_to : found.start(1)], b"null")
        elif mark in b"]}":
            if level == depth + 1:
                kept_to = end
            level -= 1
    if level <= depth:
        pieces.append(body[kept_to:])
    return b"".join(pieces)
