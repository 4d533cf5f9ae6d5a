"""Two servers and the same work, in rounds that take turns: whatever else the machine does meanwhile hits both alike."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from benchmarks.rows import Figure, Row

T = TypeVar("T")


def turns(ours: T, peer: T, rounds: int) -> Iterator[T]:
    """Who is next: A B, B A, A B, ..."""
    for number in range(rounds):
        yield from (ours, peer) if number % 2 == 0 else (peer, ours)


def contest(
    ours: T, peer: T, rounds: int, measure: Callable[[T], Mapping[Figure, float]], *, judges: Callable[[Figure], bool]
) -> list[Row]:
    """Measure each in turn; `measure` gives the value of one round for each figure, the same figures each time."""
    values: dict[Figure, tuple[list[float], list[float]]] = {}
    for server in turns(ours, peer, rounds):
        for figure, value in measure(server).items():
            values.setdefault(figure, ([], []))[server is peer].append(value)
    return [Row(figure, mine, theirs, judged=judges(figure)) for figure, (mine, theirs) in values.items()]
