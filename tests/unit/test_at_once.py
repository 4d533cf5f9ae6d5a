"""Work is done at once as far as it goes; what has to wait goes on in a task as if it had always been in one."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from app.at_once import begin, in_task
from tests.unit.serving.loopback import LOOPS, run

both_loops = pytest.mark.parametrize("loop", LOOPS)


def begun(work: Coroutine[Any, Any, None]) -> asyncio.Future[Coroutine[Any, Any, None] | None]:
    """What `begin` leaves, called where no task runs."""
    left: asyncio.Future[Coroutine[Any, Any, None] | None] = asyncio.get_running_loop().create_future()

    def call() -> None:
        try:
            left.set_result(begin(work))
        except Exception as exc:  # noqa: BLE001  it is looked at
            left.set_exception(exc)

    asyncio.get_running_loop().call_soon(call)
    return left


@both_loops
def test_what_waits_for_nothing_is_done_without_a_task(loop: str) -> None:
    """It leaves nothing over, and no task was current."""
    seen: list[Any] = []

    async def work() -> None:
        seen.append(asyncio.current_task())

    async def test() -> None:
        assert await begun(work()) is None
        assert [None] == seen

    run(loop, test())


@both_loops
def test_what_it_raises_is_raised(loop: str) -> None:
    """Before the first wait the caller hears of it."""

    async def work() -> None:
        raise LookupError("at once")

    async def test() -> None:
        with pytest.raises(LookupError, match="at once"):
            await begun(work())

    run(loop, test())


async def _gives_way(_future: asyncio.Future[str]) -> str:
    await asyncio.sleep(0)
    return "told"


async def _awaits(future: asyncio.Future[str]) -> str:
    return await future


async def _awaits_twice(future: asyncio.Future[str]) -> str:
    await asyncio.sleep(0)
    return await future


async def _has_a_time_limit(future: asyncio.Future[str]) -> str:
    await in_task()
    async with asyncio.timeout(60):
        return await future


async def _gathers(future: asyncio.Future[str]) -> str:
    await in_task()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(_awaits(future))
    return task.result()


WAITS = [_gives_way, _awaits, _awaits_twice, _has_a_time_limit, _gathers]


@both_loops
@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("early", [True, False], ids=["done before the task", "done later"])
def test_the_rest_goes_on_in_a_task(loop: str, wait: Callable[[asyncio.Future[str]], Awaitable[str]], early: bool) -> None:
    """Whatever it waits for first, the result comes, and it is in the task by then."""
    seen: list[Any] = []

    async def work(future: asyncio.Future[str]) -> None:
        seen.append(await wait(future))
        seen.append(asyncio.current_task())

    async def test() -> None:
        future = asyncio.get_running_loop().create_future()
        rest = await begun(work(future))
        assert rest is not None
        if early:
            future.set_result("told")
        task = asyncio.get_running_loop().create_task(rest)
        await asyncio.sleep(0)
        if not early:
            future.set_result("told")
        await task
        assert ["told", task] == seen

    run(loop, test())


@both_loops
def test_others_may_wait_for_the_same(loop: str) -> None:
    """A future that work waits for is left as a task would leave it: whoever comes to it next may wait too."""
    seen: list[str] = []

    async def work(future: asyncio.Future[str]) -> None:
        seen.append(await future)

    async def test() -> None:
        future = asyncio.get_running_loop().create_future()
        first, second = await begun(work(future)), await begun(work(future))
        assert first is not None
        assert second is not None
        tasks = [asyncio.get_running_loop().create_task(each) for each in (first, work(future), second)]
        await asyncio.sleep(0)
        future.set_result("told")
        await asyncio.gather(*tasks)
        assert ["told"] * 3 == seen

    run(loop, test())


@both_loops
@pytest.mark.parametrize("wait", WAITS[1:4])
def test_a_failure_arrives_where_it_was_waited_for(loop: str, wait: Callable[[asyncio.Future[str]], Awaitable[str]]) -> None:
    """The exception of a future is raised in the work, not around it."""
    seen: list[str] = []

    async def work(future: asyncio.Future[str]) -> None:
        try:
            await wait(future)
        except LookupError as exc:
            seen.append(str(exc))

    async def test() -> None:
        future = asyncio.get_running_loop().create_future()
        rest = await begun(work(future))
        assert rest is not None
        future.set_exception(LookupError("it broke"))
        await asyncio.get_running_loop().create_task(rest)
        assert ["it broke"] == seen

    run(loop, test())


@both_loops
@pytest.mark.parametrize("wait", WAITS[1:])
@pytest.mark.parametrize("turns", [0, 3], ids=["before its first step", "under way"])
def test_a_task_that_is_cancelled_ends_the_work(loop: str, wait: Callable[[asyncio.Future[str]], Awaitable[str]], turns: int) -> None:
    """Its `finally` runs, and the task tells that it was cancelled."""
    seen: list[str] = []

    async def work(future: asyncio.Future[str]) -> None:
        try:
            await wait(future)
        finally:
            seen.append("left")

    async def test() -> None:
        rest = await begun(work(asyncio.get_running_loop().create_future()))
        assert rest is not None
        task = asyncio.get_running_loop().create_task(rest)
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ["left"] == seen

    run(loop, test())


async def test_in_a_task_nothing_is_waited_for() -> None:
    """Who is in one goes on at once."""
    with pytest.raises(StopIteration):
        in_task().send(None)
