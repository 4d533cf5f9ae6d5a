"""Quantities: numbers with a suffix, read and written exactly as k8s.io/apimachinery's resource.Quantity does it.

CPU is an int of nanocores, memory one of bytes, any other number a Decimal. Nothing goes through a float.
"""

import re
from decimal import Decimal

NANO = 10**9

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_BY_EXPONENT = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIXES = ("", *_BINARY)
_LARGEST_EXPONENT = max(_DECIMAL.values())
_QUANTITY = re.compile(r"([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(?:([eE][+-]?[0-9]+)|([KMGTPE]i|[numkMGTPE]?))", re.ASCII)
_MAX_INT64 = 2**63 - 1
_MAX_DIGITS = 64  # a longer number or exponent is a mistake or an attack; int() of it would cost quadratic time


def format_cpu(nanocores: int) -> str:
    """Nanocores in canonical DecimalSI: 0 -> "0", 1500000 -> "1500u", 250000000 -> "250m", 10**9 -> "1"."""
    return _decimal(nanocores, -9)


def format_bytes(count: int) -> str:
    """Bytes in canonical BinarySI: 12533760 -> "12240Ki", 12533761 -> "12533761".

    Below 1024 the decimal form is used, as upstream does: 1000 -> "1k".
    """
    if -1024 < count < 1024:
        return _decimal(count, 0)
    power = 0
    while count % 1024 == 0 and power < len(_BINARY):
        count //= 1024
        power += 1
    return f"{count}{_BINARY_SUFFIXES[power]}"


def format_decimal(value: Decimal) -> str:
    """Any finite number in canonical DecimalSI: 10.5 -> "10500m", 1000 -> "1k", 10**21 -> "1000E".

    What is finer than nano rounds away from zero, as upstream does: 1e-10 -> "1n".
    """
    numerator, denominator = value.as_integer_ratio()
    return _decimal(_divide_away(numerator * NANO, denominator), -9)


def _decimal(mantissa: int, exponent: int) -> str:
    """mantissa * 10**exponent with the largest suffix that needs no fraction."""
    if mantissa == 0:
        return "0"
    while mantissa % 1000 == 0 and exponent < _LARGEST_EXPONENT:
        mantissa //= 1000
        exponent += 3
    return f"{mantissa}{_DECIMAL_BY_EXPONENT[exponent]}"


def parse_cpu(text: str) -> int:
    """Nanocores in a quantity such as "250m" or "1.5". A finer fraction rounds away from zero. Raises ValueError."""
    return _parse_nano(text)


def parse_bytes(text: str) -> int:
    """Whole bytes in a quantity such as "64Mi" or "1G", rounded away from zero as Quantity.Value does. Raises ValueError."""
    return _divide_away(_parse_nano(text), NANO)


def parse_decimal(text: str) -> Decimal:
    """The number in a quantity such as "10500m" or "1000E", exactly down to nano. Raises ValueError."""
    return Decimal(f"{_parse_nano(text)}E-9")


def _parse_nano(text: str) -> int:
    """The quantity times 10**9. What is finer than that rounds away from zero: who asks for little gets a little."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text[:_MAX_DIGITS]}" is not a quantity: write a number and a suffix, for example 250m, 1.5 or 64Mi')
    sign, whole, fraction, scientific, suffix = match.groups()
    fraction = fraction or ""
    exponent = int(scientific[1:]) if scientific and len(scientific) < 8 else _DECIMAL.get(suffix or "", 0)
    if len(whole) + len(fraction) > _MAX_DIGITS or abs(exponent) > _MAX_DIGITS or (scientific and len(scientific) >= 8):
        raise ValueError(f'"{text[:_MAX_DIGITS]}" is not a quantity that can be used: it has too many digits')
    number = int(whole + fraction)
    power = exponent - len(fraction) + 9
    binary = _BINARY.get(suffix or "")
    if binary is not None:
        number <<= binary
    nano = number * 10**power if power >= 0 else _divide_away(number, 10**-power)
    if binary is not None:
        nano = min(nano, _MAX_INT64 * NANO)
    return -nano if sign == "-" else nano


def _divide_away(value: int, divisor: int) -> int:
    """value / divisor, rounded away from zero."""
    magnitude = -(-abs(value) // divisor)
    return magnitude if value >= 0 else -magnitude
