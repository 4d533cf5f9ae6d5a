"""Numbers as sources tell them, exactly: whole ones, floats, and text. What is no number has a reason, and never becomes a zero."""

import re
from decimal import Decimal
from typing import Any

MOST_DIGITS = 64
"""Of a number: a longer one is a mistake, or an attack."""

MOST_EXPONENT = 308
"""Numbers are between 10^-308 and 10^309, as those of float64 are."""

_NUMBER = re.compile(r"[+-]?(?=\.?[0-9])[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)
_NO_NUMBERS = {"nan": "is NaN", "inf": "is infinite", "infinity": "is infinite"}
_SHOWN = 40


def exact(value: Any) -> Decimal:
    """The number in `value`: an int, a float (as its shortest text reads), a Decimal, or text with a decimal number.

    Raises ValueError, with why it is none in words behind the name of what held it: "is NaN".
    """
    if isinstance(value, bool):
        raise ValueError("is a boolean, and no number")  # noqa: TRY004 -- one error for all that is no number
    if isinstance(value, str):
        return _of_text(value.strip())
    if isinstance(value, int):
        if abs(value) >= 10**MOST_DIGITS:
            raise ValueError(f"has more than {MOST_DIGITS} digits")
        return Decimal(value)
    if isinstance(value, float | Decimal):
        return _of_text(repr(value) if isinstance(value, float) else str(value))
    raise ValueError("is null" if value is None else "is no number")


def _of_text(text: str) -> Decimal:
    word = text.lstrip("+-").lower()
    if word in _NO_NUMBERS:
        raise ValueError(_NO_NUMBERS[word])
    if len(text) > MOST_DIGITS + len("-.e-308") or _NUMBER.fullmatch(text) is None:
        raise ValueError(f'is "{text[:_SHOWN]}", and no number')
    number = Decimal(text)
    if len(number.as_tuple().digits) > MOST_DIGITS:
        raise ValueError(f"has more than {MOST_DIGITS} digits")
    if number and abs(number.adjusted()) > MOST_EXPONENT:
        raise ValueError(f"is {text}, which is out of range")
    return number if number else Decimal(0)
