"""Work that takes more than a moment, done in threads of a few, so that requests and other loops go on meanwhile."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

T = TypeVar("T")


class Apart(Protocol):
    """Does work beside the event loop. The caller waits; what is cancelled meanwhile gets no answer."""

    async def __call__(self, work: Callable[[], T], /) -> T: ...


class Threads:
    """At most so many pieces of work at one time; others wait for their turn. A thread is made when it is first needed."""

    def __init__(self, name: str, most: int) -> None:
        self._executor = ThreadPoolExecutor(most, thread_name_prefix=name)

    async def __call__(self, work: Callable[[], T], /) -> T:
        """Do it, and give its result or raise its exception."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    async def aclose(self) -> None:
        """Begin nothing any more."""
        self._executor.shutdown(wait=False, cancel_futures=True)
