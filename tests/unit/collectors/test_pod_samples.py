"""collectors/_pod_samples.py: which lines of a pod's answer count, and how counters become rates."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors._pod_samples import Counters, Metrics, Step, Told, Type, step

CLASSIC = """\
# HELP http_requests_total Requests.
# TYPE http_requests_total counter
http_requests_total{code="200"} 1027 1395066363000
http_requests_total{code="500"} 3
http_requests_totally_different 9
# TYPE queue_depth gauge
queue_depth 12.5
# TYPE latency_seconds histogram
latency_seconds_bucket{le="0.5"} 90
latency_seconds_bucket{le="+Inf"} 100
latency_seconds_sum 17.5
latency_seconds_count 100
# TYPE rpc_seconds summary
rpc_seconds{quantile="0.5"} 4773
rpc_seconds_sum 1.7560473e+07
rpc_seconds_count 2693
untold 7
# TYPE unknowable untyped
unknowable 8
"""


def read(text: str, **wanted: Type | None) -> dict[str, tuple[float, bool]]:
    """Value by series, and whether it is of a counter."""
    told, _ = Metrics(wanted).read(text)
    return {each.metric + "".join(f"{{{value}}}" for value in each.labels.values()): (each.value, each.counter) for each in told}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param(
            {"http_requests_total": None}, {"http_requests_total{200}": (1027, True), "http_requests_total{500}": (3, True)}, id="counter"
        ),
        pytest.param({"queue_depth": None}, {"queue_depth": (12.5, False)}, id="gauge"),
        pytest.param(
            {"latency_seconds": None},
            {"latency_seconds_sum": (17.5, True), "latency_seconds_count": (100, True)},
            id="of a histogram its sum and count, and no buckets",
        ),
        pytest.param({"latency_seconds_count": None}, {"latency_seconds_count": (100, True)}, id="one part of a histogram by its own name"),
        pytest.param(
            {"rpc_seconds": None},
            {"rpc_seconds_sum": (17560473, True), "rpc_seconds_count": (2693, True)},
            id="of a summary the same, and no quantiles",
        ),
        pytest.param({"untold": None}, {}, id="without a type it is none"),
        pytest.param({"untold": "gauge"}, {"untold": (7, False)}, id="unless the declaration says it"),
        pytest.param({"unknowable": "counter"}, {"unknowable": (8, True)}, id="also where the pod says that it does not know"),
        pytest.param({"queue_depth": "counter"}, {"queue_depth": (12.5, True)}, id="the declaration wins"),
        pytest.param({"nonexistent": None}, {}, id="what is not there is not there"),
        pytest.param({"latency_seconds_bucket": None}, {}, id="buckets are no figures"),
    ],
)
def test_what_counts(wanted: dict[str, Type | None], expected: dict[str, tuple[float, bool]]) -> None:
    """Only what is wanted, with the type that the pod or the declaration says."""
    assert expected == read(CLASSIC, **wanted)


def test_open_metrics() -> None:
    """The type stands at the family, and times are seconds."""
    told, unusable = Metrics({"http_requests_total": None}).read(
        '# TYPE http_requests counter\nhttp_requests_total 5 1395066363.5 # {trace="a"} 1\nhttp_requests_created 1\n# EOF\n'
    )

    assert ([Told("http_requests_total", {}, 5, 1395066363.5, counter=True)], []) == (told, unusable)


def test_a_time_of_its_own_is_in_milliseconds() -> None:
    """In the text format."""
    told, _ = Metrics({"http_requests_total": None}).read(CLASSIC)

    assert [1395066363.0, None] == [each.time for each in told]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("a NaN\n", "NaN, infinite or no number", id="NaN"),
        pytest.param("a +Inf\n", "NaN, infinite or no number", id="infinite"),
        pytest.param("a x\n", "NaN, infinite or no number", id="no number"),
        pytest.param('a{b="c} 1\n', "not of the Prometheus text format", id="no end of a label"),
        pytest.param("a 12", "may have been cut", id="a cut line"),
    ],
)
def test_a_bad_line_costs_itself(text: str, reason: str) -> None:
    """It is told, and never a zero."""
    told, unusable = Metrics({"a": None}).read(f'# TYPE a gauge\na{{good="yes"}} 1\n{text}')

    assert [1] == [each.value for each in told]
    assert len(unusable) == 1
    assert reason in unusable[0].reason


_PIECES = [*'a_{}"=,. #\n\t\r01eNIf+-', "# TYPE a counter\n", "a 1\n", "a_total 2\n", "# EOF"]


@given(pieces=st.lists(st.sampled_from(_PIECES), max_size=60))
def test_no_text_crashes_it(pieces: list[str]) -> None:
    """Whatever comes: finite numbers of what is wanted."""
    told, _ = Metrics({"a": None}).read("".join(pieces))

    assert all(math.isfinite(each.value) and each.metric in {"a", "a_total", "a_sum", "a_count"} for each in told)


_LINES = st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["", '{x="1"}', '{x="\\"2"}']), st.integers(0, 2**53))


@given(samples=st.lists(_LINES, unique_by=lambda each: each[:2]))
def test_every_good_line_is_read(samples: list[tuple[str, str, int]]) -> None:
    """Among whatever else there is."""
    lines = "".join(f"{name}{labels} {value}\nother{labels} 1\n" for name, labels, value in samples)
    told, unusable = Metrics({"a": "gauge", "b": "counter"}).read(lines)

    assert [(name, value) for name, _, value in samples] == [(each.metric, each.value) for each in told]
    assert not unusable


@pytest.mark.parametrize(
    ("last", "value", "time", "expected"),
    [
        pytest.param(None, 5, 100.0, Step(5, 100.0), id="a first sample has no rate"),
        pytest.param(Step(5, 100.0), 35, 115.0, Step(35, 115.0, 2.0, 15.0), id="the difference over the time between"),
        pytest.param(Step(5, 100.0, 9.0, 15.0), 5, 115.0, Step(5, 115.0, 0.0, 15.0), id="a counter that stands still has the rate 0"),
        pytest.param(Step(5, 100.0, 9.0, 15.0), 2, 115.0, Step(2, 115.0), id="one that went back was started again"),
        pytest.param(Step(5, 100.0, 9.0, 15.0), 35, 100.5, Step(5, 100.0, 9.0, 15.0), id="too near: the rate of before stays"),
        pytest.param(Step(5, 100.0, 9.0, 15.0), 35, 95.0, Step(5, 100.0, 9.0, 15.0), id="told late: it changes nothing"),
        pytest.param(Step(5, 100.0, 9.0, 15.0), 3, 95.0, Step(5, 100.0, 9.0, 15.0), id="told late, and less: the one before"),
        pytest.param(Step(5, 100.0, 9.0, 15.0), 35, 10.0, Step(35, 10.0), id="another clock: it begins anew"),
        pytest.param(Step(2**62, 100.0), 2**62 + 10, 110.0, Step(2**62 + 10, 110.0, 1.0, 10.0), id="the difference is exact at any size"),
    ],
)
def test_steps(last: Step | None, value: float, time: float, expected: Step) -> None:
    """The rules of app/cache/rates.py for what has no time of its start."""
    assert expected == step(last, value, time)


@given(st.lists(st.tuples(st.integers(0, 1000), st.floats(0, 1e6)), max_size=20))
def test_a_rate_is_never_negative(samples: list[tuple[int, float]]) -> None:
    """Nor infinite, nor over no time."""
    last: Step | None = None
    for value, time in samples:
        last = step(last, value, time)
        assert last.rate is None or (0 <= last.rate < math.inf and last.window >= 1)


def told(value: int, *, counter: bool = True, time: float | None = None, **labels: str) -> Told:
    return Told("m", labels, value, time, counter)


def figures(counters: Counters, asked: float, *samples: Told) -> list[Any]:
    return [(figure.rate, figure.time) for _, figure in counters.take(samples, asked)]


def test_counters_of_a_pod() -> None:
    """Each series for itself; gauges as they are; what is not told any more is forgotten."""
    counters = Counters("uid/0")
    assert [(7, 100.0)] == figures(counters, 100.0, told(10, code="200"), told(7, counter=False))
    assert [(1.0, 110.0)] == figures(counters, 110.0, told(20, code="200"), told(5, code="500"))
    assert [(2.0, 120.0)] == figures(counters, 120.0, told(25, code="500"))
    assert [] == figures(counters, 130.0, told(90, code="200"))


def test_a_sample_with_a_time_of_its_own_is_as_old_as_that() -> None:
    """A pod that tells an old sample again keeps its rate, with the time of it."""
    counters = Counters("uid/0")
    for asked, value, time in ((100.0, 10, 90.0), (110.0, 30, 100.0)):
        figures(counters, asked, told(value, time=time))

    assert [(2.0, 100.0)] == figures(counters, 120.0, told(30, time=100.0))


def test_a_series_that_is_told_twice_counts_once() -> None:
    """The first one."""
    counters = Counters("uid/0")
    figures(counters, 100.0, told(10))

    assert [(1.0, 110.0)] == figures(counters, 110.0, told(20), told(900))
