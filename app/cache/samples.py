"""The newest samples of every (node, source), kept until their time to live ends.

The time to live of a sample counts, on the monotonic clock, from when its own timestamp last advanced: a kubelet's stats advance every
10 to 20 s, so an unchanged sample is normal, and one that never changes again is dead although scrapes succeed.
"""

import math
from collections.abc import Callable, Iterable

from cachetools import TLRUCache
from msgspec import Struct

from app.cache.rates import Step
from app.kube.records import Key, PodRecord
from collectors._base import Batch, Sample

NODE: Key = ("", "")
"""The key under which a node's own series stands beside those of its pods."""
MIN_TTL = 60.0

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


class Samples:
    """The one wrapper around the TTL cache. Its owner calls `expire` before anything else; nobody else touches the cache."""

    def __init__(self, timer: Callable[[], float]) -> None:
        """`timer` gives monotonic seconds."""
        self._timer = timer
        self._now = timer()
        self._cache: TLRUCache[tuple[str, str], Series] = TLRUCache(maxsize=math.inf, ttu=_ends, timer=lambda: self._now)
        self._dead: dict[tuple[str, str], Series] = {}

    def expire(self) -> set[str]:
        """Drop every (node, source) that outlived its time; the nodes that lost something.

        The cache's time moves here and nowhere else: so nothing expires unseen on a read or an assignment.
        """
        self._now = self._timer()
        expired = self._cache.expire()
        for key, series in expired:
            for tracks in series.tracks.values():
                for track in tracks.values():
                    _kill(track)
            self._dead[key] = series
        return {node for (node, _), _ in expired}

    def series(self, node: str, source: str) -> Series | None:
        """What is known of one (node, source), dead series among it; None if it was never heard of."""
        return self._cache.get((node, source)) or self._dead.get((node, source))

    def take(self, node: str, source: Source, batch: Batch, pod: Callable[[Key], PodRecord | None]) -> set[Key]:
        """Put a batch in. Returns the keys (of pods, or NODE) of which some series stepped or died.

        `pod(key)` gives the pod if it runs on this node. Samples of other pods, of another instance of the pod, and of containers that
        its spec does not name are dropped: kubelet text is hostile.
        """
        now = self._now
        series = self.series(node, source.name) or Series(source=source, tracks={})
        changed = _sweep(series, now)
        stepped = set()
        if batch.node is not None and _advance(series, NODE, (batch.node,), batch.agent_started, now=now):
            stepped.add(NODE)
        for key, samples in batch.pods.items():
            record = pod(key)
            if record is None or (samples.uid and samples.uid != record.kubelet_uid):
                continue
            names = {container.name for container in record.containers}
            own = [sample for sample in samples.containers if sample.name in names]
            if _advance(series, key, own, batch.agent_started, now=now):
                stepped.add(key)
        if stepped:
            self._cache[node, source.name] = series
            self._dead.pop((node, source.name), None)
        return changed | stepped

    def sweep(self, node: str, source: Source) -> set[Key]:
        """Drop the series of one (node, source) that outlived their time though others advance; the keys that lost one."""
        series = self.series(node, source.name)
        return _sweep(series, self._now) if series is not None else set()

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


def _ends(_key: tuple[str, str], series: Series, now: float) -> float:
    return now + series.source.ttl


def _advance(series: Series, key: Key, samples: Iterable[Sample], agent_started: int | None, *, now: float) -> bool:
    """Step the series of one pod or node; whether any stepped."""
    tracks = series.tracks.get(key) or {}
    stepped = False
    for sample in samples:
        track = tracks.get(sample.name)
        if track is not None and track.dead:
            if (sample.cpu_time, sample.cpu) == (track.step.sample.cpu_time, track.step.sample.cpu):
                continue
            track = None
        last = track.step if track is not None else None
        step = series.source.step(last, sample, agent_started)
        if step is None or step is last:
            continue
        stepped = True
        if track is None:
            tracks[sample.name] = Track(step=step, advanced=now)
        else:
            track.step, track.advanced, track.moved = step, now, True
    if stepped:
        series.tracks[key] = tracks
    return stepped


def _sweep(series: Series, now: float) -> set[Key]:
    """Kill what outlived its time; the keys that lost a series."""
    changed = set()
    for key, tracks in series.tracks.items():
        for track in tracks.values():
            if not track.dead and now - track.advanced >= series.source.ttl:
                _kill(track)
                changed.add(key)
    return changed


def _kill(track: Track) -> None:
    track.step = Step(track.step.sample, None)
    track.dead = True
