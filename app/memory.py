"""The memory of the process beyond the objects that it needs: what Python's collector looks at, and what glibc keeps for later."""

import ctypes
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

YOUNG = 10_000
"""Objects that come before the collector looks at them. A parsed answer is a thousand: with Python's 700 it would be looked at in every
scrape, be found in use, and be taken for one that lasts."""

HEAP = 50
"""Scrapes that begin before the collector looks at what others left. After three such heaps it looks at what they left too; after 10,000 of
them at everything, which for 5,000 nodes takes 0.1 s every 17 minutes."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_MAPPED = 512 * 1024
"""Blocks of this many bytes and more are mapped, and unmapped when they are freed. Unless told, glibc raises the bound to the largest block
it has seen: then pages of lists, some MB each, leave holes in the heap that stay. But the event loop takes 256 KiB for each read from a
client, and to have them mapped and unmapped made a get cost half as much again."""

_TOP = 2 * _MAPPED
"""Free bytes at the end of the heap that stay there for the next such block. glibc's own bound would give them back at once."""

_glibc = ctypes.CDLL(None)


@contextmanager
def loading() -> Iterator[None]:
    """Load the modules of a server inside. They are no garbage: the collector does not look for any meanwhile, nor at them ever after."""
    if hasattr(_glibc, "mallopt"):
        _glibc.mallopt(_M_MMAP_THRESHOLD, _MAPPED)
        _glibc.mallopt(_M_TRIM_THRESHOLD, _TOP)
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(YOUNG, 10, 1000)
        gc.enable()


def settle() -> None:
    """Set aside what there is, for the collector never to look at: call it once, when what each node needs is there.

    For 5,000 nodes that is 0.7 million objects, which last as long as the nodes do; each full collection walked through them for 0.1 s and
    more, in which nothing else went on. What of them ends is freed all the same, unless it is a cycle.
    """
    gc.freeze()


class Sweeper:
    """Has the collector look at what scrapes leave in small heaps.

    By itself it looks when more was made than freed by YOUNG objects. Here new values take the place of old ones, the number stays, and
    what is young grows all the same: with 5,000 nodes to the 160,000 objects of seven seconds, a look at which takes 0.1 to 0.25 s in which
    nothing else goes on. Almost none of it is garbage: in 3,000 requests and 1,000 scrapes there were a dozen cycles. Each look begins
    Python's own count anew, so that by itself it may never look at everything: that is done here too.
    """

    def __init__(self, collect: Callable[[int], object] = gc.collect) -> None:
        """`collect` looks at a generation and those that are younger."""
        self._collect = collect
        self._scrapes = 0

    def scrape_begins(self) -> None:
        """Call it when each scrape begins: where more begin than can end, those that wait are young too."""
        self._scrapes += 1
        if self._scrapes % HEAP == 0:
            heaps = self._scrapes // HEAP
            self._collect(2 if heaps % 10_000 == 0 else 1 if heaps % 3 == 0 else 0)


def give_back() -> None:
    """Return free pages of the heap to the system, which glibc does of itself at the heap's end only. Other C libraries keep none."""
    if hasattr(_glibc, "malloc_trim"):
        _glibc.malloc_trim(0)
