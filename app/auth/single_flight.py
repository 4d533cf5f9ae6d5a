"""One call for all who ask the same thing at the same time."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class _Outcome(Struct, Generic[T], frozen=True):
    value: T | None = None
    error: Exception | None = None
    abandoned: bool = False


class SingleFlight(Generic[T]):
    """The first caller of a key makes the call in its own task; those who come meanwhile wait for its outcome.

    If the first caller is cancelled, one of the waiting makes the call anew: nobody fails because another's client went away.
    """

    def __init__(self) -> None:
        self._flights: dict[Hashable, asyncio.Future[_Outcome[T]]] = {}

    async def run(self, key: Hashable, call: Callable[[], Awaitable[T]]) -> T:
        while (flight := self._flights.get(key)) is not None:
            outcome = await asyncio.shield(flight)
            if outcome.error is not None:
                raise outcome.error
            if not outcome.abandoned:
                return outcome.value  # type: ignore[return-value]  # neither error nor abandoned: it holds the value
        flight = self._flights[key] = asyncio.get_running_loop().create_future()
        outcome = _Outcome(abandoned=True)
        try:
            value = await call()
            outcome = _Outcome(value)
        except Exception as exc:
            outcome = _Outcome(error=exc)
            raise
        else:
            return value
        finally:
            del self._flights[key]
            flight.set_result(outcome)
