"""What is going on, for whoever waits: on standard error, with the time since the start. The table alone goes to standard output."""

import sys

from app.clock import SystemClock

_clock = SystemClock()
_start = _clock.monotonic()


def say(text: str) -> None:
    """One line."""
    minutes, seconds = divmod(int(elapsed()), 60)
    print(f"{minutes:2d}:{seconds:02d}  {text}", file=sys.stderr, flush=True)


def elapsed() -> float:
    """Seconds since the start."""
    return _clock.monotonic() - _start
