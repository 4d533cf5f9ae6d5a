"""collectors/_prometheus_text.py: the text format as items."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors._prometheus_text import exact, read_samples, stamp


@pytest.mark.parametrize(
    ("line", "sample"),
    [
        pytest.param("up 1", {"name": "up", "labels": {}, "value": 1}, id="bare"),
        pytest.param("up{} 1", {"name": "up", "labels": {}, "value": 1}, id="empty-braces"),
        pytest.param(
            'a:b_c{x="1",y="2",} 0.5', {"name": "a:b_c", "labels": {"x": "1", "y": "2"}, "value": 0.5}, id="labels-and-a-last-comma"
        ),
        pytest.param('a { x = "1" } 2', {"name": "a", "labels": {"x": "1"}, "value": 2}, id="spaces"),
        pytest.param('a{x="}\\"\\\\\\n"} 2', {"name": "a", "labels": {"x": '}"\\\n'}, "value": 2}, id="escapes-and-a-brace"),
        pytest.param("a 1 1764500000123", {"name": "a", "labels": {}, "value": 1, "timestamp": "2025-11-30T10:53:20.123Z"}, id="stamp"),
        pytest.param("a\t-1.5e3\r", {"name": "a", "labels": {}, "value": -1500}, id="tab-and-return"),
        pytest.param("a 1 99999999999999999", {"name": "a", "labels": {}, "value": 1}, id="a-stamp-beyond-all-years"),
    ],
)
def test_lines(line: str, sample: dict[str, Any]) -> None:
    """Each spelling that the format allows."""
    assert ([sample], []) == read_samples(line + "\n")


def test_openmetrics() -> None:
    """Seconds instead of milliseconds, and exemplars that are not taken."""
    samples, unusable = read_samples('# TYPE a counter\na_total{x="1"} 17 1764500000.5 # {trace="z"} 0.5\n# EOF\n')

    assert [{"name": "a_total", "labels": {"x": "1"}, "value": 17, "timestamp": "2025-11-30T10:53:20.500Z"}] == samples
    assert [] == unusable


@pytest.mark.parametrize(
    "line",
    ["a", "a{", "a{x} 1", 'a{x="1} 1', "1a 1", "a 1 2 3", "a NaN", "a +Inf", "a 1_000", "a x", 'a{x="1"}', "{} 1", 'a{"utf8.name"} 1'],
)
def test_a_bad_line_costs_itself_only(line: str) -> None:
    """It is told by its index and its name."""
    samples, unusable = read_samples(f"# HELP a b\n{line}\ngood 1\n")

    assert ["good"] == [sample["name"] for sample in samples]
    assert [1] == [each.index for each in unusable]


def test_a_last_line_that_may_have_been_cut() -> None:
    """1 could have been 17."""
    samples, unusable = read_samples("a 1\nb 1")

    assert (["a"], [1]) == ([sample["name"] for sample in samples], [each.index for each in unusable])


@given(st.text() | st.lists(st.sampled_from(list('ab{}",= \\\n#1.e+-N\t'))).map("".join))
def test_no_text_crashes_it(text: str) -> None:
    """For whatever comes, samples with finite numbers; and a good line beside it is read."""
    samples, unusable = read_samples(text)
    assert all(math.isfinite(sample["value"]) for sample in samples)
    assert len(samples) + len(unusable) <= text.count("\n") + 1

    samples, _ = read_samples(f"{text}\ngood 1\n")
    assert {"name": "good", "labels": {}, "value": 1} in samples


@given(st.floats() | st.integers(-(2**70), 2**70))
def test_numbers_come_back(number: float) -> None:
    """A number that is written is the one that is read, or none."""
    value = exact(repr(number))

    assert (float(number) if math.isfinite(number) else None) == value
    assert not isinstance(value, float) or not value.is_integer() or abs(value) >= 2**63


@given(st.floats())
def test_stamps_never_crash(seconds: float) -> None:
    """A time that is none has no text."""
    assert (stamp(seconds) is not None) == (0 <= seconds <= 253_402_300_799)
