"""Rows as JSON-like values: the table of collectors/_sql_rows.py, and the limits."""

import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from ipaddress import ip_address, ip_network
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors._base import Cause, CollectError
from collectors._source import Limits
from collectors._sql_rows import MAX_DEPTH, Rows, json_value

VALUES: dict[str, tuple[Any, Any]] = {
    "NULL is null": (None, None),
    "a boolean stays one, although Python counts it as an integer": (True, True),
    "text stays": ("née", "née"),
    "half of a surrogate pair, which JSON can hold, becomes a question mark": ("\ud800", "?"),
    "an integer stays": (-(2**63), -(2**63)),
    "an integer that CEL has no room for is exact as text": (2**63, "9223372036854775808"),
    "a whole numeric is an integer": (Decimal("7.000"), 7),
    "a whole numeric beyond 64 bits is exact as text": (Decimal("9223372036854775808"), "9223372036854775808"),
    "a numeric that a double says as well is a double": (Decimal("19.99"), 19.99),
    "a numeric that no double says is exact as text": (Decimal("0.1234567890123456789"), "0.1234567890123456789"),
    "a numeric of very many digits is not written out": (Decimal("1e131071"), "1E+131071"),
    "a numeric that is no number is null": (Decimal("NaN"), None),
    "an infinite numeric is null": (Decimal("-Infinity"), None),
    "a double stays": (0.5, 0.5),
    "NaN is null": (float("nan"), None),
    "an infinite double is null": (float("inf"), None),
    "a timestamp with a zone is in UTC": (datetime(2026, 5, 1, 12, 0, tzinfo=timezone(timedelta(hours=2))), "2026-05-01T10:00:00Z"),
    "a timestamp without a zone is taken for UTC": (datetime.fromisoformat("2026-05-01T12:00:00.25"), "2026-05-01T12:00:00.250000Z"),
    "an infinite timestamp is null": (datetime.max.replace(tzinfo=UTC), None),
    "a date": (date(2026, 5, 1), "2026-05-01"),
    "an infinite date is null": (date.min, None),
    "a time": (time(12, 30), "12:30:00"),
    "an interval is a duration of CEL": (timedelta(hours=1, milliseconds=500), "3600.5s"),
    "a negative interval": (timedelta(seconds=-1.5), "-1.5s"),
    "a whole interval": (timedelta(days=1), "86400s"),
    "bytes are base64, as in Kubernetes": (b"\x00\xff", "AP8="),
    "a UUID": (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    "an address": (ip_address("::1"), "::1"),
    "a network": (ip_network("10.0.0.0/8"), "10.0.0.0/8"),
    "arrays are lists": ([1, [Decimal(2), None]], [1, [2, None]]),
    "JSON goes through the same rules": ({"a": [float("nan"), 2**70]}, {"a": [None, str(2**70)]}),
}


@pytest.mark.parametrize(("value", "expected"), VALUES.values(), ids=VALUES)
def test_values(value: Any, expected: Any) -> None:
    """Each row of the table in the module."""
    assert expected == json_value(value)
    assert type(expected) is type(json_value(value))


@given(st.decimals(allow_nan=False, allow_infinity=False, places=12) | st.decimals(allow_nan=False, allow_infinity=False))
def test_no_numeric_loses_digits(value: Decimal) -> None:
    """Whatever form a numeric takes, it says the same number."""
    said = json_value(value)

    assert Decimal(repr(said) if isinstance(said, float) else said) == value


@given(st.timedeltas())
def test_intervals_lose_nothing(value: timedelta) -> None:
    """Seconds to the microsecond."""
    said = json_value(value)

    assert Decimal(said.removesuffix("s")) * 1_000_000 == value // timedelta(microseconds=1)


_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.decimals()
    | st.text()
    | st.binary(max_size=20)
    | st.datetimes()
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.uuids()
    | st.ip_addresses()
)


@given(st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=10))
def test_everything_is_json_and_stays(value: Any) -> None:
    """What comes out is JSON without NaN, survives being written and read, and goes through unchanged a second time."""
    said = json_value(value)

    assert said == json.loads(json.dumps(said, allow_nan=False))
    assert said == json_value(said)


def rows(names: list[str], *batches: list[tuple[Any, ...]], limits: Limits | None = None) -> Rows:
    """Rows that took these."""
    made = Rows(limits or Limits())
    made.begin(names)
    for batch in batches:
        made.add(batch)
    return made


def test_rows_are_objects_by_column() -> None:
    """In the order of the query, and their size is that of their JSON."""
    made = rows(["id", "state"], [(1, "new")], [(2, None)])

    assert [{"id": 1, "state": "new"}, {"id": 2, "state": None}] == made.items
    assert len('{"id":1,"state":"new"}{"id":2,"state":null}') == made.size


FAILURES: dict[str, tuple[Any, Cause, str]] = {
    "one row too many": (lambda: rows(["n"], [(n,) for n in range(4)], limits=Limits(items=3)), Cause.TOO_LARGE, "more than 3 rows"),
    "rows too large": (lambda: rows(["s"], [("x" * 100,)], limits=Limits(body_bytes=99)), Cause.TOO_LARGE, "more than 99 bytes"),
    "two columns of one name": (lambda: rows(["id", "n", "id"]), Cause.QUERY, "two columns are called id"),
    "a type without a form": (lambda: rows(["span"], [(range(3),)]), Cause.QUERY, "column span is of a type without a form"),
    "JSON that nests too deep": (lambda: rows(["j"], [(nested(MAX_DEPTH + 1),)]), Cause.QUERY, "column j is nested deeper"),
}


def nested(depth: int) -> list[Any]:
    """A list in a list in a list ..."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(("make", "cause", "says"), FAILURES.values(), ids=FAILURES)
def test_what_fails_as_a_whole(make: Any, cause: Cause, says: str) -> None:
    """With what is wrong and what to do."""
    with pytest.raises(CollectError) as failure:
        make()

    assert cause == failure.value.cause
    assert says in failure.value.message
    assert failure.value.remedy
