"""The samples of the Prometheus text format, as items.

Grammar: https://prometheus.io/docs/instrumenting/exposition_formats/ (text format 0.0.4), and OpenMetrics where it says more.
"""

import re
from datetime import UTC, datetime
from typing import Any

from collectors._exposition import parse_labels
from collectors._source import Unusable

# Name, text between the braces, value, stamp; what begins with # behind them is an exemplar of OpenMetrics.
_SAMPLE = re.compile(
    r"([a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]*"
    r'(?:\{((?:[^"}\\]|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+)\}[ \t]*|(?<=[ \t]))'
    r"([-+0-9.a-zA-Z]+)(?:[ \t]+(-?[0-9]+(?:\.[0-9]+)?))?[ \t]*(?:#.*)?"
)
_MAX_INT64 = 2**63 - 1
_LAST_YEAR_S = 253_402_300_799


def read_samples(text: str) -> tuple[list[dict[str, Any]], list[Unusable]]:
    """The samples of a body, each {name, labels, value} and, where the line has one, timestamp (RFC 3339); and the lines without use.

    A value is an int where it is a whole number, else a float. A line that breaks the grammar or whose value is NaN or infinite costs
    itself only. A last line without its line feed is without use too: it may have been cut within a number.
    """
    *lines, cut = text.split("\n")
    seconds = bool(lines) and lines[-1].rstrip() == "# EOF"  # OpenMetrics, which alone ends so
    samples: list[dict[str, Any]] = []
    unusable = [Unusable(len(lines), "", "the last line has no line feed: it may have been cut")] if cut.strip() else []
    for index, line in enumerate(lines):
        stripped = line.strip()
        if stripped and stripped[0] != "#":
            sample = _sample(stripped, 1 if seconds else 1000)
            if isinstance(sample, str):
                unusable.append(Unusable(index, stripped.partition("{")[0].split(" ")[0][:100], sample))
            else:
                samples.append(sample)
    return samples, unusable


def exact(text: str) -> int | float | None:
    """The number that a float64 in text is: an int where it is whole and an int64, else a float; None for NaN, infinite and no number."""
    try:
        value = float(text) if "_" not in text else None
    except ValueError:
        return None
    if value is None or value - value != 0:
        return None
    return int(value) if value.is_integer() and abs(value) <= _MAX_INT64 else value


def stamp(seconds: float) -> str | None:
    """Unix seconds in RFC 3339, to the millisecond; None for what lies outside of the years 1970 to 9999."""
    if not 0 <= seconds <= _LAST_YEAR_S:
        return None
    return datetime.fromtimestamp(round(seconds * 1000) / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _sample(line: str, per_second: int) -> dict[str, Any] | str:
    """The sample of a line, or what is wrong with the line."""
    found = _SAMPLE.fullmatch(line)
    if found is None:
        return "the line is not of the Prometheus text format"
    name, braces, value, stamped = found.groups()
    labels = parse_labels(braces) if braces and braces.strip() else {}
    number = exact(value)
    if labels is None:
        return "its labels are not of the Prometheus text format"
    if number is None:
        return "its value is NaN, infinite or no number"
    sample: dict[str, Any] = {"name": name, "labels": labels, "value": number}
    if stamped is not None and (when := stamp(float(stamped) / per_second)) is not None:
        sample["timestamp"] = when
    return sample
