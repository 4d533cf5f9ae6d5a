"""Durations in Go's notation ("1m30s"), as flags and the `window` field of metrics write them.

The grammar and the printed form are those of Go's time.ParseDuration and Duration.String.
"""

import re

_UNITS_NS = {"ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")


def parse_duration(text: str) -> float:
    """Seconds in a Go duration such as "15s", "1m30s" or "500ms". Raises ValueError, saying what is expected."""
    body = text[1:] if text[:1] in {"+", "-"} else text
    if body == "0":
        return 0.0
    total, end = 0.0, 0
    for part in _PART.finditer(body):
        if part.start() != end:
            break
        total += float(part[1]) * _UNITS_NS[part[2]]
        end = part.end()
    if not body or end != len(body):
        raise ValueError(f'"{text}" is not a duration: write a number and a unit, for example 15s, 1m30s or 500ms')
    return (-total if text[0] == "-" else total) / 10**9


def format_duration(ns: int) -> str:
    """Nanoseconds as Go prints a duration: 17913000000 -> "17.913s", 90000000000 -> "1m30s", 0 -> "0s"."""
    if ns == 0:
        return "0s"
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    if ns < 10**9:
        for unit, size in (("ms", 1_000_000), ("µs", 1_000), ("ns", 1)):
            if ns >= size:
                return f"{sign}{_decimal(ns, size)}{unit}"
    hours, rest = divmod(ns, 3600 * 10**9)
    minutes, rest = divmod(rest, 60 * 10**9)
    seconds = f"{_decimal(rest, 10**9)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else f"{sign}{seconds}"


def _decimal(value: int, unit: int) -> str:
    """value/unit exactly, without trailing zeros."""
    whole, fraction = divmod(value, unit)
    if not fraction:
        return str(whole)
    return f"{whole}.{str(fraction).zfill(len(str(unit)) - 1).rstrip('0')}"
