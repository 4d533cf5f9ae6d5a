"""The known word that is most like one that is not known."""

import difflib
from collections.abc import Iterable

_LONGEST = 128  # comparing takes the product of both lengths


def nearest_word(word: str, known: Iterable[str]) -> str:
    """What was probably meant, "" if nothing is near. Case does not count."""
    if len(word) > _LONGEST:
        return ""
    by_lower: dict[str, str] = {}
    for each in known:
        by_lower.setdefault(each.lower(), each)
    near = difflib.get_close_matches(word.lower(), list(by_lower), n=1, cutoff=0.6)
    return by_lower[near[0]] if near else ""
