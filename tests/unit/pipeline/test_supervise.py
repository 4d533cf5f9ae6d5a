import asyncio
from contextlib import suppress

import pytest
from structlog.testing import capture_logs

from app.pipeline.supervise import Supervisor, TaskEnded

pytestmark = pytest.mark.looptime


async def _for_ever() -> None:
    await asyncio.Event().wait()


async def _return() -> None:
    await asyncio.sleep(1)


async def _fail() -> None:
    await asyncio.sleep(1)
    raise ZeroDivisionError("boom")


@pytest.mark.parametrize(
    ("run", "raised"), [pytest.param(_return, TaskEnded, id="returns"), pytest.param(_fail, ZeroDivisionError, id="fails")]
)
async def test_a_guarded_task_that_ends_takes_all_down(run: object, raised: type[Exception]) -> None:
    """Half a process is worse than none: the body is cancelled, the end is logged and raised."""
    with capture_logs() as logs, pytest.RaisesGroup(raised):
        async with Supervisor() as supervisor:
            supervisor.guard("other", _for_ever)
            supervisor.guard("it", run)  # type: ignore[arg-type]  # parametrize has no type for it
            await asyncio.sleep(3600)

    assert [(entry["log_level"], entry["task"]) for entry in logs] == [("critical", "it")]
    assert asyncio.get_running_loop().time() == 1


async def test_leaving_stops_the_youngest_first() -> None:
    """What was started last leans on what was there before: it goes first, and is over before the next."""
    ended: list[str] = []

    def slow(name: str) -> object:
        async def run() -> None:
            try:
                await _for_ever()
            finally:
                await asyncio.sleep(1)
                ended.append(f"{name} {asyncio.get_running_loop().time():g}")

        return run

    async with Supervisor() as supervisor:
        for name in ("first", "second", "third"):
            supervisor.guard(name, slow(name))  # type: ignore[arg-type]  # a closure without a nameable type
        await asyncio.sleep(0)

    assert ended == ["third 1", "second 2", "first 3"]


async def test_an_error_of_the_body_stops_all_and_is_raised() -> None:
    """The body's own error comes out."""
    with pytest.RaisesGroup(KeyError):
        async with Supervisor() as supervisor:
            task = supervisor.guard("it", _for_ever)
            await asyncio.sleep(0)
            raise KeyError("body")

    assert task.cancelled()


async def test_cancelling_the_body_stops_all() -> None:
    """A process that is told to end from outside ends."""

    async def body() -> None:
        async with Supervisor() as supervisor:
            tasks.append(supervisor.guard("it", _for_ever))
            await asyncio.sleep(3600)

    tasks: list[asyncio.Task[None]] = []
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(body(), 1)

    assert tasks[0].cancelled()


async def test_children_come_and_go() -> None:
    """A stopped child is no fault; a started key replaces what ran there; tasks have names."""
    async with Supervisor() as supervisor:
        children = supervisor.children("scrape")
        children.start(("summary", "n1"), _for_ever)
        children.start(("summary", "n1"), _for_ever)
        children.start("n2", _for_ever)
        await asyncio.sleep(1)
        names = {task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("scrape")}
        children.stop("n2")
        children.stop("never started")
        await asyncio.sleep(1)

        assert names == {"scrape summary n1", "scrape n2"}
        assert (len(children), "n2" in children, list(children.keys())) == (1, False, [("summary", "n1")])


async def test_a_child_that_fails_takes_all_down() -> None:
    """A loop that ends is a bug, however many others there are."""
    with capture_logs(), pytest.RaisesGroup(ZeroDivisionError):
        async with Supervisor() as supervisor:
            supervisor.children("scrape").start("n1", _fail)
            await asyncio.sleep(3600)


async def test_a_task_whose_own_time_out_strikes_at_the_end_ends_too() -> None:
    """It was being cancelled by its time-out when it was to be cancelled for good."""

    async def run() -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await asyncio.Event().wait()

    async with Supervisor() as supervisor:
        supervisor.guard("looks", run)
        await asyncio.sleep(5)
