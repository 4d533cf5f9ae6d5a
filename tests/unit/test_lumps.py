"""Large pieces of work take turns on the loop: what goes in each of them, and in which order."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from app.lumps import IN_A_ROW, Lumps
from tests.fakes.clock import ManualClock


class Loop:
    """Lumps that take a set time, and a note of each turn of the loop: which went in it. `others` is what all else takes in a turn."""

    def __init__(self, *, lump: float = 0.0, others: float = 0.0) -> None:
        self.turns: list[list[str]] = []
        self.lumps = Lumps(self._now)
        self._clock = ManualClock()
        self._lump, self._others = lump, others

    def _now(self) -> float:
        return self._clock.monotonic()

    async def scrape(self, name: str) -> None:
        await self.lumps.scrape()
        self._work(name)

    async def pieces(self, name: str, count: int, *, short: bool = False) -> None:
        for number in range(count):
            await self.lumps.piece(short=short)
            self._work(f"{name}{number}")

    async def run(self, *work: Coroutine[Any, Any, None]) -> list[str]:
        """All of it, begun in one turn. The turns in which anything went, the names of one joined."""
        tasks = [asyncio.ensure_future(each) for each in work]
        while not all(task.done() for task in tasks):
            self.turns.append([])
            await asyncio.sleep(0)
            self._clock.advance(self._others)
        await asyncio.gather(*tasks)
        return [" ".join(turn) for turn in self.turns if turn]

    def _work(self, name: str) -> None:
        self.turns[-1].append(name)
        self._clock.advance(self._lump)


async def test_one_goes_in_each_turn_in_the_order_of_coming() -> None:
    """The first at once: who comes alone waits for nobody."""
    loop = Loop()

    assert ["a", "b", "c"] == await loop.run(*(loop.scrape(name) for name in "abc"))
    assert ["a"] == loop.turns[0]


async def test_who_comes_alone_waits_for_no_turn() -> None:
    """Time after time."""
    loop = Loop()
    for name in "ab":
        await asyncio.wait_for(loop.run(loop.scrape(name)), None)
        for _ in range(3):
            await asyncio.sleep(0)

    assert [["a"], ["b"]] == [turn for turn in loop.turns if turn]


async def test_lumps_have_as_much_time_as_all_else() -> None:
    """Where a turn of the loop takes long for other reasons more go in the next: or scrapes would wait for ever while many shake hands."""
    few, many = Loop(lump=0.0004, others=0.0004), Loop(lump=0.0004, others=0.0017)
    names = [str(number) for number in range(120)]
    turns = {loop: len(await loop.run(*map(loop.scrape, names))) for loop in (few, many)}

    assert 110 <= turns[few] <= 120
    assert 30 <= turns[many] <= 60


async def test_a_turn_of_little_does_not_let_everyone_go() -> None:
    """What a lump takes is judged by many: after one that took nothing the next turn has not room for all."""
    loop = Loop(lump=0.002, others=0.002)
    await loop.run(*(loop.scrape("x") for _ in range(50)))
    loop.turns.clear()
    loop._lump = 0.0
    await loop.run(loop.scrape("nothing"))
    loop.turns.clear()
    loop._lump = 0.002

    assert max(map(len, [turn.split() for turn in await loop.run(*(loop.scrape("x") for _ in range(20)))])) <= 2


async def test_scrapes_go_first_and_lists_go_on() -> None:
    """Of four that wait one is of a list: scrapes keep their pace longest, and a list ends. The first found nobody waiting."""
    loop = Loop()
    went = await loop.run(*(loop.scrape(f"s{number}") for number in range(3 * IN_A_ROW)), loop.pieces("p", 3), loop.pieces("q", 2))

    assert "s0 s1 s2 s3 p0 s4 s5 s6 q0 s7 s8 p1 q1 p2" == " ".join(went)


async def test_short_lists_go_before_all_else() -> None:
    """The HPA waits for all of its pieces. But however many there are, all else goes on as well."""
    loop = Loop()
    scrapes, lists = (loop.scrape(f"s{number}") for number in range(6)), (loop.pieces(name, 3, short=True) for name in "hk")

    assert "s0 h0 k0 s1 h1 k1 s2 h2 k2 s3 p0 s4 s5" == " ".join(await loop.run(*scrapes, *lists, loop.pieces("p", 1)))


@pytest.mark.parametrize("short", [False, True])
async def test_pieces_of_a_list_are_in_different_turns(short: bool) -> None:
    """However idle the loop is: others come between them."""
    loop = Loop()

    assert ["p0", "p1", "p2"] == await loop.run(loop.pieces("p", 3, short=short))


@pytest.mark.parametrize("cancelled", [[0], [1], [2], [1, 2, 3], [4]])
async def test_who_was_cancelled_takes_nobodys_turn(cancelled: list[int]) -> None:
    """A scrape whose deadline has passed, a client that left: the others go on."""
    loop = Loop()
    tasks = [asyncio.ensure_future(loop.scrape(str(number))) for number in range(5)]
    loop.turns.append([])
    await asyncio.sleep(0)
    for number in cancelled:
        tasks[number].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

    left = [str(number) for number in range(5) if number not in cancelled or number == 0]  # the first has gone by then
    assert left == [name for turn in loop.turns for name in turn]
    await loop.run(loop.scrape("again"))
    assert ["again"] == loop.turns[-1]
