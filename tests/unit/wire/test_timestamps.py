"""Times are RFC 3339, UTC, whole seconds."""

import pytest

from app.wire.timestamps import format_time


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_764_500_000_000_000_000, "2025-11-30T10:53:20Z"),
        (1_764_500_000_999_999_999, "2025-11-30T10:53:20Z"),
        (1_709_164_800_000_000_000, "2024-02-29T00:00:00Z"),
    ],
)
def test_format_time(ns: int, text: str) -> None:
    """The fraction is cut, never rounded up into the future."""
    assert text == format_time(ns)
