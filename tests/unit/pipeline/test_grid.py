import math
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.pipeline.grid import EARLY_S, Grid, Schedule, early_pause, first_delays, offsets

_intervals = st.sampled_from([1.0, 5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0])


def test_offsets_are_the_same_in_every_process() -> None:
    """The shift of a node is a fact, not a run's accident: replicas sample at the same moments."""
    assert offsets("node-1", [15.0, 30.0], nodes=5_000) == (4.7900390625, 27.2900390625)


@given(st.text(min_size=1), st.lists(_intervals, min_size=2, max_size=3), st.integers(0, 10_000))
def test_the_collectors_of_a_node_never_coincide(node: str, intervals: list[float], nodes: int) -> None:
    """However the intervals relate, two collectors of one node never tick at the same moment."""
    shifts = offsets(node, intervals, nodes)
    apart = min(
        abs((one - two + common / 2) % common - common / 2)
        for index, one in enumerate(shifts)
        for other, two in enumerate(shifts)
        if index < other and (common := math.gcd(int(intervals[index]), int(intervals[other])))
    )

    assert all(0 <= shift < interval for shift, interval in zip(shifts, intervals, strict=True))
    assert apart > 0.05


@pytest.mark.parametrize(
    ("nodes", "bunches"),
    [
        pytest.param(1, 1, id="a few nodes are one bunch"),
        pytest.param(63, 1, id="32 to 63 nodes are, in a small cluster"),
        pytest.param(64, 2, id="64 nodes are two"),
        pytest.param(100, 2, id="100 nodes are two of 50"),
        pytest.param(240, 8, id="240 nodes are eight of 30: 16 to 31, in a larger one"),
        pytest.param(1_000, 32, id="1,000 nodes are 32 of 31"),
        pytest.param(5_000, 1024, id="5,000 nodes are 1,024 of 5"),
    ],
)
def test_nodes_tick_in_bunches(nodes: int, bunches: int) -> None:
    """As many moments of the interval as there are bunches have a tick, and they are evenly spaced."""
    shifts = {offsets(f"node-{number}", [15.0], nodes)[0] for number in range(20_000)}

    assert sorted(shifts) == pytest.approx([15.0 / bunches * number for number in range(bunches)])


def test_offsets_are_spread_evenly() -> None:
    """Ten thousand nodes load each of sixteen parts of the interval about equally."""
    parts = [0] * 16
    for number in range(10_000):
        parts[int(offsets(f"node-{number}", [15.0], nodes=10_000)[0] * 16 / 15)] += 1

    assert all(500 < part < 750 for part in parts)


@pytest.mark.parametrize(
    ("intervals", "nodes", "most"),
    [
        pytest.param([15.0], 2, 0.01, id="few targets start at once"),
        pytest.param([15.0, 30.0], 100, 1.0, id="a hundred nodes start within a second"),
        pytest.param([15.0, 30.0], 5_000, 5.0, id="many are spread over 5 s"),
        pytest.param([6.0, 30.0], 5_000, 3.0, id="at most half an interval"),
    ],
)
def test_first_scrapes_are_spread(intervals: list[float], nodes: int, most: float) -> None:
    """After start each target is scraped at once, but not all in the same moment."""
    delays = [delay for number in range(200) for delay in first_delays(f"node-{number}", intervals, nodes)]

    assert most * 0.9 < max(delays) <= most
    assert 0 <= min(delays) < most * 0.1


@given(st.text(min_size=1), st.lists(_intervals, min_size=2, max_size=3), st.integers(1, 10_000))
def test_first_scrapes_of_a_node_take_turns(node: str, intervals: list[float], nodes: int) -> None:
    """The last collector comes first on every node before any comes second: it has values after one scrape."""
    delays = first_delays(node, intervals, nodes)
    turn = min(*(interval / 2 for interval in intervals), 5.0, nodes * len(intervals) * 0.005) / len(intervals)

    assert [int(delay / turn) for delay in delays] == list(reversed(range(len(intervals))))


@given(st.floats(0, 2e9), _intervals, st.floats(0, 1), st.floats(0, 30))
@example(1_764_500_009.9999, 10.0, 0.0, 0.0)
def test_two_scrapes_are_half_to_one_and_a_half_intervals_apart(wall: float, interval: float, shift: float, took: float) -> None:
    """Whatever the wall clock says, there is neither a storm nor a gap; and the wait ends on the grid."""
    offset = shift * interval * 0.999
    wait = Grid(interval, lambda: offset).wait(wall, took)
    to_tick = (wall + wait - offset) % interval

    assert 0 < wait
    assert took + wait >= interval / 2
    assert wait <= 1.5 * interval
    assert min(to_tick, interval - to_tick) < 1e-5


def _waits(schedule: Schedule, outcomes: list[bool | None], *, wall: float, took: float = 0.1) -> list[float]:
    """Run a schedule through `outcomes` (None: the scrape failed) and note the waits."""
    monotonic, waits = 0.0, []
    for settled in outcomes:
        wait = schedule.wait(wall, monotonic)
        waits.append(round(wait, 3))
        wall, monotonic = wall + wait, monotonic + wait
        schedule.begins(monotonic)
        wall, monotonic = wall + took, monotonic + took
        if settled is not None:
            schedule.succeeded(settled=settled)
    return waits


def test_the_second_sample_is_tried_early_until_it_is_there() -> None:
    """Every 5 s until each CPU time has advanced once, then on the grid."""
    waits = _waits(Schedule(Grid(15.0, lambda: 0.0), 0.0), [False, False, True, True, True], wall=1_500_000_000.0)

    assert waits == [0.0, 4.9, 4.9, 19.9, 14.9]


def test_early_tries_end_after_one_interval() -> None:
    """A kubelet that never advances is not asked every 5 s for ever."""
    waits = _waits(Schedule(Grid(15.0, lambda: 0.0), 0.0), [False] * 7, wall=1_500_000_000.0)

    assert waits == [0.0, 4.9, 4.9, 4.9, 14.9, 14.9, 14.9]


def test_of_thousands_of_targets_none_is_tried_early() -> None:
    """A second sample that comes early is a comfort; for 10,000 targets it would be three times the work of any other interval."""
    assert early_pause(200) == early_pause(1000) == EARLY_S
    assert early_pause(2000) == 10.0
    waits = _waits(Schedule(Grid(15.0, lambda: 0.0), 0.0, early_pause(10_000)), [False] * 3, wall=1_500_000_000.0)

    assert waits == [0.0, 14.9, 14.9]


def test_timers_that_wake_late_cost_no_early_try() -> None:
    """Each wakes a little after its moment; the last of the interval is due all the same."""
    schedule, monotonic, waits = Schedule(Grid(15.0, lambda: 0.0), 0.0), 0.0, []
    for _ in range(4):
        wait = schedule.wait(1_500_000_000.0 + monotonic, monotonic)
        waits.append(round(wait, 3))
        monotonic += wait + 0.01
        schedule.begins(monotonic)
        schedule.succeeded(settled=False)

    assert waits == [0.0, 5.0, 5.0, 5.0]


def test_there_is_one_early_phase_only() -> None:
    """A new pod later on does not bring the early tries back."""
    waits = _waits(Schedule(Grid(15.0, lambda: 0.0), 0.0), [True, False, False], wall=1_500_000_000.0)

    assert waits == [0.0, 14.9, 14.9]


def test_failures_before_the_first_sample_stay_on_the_grid() -> None:
    """A node that does not answer is not asked more often for that."""
    waits = _waits(Schedule(Grid(15.0, lambda: 0.0), 0.0), [None, None, False, True], wall=1_500_000_000.0)

    assert waits == [0.0, 14.9, 14.9, 4.9]


def test_no_early_tries_for_short_intervals() -> None:
    """Where the grid itself is as quick, there is nothing to hasten."""
    waits = _waits(Schedule(Grid(4.0, lambda: 0.0), 0.0), [False, False], wall=1_500_000_000.0)

    assert waits == [0.0, 3.9]
    assert EARLY_S > 4.0


def test_a_rest_is_kept_and_then_over() -> None:
    """After a rest the loop is back on its grid."""
    schedule = Schedule(Grid(15.0, lambda: 0.0), 0.0)
    schedule.wait(1_500_000_000.0, 0.0)
    schedule.begins(0.0)
    schedule.rest(1.0, 600.0)

    assert schedule.wait(1_500_000_001.0, 1.0) == 600.0
    schedule.begins(601.0)
    assert schedule.wait(1_500_000_601.5, 601.5) == 13.5


@pytest.mark.parametrize("jump", [-86_400.0, -7.0, -0.01, 0.01, 7.0, 86_400.0])
def test_a_jump_of_the_wall_clock_costs_one_odd_interval(jump: float) -> None:
    """Forwards or backwards, by a day or a breath: the next scrapes come 0.5 to 1.5 intervals later, then on the grid."""
    schedule = Schedule(Grid(15.0, lambda: 2.0), 0.0)
    wall, monotonic = 1_500_000_000.0, 0.0
    began: list[float] = []
    for number in range(6):
        wait = schedule.wait(wall, monotonic)
        wall, monotonic = wall + wait, monotonic + wait
        if number == 2:
            wall += jump
        began.append(monotonic)
        schedule.begins(monotonic)
        schedule.succeeded(settled=True)
    gaps = [later - sooner for sooner, later in pairwise(began)]

    assert all(7.5 <= gap <= 22.5 for gap in gaps)
    assert [15.0, 15.0] == [round(gap, 6) for gap in gaps[3:]]
