"""The rules that make a usage of samples, a case each. Times are in seconds after T; counters in core-seconds."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.cache.rates import SECOND, Step, resource_step, summary_step
from collectors._base import Sample

T = 1_700_000_000 * SECOND
MIB = 1024 * 1024


def sample(at: float, cpu: float | None, *, memory: int | None = MIB, started: float | None = None, rate: float | None = None) -> Sample:
    return Sample(
        name="c",
        cpu=None if cpu is None else round(cpu * SECOND),
        cpu_time=T + round(at * SECOND),
        memory=memory,
        memory_time=T + round(at * SECOND),
        started=None if started is None else T + round(started * SECOND),
        cpu_rate=None if rate is None else round(rate * SECOND),
    )


def _apart(of: Sample, seconds: float) -> Sample:
    """The sample with a memory that was measured so much earlier."""
    return replace(of, memory_time=of.cpu_time - round(seconds * SECOND))


def _unstamped(of: Sample) -> Sample:
    """The sample as one whose time is only that of the request."""
    return replace(of, stamped=False)


class Value(NamedTuple):
    cores: float
    at: float
    window: float
    memory: int = MIB


def value(step: Step | None) -> Value | None:
    usage = step.usage if step is not None else None
    if usage is None:
        return None
    return Value(usage.cpu / SECOND, (usage.time - T) / SECOND, usage.window / SECOND, usage.memory)


RESOURCE = [
    pytest.param([sample(0, 5)], None, id="a first sample of unknown age has no rate"),
    pytest.param(
        [sample(0, 5), sample(15, 8)], Value(0.2, 15, 15), id="two samples: counters' difference over their own times' difference"
    ),
    pytest.param([sample(0, 5), sample(15, 8), sample(15, 8)], Value(0.2, 15, 15), id="an identical sample changes nothing"),
    pytest.param([sample(0, 5), sample(15, 8), sample(10, 7)], Value(0.2, 15, 15), id="an older sample changes nothing"),
    pytest.param([sample(0, 5), sample(60, 8)], Value(0.05, 60, 60), id="after missed scrapes the rate is over the longer gap"),
    pytest.param([sample(0, 5), sample(0.5, 8)], None, id="samples nearer than a second are one sample"),
    pytest.param([sample(0, 5), sample(0.5, 8), sample(10, 10)], Value(0.5, 10, 10), id="a too near sample does not become the base"),
    pytest.param(
        [sample(10, 10, started=0)], Value(1, 10, 10), id="origin: a container started 10 s before its first sample is rated from its start"
    ),
    pytest.param([sample(60, 6, started=0)], Value(0.1, 60, 60), id="origin: up to 60 s"),
    pytest.param([sample(9, 9, started=0)], None, id="origin: 9 s is too short a window"),
    pytest.param([sample(120, 12, started=0)], None, id="origin: 120 s is an average of the past, not the present"),
    pytest.param([sample(0, 5, started=1)], None, id="origin: a start after the sample gives nothing"),
    pytest.param(
        [sample(10, 50, started=-900), sample(25, 5, started=15)],
        Value(0.5, 25, 10),
        id="restart: rated from the new start once that is 10 s ago",
    ),
    pytest.param([sample(10, 50, started=-900), sample(20, 5, started=15)], None, id="restart: absent until then"),
    pytest.param(
        [sample(10, 50, started=-900), sample(20, 55, started=15)],
        None,
        id="restart: a counter that grew over the old one is still another instance",
    ),
    pytest.param(
        [sample(0, 5, started=-100.4), sample(15, 8, started=-100)], Value(0.2, 15, 15), id="starts told with other precision are one start"
    ),
    pytest.param(
        [sample(0, 5, started=-100), sample(15, 8, started=-100), sample(9, 900, started=-5000)],
        Value(0.2, 15, 15),
        id="an older sample of another instance is a leftover's",
    ),
    pytest.param([sample(0, 5), sample(15, 8, started=-100)], Value(0.2, 15, 15), id="a start that becomes known is no restart"),
    pytest.param([sample(0, 5), sample(15, 6, started=3)], Value(0.5, 15, 12), id="a start after the last sample is a restart"),
    pytest.param([sample(0, 20), sample(15, 10)], None, id="a counter that went back gives nothing for this sample"),
    pytest.param([sample(0, 20), sample(15, 10), sample(30, 13)], Value(0.2, 30, 15), id="and is the base of the next"),
    pytest.param([sample(0, 5), sample(15, 8), sample(30, None)], Value(0.2, 15, 15), id="a sample without CPU is no sample"),
    pytest.param([sample(0, 5), sample(15, 8), sample(30, 9, memory=None)], Value(0.2, 15, 15), id="a sample without memory is no sample"),
    pytest.param([sample(0, 5), sample(15, 0)], None, id="a CPU counter of 0 was not measured"),
    pytest.param([sample(0, 5), sample(15, 8, memory=0)], Value(0.2, 15, 15, 0), id="memory 0 with advancing CPU is a value"),
    pytest.param([sample(0, 5), sample(15, 5, memory=0)], None, id="memory 0 with CPU that stands still is none"),
    pytest.param([sample(0, 5), sample(15, 5)], Value(0, 15, 15), id="CPU that stands still is 0 cores"),
    pytest.param([sample(0, 5), sample(15, 8, memory=7 * MIB)], Value(0.2, 15, 15, 7 * MIB), id="memory is that of the newest sample"),
    pytest.param(
        [sample(0, 5), sample(15, 8), _apart(sample(30, 11), 61)], Value(0.2, 15, 15), id="CPU and memory over 60 s apart are no sample"
    ),
    pytest.param([sample(0, 5), _apart(sample(15, 8), 60)], Value(0.2, 15, 15), id="up to 60 s apart they are"),
    pytest.param([sample(0, 5), _apart(sample(15, 8), -61)], None, id="whichever is the older"),
    pytest.param(
        [sample(0, 5, started=-100), sample(15, 900, started=-900), sample(30, 11, started=-100)],
        Value(0.2, 30, 30),
        id="a sample of an earlier instance is a leftover's, and changes nothing",
    ),
    pytest.param([sample(0, 5), _unstamped(sample(15, 5))], None, id="without a stamp a counter that stands still is no news"),
    pytest.param([sample(0, 5), _unstamped(sample(15, 8))], Value(0.2, 15, 15), id="one that moved is"),
]


@pytest.mark.parametrize(("samples", "expected"), RESOURCE)
def test_resource_samples(samples: list[Sample], expected: Value | None) -> None:
    """Each case is a rule for samples of /metrics/resource."""
    step = None
    for each in samples:
        step = resource_step(step, each)

    assert value(step) == expected


OLD = T - 3600 * SECOND
YOUNG = T - 5 * SECOND
SUMMARY = [
    pytest.param([sample(0, 5, rate=0.3)], OLD, Value(0.3, 0, 20), id="the kubelet's own rate counts from the first sample on"),
    pytest.param([sample(0, 5, rate=0.3, started=-20)], OLD, Value(0.3, 0, 20), id="of a container that is as old as its window"),
    pytest.param(
        [sample(0, 5, rate=0.3, started=-19)], OLD, None, id="the rate of a younger container is of a moment, and counts for nothing"
    ),
    pytest.param([sample(0, 5, rate=0.3, started=-600)], YOUNG, None, id="and so is what a young kubelet tells"),
    pytest.param(
        [sample(0, 5, rate=0.3, started=-5), sample(12, 8, rate=0.9, started=-5)],
        OLD,
        Value(0.25, 12, 12),
        id="but its counters make a pair",
    ),
    pytest.param([sample(0, 5, rate=0.3), sample(0, 5, rate=0.4)], OLD, Value(0.3, 0, 20), id="an identical time changes nothing"),
    pytest.param([sample(0, 5, rate=0.3), sample(15, 8, rate=0.4)], OLD, Value(0.4, 15, 20), id="a newer one replaces it"),
    pytest.param(
        [sample(0, 5, rate=0, started=-600)], OLD, Value(0, 0, 20), id="a 0 is believed when container and kubelet are older than 60 s"
    ),
    pytest.param([sample(0, 5, rate=0, started=-50)], OLD, None, id="a 0 of a young container is not"),
    pytest.param([sample(0, 5, rate=0, started=-600)], YOUNG, None, id="nor of a young kubelet"),
    pytest.param([sample(0, 5, rate=0, started=-600)], None, None, id="nor where the kubelet's age is unknown"),
    pytest.param(
        [sample(0, 5, rate=0), sample(15, 8, rate=0)], None, Value(0.2, 15, 15), id="a 0 although the counter grew: the counters count"
    ),
    pytest.param([sample(0, 5), sample(15, 8)], None, Value(0.2, 15, 15), id="no rate: two counters of the summary stand in"),
    pytest.param([sample(0, 5), sample(9, 8)], OLD, None, id="times floored to seconds make a pair under 10 s too inexact"),
    pytest.param([sample(0, 5)], OLD, None, id="no rate and one counter: nothing"),
    pytest.param([sample(0, 5), sample(5, 6), sample(10, 7)], OLD, Value(0.2, 10, 10), id="a too near sample does not become the base"),
    pytest.param(
        [sample(0, 5, rate=0.3), sample(5, 6)], OLD, Value(0.3, 0, 20), id="a sample of which nothing can be made changes nothing"
    ),
    pytest.param(
        [sample(0, 5, rate=0.3, started=-600), sample(15, 1, started=2)], OLD, None, id="restart: absent until the new instance has a rate"
    ),
    pytest.param(
        [sample(0, 5, rate=0.3), sample(15, 8, rate=0.4, memory=None)], OLD, Value(0.3, 0, 20), id="a sample without memory is no sample"
    ),
]


@pytest.mark.parametrize(("samples", "agent_started", "expected"), SUMMARY)
def test_summary_samples(samples: list[Sample], agent_started: int | None, expected: Value | None) -> None:
    """Each case is a rule for samples of /stats/summary."""
    step = None
    for each in samples:
        step = summary_step(step, each, agent_started)

    assert value(step) == expected


COUNTS = st.one_of(st.none(), st.integers(0, 2**63 - 1))
TIMES = st.integers(0, 2**63 - 1)
SAMPLES = st.builds(
    Sample,
    name=st.just("c"),
    cpu=COUNTS,
    cpu_time=TIMES,
    memory=COUNTS,
    memory_time=TIMES,
    started=st.one_of(st.none(), TIMES),
    cpu_rate=COUNTS,
)


@given(st.lists(SAMPLES, max_size=6), st.one_of(st.none(), TIMES))
def test_no_history_of_samples_gives_a_negative_value_or_a_window_of_nothing(samples: list[Sample], agent_started: int | None) -> None:
    """Whatever kubelets say, a usage is never negative, and its window is never empty."""
    for step_of in (resource_step, summary_step):
        step: Step | None = None
        for each in samples:
            step = step_of(step, each, agent_started)
            usage = step.usage if step is not None else None

            assert usage is None or _sane(usage)


def _sane(usage: Step) -> bool:
    return usage.cpu >= 0 and usage.memory >= 0 and usage.window >= SECOND and usage.time >= 0
