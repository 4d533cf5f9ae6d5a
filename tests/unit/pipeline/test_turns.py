import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from app.pipeline.grid import Grid, Schedule
from app.pipeline.scraper import Job, Scraper
from app.pipeline.turns import MOST, PATIENCE_S, Turn, Turns
from collectors._base import Target
from tests.fakes.clock import LoopClock
from tests.fakes.scraping import EMPTY, FakeCollector, RecordingSink, surroundings

pytestmark = pytest.mark.looptime


async def _begin(takes: Callable[[Turn], Awaitable[None]], count: int) -> list[float]:
    """When each of `count` that come together begins."""
    turns, began = Turns(), []

    async def one() -> None:
        async with turns.turn() as turn:
            began.append(asyncio.get_running_loop().time())
            await takes(turn)

    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(one())
    return began


async def test_so_many_go_on_at_one_time_and_the_others_follow_as_these_end() -> None:
    began = await _begin(lambda _: asyncio.sleep(0.1), 2 * MOST + 1)
    assert [0.0] * MOST + [0.1] * MOST + [0.2] == pytest.approx(began)


async def test_who_waits_long_for_an_answer_holds_up_nobody() -> None:
    began = await _begin(lambda _: asyncio.sleep(3600), 2 * MOST)
    assert [0.0] * MOST + [PATIENCE_S] * MOST == pytest.approx(began)


async def test_who_stays_keeps_the_room() -> None:
    async def stay(turn: Turn) -> None:
        turn.stay()
        await asyncio.sleep(10)

    assert [0.0] * MOST + [10.0] * MOST == pytest.approx(await _begin(stay, 2 * MOST))


async def test_room_is_given_back_once_whatever_happens() -> None:
    """Else a failure would let more go on at one time, or fewer and fewer."""
    turns = Turns()
    for _ in range(3 * MOST):
        with suppress(TimeoutError):
            async with asyncio.timeout(2 * PATIENCE_S), turns.turn():
                await asyncio.sleep(3600)
    began = 0

    async def one() -> None:
        nonlocal began
        async with turns.turn() as turn:
            turn.stay()
            began += 1
            await asyncio.sleep(3600)

    tasks = [asyncio.create_task(one()) for _ in range(2 * MOST)]  # noqa: TID251  # no supervisor: it ends with the test
    await asyncio.sleep(1)
    assert began == MOST
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    began = 0
    async with asyncio.timeout(1):
        async with turns.turn():
            began += 1
    assert began == 1


async def _scrape(collector: FakeCollector, *, nodes: int, seconds: float, pods_tried_after: float = 0.0) -> RecordingSink:
    """That many nodes that are seen together, for so long."""
    sink = RecordingSink()
    around = surroundings(LoopClock(1_500_000_000.0), sink)
    if pods_tried_after:
        around.pods_tried.clear()
        asyncio.get_running_loop().call_later(pods_tried_after, around.pods_tried.set)
    job = Job(collector, 15.0, 10.0)
    scrapers = [Scraper(job, (Target(f"n{i}", "https://a"),), Schedule(Grid(15.0, lambda: 0.0), 0.0), around) for i in range(nodes)]
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            for scraper in scrapers:
                group.create_task(scraper.run())
    return sink


async def test_first_scrapes_take_turns_and_later_ones_do_not() -> None:
    """A cluster that is seen for the first time is scraped at the pace that is kept; from then on each node has its own time."""
    collector = FakeCollector(0.1)
    await _scrape(collector, nodes=MOST + 8, seconds=16)
    assert [0.0] * MOST + [0.1] * 8 + [15.0] * (MOST + 8) == pytest.approx(collector.times)


async def test_first_scrapes_wait_behind_those_that_wait_for_pods() -> None:
    """A large cluster is not asked for what would be lost: its pods are listed first, and nothing else is done meanwhile."""
    collector = FakeCollector(EMPTY)
    sink = await _scrape(collector, nodes=MOST + 8, seconds=14, pods_tried_after=8.0)
    assert [0.0] * MOST + [8.0] * 8 == pytest.approx(collector.times)
    assert {8.0} == {at for at, _, _ in sink.published}
