"""JSONPath as printer columns of CRDs have it: a path from the object that begins with a dot, of which the first match is taken.

The part of k8s.io/client-go/util/jsonpath that makes sense in a column: `.name`, `.a\\.b`, `['a.b']`, `[0]`, `[-1]`, `[*]`, `.*` and
filters such as `[?(@.type=="Ready")]`. No `..`, no slices, no unions.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

LONGEST = 1024
"""Characters of a path."""

_NAME = re.compile(r"\.((?:\\.|[^\\.\[\]*'\"\s(){}])+)")
_QUOTED = re.compile(r"""\[\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)")\s*\]""")
_INDEX = re.compile(r"\[\s*(-?\d{1,9})\s*\]")
_EVERY = re.compile(r"\[\s*\*\s*\]|\.\*")
_FILTER = re.compile(
    r"""\[\s*\?\s*\(\s*@((?:\.(?:\\.|[^\\.\[\]*'"\s(){}=!<>])+)*)\s*"""
    r"""(?:(==|!=|<=|>=|<|>)\s*("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\s)\]]+)\s*)?\)\s*\]"""
)
_ESCAPED = re.compile(r"\\(.)")
_NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,18})?")
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class JsonPathError(ValueError):
    """A text that is no such path; `offset` is the character at which it goes wrong."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class Field(Struct, frozen=True):
    """A member by its name."""

    name: str
    at: int


class Index(Struct, frozen=True):
    """An element by its place; negative ones count from the end."""

    index: int
    at: int


class Every(Struct, frozen=True):
    """All elements, or all members in the order of their names."""

    at: int


class Where(Struct, frozen=True):
    """The elements of which a member compares as told; without a comparison, those that have it."""

    path: tuple[Field, ...]
    comparison: str
    literal: str | int | float | bool | None
    at: int


Step = Field | Index | Every | Where


class JsonPath(Struct, frozen=True):
    """A path that was parsed."""

    steps: tuple[Step, ...]

    def find(self, value: Any) -> Any:
        """The first match in `value`, None if there is none."""
        return next(_matches(value, self.steps), None)

    @property
    def fields(self) -> tuple[str, ...] | None:
        """The names on the way, None if the path is more than a way from member to member."""
        names = tuple(step.name for step in self.steps if isinstance(step, Field))
        return names if len(names) == len(self.steps) else None


def parse(text: str) -> JsonPath:
    """Read a path. Raises JsonPathError."""
    if len(text) > LONGEST:
        raise JsonPathError(f"is longer than {LONGEST} characters", LONGEST)
    if not text.startswith("."):
        raise JsonPathError("does not begin with a dot", 0)
    steps: list[Step] = []
    position = 0
    while position < len(text):
        step, position = _step(text, position)
        steps.append(step)
    return JsonPath(tuple(steps))


def _step(text: str, position: int) -> tuple[Step, int]:
    if text.startswith("..", position):
        raise JsonPathError("descends to any depth, which columns do not", position)
    if (match := _EVERY.match(text, position)) is not None:
        return Every(position), match.end()
    if (match := _NAME.match(text, position)) is not None:
        return Field(_ESCAPED.sub(r"\1", match[1]), position + 1), match.end()
    if text.startswith(".[", position):  # kubectl takes .[0] as [0]
        position += 1
    if (match := _QUOTED.match(text, position)) is not None:
        return Field(_ESCAPED.sub(r"\1", match[1] if match[1] is not None else match[2]), position + 1), match.end()
    if (match := _INDEX.match(text, position)) is not None:
        return Index(int(match[1]), position + 1), match.end()
    if (match := _EVERY.match(text, position)) is not None:
        return Every(position), match.end()
    if (match := _FILTER.match(text, position)) is not None:
        path = tuple(Field(_ESCAPED.sub(r"\1", each[1]), match.start(1) + each.start() + 1) for each in _NAME.finditer(match[1]))
        return Where(path, match[2] or "", _literal(match[3], match.start(3)) if match[3] else None, position), match.end()
    raise JsonPathError("is no step of a path", position)


def _literal(text: str, position: int) -> str | int | float | bool:
    if text[0] in "'\"":
        return _ESCAPED.sub(r"\1", text[1:-1])
    if text in {"true", "false"}:
        return text == "true"
    if _NUMBER.fullmatch(text) is None:
        raise JsonPathError("is no text in quotes, no number and no boolean", position)
    return float(text) if "." in text else int(text)


def _matches(value: Any, steps: tuple[Step, ...]) -> Iterator[Any]:
    if not steps:
        if value is not None:
            yield value
        return
    for inner in _through(value, steps[0]):
        yield from _matches(inner, steps[1:])


def _through(value: Any, step: Step) -> Iterator[Any]:
    """What one step leads to."""
    match step:
        case Field(name=name):
            if isinstance(value, Mapping) and name in value:
                yield value[name]
        case Index(index=index):
            if isinstance(value, list | tuple) and -len(value) <= index < len(value):
                yield value[index]
        case Every():
            if isinstance(value, Mapping):
                yield from (value[name] for name in sorted(value, key=str))
            elif isinstance(value, list | tuple):
                yield from value
        case Where():
            if isinstance(value, list | tuple):
                yield from (each for each in value if _holds(each, step))


def _holds(value: Any, where: Where) -> bool:
    found = next(_matches(value, where.path), None)
    if found is None or not where.comparison:
        return found is not None
    literal = where.literal
    alike = isinstance(found, str) == isinstance(literal, str) and isinstance(found, bool) == isinstance(literal, bool)
    if not alike or isinstance(found, Mapping | list | tuple):
        return False
    return _COMPARISONS[where.comparison](found, literal)
