"""What a user probably meant by a name that does not exist."""

import difflib
from collections.abc import Sequence


def nearest(name: str, names: Sequence[str]) -> str:
    """'; did you mean X?', or where nothing is near, nothing."""
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""
