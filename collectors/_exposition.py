"""Reading the Prometheus text format a line at a time, tolerantly: one bad line costs that line.

Grammar: https://prometheus.io/docs/instrumenting/exposition_formats/ (text format 0.0.4).
"""

import re
from typing import NamedTuple

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,|(?=\}))')
_REST = re.compile(r"\s*([^\s]+)(?:\s+([+-]?\d+))?\s*$")
_CLOSING = re.compile(r"\s*\}")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "\\": "\\", '"': '"'}


class Line(NamedTuple):
    """One sample line: `value` as written by float(), `stamp` in Unix milliseconds or None."""

    name: str
    labels: dict[str, str]
    value: float
    stamp: int | None


def parse_line(line: str) -> Line | None:
    """The sample on `line`, or None if it is not one: a comment, or text that breaks the grammar."""
    name = _NAME.match(line)
    if name is None:
        return None
    labels: dict[str, str] = {}
    end = name.end()
    if line[end : end + 1] == "{":
        end += 1
        while (label := _LABEL.match(line, end)) is not None:
            labels[label[1]] = _ESCAPE.sub(_unescape, label[2])
            end = label.end()
        closing = _CLOSING.match(line, end)
        if closing is None:
            return None
        end = closing.end()
    rest = _REST.match(line, end)
    if rest is None:
        return None
    try:
        return Line(name[0], labels, float(rest[1]), int(rest[2]) if rest[2] else None)
    except ValueError:
        return None


def _unescape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[1], match[0])
