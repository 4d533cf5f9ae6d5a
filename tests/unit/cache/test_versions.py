"""resourceVersions: always rising, and marked by the instance that gave them."""

from hypothesis import given
from hypothesis import strategies as st

from app.cache.versions import Versions
from tests.fakes.clock import ManualClock


@given(st.lists(st.floats(-1000, 1000), max_size=50))
def test_versions_rise_whatever_the_wall_clock_does(jumps: list[float]) -> None:
    """Also when the wall clock stands still or goes back a version is above all earlier ones, and an int63."""
    clock = ManualClock()
    versions = Versions(clock, instance=7)
    seen = [versions.current]
    for jump in jumps:
        clock.jump(jump)
        seen.append(versions.next())

    assert seen == sorted(set(seen))
    assert all(0 < version < 2**63 for version in seen)


def test_more_than_a_sequence_in_one_millisecond() -> None:
    """5,000 publishes within one millisecond still have 5,000 versions in order."""
    versions = Versions(ManualClock(), instance=7)
    seen = [versions.next() for _ in range(5000)]

    assert seen == sorted(set(seen))


def test_a_version_tells_whose_it_is() -> None:
    """A replica knows its own versions from another's."""
    one, two = Versions(ManualClock(), instance=1), Versions(ManualClock(), instance=2)

    assert (one.is_own(one.next()), one.is_own(two.next())) == (True, False)
