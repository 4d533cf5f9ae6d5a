"""Rows of a database as JSON-like values, within limits.

| SQL | here |
|---|---|
| NULL, NaN, infinite numbers, infinite times | null |
| boolean, text | as they are |
| integers of 64 bits | int |
| numeric | int if it is whole; else double if that says the same number; else the exact number as text |
| larger integers, larger whole numerics | the exact number as text |
| float, double precision | double |
| timestamp (taken for UTC), timestamptz | text, RFC 3339 in UTC: `timestamp(x)` of CEL |
| date, time | text, ISO 8601 |
| interval | text in seconds, such as "90.5s": `duration(x)` of CEL. A month counts 30 days, as in PostgreSQL's own comparisons |
| uuid, inet, cidr | text |
| bytea, BLOB | text in base64 |
| json, jsonb, arrays, rows | objects and lists |

`double(x)` and `int(x)` of CEL take a numeric in each of its forms.
Anything else has no form: the error names the column, and a cast in the query (`x::text`) gives it one.
"""

import base64
import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from typing import Any
from uuid import UUID

import msgspec

from collectors._base import Cause, CollectError
from collectors._source import Limits

MAX_DEPTH = 32
"""Of JSON and arrays within a column."""

_INT64 = range(-(1 << 63), 1 << 63)
_INFINITE_DATES = (date.max, date.min)
_AS_TEXT = (UUID, IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network)


class _NoForm(Exception):
    """A value that JSON has no form for; the message says what it is."""


class Rows:
    """The rows of one collection."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._columns: Sequence[str] = ()
        self.items: list[dict[str, Any]] = []
        self.size = 0
        """Bytes of the rows as JSON."""

    @property
    def room(self) -> int:
        """How many more rows may come."""
        return self._limits.items - len(self.items)

    def begin(self, columns: Sequence[str]) -> None:
        """Say what the columns are called. Raises CollectError if two are called alike."""
        twice = sorted({name for name in columns if columns.count(name) > 1})
        if twice:
            raise CollectError(Cause.QUERY, f"two columns are called {twice[0]}", f"give one another name: ... AS other_{twice[0]}")
        self._columns = columns

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        """Take some rows. Raises CollectError over a limit, and for a value without a form."""
        for row in rows:
            if len(self.items) >= self._limits.items:
                raise CollectError(
                    Cause.TOO_LARGE,
                    f"more than {self._limits.items} rows",
                    "raise limits.items, or let the query aggregate or have a LIMIT",
                )
            item = {name: self._value(name, value) for name, value in zip(self._columns, row, strict=True)}
            self.size += len(msgspec.json.encode(item))
            if self.size > self._limits.body_bytes:
                raise too_many_bytes(self._limits)
            self.items.append(item)

    def _value(self, column: str, value: Any) -> Any:
        try:
            return json_value(value)
        except _NoForm as exc:
            raise CollectError(Cause.QUERY, f"column {column} is {exc}", f"cast it in the query: CAST({column} AS text)") from None


def too_many_bytes(limits: Limits) -> CollectError:
    """What people are told of rows that are too large together."""
    return CollectError(Cause.TOO_LARGE, f"the rows have more than {limits.body_bytes} bytes", "raise limits.bodyBytes, or select less")


def json_value(value: Any, depth: int = 0) -> Any:  # noqa: PLR0912 -- one case for each type of the table above
    """The value in the form that the table of this module says. Raises _NoForm if there is none."""
    if depth > MAX_DEPTH:
        raise _NoForm(f"nested deeper than {MAX_DEPTH} levels")
    match value:
        case None | bool():
            return value
        case str():
            return value if value.isascii() else value.encode("utf-8", "replace").decode()  # JSON may hold half of a surrogate pair
        case int():
            return value if value in _INT64 else str(value)
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return _number(value)
        case datetime():
            return _timestamp(value)
        case date():
            return None if value in _INFINITE_DATES else value.isoformat()
        case time():
            return value.isoformat()
        case timedelta():
            return _seconds(value)
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case list() | tuple():
            return [json_value(part, depth + 1) for part in value]
        case _ if hasattr(value, "items"):  # a JSON object, or a row within a row: asyncpg's Record is no Mapping
            return {json_value(str(name)): json_value(part, depth + 1) for name, part in value.items()}
        case _ if isinstance(value, _AS_TEXT):
            return str(value)
        case _:
            raise _NoForm(f"of a type without a form in JSON ({type(value).__name__})")


def _number(value: Decimal) -> int | float | str | None:
    if not value.is_finite():
        return None
    if value.adjusted() > 40:  # before it is written out: 1e131072 is a numeric, too
        return f"{value:E}"
    if value == value.to_integral_value():
        return json_value(int(value))  # type: ignore[no-any-return]  # an int is an int or text
    near = float(value)
    return near if Decimal(repr(near)) == value else f"{value:f}"


def _timestamp(value: datetime) -> str | None:
    if value.date() in _INFINITE_DATES:
        return None
    utc = value.astimezone(UTC) if value.tzinfo is not None else value
    return utc.replace(tzinfo=None).isoformat() + "Z"


def _seconds(value: timedelta) -> str:
    micros = value // timedelta(microseconds=1)
    whole, rest = divmod(abs(micros), 1_000_000)
    sign = "-" if micros < 0 else ""
    return f"{sign}{whole}.{rest:06}".rstrip("0").rstrip(".") + "s" if rest else f"{sign}{whole}s"
