"""The table of a run: as it is printed, and as it stands in the README."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any


def table(found: Mapping[str, Any]) -> str:
    """A line for each row of a results file, columns aligned."""
    headings = ("row", "unit", "kubeglance (spread)", f"{found['peer']} (spread)", "ratio", "target", "met")
    cells = [headings, *(_cells(row) for row in found["rows"])]
    widths = [max(len(line[column]) for line in cells) for column in range(len(headings))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells) + "\n"


def markdown(found: Mapping[str, Any], *, reported: bool = False) -> str:
    """The rows that have a target, with `reported` the others too, and what they were measured on."""
    peer = found["peer"]
    lines = [f"| row | kubeglance | {peer} | ratio | target |", "|---|---|---|---|---|"]
    for row in found["rows"]:
        if row["target"] is not None or reported:
            medians = " | ".join(f"{number(row[side])} {row['unit']}" for side in ("ours", "peer"))
            target = "" if row["target"] is None else f"{_target(row)}{'' if row['met'] else ' (missed)'}"
            lines.append(f"| `{row['name']}` | {medians} | {number(row['ratio'])} | {target} |")
    machine, versions = found["machine"], found["versions"]
    where = f"{machine['processors']} processors ({machine['processor']}), {found['started'][:10]}"
    ours = f"kubeglance at {versions['commit']} on Python {versions['python']}"
    theirs = f"{peer} {versions[peer]} built with Go {versions['go']}"
    cluster = f"Kubernetes {versions['kubernetes']}, {found['nodes']} nodes, {found['pods']:,} pods, {found['containers']:,} containers"
    lines += ["", f"Medians of one run on {where}: {ours}, {theirs}, {cluster}."]
    return "\n".join(lines) + "\n"


def verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    """One sentence about all targets."""
    judged = [row for row in rows if row["met"] is not None]
    missed = [row["name"] for row in judged if not row["met"]]
    return f"{len(judged) - len(missed)} of {len(judged)} targets are met" + (f"; missed: {', '.join(missed)}" if missed else "")


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["name"],
        row["unit"],
        _spread(row["rounds"]["ours"]),
        _spread(row["rounds"]["peer"]),
        "" if row["ratio"] is None else number(row["ratio"]),
        "" if row["target"] is None else _target(row),
        {None: "", True: "yes", False: "NO"}[row["met"]],
    )


def _target(row: Mapping[str, Any]) -> str:
    return f"{'<=' if row['better'] == 'lower' else '>='} {row['target']:g}"


def _spread(values: Sequence[float]) -> str:
    return f"{number(median(values))} ({number(min(values))} to {number(max(values))})" if values else ""


def number(value: float) -> str:
    """Three digits are enough to compare by; thousands are whole."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:#.3g}"
