"""What full summaries told beyond CPU and memory, kept by node until its time to live ends, and which sources fail on a node.

Nothing is worked out here: who reads an object joins it (app/cache/views.py). Of what a rate is made the sample before stays too.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from app.cache.cluster import NodeChange, Nodes, PodChange, Pods
from app.cache.reasons import Trouble
from app.cache.versions import Versions
from app.clock import Clock
from app.kube.records import Key, PodRecord
from collectors._base import Batch, CollectError
from collectors._summary_records import NetworkStats, NodeStats, PodStats, SummaryStats, VolumeStats

PAIR_MIN = 10 * 10**9
"""Kubelets' times are floored to seconds: a rate over less than this (ns) would be off by more than a tenth."""

_NO_TROUBLE: Mapping[str, Trouble] = {}


def in_full(collector: str) -> str:
    """The name of a source as far as it tells more than CPU and memory: what troubles only that."""
    return f"{collector} in full"


class PodNow(Struct, frozen=True, gc=False):
    """What is known of a pod: `stats` are the newest, `earlier` the network's sample to measure `stats.network` against, if there is one.

    `volumes` are the pod's, the claims among them. Kubelets forget the volumes of pods that crash, or the pods themselves: then they are
    those that were told last, and `absent` is True, until `ends` (monotonic seconds).
    """

    stats: PodStats
    earlier: NetworkStats | None = None
    volumes: tuple[VolumeStats, ...] = ()
    ends: float = 0.0
    absent: bool = False


class NodeNow(Struct, frozen=True):
    """What is known of a node and its pods. `version` is that of the newest change of any of it.

    `stats` is None and `pods` is empty where nothing was told, or it outlived its time. `troubles` are the sources that fail on the node,
    by name. `times` is the sum of all times that were told last: it tells whether any of them went on.
    """

    version: int
    stats: NodeStats | None = None
    earlier: NetworkStats | None = None
    pods: Mapping[Key, PodNow] = {}
    troubles: Mapping[str, Trouble] = _NO_TROUBLE
    times: int = 0

    def trouble(self, collector: str) -> Trouble | None:
        """Why there is no news of a source's stats; None if there is."""
        return self.troubles.get(collector) or self.troubles.get(in_full(collector))


class Stats:
    """The stats of all nodes. It takes what scrapes give, as the store does (app/pipeline/sink.py), and ends in `expire`."""

    def __init__(self, *, nodes: Nodes, pods: Pods, versions: Versions, clock: Clock, ttl: float) -> None:
        """`ttl` in seconds, on the monotonic clock, from when a node's stats last changed."""
        self._nodes = nodes
        self._pods = pods
        self._versions = versions
        self._clock = clock
        self._ttl = ttl
        self._known: dict[str, NodeNow] = {}
        self._ends: dict[str, float] = {}
        """When the stats of each node end, in that order."""
        self.version = versions.current
        """The newest version of anything in it."""
        nodes.listeners.append(self._nodes_changed)
        pods.listeners.append(self._pods_changed)

    def node(self, name: str) -> NodeNow | None:
        """What is known of a node; None if nothing ever was."""
        return self._known.get(name)

    def pod(self, node: str, key: Key) -> PodNow | None:
        """What is known of a pod on a node."""
        known = self._known.get(node)
        return known.pods.get(key) if known is not None else None

    def publish(self, node: str, collector: str, batch: Batch) -> None:
        """Take a scrape that went well: its stats, if it has any, and that the source does not fail any more.

        A kubelet that told less than was asked for serves CPU and memory, and fails as far as the rest goes.
        """
        if self._nodes.get(("", node)) is None:
            return
        known = self._known.get(node)
        troubles = dict(known.troubles) if known is not None else {}
        troubles.pop(collector, None)
        full = in_full(collector)
        if batch.lacking is None:
            troubles.pop(full, None)
        else:
            troubles[full] = self._trouble(troubles.get(full), batch.lacking)
        known = self._put_troubles(node, known, troubles)
        if batch.stats is not None:
            self._take(node, known, batch.stats)

    def failed(self, node: str, collector: str, error: CollectError) -> None:
        """A scrape failed: what is known stays until its time ends, but is said to be old."""
        if self._nodes.get(("", node)) is None:
            return
        known = self._known.get(node)
        troubles = dict(known.troubles) if known is not None else {}
        troubles[collector] = self._trouble(troubles.get(collector), error)
        self._put_troubles(node, known, troubles)

    def _trouble(self, before: Trouble | None, error: CollectError) -> Trouble:
        """It lasts since the first of the failures in a row, whatever their causes."""
        return Trouble(error.cause, before.since if before is not None else int(self._clock.wall() * 1e9))

    def _put_troubles(self, node: str, known: NodeNow | None, troubles: Mapping[str, Trouble]) -> NodeNow:
        """What is known of a node from now on. It is news where it is another trouble, or the first that is heard of the node."""
        if known is None:
            known = self._known[node] = NodeNow(self._step(), troubles=troubles)
        elif troubles != known.troubles:
            known = self._known[node] = replace(known, troubles=troubles, version=self._step())
        return known

    def expire(self) -> None:
        """End what outlived its time."""
        now = self._clock.monotonic()
        while self._ends:
            node, ends = next(iter(self._ends.items()))
            if ends > now:
                break
            del self._ends[node]
            known = self._known[node]
            self._known[node] = NodeNow(self._step(), troubles=known.troubles, times=known.times)

    def _take(self, node: str, before: NodeNow, told: SummaryStats) -> None:
        """Put the stats of one body in place of those before. A kubelet that is stuck tells the same for ever: that is no news."""
        times = sum((told.node.time if told.node is not None else 0, *(stats.time for stats in told.pods.values())))
        if before.times == times:
            return
        now = self._clock.monotonic()
        earlier = _earlier(before.stats, before.earlier, told.node)
        pods = self._pods_now(node, before.pods, told.pods, now)
        self._known[node] = NodeNow(self._step(), told.node, earlier, pods, before.troubles, times)
        self._ends.pop(node, None)
        self._ends[node] = now + self._ttl

    def _pods_now(self, node: str, before: Mapping[Key, PodNow], told: Mapping[Key, PodStats], now: float) -> dict[Key, PodNow]:
        """What is known of the node's pods after a body. Entries of other pods are dropped: kubelet text is hostile."""
        on_node = self._pods.on_node(node)
        pods = {}
        for key, stats in told.items():
            record = on_node.get(key)
            if record is not None and (not stats.uid or stats.uid == record.kubelet_uid):
                pods[record.key] = self._pod_now(record, before.get(key), stats, now)
        for key, pod in before.items():
            if key not in pods and pod.ends > now:
                pods[key] = pod if pod.absent else replace(pod, absent=True)
        return pods

    def _pod_now(self, record: PodRecord, before: PodNow | None, stats: PodStats, now: float) -> PodNow:
        """What is known of a pod after a body that tells of it."""
        volumes, ends = stats.volumes, now + self._ttl
        if volumes or record.host_network:
            # The network of a pod in the host's is the node's, told as the pod's.
            stats = replace(stats, volumes=(), network=None if record.host_network else stats.network)
        if before is None:
            return PodNow(stats, None, volumes, ends)
        earlier = _earlier(before.stats, before.earlier, stats)
        if not volumes and before.volumes and before.ends > now:
            return PodNow(stats, earlier, before.volumes, before.ends, absent=True)
        return PodNow(stats, earlier, volumes, ends)

    def _step(self) -> int:
        self.version = self._versions.next()
        return self.version

    def _nodes_changed(self, changes: Sequence[NodeChange]) -> None:
        """A deleted or re-created node loses all at once. Whether there is a node is something to say of its pods."""
        for old, new in changes:
            if old is not None and (new is None or new.uid != old.uid):
                self._known.pop(old.name, None)
                self._ends.pop(old.name, None)
            if old is None or new is None or new.uid != old.uid:
                self._step()

    def _pods_changed(self, changes: Sequence[PodChange]) -> None:
        """A deleted, moved or re-created pod loses its stats at once."""
        for old, new in changes:
            if old is not None and (new is None or new.uid != old.uid or new.node != old.node):
                known = self._known.get(old.node)
                if known is not None and old.key in known.pods:
                    pods = {key: pod for key, pod in known.pods.items() if key != old.key}
                    self._known[old.node] = replace(known, pods=pods, version=self._step())


def _earlier(last: NodeStats | PodStats | None, earlier: NetworkStats | None, new: NodeStats | PodStats | None) -> NetworkStats | None:
    """The network's sample to measure that of `new` against: the last one, or while that is too near, the one before it."""
    before, after = last.network if last is not None else None, new.network if new is not None else None
    if before is None or after is None:
        return None
    return before if after.time - before.time >= PAIR_MIN else earlier
