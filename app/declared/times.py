"""Times as sources tell them: RFC 3339, or Unix seconds."""

import re
from datetime import datetime
from typing import Any

_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?(?:([Zz])|([+-]\d\d:\d\d))")
_END = 253_402_300_800  # the year 10000, in Unix seconds
_ZERO_TIME = "0001-01-01T00:00:00Z"  # what Go writes for a time that was never set


def unix_ns(value: Any) -> int:
    """Unix nanoseconds of RFC 3339 text or of a number of Unix seconds; 0 for Go's zero time. Raises ValueError, with why in words."""
    if isinstance(value, str):
        return _of_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("is no time: RFC 3339 text, or a number of seconds since 1970")  # noqa: TRY004 -- one error for all that is no time
    if not 0 <= value < _END:
        raise ValueError(f"is {value}, which as seconds since 1970 is no time of this age; milliseconds are divided by 1000")
    return value * 10**9 if isinstance(value, int) else round(value * 10**6) * 1000  # a double has no more digits than that


def _of_text(text: str) -> int:
    if text == _ZERO_TIME:
        return 0
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text[:40]}" is no time in RFC 3339, such as 2026-01-31T09:15:00Z')
    day, time, fraction, _, offset = match.groups()
    try:
        seconds = int(datetime.fromisoformat(f"{day}T{time}{offset or '+00:00'}").timestamp())
    except (ValueError, OverflowError) as exc:
        raise ValueError(f'"{text[:40]}" is a time that there is not') from exc
    if not 0 <= seconds < _END:
        raise ValueError(f'"{text[:40]}" is before 1970 or after 9999')
    return seconds * 10**9 + int((fraction or "").ljust(9, "0"))
