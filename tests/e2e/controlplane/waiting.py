"""Waiting for what another process will do, with words about what is waited for."""

import time
from collections.abc import Callable
from typing import TypeVar

from app.clock import Clock, SystemClock

T = TypeVar("T")

PROGRESS = 10.0
"""Seconds between two lines of progress."""


class WaitedInVain(AssertionError):
    """What was waited for did not come in time. The message says what was seen last."""


def wait_until(what: str, look: Callable[[], T | None], *, seconds: float, every: float = 0.3, clock: Clock | None = None) -> T:
    """The first true answer of `look`. An exception of kind OSError or AssertionError counts as "not yet".

    `seconds` is generous on purpose: it bounds a hang, it is no statement about speed.
    """
    clock = clock or SystemClock()
    start = shown = clock.monotonic()
    seen = "nothing"
    while True:
        try:
            found = look()
        except (OSError, AssertionError) as error:
            seen = f"{type(error).__name__}: {error}".partition("\n")[0]
        else:
            if found:
                return found
            seen = repr(found)
        now = clock.monotonic()
        if now - start > seconds:
            raise WaitedInVain(f"{what}: not within {seconds:.0f} s; last seen: {seen}")
        if now - shown >= PROGRESS:
            shown = now
            print(f"... {what}: {now - start:.0f} s, last seen: {seen[:200]}", flush=True)
        time.sleep(every)
