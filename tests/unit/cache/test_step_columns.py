"""Pods that go on are stepped by columns: whatever happens, whoever reads sees what he would see if each had been worked out at once."""

import gc
import weakref
from collections.abc import Iterator, Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from app.cache.collection import Item, Snapshot
from app.cache.rates import SECOND
from app.cache.step_columns import StepColumns
from app.kube.records import ContainerRecord, Key, PodRecord
from collectors._base import Batch, PodSamples, Sample
from collectors._pod_columns import Places, PodColumns
from tests.unit.cache.test_store import FAILURE, RESOURCE, START, SUMMARY, World, node, pod

Series = tuple[str, str]
"""A pod and a container of it."""

PODS: Mapping[str, tuple[str, ...]] = {"a": ("main",), "b": ("main", "proxy"), "c": ("main",)}
FOLLOWED = "PodMetrics"


def columns_of(pods: Mapping[Key, PodSamples], places: Places) -> PodColumns:
    samples = [sample for each in pods.values() for sample in each.containers]
    return PodColumns(
        places,
        cpu=(*[sample.cpu for sample in samples], None),
        times=(*[sample.cpu_time for sample in samples], 0),
        memory=(*[sample.memory for sample in samples], None),
        memory_times=(*[sample.memory_time for sample in samples], 0),
        swap=(*[sample.swap for sample in samples], None),
    )


class Bodies:
    """What a kubelet tells, as columns. Bodies that tell of the same series have one Places, as with the reader of real ones."""

    def __init__(self) -> None:
        self._places: dict[object, Places] = {}

    def columns(self, pods: Mapping[Key, PodSamples]) -> PodColumns:
        shape = tuple((key, tuple((sample.name, sample.started) for sample in each.containers)) for key, each in pods.items())
        places = self._places.get(shape)
        if places is None:
            counts = [len(each.containers) for each in pods.values()]
            samples = [sample for each in pods.values() for sample in each.containers]
            places = self._places[shape] = Places(
                names=tuple(sample.name for sample in samples),
                started=tuple(sample.started for sample in samples),
                pods=tuple(pods),
                ends=tuple(sum(counts[: place + 1]) for place in range(len(counts))),
            )
        return columns_of(pods, places)


def test_columns_are_the_dict_of_their_pods() -> None:
    """Whoever does not know of columns reads pods and samples, in order."""
    pods = {
        ("ns", "a"): PodSamples("", (Sample("x", 1, 2, 3, 4, 5, None, 7), Sample("y", None, 2, None, 4))),
        ("ns", "b"): PodSamples("", (Sample("x", 8, 9, 10, 11),)),
    }
    columns = Bodies().columns(pods)

    assert pods == columns
    assert columns == pods
    assert list(pods) == list(columns)
    assert (2, pods["ns", "b"]) == (len(columns), columns["ns", "b"])
    assert [each.containers for each in pods.values()] == [columns.samples(0), columns.samples(1)]
    assert {} == Bodies().columns({})


class Twins:
    """Two worlds that are told the same: one by columns, one pod by pod."""

    def __init__(self) -> None:
        self.worlds = (World(), World())
        self.bodies = Bodies()
        self.at = 0.0
        self.started = {(name, container): -600 for name, containers in PODS.items() for container in containers}
        self.counters = dict.fromkeys(self.started, 250 * SECOND)
        self.times = dict.fromkeys(self.started, START)
        self.held: list[tuple[Snapshot, Snapshot]] = []
        self.labels = 0
        self.order = list(PODS)
        """In which the kubelet tells of pods."""
        self.uids = {name: f"uid-{name}" for name in PODS}
        self.behind = 0.0
        """Seconds that the node's clock was set back."""
        self.moved: set[str] = set()
        """Pods that run on another node, of which this one's kubelet tells still."""
        self.stopped: set[Series] = set()
        self.strangers: set[str] = set()
        """Pods of which a container is told that nobody knows; a pod "ghost" is one that nobody knows."""
        for world in self.worlds:
            world.nodes.apply([node()], [])
            world.pods.apply([self.record(name) for name in PODS], [])

    @property
    def columns(self) -> StepColumns | None:
        """Those of the first world."""
        series = self.worlds[0].store._samples.series("n1").get(RESOURCE)
        return series.columns if series is not None else None

    def record(self, name: str, **changes: object) -> PodRecord:
        containers = tuple(
            ContainerRecord(each, (name, each) not in self.stopped, START + self.started[name, each] * SECOND) for each in PODS[name]
        )
        made = pod(name, uid=self.uids[name], on="n2" if name in self.moved else "n1", containers=PODS[name])
        return replace(made, containers=containers, labels=(("app", name), ("round", str(self.labels))), **changes)

    def wait(self, seconds: float) -> None:
        self.at += seconds
        for world in self.worlds:
            world.clock.advance(seconds)

    def scrape(self, odd: Mapping[Series, str], *, left_out: Sequence[str] = (), source: str = RESOURCE) -> None:
        """Tell what all containers have used; `odd` says of which something else is told."""
        pods = {
            ("ns", name): PodSamples("", tuple(self._sample((name, each), odd.get((name, each), "")) for each in running))
            for name in self.order
            if name not in left_out and (running := [each for each in PODS[name] if (name, each) not in self.stopped])
        }
        for name in self.strangers & {"ghost", *PODS} - set(left_out):
            known = pods.get(("ns", name), PodSamples("", ()))
            now = START + round(self.at * SECOND)
            pods["ns", name] = PodSamples("", (Sample("stranger", round(self.at + 1) * SECOND, now, 4096, now, START), *known.containers))
        itself = Sample("", round((1000 + self.at) * SECOND), START + round(self.at * SECOND), 2**30, START + round(self.at * SECOND))
        by_columns, one_by_one = self.worlds
        told = self.bodies.columns(pods) if source == RESOURCE else pods
        assert by_columns.store.publish("n1", source, Batch(node=itself, pods=told)) == one_by_one.store.publish(
            "n1", source, Batch(node=itself, pods=pods)
        )

    def _sample(self, series: Series, odd: str) -> Sample:
        now = START + round((self.at - self.behind) * SECOND)
        if odd != "again":
            self.counters[series] += max(0, now - self.times[series]) // 4
            self.times[series] = now
        time, counter = self.times[series], self.counters[series]
        memory: int | None = 8 * 2**20 + counter % 1000
        swap = memory if odd == "swap" else None
        memory_time = time
        if odd == "reset":
            counter = self.counters[series] = SECOND
        elif odd == "back":
            time -= 20 * SECOND
        elif odd == "leap":
            time += 3600 * SECOND
        elif odd == "no memory":
            memory = None
        elif odd == "zero":
            memory = 0
        elif odd == "apart":
            memory_time -= 90 * SECOND
        elif odd == "no cpu":
            counter = 0
        return Sample(series[1], counter or None, time, memory, memory_time, START + self.started[series] * SECOND, None, swap)

    def change(self, *records: PodRecord, gone: Sequence[str] = ()) -> None:
        for world in self.worlds:
            world.pods.apply(records, [("ns", name) for name in gone])

    def restart(self, name: str) -> None:
        for container in PODS[name]:
            self.started[name, container] = round(self.at) - 1
            self.counters[name, container] = 0
        self.stopped -= {(name, container) for container in PODS[name]}
        self.change(self.record(name))

    def stop(self, name: str) -> None:
        """The first container of a pod."""
        self.stopped.add((name, PODS[name][0]))
        self.change(self.record(name))

    def told(self) -> Iterator[list[tuple[Key, object, int, object] | None]]:
        """What one pod after the other says, in each world."""
        for name in PODS:
            yield [_said(world.collections[FOLLOWED].get(("ns", name))) for world in self.worlds]

    def check_one(self, name: str) -> None:
        by_columns, one_by_one = (_said(world.collections[FOLLOWED].get(("ns", name))) for world in self.worlds)
        assert one_by_one == by_columns

    def check_all(self) -> None:
        for kind in self.worlds[0].collections:
            by_columns, one_by_one = ([_said(item) for item in world.collections[kind].snapshot()] for world in self.worlds)
            assert one_by_one == by_columns
            assert self.worlds[0].collections[kind].version == self.worlds[1].collections[kind].version
        assert self.worlds[0].store.points() == self.worlds[1].store.points()

    def check_labelled(self, name: str) -> None:
        by_columns, one_by_one = (
            [_said(item) for item in world.collections[FOLLOWED].labelled(lambda labels: ("app", name) in labels, "ns", most=100) or ()]
            for world in self.worlds
        )
        assert one_by_one == by_columns

    def hold(self) -> None:
        first, second = (world.collections[FOLLOWED].snapshot() for world in self.worlds)
        self.held.append((first, second))

    def check_held(self) -> None:
        """What was held is what it was then, however late it is read."""
        for by_columns, one_by_one in self.held:
            assert [_said(item) for item in one_by_one] == [_said(item) for item in by_columns]
        self.held.clear()


def _said(item: Item | None) -> tuple[Key, object, int, object] | None:
    return (item.key, item.labels, item.version, item.value) if item is not None else None


@pytest.fixture
def twins() -> Twins:
    """Two worlds whose pods go on by now."""
    twins = Twins()
    for _ in range(3):
        twins.wait(15)
        twins.scrape({})
    return twins


def test_pods_that_go_on_are_stepped_by_columns(twins: Twins) -> None:
    """From the first pair of samples on, and nothing is made of them until somebody reads."""
    columns = twins.columns
    assert columns is not None
    assert ((), 3) == (columns.others, len(columns.here()))
    before = twins.worlds[0].collections[FOLLOWED].known(("ns", "a"))
    twins.wait(15)
    twins.scrape({})

    assert before is twins.worlds[0].collections[FOLLOWED].known(("ns", "a"))
    assert before is not twins.worlds[0].collections[FOLLOWED].get(("ns", "a"))
    twins.check_all()


@pytest.mark.parametrize("odd", ["reset", "back", "leap", "no memory", "zero", "apart", "no cpu"])
def test_a_pod_that_does_something_else_leaves_alone(twins: Twins, odd: str) -> None:
    """It is worked out by the rules, the others go on; it is back when it goes on again."""
    twins.wait(15)
    twins.scrape({("b", "proxy"): odd})
    columns = twins.columns
    assert columns is not None
    assert [("ns", "b")] == [columns.places.pods[place] for place in columns.others]
    twins.check_all()
    for _ in range(3):
        twins.wait(15)
        twins.scrape({})
        twins.check_all()
    assert odd == "leap" or () == columns.others


@pytest.mark.parametrize("odd", ["again", "swap"])
def test_what_is_told_again_and_swap_are_nothing_odd(twins: Twins, odd: str) -> None:
    """A kubelet looks at a container every 10 to 20 s: often it has nothing new."""
    for _ in range(3):
        twins.wait(15)
        twins.scrape({("b", "proxy"): odd, ("a", "main"): odd})
        assert twins.columns is not None
        assert () == twins.columns.others
        twins.check_all()
        twins.wait(15)
        twins.scrape({})
        twins.check_all()


def test_swap_that_is_not_told_any_more_is_gone(twins: Twins) -> None:
    """Also of a container that was told again in between, as it was but for its swap."""
    for odd in ("swap", "again", ""):
        twins.wait(15)
        twins.scrape({("b", "main"): odd})
        assert twins.columns is not None
        assert () == twins.columns.others
    twins.check_all()


def test_a_first_step_stays_one_until_there_is_another(twins: Twins) -> None:
    """It gives a usage, for the container is young; whether all CPU times advanced, which each scrape answers, is another question."""
    twins.change(gone=["b"])
    twins.wait(15)
    twins.restart("b")
    for odd in ("", "again", "", ""):
        twins.wait(15)
        twins.scrape({("b", "main"): odd})
    twins.check_all()


def test_a_container_that_stopped_ends_though_its_pod_goes_on(twins: Twins) -> None:
    """A minute later it is forgotten, and begins anew when it runs again: it crashed, and its kubelet waited."""
    twins.stop("b")
    for _ in range(6):
        twins.wait(15)
        twins.scrape({})
    assert twins.columns is not None
    assert () == twins.columns.others
    twins.check_all()
    twins.restart("b")
    for _ in range(3):
        twins.wait(15)
        twins.scrape({})
        twins.check_all()


def test_series_end_at_one_time_wherever_they_stand(twins: Twins) -> None:
    """Seconds are rounded: here 60 s after a scrape is not yet what the scrape was 60 s before."""
    clock = twins.worlds[0].clock
    twins.wait(940.2)
    for _ in range(3):
        twins.wait(15)
        twins.scrape({})
    scraped = clock.monotonic()
    twins.wait(60)
    assert scraped + 60 <= clock.monotonic()
    assert scraped > clock.monotonic() - 60
    twins.scrape(dict.fromkeys(twins.started, "again"))
    assert [[None, None]] * 3 == list(twins.told())
    assert twins.columns is not None
    assert [] == twins.columns.here()


def test_a_list_by_labels_is_worked_out_as_it_is_read(twins: Twins) -> None:
    """Thousands of pods at once would keep all others waiting. It stays what it was when it was asked for."""
    twins.wait(15)
    twins.scrape({})
    collections = [world.collections[FOLLOWED] for world in twins.worlds]
    before = collections[0].known(("ns", "b"))
    by_columns, one_by_one = (collection.labelled(lambda _labels: True, most=3) for collection in collections)
    assert by_columns is not None
    assert one_by_one is not None
    assert before is collections[0].known(("ns", "b"))
    assert by_columns[1] is collections[0].known(("ns", "b"))
    twins.wait(15)
    twins.scrape({})
    assert [_said(item) for item in one_by_one] == [_said(item) for item in by_columns]


def test_a_pod_whose_record_changes_is_worked_out_first(twins: Twins) -> None:
    """What it used until then is part of what it is."""
    twins.wait(15)
    twins.scrape({})
    twins.labels += 1
    twins.change(twins.record("b"))
    assert twins.columns is not None
    assert 1 == len(twins.columns.others)
    twins.check_all()


@pytest.mark.parametrize("end", ["the node goes", "another body"])
def test_nothing_stays_of_columns_that_ended(twins: Twins, end: str) -> None:
    """They are not left to Python's collector, which looks at everything every quarter of an hour at most, and at some things never."""
    columns = weakref.ref(twins.columns or twins)
    gc.disable()
    try:
        if end == "the node goes":
            for world in twins.worlds:
                world.nodes.apply([], [("", "n1")])
        else:
            twins.wait(15)
            twins.scrape({}, left_out=["a"])
        assert columns() is None
    finally:
        gc.enable()


def test_who_holds_a_list_keeps_what_it_had(twins: Twins) -> None:
    """Each pod is worked out once for it, however often it goes on meanwhile, and stays in its columns."""
    twins.wait(15)
    twins.scrape({})
    twins.hold()
    for _ in range(3):
        twins.wait(15)
        twins.scrape({})
    assert twins.columns is not None
    assert [] == list(twins.columns.others)
    twins.check_held()
    twins.check_all()


def test_what_does_not_go_on_any_more_ends(twins: Twins) -> None:
    """A minute after it went on last, the others live."""
    for _ in range(5):
        twins.wait(15)
        twins.scrape({("b", "main"): "again"})
        twins.check_one("a")
    assert [True, False, True] == [each[0] is not None for each in twins.told()]
    twins.check_all()


ODD = ["", "", "", "again", "again", "swap", "reset", "back", "leap", "no memory", "zero", "apart", "no cpu"]
OF_A_POD = ["get", "labelled", "relabel", "restart", "stop", "move", "another", "delete", "create", "debug", "fail a phase"]
OF_ALL = ["list", "hold", "let go", "fail", "expire", "other node", "reorder", "set the clock back"]
_series = st.sampled_from([(name, each) for name, containers in PODS.items() for each in containers])
_pod = st.sampled_from(list(PODS))
_steps = st.one_of(
    st.tuples(st.just("scrape"), st.dictionaries(_series, st.sampled_from(ODD), max_size=2)),
    st.tuples(st.just("scrape"), st.just({})),
    st.tuples(st.just("scrape without"), _pod),
    st.tuples(st.just("summary"), st.dictionaries(_series, st.sampled_from(ODD), max_size=1)),
    st.tuples(st.just("wait"), st.sampled_from([0.5, 5, 15, 15, 61])),
    st.tuples(st.sampled_from(OF_A_POD), _pod),
    st.tuples(st.just("stranger"), st.sampled_from(["a", "b", "ghost"])),
    st.tuples(st.sampled_from(OF_ALL), st.none()),
)


@settings(deadline=None)
@given(st.lists(_steps, max_size=30))
def test_whoever_reads_sees_what_he_would_see(script: list[tuple[str, object]]) -> None:
    """Objects, labels, versions and values; at once, or from a list that is held."""
    twins = Twins()
    for _ in range(3):
        twins.wait(15)
        twins.scrape({})
    for what, which in script:
        _play(twins, what, which)
    twins.check_held()
    twins.check_all()


def _play(twins: Twins, what: str, which: object) -> None:  # noqa: PLR0912 -- a list of what can happen
    name = str(which)
    if what == "scrape":
        twins.wait(15)
        twins.scrape(which)  # type: ignore[arg-type]
    elif what == "scrape without":
        twins.wait(15)
        twins.scrape({}, left_out=[name])
    elif what == "summary":
        twins.scrape(which, source=SUMMARY)  # type: ignore[arg-type]
    elif what == "wait":
        twins.wait(which)  # type: ignore[arg-type]
    elif what == "get":
        twins.check_one(name)
    elif what == "labelled":
        twins.check_labelled(name)
    elif what == "relabel":
        twins.labels += 1
        twins.change(twins.record(name))
    elif what == "restart":
        twins.restart(name)
    elif what == "stop":
        twins.stop(name)
    elif what == "move":
        twins.moved ^= {name}
        twins.change(twins.record(name))
    elif what == "another":
        twins.uids[name] += "'"
        twins.change(twins.record(name))
    elif what == "reorder":
        twins.order.reverse()
    elif what == "set the clock back":
        twins.behind += 90
    elif what == "debug":
        record = twins.record(name)
        twins.change(replace(record, containers=(*record.containers, ContainerRecord("debugger", False, ephemeral=True))))
    elif what == "stranger":
        twins.strangers ^= {name}
    elif what == "delete":
        twins.change(gone=[name])
    elif what == "create":
        twins.change(twins.record(name))
    elif what == "fail a phase":
        twins.change(twins.record(name, phase="Failed"))
    elif what == "list":
        twins.check_all()
    elif what == "hold":
        twins.hold()
    elif what == "let go":
        twins.check_held()
    else:
        for world in twins.worlds:
            if what == "fail":
                world.store.failed("n1", RESOURCE, FAILURE)
            elif what == "expire":
                world.store.expire()
            else:
                world.nodes.apply([node(uid="another")], [])
