import asyncio

import pytest

from app.auth.single_flight import SingleFlight


async def _spin() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_one_call_for_all() -> None:
    """Who asks the same at the same time shares one call."""
    flights: SingleFlight[int] = SingleFlight()
    calls, gate = [], asyncio.Event()

    async def call() -> int:
        calls.append(1)
        await gate.wait()
        return 7

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(flights.run("k", call)) for _ in range(3)]
        await _spin()
        gate.set()
    assert [7, 7, 7] == [task.result() for task in tasks]
    assert 1 == len(calls)
    assert 7 == await flights.run("k", call)
    assert 2 == len(calls)


async def test_an_error_is_shared_and_not_kept() -> None:
    """All who waited get the error; the next asks anew."""
    flights: SingleFlight[int] = SingleFlight()
    gate = asyncio.Event()

    async def fail() -> int:
        await gate.wait()
        raise ValueError("no")

    async def succeed() -> int:
        return 1

    async def attempt() -> str:
        with pytest.raises(ValueError, match="no"):
            await flights.run("k", fail)
        return "failed"

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(attempt()) for _ in range(2)]
        await _spin()
        gate.set()
    assert ["failed", "failed"] == [task.result() for task in tasks]
    assert 1 == await flights.run("k", succeed)


async def test_a_cancelled_leader_harms_nobody() -> None:
    """If the one who makes the call goes away, one who waits makes it."""
    flights: SingleFlight[int] = SingleFlight()
    gate, calls = asyncio.Event(), []

    async def call() -> int:
        calls.append(1)
        await gate.wait()
        return 7

    async with asyncio.TaskGroup() as group:
        leader = group.create_task(flights.run("k", call))
        await _spin()
        follower = group.create_task(flights.run("k", call))
        await _spin()
        leader.cancel()
        await _spin()
        gate.set()
    assert 7 == follower.result()
    assert 2 == len(calls)
