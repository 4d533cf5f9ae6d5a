"""app/simulation/curves.py: counters never fall, looks stand still in between, and integrals are exact."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from app.simulation.curves import MINUTE, SECOND, Housekeeping, Load, Usage

START = 1_796_000_000 * SECOND


def test_the_integral_of_a_whole_turn_is_the_mean() -> None:
    """Over whole turns of the sine the swing cancels out, to the nanosecond of rounding."""
    load = Load(cpu=50_000_000, memory=2**20, cpu_swing=30_000_000, period=4 * MINUTE, phase=0.3)

    assert abs(load.cpu_between(START, START + 8 * MINUTE) - 50_000_000 * 480) <= 1


def test_a_change_of_load_keeps_what_was_counted() -> None:
    """After a change the counter goes on from where it was, and what was answered for an earlier time stays true."""
    usage = Usage(Load(cpu=SECOND, memory=0), START)
    usage.change(Load(cpu=SECOND // 2, memory=0), START + 10 * SECOND)

    assert [usage.cpu_ns(START + s * SECOND) for s in (-1, 5, 10, 14)] == [0, 5 * SECOND, 10 * SECOND, 12 * SECOND]


@given(
    cpu=st.integers(0, 10**11),
    swing=st.floats(0, 1),
    period=st.integers(SECOND, 3600 * SECOND),
    phase=st.floats(0, 1),
    steps=st.lists(st.integers(SECOND, 30 * SECOND), min_size=1, max_size=20),
)
def test_a_counter_never_falls(cpu: int, swing: float, period: int, phase: float, steps: list[int]) -> None:
    """The CPU counter grows or stands still between any two looks, whatever the curve."""
    usage = Usage(Load(cpu=cpu, memory=0, cpu_swing=int(cpu * swing), period=period, phase=phase), START)
    times = [START]
    for step in steps:
        times.append(times[-1] + step)
    counts = [usage.cpu_ns(t) for t in times]

    assert sorted(counts) == counts


@given(seed=st.integers(0, 2**64 - 1))
def test_looks_are_10_to_20_seconds_apart(seed: int) -> None:
    """The first look comes within 20 s of the start; then they are 10 to 20 s apart, and between them nothing moves."""
    housekeeping = Housekeeping(START, seed)
    seen: list[int | None] = [housekeeping.latest(START + t * SECOND) for t in range(300)]
    looks = sorted({look for look in seen if look is not None})

    assert 0 <= looks[0] - START <= 20 * SECOND
    assert all(10 * SECOND <= later - earlier <= 20 * SECOND for earlier, later in itertools.pairwise(looks))
    assert housekeeping.previous(looks[0]) is None
    assert looks[:-1] == [housekeeping.previous(look) for look in looks[1:]]
    assert housekeeping.latest(looks[3] - 1) == looks[2]
