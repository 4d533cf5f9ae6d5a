"""When series end, whether they are settled, and what becomes of them when their pod changes."""

from hypothesis import given
from hypothesis import strategies as st

from app.cache.samples import NODE, Samples
from app.cache.sources import source
from app.kube.records import ContainerRecord, Key, PodRecord
from collectors._base import Batch, PodSamples, Sample

SECOND = 10**9
T = 1_700_000_000 * SECOND
SOURCE = source("kubelet_resource", 15)
P, Q = ("ns", "p"), ("ns", "q")


def pod(key: Key, *containers: str) -> PodRecord:
    return PodRecord(
        *key, "u", "u", "n", (), "Running", True, T, ("", ""), False, tuple(ContainerRecord(name, True) for name in containers)
    )


PODS = {P: pod(P, "c", "d"), Q: pod(Q, "c")}


def batch(at: float, *told: tuple[Key, str]) -> Batch:
    """A scrape that tells of these containers, and of the node if NODE is among them, measured at `at` seconds."""
    samples = {each: Sample(each[1], 10**12 + int(at * 10**8), T + int(at * SECOND), 4096, T + int(at * SECOND)) for each in told}
    pods: dict[Key, list[Sample]] = {}
    for (key, _), sample in samples.items():
        if key != NODE:
            pods.setdefault(key, []).append(sample)
    return Batch(node=samples.get((NODE, "")), pods={key: PodSamples("", tuple(each)) for key, each in pods.items()})


class Kept:
    """Samples of one node and source, and a clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.samples = Samples(lambda: self.now)

    def passes(self, seconds: float) -> set[Key]:
        """Time passes; the keys that lost a series."""
        self.now += seconds
        self.samples.tick()
        lost: set[Key] = set()
        while (node := self.samples.due()) is not None:
            lost |= self.samples.end(node)
        return lost

    def take(self, *told: tuple[Key, str]) -> None:
        self.samples.take("n", SOURCE, batch(self.now, *told), PODS)

    def dead(self) -> set[tuple[Key, int]]:
        """The series that ended."""
        series = self.samples.series("n").get(SOURCE.name)
        known = series.steps if series is not None else {}
        return {(key, position) for key, steps in known.items() for position, step in enumerate(steps) if step is not None and step.dead}


SERIES = ((NODE, ""), (P, "c"), (P, "d"), (Q, "c"))


@given(st.lists(st.tuples(st.sampled_from([1, 7, 15, 30, 59, 60, 61]), st.sets(st.sampled_from(SERIES))), max_size=12))
def test_each_series_ends_when_its_own_time_is_over(rounds: list[tuple[int, set[tuple[Key, str]]]]) -> None:
    """Neither sooner nor later, whatever the others of its node do; and what ends is told once."""
    kept = Kept()
    advanced: dict[tuple[Key, int], float] = {}
    moved: dict[tuple[Key, int], bool] = {}
    ended: set[tuple[Key, int]] = set()
    for seconds, told in rounds:
        lost = kept.passes(seconds)
        over = {series for series, since in advanced.items() if kept.now >= since + SOURCE.ttl}

        assert over == kept.dead()
        assert {key for key, _ in over - ended} == lost
        kept.take(*told)
        for key, name in told:
            series = (key, 1 if name == "d" else 0)
            moved[series] = series in advanced and series not in over
            advanced[series] = kept.now
        ended = over - {(key, 1 if name == "d" else 0) for key, name in told}
        assert kept.samples.settled("n", SOURCE) == (bool(advanced) and all(moved[each] for each in advanced if each not in ended))


def test_many_that_end_at_once_are_told_one_node_at_a_time() -> None:
    """So the caller says how many are ended before other work gets its turn."""
    kept = Kept()
    for node in ("n1", "n2", "n3"):
        kept.samples.take(node, SOURCE, batch(0, (NODE, "")), {})
    kept.now = SOURCE.ttl
    kept.samples.tick()
    ended = {}
    while (due := kept.samples.due()) is not None:
        ended[due] = kept.samples.end(due)

    assert ended == {"n1": {NODE}, "n2": {NODE}, "n3": {NODE}}


def test_a_node_that_was_forgotten_ends_no_more() -> None:
    """Also where another has come under its name meanwhile: that one has its own time."""
    kept = Kept()
    kept.take((NODE, ""))
    kept.samples.forget_node("n")
    kept.passes(30)
    kept.take((NODE, ""))

    assert [kept.passes(30), kept.passes(30)] == [set(), {NODE}]


def test_a_debugging_container_leaves_the_others_as_they_are() -> None:
    """Steps stand in the order of the record's containers, whichever those are."""
    kept = Kept()
    kept.take((P, "c"), (P, "d"))
    before = kept.samples.series("n")[SOURCE.name].steps[P]
    kept.samples.line_up(PODS[P], pod(P, "debug", "c", "d"))

    assert kept.samples.series("n")[SOURCE.name].steps[P] == (None, *before)
