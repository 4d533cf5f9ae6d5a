"""The subresource /raw: the item of the source behind an object, as it came, with secrets masked."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from app.kinds._base import Asked, Subresource, Told

MOST_DEEP = 200
"""Levels of lists and mappings in each other that are shown. A source may send a thousand, which is more than can be gone through here."""

CUT = "... (nested too deep to be shown)"

_INT64 = range(-(2**63), 2**64)

_SCHEMA = {
    "description": "What the source said of an object, before anything was made of it. Secrets that kubeglance knows are masked.",
    "required": ["item"],
    "properties": {"item": {"description": "The item, as CEL sees it.", "x-kubernetes-preserve-unknown-fields": True}},
}


def raw(item_of: Callable[[Any], Any], mask: Callable[[str], str]) -> Subresource:
    """/raw of a kind: `item_of(value)` is the item behind an object, `mask` takes secrets out of a text."""
    return Subresource("raw", "SourceItem", _answer(item_of, mask), _SCHEMA)


def _answer(item_of: Callable[[Any], Any], mask: Callable[[str], str]) -> Callable[[Asked], Awaitable[Told]]:
    async def answer(asked: Asked) -> Told:
        return Told(msgspec.json.encode({"item": _masked(item_of(asked.item.value), mask)}))

    return answer


def _masked(value: Any, mask: Callable[[str], str], room: int = MOST_DEEP) -> Any:
    """The value as JSON can have it, all texts masked: keys, and numbers too, for a secret may consist of digits."""
    match value:
        case dict() | list() | tuple() if not room:
            return CUT
        case None | bool():
            return value
        case str():
            return mask(_text(value))
        case int() | float():
            text = str(value)
            masked = mask(text)
            return value if masked == text and (isinstance(value, float) or value in _INT64) else masked
        case dict():
            return {mask(_text(str(name))): _masked(part, mask, room - 1) for name, part in value.items()}
        case list() | tuple():
            return [_masked(part, mask, room - 1) for part in value]
        case _:
            return mask(str(value))


def _text(value: str) -> str:
    """The same, with a question mark in place of half a character."""
    return value.encode("utf-8", "replace").decode()
