"""Work that is done at once as far as it goes, and gets a task only if it has to wait.

Most requests are answered from memory and wait for nothing: a task for each, and the turn of the event loop that it takes, would cost a
sixth of the answer. Python has it from 3.12 on (asyncio.eager_task_factory), for all tasks of a loop or for none.
"""

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any

Work = Coroutine[Any, Any, None]


def begin(work: Work) -> Work | None:
    """Do `work` until it first waits. Returns what is left of it, to be made a task; None if it is done.

    Call it where no task runs, from a callback of the event loop. Work that needs to be in a task (asyncio.timeout, anyio) awaits `in_task`
    first. What the work raises is raised.
    """
    try:
        waited = work.send(None)
    except StopIteration:
        return None
    if waited is None:
        return work
    waited._asyncio_future_blocking = False  # noqa: SLF001  as a task does: others may come to wait for the same future
    return _Rest(work, waited)


async def in_task() -> None:
    """Return in a task: at once in one, and else with what `begin` leaves over."""
    if asyncio.current_task() is None:
        await asyncio.sleep(0)


class _Rest(Work):
    """Work that waits for a future already: the task has to be told of it first."""

    def __init__(self, work: Work, waited: Any) -> None:
        self._work = work
        self._waited = waited

    def send(self, value: None) -> Any:
        """The next that is waited for."""
        if self._waited is None:
            return self._work.send(value)
        waited, self._waited = self._waited, None
        waited._asyncio_future_blocking = True  # noqa: SLF001  the word by which a future tells a task that it is waited for
        return waited

    def throw(self, *args: Any) -> Any:
        """As `send`, with an exception: of the future, or because the task is cancelled."""
        self._waited = None
        return self._work.throw(*args)

    def close(self) -> None:
        """Leave the work where it is."""
        self._work.close()

    def __await__(self) -> Generator[Any, Any, None]:
        raise NotImplementedError("it is made a task")
