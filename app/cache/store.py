"""The store: samples and cluster changes go in, published objects come out. Every entry is one synchronous call and one version step.

What joins a sample with a pod is evaluated again when *either* changes, so there is no order in which news can arrive wrongly.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from app.cache.cluster import NodeChange, Nodes, PodChange, Pods
from app.cache.projection import Known, Projection, Subject
from app.cache.reasons import Knowledge, Trouble, node_reason, pod_reason
from app.cache.samples import NODE, Samples, Series, Source, Stepped, Told
from app.cache.steady import worked_out
from app.cache.step_columns import StepColumns, can_join
from app.cache.usage import node_usage, pod_usage
from app.cache.values import NodeUsage, PodUsage
from app.cache.versions import Versions
from app.clock import Clock
from app.kube.records import Key, NodeRecord, PodRecord
from collectors._base import Batch, CollectError, PodSamples
from collectors._pod_columns import PodColumns

_NODES_A_STEP = 4


class Store:
    """Joins what kubelets say with what the cluster is, and publishes it."""

    def __init__(
        self,
        *,
        nodes: Nodes,
        pods: Pods,
        samples: Samples,
        sources: Sequence[Source],
        projections: Sequence[Projection],
        versions: Versions,
        clock: Clock,
    ) -> None:
        """`sources` are in order of preference. The store listens to `nodes` and `pods` from now on."""
        self._nodes = nodes
        self._pods = pods
        self._samples = samples
        self._sources = {source.name: source for source in sources}
        self._better = {source.name: frozenset(other.name for other in sources[:position]) for position, source in enumerate(sources)}
        """By source: those that are preferred to it."""
        self._projections = projections
        self._of_pods = [projection for projection in projections if projection.subject is Subject.POD]
        self._versions = versions
        self._clock = clock
        self._node_usage: dict[str, NodeUsage] = {}
        self._pod_usage: dict[Key, PodUsage] = {}
        self._containers = 0
        self._troubles: dict[str, dict[str, Trouble]] = {}
        """By node and source: which fail now. A node that is not in it was not scraped yet."""
        self._last: dict[Key, int] = {}
        """The time of the last usage of what has none now: pods by key, nodes under ("", name). No older one is served after it, nor after
        the one that is served: so no served timestamp goes back."""
        nodes.listeners.append(self._nodes_changed)
        pods.listeners.append(self._pods_changed)

    def publish(self, node: str, source: str, batch: Batch) -> bool:
        """Take one scrape's samples and publish what changes. True once every CPU time of this (node, source) has advanced."""
        self.expire()
        if self._nodes.get(("", node)) is None:
            return True
        self._end(node)  # what ended before this batch came must not be taken for its doing
        self._troubles.setdefault(node, {}).pop(source, None)
        version = self._versions.next()
        told = self._step_columns(node, source, batch, version)
        taken = self._samples.take(node, self._sources[source], batch, self._pods.on_node(node), told)
        for key in taken.set_back:
            self._last.pop(("", node) if key == NODE else key, None)
        self._refresh(node, self._not_served_better(taken.pods, source), version, itself=taken.node)
        self._join_columns(node, source, batch, taken.pods, version)
        return self._samples.settled(node, self._sources[source])

    def failed(self, node: str, source: str, error: CollectError) -> None:
        """A scrape that failed changes no value, but what outlived its time goes, and the cause is remembered."""
        self.expire()
        if self._nodes.get(("", node)) is None:
            return
        troubles = self._troubles.setdefault(node, {})
        since = troubles[source].since if source in troubles else int(self._clock.wall() * 1e9)
        troubles[source] = Trouble(error.cause, since)

    def why(self, subject: Subject, key: Key) -> str | None:
        """Why there is no value for a node or pod, as a sentence; None if the cluster has no such thing."""
        if subject is Subject.NODE:
            return node_reason(self._knowledge(key[1]), self._last.get(key)) if self._nodes.get(key) is not None else None
        pod = self._pods.get(key)
        if pod is None:
            return None
        known = self._knowledge(pod.node) if self._nodes.get(("", pod.node)) is not None else None
        return pod_reason(pod, known, self._last.get(key))

    def _knowledge(self, node: str) -> Knowledge:
        return Knowledge(node, tuple(self._sources), self._series(node), self._troubles.get(node))

    def points(self) -> tuple[int, int]:
        """How many nodes and how many containers have a usage now."""
        return len(self._node_usage), self._containers

    def expire(self) -> bool:
        """Publish the end of what outlived its time, one version step a node, a few nodes a call. True while some are left.

        When a whole cluster's kubelets fall silent, thousands of nodes end at once: other work gets its turn in between.
        """
        self._samples.tick()
        for _ in range(_NODES_A_STEP):
            node = self._samples.due()
            if node is None:
                return False
            self._end(node)
        return self._samples.due() is not None

    def _end(self, node: str) -> None:
        """End what outlived its time on a node, and publish."""
        now = self._samples.now
        for series in self._samples.series(node).values():
            if series.columns is not None and series.ends <= now:
                for place in series.columns.outlived(series.source.ttl, now):
                    self._leave_columns(series.columns, place)
        lost = self._samples.end(node)
        if lost:
            pods = self._pods.on_node(node)
            ended = [(pod, None) for key in lost if (pod := pods.get(key)) is not None]
            self._refresh(node, ended, self._versions.next(), itself=NODE in lost)

    # Pods that go on as ever: app/cache/step_columns.py

    def _step_columns(self, node: str, source: str, batch: Batch, version: int) -> Iterable[Told]:
        """Step by columns what goes on; what is told of the others."""
        pods = batch.pods
        series = self._samples.series(node).get(source)
        columns = series.columns if series is not None else None
        if series is None or columns is None:
            return pods.items()
        if not isinstance(pods, PodColumns) or pods.places is not columns.places:
            self._end_columns(series, columns)
            return pods.items()
        for projection in self._of_pods:
            if projection.collection.is_held:
                projection.collection.before_late([pods.places.pods[place] for place in columns.here()])
        turn = columns.turn
        for place in columns.step(pods, self._samples.now, version):
            self._leave_columns(columns, place)
        if columns.turn != turn:
            for projection in self._of_pods:
                projection.collection.has_late(version)
        keys = pods.places.pods
        return [(keys[place], PodSamples(uid="", containers=pods.samples(place))) for place in columns.others]

    def _join_columns(self, node: str, source: str, batch: Batch, stepped: Sequence[Stepped], version: int) -> None:
        """Have those pods go on by columns from now on that this source serves, and that only went on this time."""
        steady = {pod.key for pod, usage in stepped if usage is not None and self._pod_usage.get(pod.key) is usage}
        if not steady or not isinstance(batch.pods, PodColumns):
            return
        series, places, pods = self._samples.series(node)[source], batch.pods.places, self._pods.on_node(node)
        joining = [(place, key) for place, key in enumerate(places.pods) if key in steady and can_join(pods[key], series.steps[key])]
        if not joining:
            return
        columns = series.columns = series.columns or StepColumns(places, partial(self._work_out, series))
        for place, key in joining:
            columns.join(place, pods[key], series.steps[key], version)
            for projection in self._of_pods:
                projection.collection.follow(key, columns, place)

    def _leave_columns(self, columns: StepColumns, place: int) -> None:
        """Have a pod stand where others do, as it is now."""
        columns.look(place)
        for projection in self._of_pods:
            projection.collection.follow(columns.places.pods[place], None)
        columns.leave(place)

    def _end_columns(self, series: Series, columns: StepColumns) -> None:
        for place in columns.here():
            self._leave_columns(columns, place)
        series.columns = None

    def _leave_with(self, pod: PodRecord) -> None:
        """Have a pod leave whatever columns it is in: something in its record is new."""
        for series in self._samples.series(pod.node).values():
            if series.columns is not None and (place := series.columns.place(pod.key)) is not None:
                self._leave_columns(series.columns, place)

    def _work_out(self, series: Series, columns: StepColumns, place: int) -> None:
        """Publish what a pod in `columns` uses now."""
        pod = columns.pods[place]
        if pod is None:
            return
        key = columns.places.pods[place]
        after, usage = worked_out(pod, series.steps[key], columns.steps(place), series.source.name)
        series.steps[key] = after
        self._pod_usage[key] = usage
        version = columns.version(place)
        for projection in self._of_pods:
            projection.renew(key, pod, usage, version)

    def _not_served_better(self, pods: Sequence[Stepped], source: str) -> Sequence[Stepped]:
        """The pods that are not served by a source that is preferred to `source`: whatever a lesser one tells, their usage stays."""
        better, served = self._better[source], self._pod_usage.get
        if not better:
            return pods
        return [(pod, None) for pod, _ in pods if (usage := served(pod.key)) is None or usage.source not in better]

    def _refresh(self, node: str, pods: Sequence[Stepped], version: int, *, itself: bool) -> None:
        """Work the usage of some pods of a node out again, and its own where `itself` says so, and publish."""
        if not pods and not itself:
            return
        series = self._series(node)
        if itself:
            self._refresh_node(node, series)
            self._project(Subject.NODE, [self._known_node(("", node))], version)
        self._project(Subject.POD, [(pod.key, pod, self._refresh_pod(pod, series, usage)) for pod, usage in pods], version)

    def _series(self, node: str) -> list[Series]:
        known = self._samples.series(node)
        return [known[source] for source in self._sources if source in known]

    def _refresh_node(self, node: str, series: Iterable[Series]) -> None:
        before = self._node_usage.pop(node, None)
        usage = node_usage(series, not_before=before.time if before is not None else self._last.get(("", node), 0))
        if usage is not None:
            self._node_usage[node] = usage
            self._last.pop(("", node), None)
        elif before is not None:
            self._last["", node] = before.time

    def _refresh_pod(self, pod: PodRecord, series: Iterable[Series], usage: PodUsage | None = None) -> PodUsage | None:
        """The usage of a pod as it is now, and kept. `usage` is what the most preferred source makes of it, where that is known."""
        key, usages = pod.key, self._pod_usage
        before = usages.get(key)
        not_before = before.time if before is not None else self._last.get(key, 0)
        if usage is None or usage.time < not_before:
            usage = pod_usage(pod, series, not_before)
        if usage is not None:
            usages[key] = usage
            if before is None:
                self._containers += len(usage.containers)
                self._last.pop(key, None)
            elif len(before.containers) != len(usage.containers):
                self._containers += len(usage.containers) - len(before.containers)
        elif before is not None:
            self._drop(key)
            self._last[key] = before.time
        return usage

    def _drop(self, key: Key) -> None:
        """Drop a pod's usage."""
        usage = self._pod_usage.pop(key, None)
        if usage is not None:
            self._containers -= len(usage.containers)

    def _nodes_changed(self, changes: Sequence[NodeChange]) -> None:
        """Deleted and re-created nodes lose their values, and their pods', at once."""
        lost: list[Known] = []
        for old, new in changes:
            if old is not None and (new is None or new.uid != old.uid):
                for series in self._samples.series(old.name).values():
                    if series.columns is not None:
                        self._end_columns(series, series.columns)
                self._samples.forget_node(old.name)
                self._node_usage.pop(old.name, None)
                self._last.pop(old.key, None)
                self._troubles.pop(old.name, None)
                for key, record in self._pods.on_node(old.name).items():
                    self._drop(key)
                    self._last.pop(key, None)
                    lost.append((key, record, None))
        version = self._versions.next()
        self._project(Subject.NODE, [self._known_node(_key(old, new)) for old, new in changes], version)
        self._project(Subject.POD, lost, version)

    def _pods_changed(self, changes: Sequence[PodChange]) -> None:
        """Deleted, moved and re-created pods lose their values at once; others are evaluated against the samples that are known."""
        known: list[Known] = []
        for old, new in changes:
            if old is not None:
                self._leave_with(old)
            if old is not None and (new is None or new.uid != old.uid or new.node != old.node):
                self._samples.forget_pod(old.node, old.key)
                self._drop(old.key)
                self._last.pop(old.key, None)
            elif old is not None and new is not None:
                self._samples.line_up(old, new)
            usage = self._refresh_pod(new, self._series(new.node)) if new is not None and new.node else None
            known.append((_key(old, new), new, usage))
        self._project(Subject.POD, known, self._versions.next())

    def _project(self, subject: Subject, known: Sequence[Known], version: int) -> None:
        """Bring objects up to date in every kind about `subject`."""
        for projection in self._projections:
            if projection.subject is subject:
                projection.publish(known, version)

    def _known_node(self, key: Key) -> Known:
        return key, self._nodes.get(key), self._node_usage.get(key[1])


def _key(old: NodeRecord | PodRecord | None, new: NodeRecord | PodRecord | None) -> Key:
    record = new if new is not None else old
    if record is None:
        raise ValueError("a change has a record before or after it")
    return record.key
