"""app/memory.py changes a whole process, so it is looked at in one of its own."""

import subprocess
import sys

from app.memory import HEAP, Sweeper

_SCRIPT = """
import gc
from app import memory

with memory.loading():
    loaded = [[] for _ in range(1000)]
    print(gc.isenabled())
made = [[] for _ in range(1000)]
before = gc.get_freeze_count()
memory.settle()
memory.give_back()
print(gc.get_freeze_count() - before >= 1000)
print(gc.isenabled(), gc.get_freeze_count() > 1000, gc.get_threshold()[0] == memory.YOUNG)
"""


def test_what_is_loaded_and_what_lasts_is_set_aside() -> None:
    """The collector stays on, for cycles come; and what there was before is not walked through again."""
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=False)

    assert (0, "False\nTrue\nTrue True True\n", "") == (done.returncode, done.stdout, done.stderr)


def test_what_scrapes_leave_is_looked_at_in_small_heaps() -> None:
    """Young objects every time, those that outlived three heaps with the third."""
    looked: list[int] = []
    sweeper = Sweeper(looked.append)
    for _ in range(6 * HEAP):
        sweeper.scrape_begins()

    assert [0, 0, 1] * 2 == looked


def test_everything_is_looked_at_seldom() -> None:
    """But it is: each look at young objects begins Python's own count anew, and a cycle that grew old would stay for ever."""
    looked: list[int] = []
    sweeper = Sweeper(looked.append)
    for _ in range(10_000 * HEAP):
        sweeper.scrape_begins()

    assert (2, 1) == (looked[-1], looked.count(2))
