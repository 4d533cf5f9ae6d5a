"""Whatever kubelets say and clusters do, in whatever order: what must hold, holds after every step.

One node is sick: its bodies are random, mostly almost right. The other is healthy. Bodies go through the parsers, for they are what
kubelets can say.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from app.cache.projection import Subject
from app.cache.usage import pod_usage
from app.kube.records import ContainerRecord, Key, PodRecord
from collectors import kubelet_resource, kubelet_summary
from collectors._base import Cause, CollectError
from tests.unit.cache.test_store import RESOURCE, SECOND, START, SUMMARY, World, node, pod
from tests.unit.lab.bodies import line

SICK, HEALTHY = "n1", "n2"
WELL = pod("well", uid="well-uid", on=HEALTHY)
CONTAINERS = (("p", "c"), ("p", "d"), ("q", "c"), ("q", "ghost"), ("ghost", "c"), ("well", "c"))
TEXTS = ("NaN", "+Inf", "-1", "1e100", "0x1", "", "0", "1 2 3")
NUMBERS = st.one_of(st.floats(0, 2000), st.integers(0, 4000))
SECONDS = st.one_of(st.just(0), st.integers(-20, 5), st.integers(-4000, 4000), st.integers(-(10**9), 10**9))
STARTS = st.one_of(st.none(), st.just(-600), st.integers(-100, 10))


class Series(tuple[Any, ...]):
    """What is told of one container or node: (which, cpu, memory, when measured, when memory was, when started)."""

    __slots__ = ()


SUBJECTS = (("p", "c"), ("p", "d"), ("q", "c"), None)
ODD = st.builds(
    lambda *parts: Series(parts),
    st.one_of(st.sampled_from(SUBJECTS), st.sampled_from(CONTAINERS)),
    st.one_of(st.sampled_from(["steady", "still", "back"]), NUMBERS, st.sampled_from(TEXTS)),
    st.one_of(st.just(4096), st.just(0), st.integers(0, 2**40), st.sampled_from(TEXTS)),
    st.one_of(st.just(0), SECONDS, st.none()),
    st.one_of(st.just(0), SECONDS, st.none()),
    STARTS,
)


def _body(late: int, odd: list[Series], beside: bool) -> list[Series]:
    """Steady lines of everything, measured `late` seconds ago, with some odd ones in their place or beside them."""
    replaced = set() if beside else {series[0] for series in odd}
    return [Series((which, "steady", 4096, -late, -late, -600)) for which in SUBJECTS if which not in replaced] + odd


BODIES = st.builds(_body, st.sampled_from([0, 0, 0, 3, 9, 25]), st.lists(ODD, max_size=2), st.booleans())


class Timelines(RuleBasedStateMachine):
    """The store between two kubelets and a cluster."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.world.nodes.apply([node(SICK, "sick-uid"), node(HEALTHY, "well-uid")], [])
        self.world.pods.apply([pod("p", containers=("c", "d")), pod("q", uid="q-uid"), WELL], [])
        self.versions: dict[str, int] = {}
        self.contents: dict[str, list[Any]] = {}
        self.highest: dict[str, tuple[str, float]] = {}
        """By uid: the newest timestamp that was served, and when by our clock."""
        self.absent: set[str] = set()
        self._the_healthy_one_is_scraped()
        self.world.clock.advance(15)
        self._the_healthy_one_is_scraped()
        self.healthy = self._healthy()

    @property
    def now(self) -> float:
        """Seconds since the start, by the wall clock that all agree on."""
        return self.world.clock.monotonic() - 1000.0

    def _the_healthy_one_is_scraped(self) -> None:
        text = self._light([Series((("well", "c"), "steady", 4096, 0, 0, -600)), Series((None, "steady", 4096, 0, 0, None))])
        self.world.store.publish(HEALTHY, RESOURCE, kubelet_resource.parse(text.encode(), received=START / SECOND + self.now))

    def _healthy(self) -> list[Any]:
        pods, nodes = self.world.collections["PodMetrics"], self.world.collections["NodeMetrics"]
        return [item and (item.value, item.labels, item.version) for item in (pods.get(WELL.key), nodes.get(("", HEALTHY)))]

    def _light(self, told: Sequence[Series]) -> str:
        """A body of /metrics/resource. Half a core since long ago is "steady"; others stand "still", or went "back"."""
        lines = []
        for which, cpu, memory, at, memory_at, started in told:
            labels = {} if which is None else {"namespace": "ns", "pod": which[0], "container": which[1]}
            family = "node" if which is None else "container"
            steady = (1000 + self.now + (at or 0)) / 2
            counter = {"steady": steady, "still": 400.0, "back": steady / 2}.get(cpu, cpu)
            lines.append(line(f"{family}_cpu_usage_seconds_total", counter, self._ms(at), **labels))
            lines.append(line(f"{family}_memory_working_set_bytes", memory, self._ms(memory_at), **labels))
            if started is not None and which is not None:
                lines.append(line("container_start_time_seconds", START / SECOND + started, **labels))
        return "".join(lines)

    def _ms(self, at: int | None) -> str | None:
        return None if at is None else str(round(START / 1e6 + (self.now + at) * 1000))

    def _full(self, told: Sequence[Series], uid: str) -> str:
        """A body of /stats/summary of the same."""
        pods: dict[str, list[Any]] = {}
        for which, cpu, memory, at, memory_at, started in told:
            if which is None:
                continue
            rate = {"steady": 5 * 10**8, "still": 0, "back": 2**64 - 5}.get(cpu, cpu)
            stats = {
                "name": which[1],
                "startTime": None if started is None else self._rfc3339(started),
                "cpu": {"time": self._rfc3339(self.now + (at or 0)), "usageNanoCores": rate, "usageCoreNanoSeconds": 10**12},
                "memory": {"time": self._rfc3339(self.now + (memory_at or 0)), "workingSetBytes": memory},
            }
            pods.setdefault(which[0], []).append(stats)
        document = {"pods": [{"podRef": {"name": name, "namespace": "ns", "uid": uid}, "containers": each} for name, each in pods.items()]}
        return json.dumps(document)

    @staticmethod
    def _rfc3339(at: float) -> str:
        return datetime.fromtimestamp(int(START / SECOND + at), tz=UTC).isoformat()

    @rule(seconds=st.one_of(st.integers(1, 20), st.sampled_from([15, 30, 59, 60, 61, 121])))
    def time_passes(self, seconds: int) -> None:
        """The healthy kubelet is scraped all the while."""
        while seconds > 0:
            self.world.clock.advance(min(seconds, 15))
            seconds -= 15
            while self.world.store.expire():
                pass
            self._the_healthy_one_is_scraped()
        self.healthy = self._healthy()

    @rule(seconds=st.sampled_from([-86400, -1, 1, 3600]))
    def our_clock_is_set(self, seconds: int) -> None:
        self.world.clock.jump(seconds)

    @rule(told=BODIES, cut=st.one_of(st.none(), st.integers(1, 400)))
    def the_light_endpoint_tells(self, told: list[Series], cut: int | None) -> None:
        self._publish(RESOURCE, kubelet_resource, self._light(told)[:cut])

    @rule(told=BODIES, uid=st.sampled_from(["", "u", "q-uid"]))
    def the_summary_tells(self, told: list[Series], uid: str) -> None:
        self._publish(SUMMARY, kubelet_summary, self._full(told, uid))

    def _publish(self, source: str, collector: Any, text: str) -> None:
        try:
            batch = collector.parse(text.encode(), received=START / SECOND + self.now)
        except CollectError as error:
            self.world.store.failed(SICK, source, error)
        else:
            self.world.store.publish(SICK, source, batch)

    @rule(source=st.sampled_from([RESOURCE, SUMMARY]))
    def a_scrape_fails(self, source: str) -> None:
        self.world.store.failed(SICK, source, CollectError(Cause.DIAL, "refused"))

    @rule(
        name=st.sampled_from("pq"),
        uid=st.sampled_from(["u", "q-uid", "new"]),
        on=st.sampled_from([SICK, SICK, HEALTHY, "nowhere", ""]),
        phase=st.sampled_from(["Running", "Running", "Running", "Pending", "Unknown"]),
        containers=st.lists(st.tuples(st.booleans(), STARTS), min_size=2, max_size=2),
    )
    def a_pod_is_put(self, name: str, uid: str, on: str, phase: str, containers: list[tuple[bool, int | None]]) -> None:
        before = pod(name, uid=f"{name}-{uid}-{on}", on=on)  # spec.nodeName never changes: elsewhere it is another pod
        records = tuple(
            ContainerRecord(each, runs, None if began is None else START + began * SECOND)
            for each, (runs, began) in zip("cd", containers, strict=True)
        )
        changed = {"phase": phase, "containers": records, "kubelet_uid": uid}
        self.world.pods.apply([PodRecord(**{field: getattr(before, field) for field in before.__struct_fields__} | changed)], [])

    @rule(what=st.sampled_from(["p", "q", "delete node", "sick-uid", "new"]))
    def something_goes_or_comes_anew(self, what: str) -> None:
        before = self.world.nodes.get(("", SICK))
        if what in {"p", "q"}:
            gone = self.world.pods.get(("ns", what))
            self.world.pods.apply([], [("ns", what)])
            if gone is not None:
                self.highest.pop(gone.uid, None)  # so does another pod, whose uid would be another
        elif what == "delete node":
            self.world.nodes.apply([], [("", SICK)])
        else:
            self.world.nodes.apply([node(SICK, what)], [])
        if before != self.world.nodes.get(("", SICK)):
            self.highest.clear()  # another node begins anew

    @rule(
        bodies=st.lists(st.tuples(st.sampled_from([RESOURCE, RESOURCE, SUMMARY]), st.sampled_from([0, 3, 25, 50])), min_size=1, max_size=4)
    )
    def all_is_well_for_a_while(self, bodies: list[tuple[str, int]]) -> None:
        """Steady bodies, each measured so many seconds before."""
        for source, late in bodies:
            told = _body(late, [], beside=True)
            if source == RESOURCE:
                self._publish(RESOURCE, kubelet_resource, self._light(told))
            else:
                self._publish(SUMMARY, kubelet_summary, self._full(told, ""))
            self.windows_and_times_are_sane()
            self.time_passes(15)

    @invariant()
    def the_healthy_node_is_never_touched(self) -> None:
        """Its objects are right at all times, and change with its own bodies only."""
        assert self.healthy == self._healthy()
        pods, nodes = self.world.collections["PodMetrics"].get(WELL.key), self.world.collections["NodeMetrics"].get(("", HEALTHY))
        assert pods is not None
        assert nodes is not None
        assert {"name": "c", "usage": {"cpu": "500m", "memory": "4Ki"}} == self.world.told("PodMetrics", pods)["containers"][0]
        assert {"cpu": "500m", "memory": "4Ki"} == self.world.told("NodeMetrics", nodes)["usage"]

    @invariant()
    def what_is_served_is_whole_and_sane(self) -> None:
        """No negative, no NaN, no part of a pod; nothing of what is not there."""
        for item in self.world.collections["PodMetrics"].snapshot():
            record = self.world.pods.get(item.key)
            assert record is not None
            assert (record.phase, self.world.nodes.get(("", record.node)) is not None) == ("Running", True)
            containers = self.world.told("PodMetrics", item)["containers"]
            assert [each.name for each in record.containers if each.running] == [each["name"] for each in containers] != []
            for each in containers:
                _sane(each["usage"])
        for item in self.world.collections["NodeMetrics"].snapshot():
            assert self.world.nodes.get(item.key) is not None
            _sane(self.world.told("NodeMetrics", item)["usage"])

    @invariant()
    def windows_and_times_are_sane(self) -> None:
        """A window is a second or more; a timestamp of a pod goes back only after its value was absent and had a minute to end."""
        now = self.world.clock.monotonic()
        served: dict[str, str] = {}
        for item in self.world.collections["PodMetrics"].snapshot():
            record = self.world.pods.get(item.key)
            assert item.value.window >= SECOND
            assert item.value.time > 0
            if record is not None:
                served[record.uid] = self.world.told("PodMetrics", item)["timestamp"]
        for uid, time in served.items():
            highest, since = self.highest.get(uid, ("", now))
            if time < highest:
                assert uid in self.absent
                assert now - since >= 60
            self.highest[uid] = (time, now if time != highest else since)
        self.absent = self.highest.keys() - served.keys()

    @invariant()
    def what_is_served_is_what_all_that_is_known_gives(self) -> None:
        """Although each step works out only what it can have changed."""
        store = self.world.store
        served = {item.key: item.value for item in self.world.collections["PodMetrics"].snapshot()}
        for key in list(self.world.pods.keys()):
            record, usage = self.world.pods.get(key), served.pop(key, None)
            assert record is not None
            not_before = usage.time if usage is not None else store._last.get(key, 0)
            assert usage == pod_usage(record, store._series(record.node), not_before)
        assert not served
        assert store.points()[1] == sum(len(item.value.containers) for item in self.world.collections["PodMetrics"].snapshot())

    @invariant()
    def versions_rise(self) -> None:
        """Every change has a version above all before; without a change there is none."""
        for kind, collection in self.world.collections.items():
            items = [(item.key, item.version, item.labels, item.value) for item in collection.snapshot()]
            before = self.versions.get(kind, 0)
            assert collection.version >= max([before, *(item.version for item in collection.snapshot())])
            assert collection.version > before or items == self.contents[kind]
            self.versions[kind], self.contents[kind] = collection.version, items

    @invariant()
    def every_absence_has_a_reason(self) -> None:
        """And every reason is a sentence; what is not there at all has none."""
        keys: list[Key] = [("ns", "p"), ("ns", "q"), ("ns", "well"), ("ns", "ghost")]
        for key in keys:
            reason = self.world.store.why(Subject.POD, key)
            assert (reason is None) == (self.world.pods.get(key) is None)
            assert reason is None or "None" not in reason


def _sane(usage: dict[str, str]) -> None:
    assert all(quantity[0].isdigit() and "e" not in quantity.lower() for quantity in usage.values()), usage


Timelines.TestCase.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
TestTimelines = Timelines.TestCase
