"""The memory of the process beyond the objects that it needs: what Python's collector looks at, and what glibc keeps for later."""

import ctypes
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

YOUNG = 10_000
"""Objects that come before the collector looks at them. A parsed answer is a thousand: with Python's 700 it would be looked at in every
scrape, be found in use, and be taken for one that lasts."""

HEAP = 10
"""Scrapes after which the collector looks at what they left, and what lists did meanwhile; after 50,000 such heaps at everything, which for
5,000 nodes takes 0.1 s every 17 minutes."""

OLD = 15_000
"""Looks at what is young after which Python itself looks at everything, if much grew old: 150,000 scrapes."""

_M_MMAP_THRESHOLD = -3
_MAPPED = 128 * 1024
"""Blocks of this many bytes and more are mapped, and unmapped when they are freed. Unless told, glibc raises the bound to the largest block
it has seen: then pages of lists, some MB each, leave holes in the heap that stay."""

_glibc = ctypes.CDLL(None)


@contextmanager
def loading() -> Iterator[None]:
    """Load the modules of a server inside. They are no garbage: the collector does not look for any meanwhile, nor at them ever after."""
    if hasattr(_glibc, "mallopt"):
        _glibc.mallopt(_M_MMAP_THRESHOLD, _MAPPED)
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(YOUNG, 10, OLD)
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
    nothing else goes on. Almost none of it is garbage: in 3,000 requests and 1,000 scrapes there were a dozen cycles. So each object is
    looked at once while it is young, and is left for the next look at everything if it is in use then. Each look begins Python's own count
    anew, so that by itself it may never look at everything: that is done here too.
    """

    def __init__(self, collect: Callable[[int], object] = gc.collect) -> None:
        """`collect` looks at a generation and those that are younger."""
        self._collect = collect
        self._scrapes = 0

    def scraped(self) -> None:
        """Call it after each scrape."""
        self._scrapes += 1
        if self._scrapes % HEAP == 0:
            heaps = self._scrapes // HEAP
            self._collect(2 if heaps % 50_000 == 0 else 1)


def give_back() -> None:
    """Return free pages of the heap to the system, which glibc does of itself at the heap's end only. Other C libraries keep none."""
    if hasattr(_glibc, "malloc_trim"):
        _glibc.malloc_trim(0)
