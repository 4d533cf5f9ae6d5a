"""Times as sources tell them."""

import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.declared.times import unix_ns

S = 10**9


@pytest.mark.parametrize(
    ("told", "ns", "why"),
    [
        ("2025-11-30T10:53:20Z", 1764500000 * S, "RFC 3339"),
        ("2025-11-30t10:53:20z", 1764500000 * S, "in small letters too"),
        ("2025-11-30 10:53:20Z", 1764500000 * S, "with a blank, as RFC 3339 allows"),
        ("2025-11-30T11:53:20+01:00", 1764500000 * S, "with an offset"),
        ("2025-11-30T10:53:20.123456789Z", 1764500000 * S + 123456789, "with nanoseconds"),
        ("2025-11-30T10:53:20.1234567891Z", 1764500000 * S + 123456789, "more digits than that are cut"),
        (1764500000, 1764500000 * S, "Unix seconds"),
        (1764500000.25, 1764500000 * S + 250_000_000, "with a fraction"),
        (0, 0, "the start of 1970 is no time that was ever meant"),
        ("0001-01-01T00:00:00Z", 0, "Go's zero time was never set"),
    ],
)
def test_times(told: Any, ns: Any, why: Any) -> None:
    assert unix_ns(told) == ns, why


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ("yesterday", '"yesterday" is no time in RFC 3339'),
        ("2025-11-30", "is no time in RFC 3339"),
        ("2025-11-30T10:53:20", "is no time in RFC 3339"),
        ("2025-02-30T10:53:20Z", "is a time that there is not"),
        ("1969-12-31T23:59:59Z", "is before 1970"),
        (1764500000000, "milliseconds are divided by 1000"),
        (-1, "is no time of this age"),
        (float("nan"), "is no time of this age"),
        (True, "is no time"),
        (None, "is no time"),
        ([], "is no time"),
    ],
)
def test_no_times(told: Any, says: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        unix_ns(told)


@given(st.text() | st.integers() | st.floats() | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]*)?(Z|[+-][0-9]{2}:[0-9]{2})"))
def test_everything_else_is_a_value_error(told: Any) -> None:
    with suppress(ValueError):
        assert unix_ns(told) >= 0
