"""resourceVersion rules of reads (KEP-2340 terms): what a reader may ask for, and when it must come again."""

from typing import Protocol

from app.wire.list_options import EXACT
from app.wire.status import expired, too_large_version


class Versions(Protocol):
    """What readers need to know of resourceVersions; app/cache/versions.py makes them."""

    def is_own(self, version: int) -> bool:
        """Whether this process made the version (its low 10 bits are this instance's number)."""
        ...


def check_version(versions: Versions, asked: int | None, match: str, current: int) -> None:
    """Raise the Problem that answers a read at `asked`, if the state of `current` cannot serve it.

    None and 0 are served always. A version of this process that lies ahead is a 504: the reader saw it elsewhere or made it up. A version
    of another process says nothing about ours: it is served from now. Exact is served only if it is the current one.
    """
    if not asked or asked == current:
        return
    if asked > current and versions.is_own(asked):
        raise too_large_version(asked, current)
    if match == EXACT:
        raise expired(asked, current)
