"""Quantities are written and read as resource.Quantity does it; the expected texts were printed by k8s.io/apimachinery v0.37.2."""

import contextlib
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.wire.quantity import NANO, format_bytes, format_cpu, format_decimal, parse_bytes, parse_cpu, parse_decimal


@pytest.mark.parametrize(
    ("nanocores", "text"),
    [
        (0, "0"),
        (1, "1n"),
        (10, "10n"),
        (999, "999n"),
        (1000, "1u"),
        (1_500_000, "1500u"),
        (11_187_091, "11187091n"),
        (250_000_000, "250m"),
        (10**9, "1"),
        (1_500_000_000, "1500m"),
        (12 * 10**9, "12"),
        (10**12, "1k"),
        (123_456_789_012_345, "123456789012345n"),
        (10**18, "1G"),
        (2**63 - 1, "9223372036854775807n"),
    ],
)
def test_format_cpu(nanocores: int, text: str) -> None:
    """Nanocores get the largest decimal suffix that needs no fraction."""
    assert text == format_cpu(nanocores)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (1, "1"),
        (100, "100"),
        (1000, "1k"),
        (1023, "1023"),
        (1024, "1Ki"),
        (1536, "1536"),
        (5_242_880, "5Mi"),
        (12_533_760, "12240Ki"),
        (12_533_761, "12533761"),
        (1_616_273_408, "1578392Ki"),
        (2**30, "1Gi"),
        (2**40, "1Ti"),
        (2**60, "1Ei"),
        (2**63 - 1, "9223372036854775807"),
    ],
)
def test_format_bytes(count: int, text: str) -> None:
    """Bytes get the largest binary suffix that needs no fraction; below 1024 the decimal form."""
    assert text == format_bytes(count)


@pytest.mark.parametrize(
    ("text", "nanocores"),
    [
        ("0", 0),
        ("100m", 100_000_000),
        ("1.5", 1_500_000_000),
        (".5", 500_000_000),
        ("1.", 10**9),
        ("2e3", 2000 * 10**9),
        ("1E-3", 1_000_000),
        ("1E", 10**27),
        ("0.1n", 1),
        ("-0.1n", -1),
        ("+3u", 3000),
    ],
)
def test_parse_cpu(text: str, nanocores: int) -> None:
    """Every suffix is exact; what is finer than a nanocore rounds away from zero."""
    assert nanocores == parse_cpu(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [("64Mi", 64 << 20), ("1G", 10**9), ("1.5Ki", 1536), ("100m", 1), ("8Ei", 2**63 - 1), ("128974848", 128974848), ("129e6", 129_000_000)],
)
def test_parse_bytes(text: str, count: int) -> None:
    """Bytes are whole, rounded up; binary quantities are capped at int64 as upstream caps them."""
    assert count == parse_bytes(text)


@pytest.mark.parametrize(
    "text", ["", " ", "m", ".", "1 m", "1mm", "1k5", "0x1", "1e", "1e99999999999", "9" * 100, "\u0661", "1\n", "NaN", "1Ki2"]
)
def test_parse_refuses(text: str) -> None:
    """What is no quantity, or one with absurdly many digits, is a ValueError."""
    with pytest.raises(ValueError, match="quantity"):
        parse_cpu(text)


@given(st.text(max_size=40))
def test_parse_never_crashes(text: str) -> None:
    """No text raises anything but ValueError."""
    for parse in (parse_cpu, parse_bytes, parse_decimal):
        with contextlib.suppress(ValueError):
            parse(text)


@given(st.integers(min_value=0, max_value=2**63 - 1))
def test_what_is_written_reads_back(number: int) -> None:
    """Formatting loses nothing."""
    assert number == parse_cpu(format_cpu(number))
    assert number == parse_bytes(format_bytes(number))
    assert number * NANO == parse_cpu(format_bytes(number))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("10.5", "10500m"),
        ("0.539", "539m"),
        ("1000", "1k"),
        ("80473.159", "80473159m"),
        ("-7", "-7"),
        ("1e18", "1E"),
        ("1500e18", "1500E"),
        ("1500.5e18", "1500500P"),
        ("12345678901234567890", "12345678901234567890"),
        ("1234567890123456789012345678901234567890", "1234567890123456789012345678901234567890"),
        ("1234567890123456789012.5", "1234567890123456789012500m"),
        ("1e-9", "1n"),
        ("1e-10", "1n"),
        ("-1e-10", "-1n"),
        ("1.5e-9", "2n"),
        ("-1.5e-9", "-2n"),
        ("0.1234567891", "123456790n"),
    ],
)
def test_format_decimal(value: str, text: str) -> None:
    """Any size is exact down to nano; what is finer rounds away from zero."""
    assert text == format_decimal(Decimal(value))


def test_what_upstream_cannot_write() -> None:
    """There is no suffix above E, and k8s.io/apimachinery writes 10**21 as 1 then. Here it keeps its value."""
    assert ("1000E", "1000E") == (format_decimal(Decimal("1e21")), format_decimal(Decimal(10**21)))


_SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


@given(st.integers(-(10**40), 10**40), st.integers(-30, 300))
def test_a_decimal_keeps_its_value(mantissa: int, exponent: int) -> None:
    """What is read back is the number, or the next multiple of nano away from zero; and no shorter text has that value."""
    value = Fraction(mantissa) * Fraction(10) ** exponent
    text = format_decimal(Decimal(mantissa).scaleb(exponent) if abs(mantissa) < 10**27 else Decimal(f"{mantissa}e{exponent}"))
    digits = text.rstrip("numkMGTPE")
    back = Fraction(int(digits)) * Fraction(10) ** _SUFFIXES[text[len(digits) :]]
    nano = value * NANO
    assert back * NANO == (nano if nano.denominator == 1 else (abs(nano).__floor__() + 1) * (1 if nano > 0 else -1))
    assert not digits.endswith("000") or text.endswith("E")
    if len(digits) < 50:
        assert Fraction(parse_decimal(text)) == back
