"""How a number went lately: what is kept, what is forgotten, and that others get their turn."""

import asyncio
from collections.abc import Sequence

import pytest

from app.cache.collection import Item
from app.cache.trends import EVERY_S, INTERVAL_S, PIECE, POINTS, SPANS, Trends
from tests.fakes.clock import LoopClock, ManualClock

SPAN_S = POINTS * INTERVAL_S / SPANS


class Objects:
    """Objects by name whose value is a number, or None."""

    def __init__(self, **values: float | None) -> None:
        self.values = values

    def snapshot(self) -> Sequence[Item]:
        return [Item(("ns", name), (), 1, value) for name, value in self.values.items()]


def number(value: float | None) -> float | None:
    return value


async def test_averages_of_equal_spans() -> None:
    """The newest is last; what was not seen is None, not 0."""
    clock = ManualClock()
    trends, objects = Trends(number, clock), Objects(a=10, b=None)
    assert trends.of(("ns", "a")) == (None,) * SPANS
    await trends.look(objects)
    clock.advance(SPAN_S)
    objects.values["a"] = 30
    await trends.look(objects)
    assert trends.of(("ns", "a")) == (None,) * (SPANS - 2) + (10, 30)
    assert trends.of(("ns", "b")) == (None,) * SPANS


async def test_what_is_gone_is_forgotten() -> None:
    """One of the same name that comes later begins anew."""
    clock = ManualClock()
    trends, objects = Trends(number, clock), Objects(a=10)
    await trends.look(objects)
    objects.values = {}
    await trends.look(objects)
    assert trends.of(("ns", "a")) == (None,) * SPANS


async def test_of_too_many_nothing_is_kept() -> None:
    """What was kept of fewer goes."""
    clock = ManualClock()
    trends, objects = Trends(number, clock, most=1), Objects(a=10)
    await trends.look(objects)
    assert trends.of(("ns", "a"))[-1] == 10
    objects.values["b"] = 1
    await trends.look(objects)
    assert trends.of(("ns", "a")) == (None,) * SPANS


async def test_many_objects_hold_up_nobody() -> None:
    """They are looked at in pieces."""
    trends, objects = Trends(number, ManualClock()), Objects(**{f"o{index}": 1.0 for index in range(3 * PIECE)})
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.ensure_future(other())
    await trends.look(objects)
    beside.cancel()
    assert turns >= 3


@pytest.mark.looptime
async def test_it_looks_again_and_again() -> None:
    """Once at start, then twice a minute."""
    trends, objects = Trends(number, LoopClock()), Objects(a=1)
    task = asyncio.ensure_future(trends.run(objects))
    await asyncio.sleep(1)
    assert trends.of(("ns", "a"))[-1] == 1
    objects.values["a"] = 2
    await asyncio.sleep(INTERVAL_S + EVERY_S)
    assert trends.of(("ns", "a"))[-1] == pytest.approx(1.5, abs=0.5)
    task.cancel()
