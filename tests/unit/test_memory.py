"""app/memory.py changes a whole process, so it is looked at in one of its own."""

import subprocess
import sys

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
