"""The short cut for pods that go on: it is taken where it can be, and gives what the rules give."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.cache.rates import SECOND, Step
from app.cache.samples import Samples, Source, Stepped
from app.cache.sources import source
from app.cache.usage import pod_usage
from app.kube.records import ContainerRecord, PodRecord
from collectors._base import Batch, PodSamples, Sample

T = 1_700_000_000 * SECOND
KEY = ("ns", "p")
SOURCES = {name: source(name, 15) for name in ("kubelet_resource", "kubelet_summary")}
AGENT = T - 3600 * SECOND


def container(name: str, *, running: bool = True, since: int | None = -600) -> ContainerRecord:
    return ContainerRecord(name, running, T - 600 * SECOND, since_ns=None if since is None else T + since * SECOND)


def pod(*containers: ContainerRecord, phase: str = "Running") -> PodRecord:
    return PodRecord("ns", "p", "u", "u", "n", (), phase, True, T, ("", ""), False, containers)


def sample(name: str, at: float, *, cores: float = 0.25, started: int | None = -600) -> Sample:
    """A sample at `at` seconds of a container that always used `cores`."""
    return Sample(
        name=name,
        cpu=round((1000 + at) * cores * SECOND),
        cpu_time=T + round(at * SECOND),
        memory=4096,
        memory_time=T + round(at * SECOND),
        started=None if started is None else T + started * SECOND,
        cpu_rate=round(cores * SECOND),
    )


class Kept:
    """The samples of one source of one pod."""

    def __init__(self, of: Source) -> None:
        self.source = of
        self.now = 0.0
        self.samples = Samples(lambda: self.now)

    def take(self, record: PodRecord, *told: Sample, agent: int | None = AGENT) -> list[Stepped]:
        """What became of the pod at a scrape."""
        self.samples.tick()
        self.samples.end("n")
        batch = Batch(node=None, pods={KEY: PodSamples("", told)}, agent_started=agent)
        return self.samples.take("n", self.source, batch, {KEY: record}).pods

    @property
    def steps(self) -> tuple[Step | None, ...] | None:
        series = self.samples.series("n").get(self.source.name)
        return series.steps.get(KEY) if series is not None else None


@pytest.mark.parametrize("of", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize(
    ("record", "taken"),
    [
        pytest.param(pod(container("a"), container("b")), True, id="all containers go on"),
        pytest.param(pod(container("b"), container("a")), True, id="in whatever order they are told"),
        pytest.param(pod(container("a"), container("setup", running=False), container("b")), True, id="beside one that is done"),
        pytest.param(pod(container("a"), container("c")), False, id="one that runs is not told"),
        pytest.param(pod(container("a"), container("b", running=False)), False, id="one that does not run is told"),
        pytest.param(pod(container("a"), container("b"), phase="Pending"), False, id="the pod does not run"),
        pytest.param(pod(container("a"), container("b", since=-500)), False, id="a sample of an instance before"),
    ],
)
def test_when_it_is_taken(of: Source, record: PodRecord, taken: bool) -> None:
    """A usage comes with the pod where the short cut was taken."""
    kept = Kept(of)
    for at in (0, 15):
        kept.now += 15
        stepped = kept.take(record, sample("a", at), sample("b", at))

    ((_, usage),) = stepped
    assert (usage is not None) == taken


def _measured(of: Sample, at: int) -> Sample:
    return replace(of, cpu_time=at, memory_time=at)


Kind = Callable[[Sample, Sample], Sample | None]
KINDS: dict[str, Kind] = {
    "plain": lambda _last, new: new,
    "untold": lambda _last, _new: None,
    "told again": lambda last, _new: last,
    "still": lambda last, new: replace(new, cpu=last.cpu),
    "still, without memory": lambda last, new: replace(new, cpu=last.cpu, memory=0),
    "back": lambda last, new: replace(new, cpu=(last.cpu or 0) - 1),
    "no counter": lambda _last, new: replace(new, cpu=None),
    "a counter of 0": lambda _last, new: replace(new, cpu=0),
    "no memory": lambda _last, new: replace(new, memory=None),
    "memory 0": lambda _last, new: replace(new, memory=0),
    "memory of before": lambda _last, new: replace(new, memory_time=new.cpu_time - 61 * SECOND),
    "memory of later": lambda _last, new: replace(new, memory_time=new.cpu_time + 61 * SECOND),
    "older": lambda last, new: _measured(new, last.cpu_time - SECOND),
    "of the same time": lambda last, new: _measured(new, last.cpu_time),
    "half a second on": lambda last, new: _measured(new, last.cpu_time + SECOND // 2),
    "five seconds on": lambda last, new: _measured(new, last.cpu_time + 5 * SECOND),
    "a leap": lambda last, new: _measured(new, last.cpu_time + 3600 * SECOND),
    "without a stamp": lambda _last, new: replace(new, stamped=False),
    "still, without a stamp": lambda last, new: replace(new, cpu=last.cpu, stamped=False),
    "no start": lambda _last, new: replace(new, started=None),
    "nearly the same start": lambda last, new: replace(new, started=(last.started or 0) + SECOND // 2),
    "restarted": lambda last, new: replace(new, started=last.cpu_time + SECOND, cpu=SECOND),
    "a leftover": lambda _last, new: replace(new, started=T - 9000 * SECOND),
    "no rate": lambda _last, new: replace(new, cpu_rate=None),
    "a rate of 0": lambda _last, new: replace(new, cpu_rate=0),
    "with swap": lambda _last, new: replace(new, swap=7),
}
A_AND_B = pod(container("a"), container("b"))


class Pair:
    """The same samples with the short cut and without."""

    def __init__(self, of: Source) -> None:
        self.kept = Kept(of), Kept(Source(of.name, of.step, of.ttl))
        self.at = 0
        self.last: dict[str, Sample] = {}

    def scrape(self, record: PodRecord, later: int, kinds: dict[str, str], *, agent: int | None, young: bool) -> None:
        """The next scrape, `later` seconds on. A usage that comes with a pod is the one that the rules find."""
        self.at += later
        fresh = {name: sample(name, self.at, started=-5 if young else -600) for name in kinds}
        told = {name: KINDS[kind](self.last.get(name, fresh[name]), fresh[name]) for name, kind in kinds.items()}
        self.last |= {name: each for name, each in told.items() if each is not None}
        stepped = []
        for kept in self.kept:
            kept.now = self.at
            stepped.append(kept.take(record, *(each for each in told.values() if each is not None), agent=agent))
        with_it, without = self.kept

        assert with_it.steps == without.steps
        assert [pod for pod, _ in stepped[0]] == [pod for pod, _ in stepped[1]]
        for _, usage in stepped[0]:
            assert usage is None or usage == pod_usage(record, with_it.samples.series("n").values())


@pytest.mark.parametrize("of", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("young", "agent"), [(False, AGENT), (True, AGENT), (False, T), (False, None)], ids=["", "young", "agent", "unknown"]
)
def test_each_kind_of_sample_does_what_the_rules_say(of: Source, kind: str, young: bool, agent: int | None) -> None:
    """One container of two is told oddly for a while, or from its second sample on, or both are."""
    record = A_AND_B if not young else pod(container("a", since=-5), container("b", since=-5))
    plain, one, both = ("plain", "plain"), ("plain", kind), (kind, kind)
    for told in ([plain, plain, one, one, plain], [plain, one, one], [plain, both, both]):
        pair = Pair(of)
        for a, b in told:
            pair.scrape(record, 5, {"a": a, "b": b}, agent=agent, young=young)


@pytest.mark.parametrize("of", SOURCES.values(), ids=SOURCES)
def test_the_status_as_it_is_now_counts(of: Source) -> None:
    """A container restarted, and the kubelet goes on to tell of the instance before."""
    pair = Pair(of)
    for since in (-600, -600, 15, 15):
        pair.scrape(pod(container("a"), container("b", since=since)), 10, {"a": "plain", "b": "plain"}, agent=AGENT, young=False)


@pytest.mark.parametrize("of", SOURCES.values(), ids=SOURCES)
def test_what_ended_begins_anew(of: Source) -> None:
    """Also where the sample would make a pair with the one before."""
    pair = Pair(of)
    for later in (10, 10, 60, 10):
        pair.scrape(A_AND_B, later, {"a": "plain", "b": "plain"}, agent=AGENT, young=False)


RECORDS = st.builds(
    lambda phase, a, b: pod(container("a", running=a[0], since=a[1]), container("b", running=b[0], since=b[1]), phase=phase),
    st.sampled_from(["Running", "Running", "Running", "Pending"]),
    *[st.tuples(st.sampled_from([True, True, True, False]), st.sampled_from([-600, -600, None, 5]))] * 2,
)
SCRAPES = st.lists(
    st.tuples(
        st.one_of(st.just(A_AND_B), RECORDS),
        st.sampled_from([15, 15, 15, 1, 59, 90]),
        st.fixed_dictionaries({"a": st.sampled_from(["plain", *KINDS]), "b": st.sampled_from(["plain", *KINDS])}),
        st.sampled_from([AGENT, AGENT, None, T]),
    ),
    max_size=8,
)


@given(st.sampled_from(list(SOURCES.values())), SCRAPES)
def test_it_gives_what_the_rules_give(of: Source, scrapes: list[tuple[PodRecord, int, dict[str, str], int | None]]) -> None:
    """Whatever is told of a pod, and however its status changes."""
    pair = Pair(of)
    for record, later, kinds, agent in scrapes:
        pair.scrape(record, later, kinds, agent=agent, young=False)
