"""Columns as Go's text/tabwriter sets them for kubectl: as wide as their widest cell and three more, at least six."""

from collections.abc import Sequence
from itertools import groupby

_MIN_WIDTH, _PADDING = 6, 3


def in_columns(rows: Sequence[Sequence[str]], *, trailing: bool) -> str:
    """The rows as text. With `trailing` the last cell of a row is padded too, as `kubectl top` does.

    A cell that is padded is as wide as those above and below it, up to where a row has no such cell.
    """
    padded = [len(row) if trailing else len(row) - 1 for row in rows]
    lines: list[list[str]] = [list(row) for row in rows]
    for column in range(max(padded, default=0)):
        for has, block in groupby(range(len(rows)), key=lambda index: padded[index] > column):
            if has:
                indexes = list(block)
                width = max(_MIN_WIDTH, max(len(rows[index][column]) for index in indexes) + _PADDING)
                for index in indexes:
                    lines[index][column] = rows[index][column].ljust(width)
    return "\n".join(map("".join, lines))
