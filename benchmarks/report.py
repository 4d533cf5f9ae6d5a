"""The table that a run prints."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

HEADINGS = ("row", "unit", "kubeglance (spread)", "metrics-server (spread)", "ratio", "target", "met")


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A line for each row of a results file, columns aligned."""
    cells = [HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADINGS))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells) + "\n"


def verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    """One sentence about all targets."""
    judged = [row for row in rows if row["met"] is not None]
    missed = [row["name"] for row in judged if not row["met"]]
    return f"{len(judged) - len(missed)} of {len(judged)} targets are met" + (f"; missed: {', '.join(missed)}" if missed else "")


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    bound = "<=" if row["better"] == "lower" else ">="
    return (
        row["name"],
        row["unit"],
        _spread(row["rounds"]["ours"]),
        _spread(row["rounds"]["peer"]),
        "" if row["ratio"] is None else number(row["ratio"]),
        "" if row["target"] is None else f"{bound} {row['target']:g}",
        {None: "", True: "yes", False: "NO"}[row["met"]],
    )


def _spread(values: Sequence[float]) -> str:
    return f"{number(median(values))} ({number(min(values))} to {number(max(values))})" if values else ""


def number(value: float) -> str:
    """Three digits are enough to compare by; thousands are whole."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:#.3g}"
