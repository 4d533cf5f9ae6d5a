"""What a user probably meant by a name that does not exist."""

from collections.abc import Sequence

from app.nearest import nearest_word


def nearest(name: str, names: Sequence[str]) -> str:
    """'; did you mean X?', or where nothing is near, nothing."""
    near = nearest_word(name, names)
    return f"; did you mean {near}?" if near else ""
