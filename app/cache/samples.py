"""The newest samples of every (node, source), kept until their time to live ends.

The time to live of a sample counts, on the monotonic clock, from when its own timestamp last advanced: a kubelet's stats advance every
10 to 20 s, so an unchanged sample is normal, and one that never changes again is dead although scrapes succeed.
"""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from cachetools import TLRUCache
from msgspec import Struct

from app.cache.rates import Step
from app.kube.records import ContainerRecord, Key, PodRecord
from collectors._base import Batch, Sample

NODE: Key = ("", "")
"""The key under which a node's own series stands beside those of its pods."""
MIN_TTL = 60.0
LEAP = 60.0
"""Between two samples of a series a kubelet's clock may go this many seconds further than ours: its statistics come late sometimes. By more
it was set, or the stamp is wild: a pair over a leap would give a rate near 0."""
INSTANCE_SLACK = 2 * 10**9
"""Kubelet and pod status tell a container's start with different precision: up to this much apart (ns) it is the same one, where the status
does not tell when the instance before it ended."""

StepFunction = Callable[[Step | None, Sample, int | None], Step | None]
"""(last step, new sample, when the agent started) -> the step after it; see app/cache/rates.py."""


class Source(Struct, frozen=True):
    """A collector as the cache sees it: its name, how its samples become usages, and how long they live (seconds)."""

    name: str
    step: StepFunction
    ttl: float


def time_to_live(interval: float) -> float:
    """Seconds that a sample outlives its last advance: 4 intervals, and never under 60 s."""
    return max(4 * interval, MIN_TTL)


class Track(Struct, gc=False):
    """One series. `advanced` is the monotonic time of its last step; `moved` tells whether it stepped since it is known.

    `dead` is a series that outlived its time: it has no usage, and its sample is kept only to know it again, for a kubelet that is stuck
    tells the same for ever.
    """

    step: Step
    advanced: float
    moved: bool = False
    dead: bool = False


class Series(Struct):
    """All series of one (node, source), by pod key and container name; a node's own is at [NODE][""]."""

    source: Source
    tracks: dict[Key, dict[str, Track]]

    def track(self, key: Key, name: str) -> Track | None:
        """The series of one container, or of the node (NODE, "")."""
        tracks = self.tracks.get(key)
        return tracks.get(name) if tracks is not None else None


class Taken(NamedTuple):
    """What a batch did: the keys (of pods, or NODE) of which some series stepped, and those whose kubelet's clock was set back."""

    stepped: set[Key]
    set_back: set[Key]


class Samples:
    """The one wrapper around the TTL cache. Its owner calls `expire` before anything else; nobody else touches the cache.

    An entry is all series of one (node, source), and ends when the first of them does; those that are left go in again.
    """

    def __init__(self, timer: Callable[[], float]) -> None:
        """`timer` gives monotonic seconds."""
        self._timer = timer
        self._now = timer()
        self._cache: TLRUCache[tuple[str, str], Series] = TLRUCache(maxsize=math.inf, ttu=_earliest_end, timer=lambda: self._now)
        self._dead: dict[tuple[str, str], Series] = {}

    def expire(self) -> dict[str, set[Key]]:
        """End every series that outlived its time; by node the keys that lost one.

        The cache's time moves here and nowhere else: so nothing expires unseen on a read or an assignment.
        """
        self._now = self._timer()
        lost: dict[str, set[Key]] = {}
        for (node, source), series in self._cache.expire():
            lost.setdefault(node, set()).update(_end(series, self._now))
            if _earliest_end((node, source), series, self._now) < math.inf:
                self._cache[node, source] = series
            else:
                self._dead[node, source] = series
        return lost

    def series(self, node: str, source: str) -> Series | None:
        """What is known of one (node, source), dead series among it; None if it was never heard of."""
        return self._cache.get((node, source)) or self._dead.get((node, source))

    def take(self, node: str, source: Source, batch: Batch, pod: Callable[[Key], PodRecord | None]) -> Taken:
        """Put a batch in.

        `pod(key)` gives the pod if it runs on this node. Samples of other pods, of another instance of the pod or the container, and of
        containers that its spec does not name are dropped: kubelet text is hostile.
        """
        series = self.series(node, source.name) or Series(source=source, tracks={})
        taken = Taken(set(), set())
        if batch.node is not None:
            _advance(series, NODE, (batch.node,), batch.agent_started, now=self._now, taken=taken)
        for key, samples in batch.pods.items():
            record = pod(key)
            if record is None or (samples.uid and samples.uid != record.kubelet_uid):
                continue
            containers = {container.name: container for container in record.containers}
            own = [
                sample
                for sample in samples.containers
                if (container := containers.get(sample.name)) is not None and is_same_instance(container, sample.started)
            ]
            _advance(series, key, own, batch.agent_started, now=self._now, taken=taken)
        if taken.stepped:
            self._cache[node, source.name] = series
            self._dead.pop((node, source.name), None)
        return taken

    def settled(self, node: str, source: Source) -> bool:
        """Whether every series of one (node, source) stepped at least once since it is known: a rate can be made of each."""
        series = self.series(node, source.name)
        return series is not None and all(track.moved or track.dead for tracks in series.tracks.values() for track in tracks.values())

    def forget_node(self, node: str, sources: Iterable[Source]) -> None:
        """Drop all that is known of a node."""
        for source in sources:
            self._cache.pop((node, source.name), None)
            self._dead.pop((node, source.name), None)

    def forget_pod(self, node: str, key: Key, sources: Iterable[Source]) -> None:
        """Drop all that is known of a pod on a node."""
        for source in sources:
            series = self.series(node, source.name)
            if series is not None:
                series.tracks.pop(key, None)


def is_same_instance(container: ContainerRecord, started: int | None) -> bool:
    """Whether a sample is of the instance that runs. One that started earlier is a leftover; one that started later is news that the pod's
    status has yet to tell.

    What kubelets report as a container's start is when it was *created*; the pod's status tells when it was started. Between the two a
    busy machine or a slow runtime needs seconds. So an instance is told from the one before by when that one ended.
    """
    if started is None:
        return True
    if container.since_ns is not None:
        return started >= container.since_ns
    return container.started_ns is None or started >= container.started_ns - INSTANCE_SLACK


def _earliest_end(_key: tuple[str, str], series: Series, _now: float) -> float:
    """When the first of the series that live ends; never, if none does."""
    advanced = min((track.advanced for tracks in series.tracks.values() for track in tracks.values() if not track.dead), default=math.inf)
    return advanced + series.source.ttl


def _end(series: Series, now: float) -> set[Key]:
    """End what outlived its time; the keys that lost a series."""
    lost = set()
    for key, tracks in series.tracks.items():
        for track in tracks.values():
            if not track.dead and now >= track.advanced + series.source.ttl:
                track.step = Step(track.step.sample, None)
                track.dead = True
                lost.add(key)
    return lost


def _advance(series: Series, key: Key, samples: Iterable[Sample], agent_started: int | None, *, now: float, taken: Taken) -> None:
    """Step the series of one pod or node."""
    tracks = series.tracks.get(key) or {}
    for sample in samples:
        track = tracks.get(sample.name)
        dead = track.step.sample if track is not None and track.dead else None
        if dead is not None and (sample.cpu_time, sample.cpu) == (dead.cpu_time, dead.cpu):
            continue
        last = track.step if track is not None and dead is None else None
        if track is not None and last is not None and (sample.cpu_time - last.sample.cpu_time) / 1e9 > now - track.advanced + LEAP:
            continue
        step = series.source.step(last, sample, agent_started)
        if step is None or step is last:
            continue
        if track is None or dead is not None:
            tracks[sample.name] = Track(step=step, advanced=now)
        else:
            track.step, track.advanced, track.moved = step, now, True
        taken.stepped.add(key)
        if dead is not None and sample.cpu_time < dead.cpu_time:
            taken.set_back.add(key)
    if key in taken.stepped:
        series.tracks[key] = tracks
