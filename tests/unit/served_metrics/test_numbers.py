"""Numbers as sources tell them."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.served_metrics.numbers import MOST_DIGITS, exact


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, "3"),
        (-3, "-3"),
        (2**63, "9223372036854775808"),
        (0.1, "0.1"),
        (1e18, "1E+18"),
        (10.5, "10.5"),
        (-0.0, "0"),
        ("42", "42"),
        (" 42.50 ", "42.50"),
        ("+1e3", "1E+3"),
        (".5", "0.5"),
        ("5.", "5"),
        ("0e99", "0"),
        (Decimal("1.25"), "1.25"),
        ("9" * MOST_DIGITS, "9" * MOST_DIGITS),
    ],
)
def test_numbers_are_read_exactly(value: object, expected: str) -> None:
    """Floats as their shortest text reads: 0.1 is a tenth."""
    assert str(exact(value)) == expected


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (math.nan, "is NaN"),
        (math.inf, "is infinite"),
        (-math.inf, "is infinite"),
        ("NaN", "is NaN"),
        ("+Inf", "is infinite"),
        ("-infinity", "is infinite"),
        (Decimal("NaN"), "is NaN"),
        (True, "is a boolean, and no number"),
        (None, "is null"),
        ([], "is no number"),
        ({}, "is no number"),
        ("", 'is "", and no number'),
        ("1,5", 'is "1,5", and no number'),
        ("1_000", 'is "1_000", and no number'),
        ("٣", 'is "٣", and no number'),
        ("0x10", 'is "0x10", and no number'),
        ("1 2", 'is "1 2", and no number'),
        ("1e999", "is 1e999, which is out of range"),
        ("1e-999", "is 1e-999, which is out of range"),
        (10**MOST_DIGITS, f"has more than {MOST_DIGITS} digits"),
        ("9" * (MOST_DIGITS + 1), f"has more than {MOST_DIGITS} digits"),
    ],
)
def test_what_is_no_number_has_a_reason(value: object, why: str) -> None:
    """Never a zero."""
    with pytest.raises(ValueError, match=r"^is |^has ") as caught:
        exact(value)
    assert str(caught.value) == why


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_come_back_as_they_were(value: float) -> None:
    """Those out of range aside, which are next to nothing."""
    if value and abs(value) < 1e-307:
        return
    assert float(exact(value)) == value


@given(st.text(max_size=200) | st.integers() | st.floats() | st.none() | st.booleans())
def test_nothing_else_is_raised(value: object) -> None:
    """And what comes out is finite."""
    try:
        number = exact(value)
    except ValueError:
        return
    assert number.is_finite()
