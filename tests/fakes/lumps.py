"""The queue of large pieces of work for tests of what waits in it."""

from app.lumps import Lumps
from tests.fakes.clock import ManualClock


def one_by_one() -> Lumps:
    """Nothing takes any time: each turn of the loop has one."""
    return Lumps(ManualClock().monotonic)
