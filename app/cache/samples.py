"""The newest samples of every (node, source), kept until their time to live ends.

The time to live of a sample counts, on the monotonic clock, from when its own timestamp last advanced: a kubelet's stats advance every
10 to 20 s, so an unchanged sample is normal, and one that never changes again is dead although scrapes succeed.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from app.cache.rates import LEAP, Step
from app.cache.step_columns import StepColumns
from app.cache.values import PodUsage
from app.kube.records import ContainerRecord, Key, PodRecord
from collectors._base import Batch, PodSamples, Sample

NODE: Key = ("", "")
"""The key under which a node's own series stands beside those of its pods."""
MIN_TTL = 60.0
_NODE_ITSELF = (ContainerRecord("", running=True),)
"""A node has one series, of nobody's container."""

Steps = tuple[Step | None, ...]
"""Where the series of one pod stand, in the order of its record's containers: None where nothing was told."""

StepFunction = Callable[[Step | None, Sample, int | None, float], Step | None]
"""(last step, new sample, when the agent started, monotonic time) -> the step after it; see app/cache/rates.py."""


class Scrape(NamedTuple):
    """What the samples of one batch have in common: their source's name, the monotonic time, and when the agent started (Unix ns)."""

    source: str
    now: float
    agent_started: int | None


SteadyFunction = Callable[[PodRecord, Steps, Sequence[Sample], Scrape], tuple[Steps, PodUsage] | None]
"""(pod, where its series stand, samples, their scrape) -> where they stand after these, and the pod's usage; see app/cache/steady.py."""


def time_to_live(interval: float) -> float:
    """Seconds that a sample outlives its last advance: 4 intervals, and never under 60 s."""
    return max(4 * interval, MIN_TTL)


class Source(Struct, frozen=True):
    """A collector as the cache sees it: its name, how its samples become usages, and how long they live (seconds).

    `steady` is a short cut for pods of which every container goes on. It gives what `step` and app/cache/usage.py give, or None for them to
    be asked; see app/cache/steady.py.
    """

    name: str
    step: StepFunction
    ttl: float
    steady: SteadyFunction | None = None


class Series(Struct):
    """All series of one (node, source), by pod; the node's own is at NODE, alone.

    `columns` has where pods stand that go on as ever, if there are any; `steps` is where they stood when they were looked at last.
    `ends` is a time before which none of them ends, infinite while none lives. `settled` is what Samples.settled answers, None when that is
    to be found out.
    """

    source: Source
    steps: dict[Key, Steps]
    columns: StepColumns | None = None
    ends: float = math.inf
    settled: bool | None = None

    def step(self, key: Key, position: int = 0) -> Step | None:
        """Where the series of a pod's container stands, by its position in the record, or that of the node (NODE)."""
        steps = self.steps.get(key)
        return steps[position] if steps is not None else None


Told = tuple[Key, PodSamples]
"""A pod, and what a batch tells of it."""
Stepped = tuple[PodRecord, PodUsage | None]
"""A pod of which some series stepped, and the usage that their source makes of it, where that is known already."""


class Taken(NamedTuple):
    """What a batch did: whether the node's own series stepped, which pods did, and the keys (of pods, or NODE) of those whose kubelet's
    clock was set back.
    """

    node: bool
    pods: list[Stepped]
    set_back: set[Key]


class Samples:
    """All samples, and when they end.

    Time goes on in `tick` and nowhere else, so nothing ends unseen. What came due then is ended node by node with `end`, before anything
    else is done with the node: so ending, and making that known, are one step.
    """

    def __init__(self, timer: Callable[[], float]) -> None:
        """`timer` gives monotonic seconds."""
        self._timer = timer
        self._now = timer()
        self._series: dict[str, dict[str, Series]] = {}
        """By node and source."""
        self._ends: list[tuple[float, str, str]] = []
        """A heap of (ends, node, source). Steps leave it as it is, for to move an entry costs more than they do: it comes due when the
        first of its series would have ended without them, and goes in again for those that live on. An entry that no Series stands behind
        any more is dropped when its time comes."""

    @property
    def now(self) -> float:
        """Monotonic seconds, as of the last `tick`."""
        return self._now

    def tick(self) -> None:
        """Let time go on."""
        self._now = self._timer()

    def due(self) -> str | None:
        """A node of which series may have outlived their time; None if there is none."""
        while self._ends and self._ends[0][0] <= self._now:
            ends, node, source = self._ends[0]
            series = self.series(node).get(source)
            if series is not None and series.ends == ends:
                return node
            heappop(self._ends)
        return None

    def end(self, node: str) -> set[Key]:
        """End all series of a node that outlived their time; the keys (of pods, or NODE) that lost one."""
        lost: set[Key] = set()
        for series in self.series(node).values():
            if series.ends <= self._now:
                lost |= _end(series, self._now)
                self._await_end(node, series)
        return lost

    def series(self, node: str) -> Mapping[str, Series]:
        """What is known of a node, by source, dead series among it."""
        return self._series.get(node, {})

    def take(self, node: str, source: Source, batch: Batch, pods: Mapping[Key, PodRecord], told: Iterable[Told] | None = None) -> Taken:
        """Put a batch in; of its pods, where `told` says which, these only: others have gone on by columns.

        `pods` are those that run on this node. Samples of other pods, of another instance of the pod or the container, and of containers
        that its spec does not name are dropped: kubelet text is hostile.
        """
        series = self.series(node).get(source.name) or Series(source=source, steps={})
        scrape = Scrape(source.name, self._now, batch.agent_started)
        intake = _Intake(series, scrape)
        itself = batch.node is not None and intake.advance(NODE, _NODE_ITSELF, (batch.node,))
        known, steady, stepped = series.steps, source.steady, list[Stepped]()
        for key, said in batch.pods.items() if told is None else told:
            pod = pods.get(key)
            if pod is None or (said.uid and said.uid != pod.kubelet_uid):
                continue
            before = known.get(pod.key)
            after = steady(pod, before, said.containers, scrape) if steady and before else None
            if after is not None:
                known[pod.key], usage = after
                stepped.append((pod, usage))
            elif intake.advance(pod.key, pod.containers, said.containers):
                stepped.append((pod, None))
        if series.ends == math.inf and (itself or stepped):
            series.ends = self._now + source.ttl
            self._series.setdefault(node, {})[source.name] = series
            self._await_end(node, series)
        if not series.settled:
            series.settled = None
        return Taken(itself, stepped, intake.set_back)

    def _await_end(self, node: str, series: Series) -> None:
        if series.ends < math.inf:
            heappush(self._ends, (series.ends, node, series.source.name))

    def settled(self, node: str, source: Source) -> bool:
        """Whether every series of one (node, source) stepped at least once since it is known: a rate can be made of each."""
        series = self.series(node).get(source.name)
        if series is None:
            return False
        if series.settled is None:
            series.settled = all(step is None or step.moved or step.dead for steps in series.steps.values() for step in steps)
        return series.settled

    def line_up(self, old: PodRecord, new: PodRecord) -> None:
        """Follow a pod on its node whose containers are others than they were: a debugging container was added."""
        names, wanted = ([container.name for container in pod.containers] for pod in (old, new))
        if names == wanted:
            return
        for series in self.series(new.node).values():
            if new.key in series.steps:
                known = dict(zip(names, series.steps[new.key], strict=True))
                series.steps[new.key] = tuple(known.get(name) for name in wanted)
                series.settled = None

    def forget_node(self, node: str) -> None:
        """Drop all that is known of a node."""
        self._series.pop(node, None)

    def forget_pod(self, node: str, key: Key) -> None:
        """Drop all that is known of a pod on a node."""
        for series in self.series(node).values():
            if series.steps.pop(key, None) is not None:
                series.settled = None


class _Intake:
    """One batch on its way into the series of its (node, source)."""

    def __init__(self, series: Series, scrape: Scrape) -> None:
        self._series = series
        self._scrape = scrape
        self.set_back: set[Key] = set()

    def advance(self, key: Key, containers: Sequence[ContainerRecord], samples: Sequence[Sample]) -> bool:
        """Step the series of one pod or node; whether some did."""
        known, step_of = self._series.steps, self._series.source.step
        before = known.get(key) or (None,) * len(containers)
        told = {sample.name: sample for sample in samples}
        _, now, agent_started = self._scrape
        after = []
        for container, last in zip(containers, before, strict=True):
            sample = told.get(container.name)
            if sample is None or not container.is_same_instance(sample.started):
                after.append(last)
            elif last is None or last.dead:
                after.append(self._begin(key, last, sample))
            elif sample.cpu_time - last.time - LEAP > (now - last.advanced) * 1e9:
                after.append(last)
            else:
                after.append(step_of(last, sample, agent_started, now))
        if all(step is last for step, last in zip(after, before, strict=True)):
            return False
        known[key] = tuple(after)
        return True

    def _begin(self, key: Key, dead: Step | None, sample: Sample) -> Step | None:
        """The first step of a series that was never heard of, or is dead. What a stuck kubelet tells for ever begins nothing."""
        if dead is not None and (sample.cpu_time, sample.cpu) == (dead.time, dead.counter):
            return dead
        step = self._series.source.step(None, sample, self._scrape.agent_started, self._scrape.now)
        if step is None:
            return dead
        if dead is not None and step.time < dead.time:
            self.set_back.add(key)
        self._series.settled = None
        return step


def _end(series: Series, now: float) -> set[Key]:
    """End what outlived its time; the keys that lost a series. What is in columns lives: whoever outlived its time has left them."""
    ttl, columns = series.source.ttl, series.columns
    elsewhere = columns.living() if columns is not None else {}
    living = [*elsewhere.items()]
    living += [
        (key, step.advanced)
        for key, steps in series.steps.items()
        if key not in elsewhere
        for step in steps
        if step is not None and not step.dead
    ]
    lost = {key for key, advanced in living if advanced + ttl <= now}
    for key in lost:
        series.steps[key] = tuple(_ended(step) if step is not None and step.advanced + ttl <= now else step for step in series.steps[key])
        series.settled = None
    series.ends = min((advanced + ttl for _, advanced in living if advanced + ttl > now), default=math.inf)
    return lost


def _ended(step: Step) -> Step:
    """The step of a series that outlived its time: without a usage."""
    return replace(step, cpu=0, memory=0, swap=None, window=0, dead=True)
