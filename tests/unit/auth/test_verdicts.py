"""Verdicts last as long as they may, and are no more than they may be."""

from hypothesis import given
from hypothesis import strategies as st

from app.auth.verdicts import Verdicts
from tests.fakes.clock import ManualClock


def test_a_verdict_lasts_its_time() -> None:
    """From when it came, however often it is looked at; one that comes again lasts anew."""
    clock = ManualClock()
    kept: Verdicts[str] = Verdicts(8, 10.0, clock.monotonic)
    kept.put("a", "yes")
    clock.advance(9.9)
    assert ("yes", None) == (kept.get("a"), kept.get("b"))
    kept.put("a", "no")
    clock.advance(9.9)
    assert "no" == kept.get("a")
    clock.advance(0.1)
    assert kept.get("a") is None


def test_what_has_ended_makes_room() -> None:
    """It goes when the next comes: nothing that ended is kept beside what has not."""
    clock = ManualClock()
    kept: Verdicts[int] = Verdicts(100, 10.0, clock.monotonic)
    for number in range(50):
        kept.put(number, number)
    clock.advance(10.0)
    kept.put("new", 1)
    assert 1 == len(kept)


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0.0, 1.0, 4.0, 10.0]))))
def test_the_newest_are_kept(steps: list[tuple[int, float]]) -> None:
    """Never more than `most`, and those that came last."""
    clock = ManualClock()
    kept: Verdicts[int] = Verdicts(4, 10.0, clock.monotonic)
    came: dict[int, tuple[float, int]] = {}
    for number, (key, seconds) in enumerate(steps):
        clock.advance(seconds)
        kept.put(key, number)
        came.pop(key, None)
        came[key] = (clock.monotonic(), number)
        newest = dict(list(came.items())[-4:])
        expected = {key: value for key, (at, value) in newest.items() if clock.monotonic() < at + 10.0}
        assert expected == {key: value for key in range(10) if (value := kept.get(key)) is not None}
        assert len(kept) <= 4
