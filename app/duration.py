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


def human_duration(ns: int) -> str:
    """Nanoseconds as kubectl prints ages (duration.HumanDuration of k8s.io/apimachinery): 42s, 5m12s, 3h4m, 2d3h, 12d, 2y5d.

    A second ahead is taken for a clock that is not quite right, more for a fault.
    """
    if ns <= -2 * 10**9:
        return "<invalid>"
    seconds = max(0, ns // 10**9)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86_400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    years = days // 365
    return _two(years, "y", days % 365, "d") if years < 8 else f"{years}y"


def _two(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"


def _decimal(value: int, unit: int) -> str:
    """value/unit exactly, without trailing zeros."""
    whole, fraction = divmod(value, unit)
    if not fraction:
        return str(whole)
    return f"{whole}.{str(fraction).zfill(len(str(unit)) - 1).rstrip('0')}"
