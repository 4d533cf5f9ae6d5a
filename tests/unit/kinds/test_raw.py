"""/raw: the item as it came, and no secret in it."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.auth.identity import User
from app.kinds._base import Asked
from app.kinds._raw import CUT, MOST_DEEP, raw
from tests.fakes.kinds import make_item


async def item(value: Any) -> Any:
    subresource = raw(lambda _value: value, lambda text: text.replace("s3cret", "***").replace("424242", "***"))
    body = (await subresource.answer(Asked(make_item("a", "one"), {}, User("ann")))).body
    assert isinstance(body, bytes)
    return json.loads(body)["item"]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"name": "q", "n": 1, "f": 0.5, "ok": True, "none": None}, {"name": "q", "n": 1, "f": 0.5, "ok": True, "none": None}),
        ({"url": "amqp://u:s3cret@h"}, {"url": "amqp://u:***@h"}),
        ({"s3cret": [["s3cret"]]}, {"***": [["***"]]}),
        (424242, "***"),
        ({"pin": 424242.0}, {"pin": "***.0"}),
        (2**70, str(2**70)),
        ((1, "s3cret"), [1, "***"]),
        ({1: "a"}, {"1": "a"}),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02 00:00:00+00:00"),
        ("\ud800", "?"),
        ({"\ud800": 1}, {"?": 1}),
        (None, None),
    ],
)
async def test_item(value: Any, told: Any) -> None:
    """Secrets are masked wherever they stand, in keys and in numbers too; what JSON cannot have becomes text."""
    assert told == await item(value)


async def test_what_is_nested_too_deep_is_cut() -> None:
    """A source may send more levels than anybody can go through."""
    deep: Any = "s3cret"
    for _ in range(900):
        deep = [deep]

    told = await item({"name": "q", "v": deep})

    assert "q" == told["name"]
    assert MOST_DEEP - 1 == json.dumps(told["v"]).count("[")
    assert CUT in json.dumps(told)


@given(st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()), st.lists))
async def test_any_item_can_be_told(value: Any) -> None:
    await item(value)
