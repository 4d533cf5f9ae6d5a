"""Times as Kubernetes writes them: RFC 3339, UTC, whole seconds (meta/v1 Time)."""

from datetime import UTC, datetime


def format_time(ns: int) -> str:
    """Unix nanoseconds as meta/v1 Time: 1764500000999999999 -> "2025-11-30T10:53:20Z". The fraction is cut, as in Go."""
    seconds = ns // 10**9
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
