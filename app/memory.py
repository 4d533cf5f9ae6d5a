"""The memory of the process beyond the objects that it needs: what Python's collector looks at, and what glibc keeps for later."""

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 10_000
"""Objects that come before the collector looks at them. A parsed answer is a thousand: with Python's 700 it would be looked at in every
scrape, be found in use, and be taken for one that lasts."""

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
        gc.set_threshold(YOUNG)
        gc.enable()


def settle() -> None:
    """Set aside what there is, for the collector never to look at: call it once, when what each node needs is there.

    For 5,000 nodes that is 0.7 million objects, which last as long as the nodes do; each full collection walked through them for 0.1 s and
    more, in which nothing else went on. What of them ends is freed all the same, unless it is a cycle.
    """
    gc.freeze()


def give_back() -> None:
    """Return free pages of the heap to the system, which glibc does of itself at the heap's end only. Other C libraries keep none."""
    if hasattr(_glibc, "malloc_trim"):
        _glibc.malloc_trim(0)
