"""Many autoscalers at once, as kube-controller-manager runs them: each asks for its metric every 15 s, at a moment of its own."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.growth.pace import Connection, Server, Unanswered

PERIOD_S = 15.0
"""--horizontal-pod-autoscaler-sync-period."""


@dataclass
class Autoscalers:
    """One for each of `paths`. Latencies (seconds) count from when a request was due; `failed` are those that were answered, but not well.

    An autoscaler waits for its answer before it asks again: one that waited for longer than its period asks at once.
    """

    server: Server
    paths: Sequence[str]
    latencies: list[float] = field(default_factory=list)
    failed: int = 0
    _free: list[Connection] = field(default_factory=list)

    async def run(self, seconds: float) -> None:
        """For so long; requests that are under way at the end are given up. Raises OSError."""
        step = PERIOD_S / len(self.paths)
        try:
            async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
                for number, path in enumerate(self.paths):
                    group.create_task(self._autoscaler(path, number * step))
        except TimeoutError:
            pass  # so long was asked for
        finally:
            while self._free:
                self._free.pop().close()

    async def _autoscaler(self, path: str, phase: float) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + phase
        while True:
            await asyncio.sleep(due - loop.time())
            try:
                await self._ask(path)
            except Unanswered:
                self.failed += 1
            else:
                self.latencies.append(loop.time() - due)
            due = max(due + PERIOD_S, loop.time())

    async def _ask(self, path: str) -> None:
        """On the connection that was used last, a new one if all are busy: as many are open as are needed."""
        connection = self._free.pop() if self._free else None
        if connection is None or connection.closed:
            connection = await self.server.connect()
        try:
            await connection.get(path)
        except BaseException:
            connection.close()
            raise
        self._free.append(connection)
