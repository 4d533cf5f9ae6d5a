"""Times as Kubernetes writes them: RFC 3339, UTC, whole seconds (meta/v1 Time)."""

from datetime import UTC, datetime
from functools import lru_cache


def format_time(ns: int) -> str:
    """Unix nanoseconds as meta/v1 Time: 1764500000999999999 -> "2025-11-30T10:53:20Z". The fraction is cut, as in Go."""
    return _second(ns // 10**9)


@lru_cache(maxsize=1024)  # the objects of one publish share a few seconds, and strftime costs more than all else of their encoding
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
