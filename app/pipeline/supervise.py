"""The only creator of tasks. Each has a name and an owner, and none ends unnoticed.

A guarded task is meant to run as long as the process: one that returns or fails is a bug or a fault that nobody handled, and half a
process is worse than none. So it takes the whole process down, loudly, and Kubernetes starts a new one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable
from types import TracebackType

import structlog

from app.errors import KubeglanceError

log = structlog.get_logger(__name__)
Run = Callable[[], Awaitable[None]]


class TaskEnded(KubeglanceError):
    """A task that should have gone on for ever returned."""


class Supervisor:
    """An async context manager around one TaskGroup. On leaving, tasks are cancelled one by one, the youngest first.

    When a guarded task ends, the body and all other tasks are cancelled and leaving raises an ExceptionGroup with what it raised.
    """

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        self._tasks: dict[asyncio.Task[None], str] = {}
        self._stopped: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "Supervisor":
        await self._group.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None) -> None:
        try:
            while self._tasks:
                task = next(reversed(self._tasks))
                self.stop(task)
                await asyncio.wait([task])
        finally:
            await self._group.__aexit__(kind, exc, trace)

    def guard(self, name: str, run: Run) -> asyncio.Task[None]:
        """Start `run` as a task that must not end by itself."""
        task = self._group.create_task(self._guarded(name, run), name=name)
        self._tasks[task] = name
        task.add_done_callback(self._ended)
        return task

    def stop(self, task: asyncio.Task[None]) -> None:
        """Cancel a task, once: what it does to end in order is not disturbed by a second time.

        That it is being cancelled already tells nothing: a time-out of its own may have struck in this very moment, and it would go on.
        """
        if task not in self._stopped:
            self._stopped.add(task)
            task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        self._stopped.discard(task)

    def children(self, prefix: str) -> "Children":
        """A set of guarded tasks that come and go, named "<prefix> <key>"."""
        return Children(self, prefix)

    @staticmethod
    async def _guarded(name: str, run: Run) -> None:
        try:
            await run()
        except Exception:
            log.critical("a task that everything depends on failed; ending the process", task=name, exc_info=True)
            raise
        log.critical("a task that everything depends on returned; ending the process", task=name)
        raise TaskEnded(f"task {name} returned")


class Children:
    """Guarded tasks by key. Stopping one is no fault; one that ends by itself is."""

    def __init__(self, supervisor: Supervisor, prefix: str) -> None:
        self._supervisor = supervisor
        self._prefix = prefix
        self._tasks: dict[Hashable, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._tasks

    def keys(self) -> Iterable[Hashable]:
        """The keys of those that run."""
        return list(self._tasks)

    def start(self, key: Hashable, run: Run) -> None:
        """Start `run` under `key`, in place of what ran there."""
        self.stop(key)
        name = " ".join(str(part) for part in key) if isinstance(key, tuple) else str(key)
        self._tasks[key] = self._supervisor.guard(f"{self._prefix} {name}", run)

    def stop(self, key: Hashable) -> None:
        """Cancel what runs under `key`, if anything does. It gets no further than its next await."""
        task = self._tasks.pop(key, None)
        if task is not None:
            self._supervisor.stop(task)
