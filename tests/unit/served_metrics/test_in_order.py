"""Sorting in pieces."""

from itertools import groupby
from operator import itemgetter

from hypothesis import given
from hypothesis import strategies as st

from app.served_metrics.in_order import PIECE, in_order


@given(st.lists(st.integers(0, 9), max_size=20), st.sampled_from([1, PIECE // 10, PIECE]))
def test_it_is_the_order_of_sorted(numbers: list[int], times: int) -> None:
    """Equal ones stay as they came."""
    items = list(enumerate(numbers * times))

    assert sorted(items, key=itemgetter(1)) == list(in_order(items, itemgetter(1)))


class _Key:
    """Notes when it is made and when it is compared."""

    def __init__(self, number: int, noted: list[str]) -> None:
        self.number = number
        self.noted = noted
        noted.append("made")

    def __lt__(self, other: "_Key") -> bool:
        self.noted.append("compared")
        return self.number < other.number


def test_no_more_than_a_piece_is_sorted_at_one_time() -> None:
    """sorted() makes all keys before it compares the first two."""
    noted: list[str] = []
    found = list(in_order(range(3 * PIECE + 1, 0, -1), lambda number: _Key(number, noted)))

    assert list(range(1, 3 * PIECE + 2)) == found
    assert max(len(list(run)) for what, run in groupby(noted) if what == "made") == PIECE
