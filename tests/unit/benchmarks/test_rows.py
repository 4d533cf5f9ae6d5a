"""Ratios, targets and rounds: what a row says of two servers."""

import pytest

from benchmarks.contest import contest, turns
from benchmarks.rows import Better, Figure, Row

COST = Figure("cost", "ms", Better.LOWER, 0.7)
RATE = Figure("rate", "requests/s", Better.HIGHER, 10)
REPORTED = Figure("reported", "requests/s", Better.HIGHER)


@pytest.mark.parametrize(
    ("figure", "ours", "peer", "ratio", "met"),
    [
        pytest.param(COST, [1.0, 9.0, 2.0], [4.0, 4.0, 4.0], 0.5, True, id="a cost below its target, by medians"),
        pytest.param(COST, [2.8], [4.0], 0.7, True, id="a cost at its target"),
        pytest.param(COST, [3.0], [4.0], 0.75, False, id="a cost above its target"),
        pytest.param(RATE, [300.0], [20.0], 15.0, True, id="a rate above its target"),
        pytest.param(RATE, [200.0], [20.0], 10.0, True, id="a rate at its target"),
        pytest.param(RATE, [100.0], [20.0], 5.0, False, id="a rate below its target"),
        pytest.param(REPORTED, [100.0], [20.0], 5.0, None, id="what is only reported is not judged"),
        pytest.param(REPORTED, [100.0], [], None, None, id="what has no peer has no ratio"),
        pytest.param(RATE, [100.0], [0.0], None, None, id="a peer that measured nothing gives no ratio"),
    ],
)
def test_a_ratio_is_of_medians_and_meets_its_target_on_the_good_side(
    figure: Figure, ours: list[float], peer: list[float], ratio: float | None, met: bool | None
) -> None:
    """Costs must be at most, rates at least so many times the peer's."""
    row = Row(figure, ours, peer)

    assert ratio == row.ratio or row.ratio == pytest.approx(ratio)
    assert met is row.met


def test_a_row_that_is_not_judged_has_its_target_and_no_verdict() -> None:
    """Memory beside a small cluster."""
    row = Row(COST, [1.0], [4.0], judged=False).as_json()

    assert (0.7, 0.25, None) == (row["target"], row["ratio"], row["met"])


def test_a_row_in_a_file_has_medians_and_every_round() -> None:
    """Five digits of each."""
    assert {
        "name": "cost",
        "ours": 2.0,
        "peer": 4.1235,
        "ratio": 0.48503,
        "target": 0.7,
        "met": True,
        "unit": "ms",
        "better": "lower",
        "rounds": {"ours": [3.0, 1.0, 2.0], "peer": [4.1235]},
    } == Row(COST, [3.0, 1.0, 2.0], [4.1234567]).as_json()


def test_servers_take_turns_and_none_is_always_first() -> None:
    """A B, B A, A B."""
    assert ["A", "B", "B", "A", "A", "B"] == list(turns("A", "B", 3))


def test_a_contest_gathers_the_rounds_of_each() -> None:
    """All figures that one measurement gives, in the order in which it gives them."""
    values = iter(range(100))

    def measure(server: str) -> dict[Figure, float]:
        return {RATE: float(next(values)), COST: 100.0 if server == "A" else 200.0}

    rate, cost = contest("A", "B", 2, measure, judges=lambda figure: figure is RATE)

    assert (RATE, [0.0, 3.0], [1.0, 2.0], True) == (rate.figure, rate.ours, rate.peer, rate.judged)
    assert (COST, [100.0, 100.0], [200.0, 200.0], False) == (cost.figure, cost.ours, cost.peer, cost.judged)
