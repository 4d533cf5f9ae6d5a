"""Rings of numbers: bounded, by the wall clock's grid, and no zero that nobody saw."""

from hypothesis import given
from hypothesis import strategies as st

from app.cache.history import History, Point, average, averages
from app.kube.records import Key

A: Key = ("ns", "a")
B: Key = ("ns", "b")
STEP = 10


def filled(times: range, *, points: int = 4) -> History:
    history = History(["ready", "lag"], points, STEP)
    for time in times:
        history.take(time, {A: [time, None]})
    return history


def test_the_last_points_stay() -> None:
    """A ring of four has the last four, oldest first; a number that an object lacks is none, not zero."""
    history = filled(range(5, 105, STEP))

    assert [Point(time, (time, None)) for time in (65, 75, 85, 95)] == history.points(A)
    assert [85, 95] == [point.time for point in history.points(A, since=80)]


def test_news_within_one_interval_are_one_point() -> None:
    """What comes more often than the interval does not push out what is older."""
    history = filled(range(5, 45, STEP))
    for time in (46, 47, 48):
        history.take(time, {A: [time, 1]})

    assert [(15, None), (25, None), (35, None), (48, 1)] == [(point.values[0], point.values[1]) for point in history.points(A)]


def test_a_collection_that_failed_is_a_gap() -> None:
    """Nothing is taken then, and nothing is made up."""
    history = filled(range(5, 25, STEP))
    history.take(65, {A: [65, None]})

    assert [5, 15, 65] == [point.time for point in history.points(A)]


def test_what_is_gone_is_let_go() -> None:
    """An object that a collection lacks is forgotten; when it comes back, it begins anew. One that is new has nothing before."""
    history = filled(range(5, 25, STEP))
    history.take(25, {B: [1, 1]})
    history.take(35, {A: [2, 2], B: [3, 3]})

    assert [Point(35, (2, 2))] == history.points(A)
    assert [Point(25, (1, 1)), Point(35, (3, 3))] == history.points(B)
    assert [] == history.points(("ns", "never"))


def test_objects_beyond_the_room_have_none() -> None:
    """A kind of very many objects cannot fill the memory; who has a history keeps it, whoever comes before them in the list."""
    history = History(["ready"], 4, STEP, most_bytes=2 * 5 * 8)
    first, others = {("ns", "a"): [1.0], ("ns", "c"): [1.0]}, {("ns", name): [2.0] for name in "0abc"}
    history.take(5, first)
    history.take(15, others)

    assert [[], [1, 2], [], [1, 2]] == [[point.values[0] for point in history.points(("ns", name))] for name in "0abc"]
    history.take(25, {("ns", "0"): [3.0], ("ns", "c"): [3.0]})
    assert [3] == [point.values[0] for point in history.points(("ns", "0"))]


def test_an_object_without_any_number_has_no_points() -> None:
    history = History(["ready"], 4, STEP)
    history.take(5, {A: [None]})

    assert [] == history.points(A)


def test_spans() -> None:
    """Equal parts of the whole time that is kept, the last one up to the newest point; one without points is none."""
    history = filled(range(5, 85, STEP), points=8)

    assert [10, 30, 50, 70] == history.spans(0, 4)(A)
    assert [None] * 4 == history.spans(1, 4)(A)
    assert [None] * 4 == history.spans(0, 4)(B)
    assert [None, None, None, 5.0] == filled(range(5, 15, STEP), points=8).spans(0, 4)(A)


def test_an_heir_goes_on() -> None:
    """The same kept by another: the points go over; another shape begins anew."""
    old = filled(range(5, 25, STEP))
    heir, stranger = History(["ready", "lag"], 4, STEP), History(["ready"], 4, STEP)
    heir.follow(old)
    stranger.follow(old)

    assert old.points(A) == heir.points(A)
    assert [] == stranger.points(A)


def test_averages() -> None:
    """What lies within a step of the wall clock's grid is one point; a field that was not known stays so."""
    points = [Point(5, (1.0, None)), Point(9, (3.0, None)), Point(25, (5.0, 2.0))]

    assert [Point(0, (2.0, None)), Point(20, (5.0, 2.0))] == averages(points, 10)
    assert average([None, None]) is None


@given(
    st.lists(st.tuples(st.integers(1, 10**6), st.floats(allow_nan=False, allow_infinity=False, width=32)), max_size=40), st.integers(1, 10)
)
def test_never_more_than_there_is_room_for(news: list[tuple[int, float]], points: int) -> None:
    """However collections come: no more points than asked for, the last one always there, all of them what was taken."""
    history = History(["x"], points, STEP)
    for time, value in news:
        history.take(time, {A: [value]})
    kept = history.points(A)

    assert len(kept) <= points
    assert {(point.time, point.values[0]) for point in kept} <= set(news)
    assert not news or (news[-1][0], news[-1][1]) == (kept[-1].time, kept[-1].values[0])
    assert len(history.spans(0, 8)(A)) == 8
