"""What a rule found wrong, before it is known where that stands."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from app.declared.faults import Path

MOST_FINDINGS = 200
"""Most that is told of one document: who has more will look again after mending these."""

_LONGEST = 60


class Finding(NamedTuple):
    """One thing that is wrong at `path`; with `key` it is the field's name that is wrong, not what it holds.

    `because` are the other paths that the rule looked at: it has nothing to say while one of them is wrong itself. `offset` is where in
    the text at `path` it is.
    """

    path: Path
    message: str
    expected: str = ""
    nearest: str = ""
    key: bool = False
    warning: bool = False
    because: tuple[Path, ...] = ()
    offset: int | None = None


def invalid(path: Path, value: Any, expected: str, nearest: str = "", because: Iterable[Path] = ()) -> Finding:
    """A value that cannot be. Kubernetes' words."""
    return Finding(path, f"Invalid value: {shown(value)}", expected, nearest, because=tuple(because))


def duplicate(path: Path, value: Any) -> Finding:
    """A value that is there already."""
    return Finding(path, f"Duplicate value: {shown(value)}")


def repeated(values: Iterable[Any]) -> set[int]:
    """The indexes of values that equal an earlier one."""
    seen: set[str] = set()
    found = set()
    for index, value in enumerate(values):
        text = json.dumps(value, sort_keys=True)
        if text in seen:
            found.add(index)
        seen.add(text)
    return found


def shown(value: Any) -> str:
    """A value as people are shown it: JSON, cut where it is long, and a word for what has parts."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{json.dumps(value[:_LONGEST], ensure_ascii=False)}..."
    return json.dumps(value, ensure_ascii=False)


def listed(words: Iterable[str]) -> str:
    """a, b or c; in quotes."""
    quoted = [f'"{word}"' for word in words]
    return " or ".join([*([", ".join(quoted[:-1])] if quoted[:-1] else []), *quoted[-1:]])
