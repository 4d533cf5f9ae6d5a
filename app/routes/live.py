"""Answers that go on while nothing happens, such as logs that are followed: how many there are, how long they go on, how they end."""

import asyncio
from collections.abc import AsyncGenerator, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from app.errors import Problem

MOST = 32
"""Answers at one time. Each holds a request's place, and what it reads from."""

SECONDS = 3600.0
"""How long one goes on; who wants more asks again."""

_SLACK_S = 60.0
_EXTENSION = "kubeglance.live"  # see app/serving/protocol.py


class LiveAnswers:
    """Those that are under way."""

    def __init__(self, most: int = MOST, seconds: float = SECONDS) -> None:
        self._most = most
        self._seconds = seconds
        self._ends: set[Callable[[], None]] = set()
        self._stopped = False

    def check(self) -> None:
        """Raises Problem where there may be no more: 429, or 503 at the end of the process."""
        if self._stopped:
            raise Problem(503, "ServiceUnavailable", "this replica is about to end: ask again", details={"retryAfterSeconds": 1})
        if len(self._ends) >= self._most:
            raise Problem(429, "TooManyRequests", f"{self._most} such answers are under way", details={"retryAfterSeconds": 10})

    def stop(self) -> None:
        """End all, and begin no other."""
        self._stopped = True
        for end in tuple(self._ends):
            end()

    @asynccontextmanager
    async def bounded(self, scope: MutableMapping[str, Any]) -> AsyncGenerator[None, None]:
        """What is done within ends when its time is over, when the peer is gone, and at the end of the process."""
        loop = asyncio.get_running_loop()
        limit = asyncio.timeout(0.0 if self._stopped else self._seconds)

        def end() -> None:
            if end in self._ends:
                limit.reschedule(loop.time())

        try:
            async with limit:
                self._ends.add(end)
                goes_on = scope.get("extensions", {}).get(_EXTENSION)
                if goes_on is not None:
                    goes_on(self._seconds + _SLACK_S, end)
                try:
                    yield
                finally:
                    self._ends.discard(end)
        except TimeoutError:
            if not limit.expired():
                raise
