"""What is known of a claim's volume: the claim joined with what the kubelets of the nodes that mount it tell, and why there is no more.

Reasons are one sentence each, for whoever may read the namespace: no addresses.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from app.cache.claims import Claim
from app.cache.cluster import Pods
from app.cache.collection import Item
from app.cache.reasons import Trouble
from app.cache.stats import NodeNow, PodNow
from app.kube.records import ClaimRecord, Key, PodRecord
from app.wire.timestamps import format_time
from collectors._summary_records import VolumeStats

SOURCE = "kubelet_summary"
"""The collector that volumes come from."""

SHARED = 1.5
"""A file system that is larger than its claim by this factor holds more than the claim: statfs knows the file system only, which of NFS
and of local directories is a whole export or disk."""

YOUNG = 150 * 10**9
"""A kubelet measures volumes every one to two minutes (volumeStatsAggPeriod, with jitter); those of a younger pod (ns) may come yet."""


class State(StrEnum):
    """What is known of a volume."""

    REPORTED = "Reported"
    BLOCK = "Block"
    NO_STATS = "NoStats"
    NOT_MOUNTED = "NotMounted"
    STALE = "Stale"
    UNBOUND = "Unbound"


class Mount(Struct, frozen=True, gc=False):
    """A pod that names the claim among its volumes; `node` is "" while it is not bound to one."""

    pod: str
    node: str


class VolumeNow(Struct, frozen=True, gc=False):
    """A claim as it is now. `claim` is None where claims may not be listed, `stats` where no kubelet tells of it.

    `reason` is "" where there is nothing to explain. `shared`: the file system is larger than the claim, and so holds what others store.
    `trend` is how full it was lately, in percent; see app/cache/trends.py.
    """

    claim: ClaimRecord | None
    state: State
    reason: str
    mounts: tuple[Mount, ...]
    stats: VolumeStats | None = None
    shared: bool = False
    trend: tuple[float | None, ...] = ()


class _Told(NamedTuple):
    """An entry of a kubelet, and of which pod on which node."""

    stats: VolumeStats
    pod: PodNow
    node: NodeNow
    name: str


class Volumes:
    """Joins claims with pods and statistics, when somebody reads."""

    def __init__(
        self,
        pods: Pods,
        node: Callable[[str], NodeNow | None],
        forbidden: Callable[[], bool],
        trend: Callable[[Key], tuple[float | None, ...]] = lambda _key: (),
    ) -> None:
        """`node` is that of app/cache/stats.py; `forbidden()` tells whether kube-apiserver refuses to list claims; `trend` gives how full
        the volume of a claim was lately.
        """
        self._pods = pods
        self._node = node
        self._forbidden = forbidden
        self._trend = trend

    def join(self, member: Item) -> tuple[VolumeNow, int]:
        """What a member of app/cache/claims.py says now, and the version of the newest part of that."""
        claim: Claim = member.value
        pods = [pod for key in claim.pods if (pod := self._pods.get(key)) is not None]
        nodes = {pod.node: node for pod in pods if (node := self._node(pod.node)) is not None}
        newest = max((node.version for node in nodes.values()), default=0)
        return self._now(member.key, claim.record, pods, nodes), newest

    def _now(self, key: Key, record: ClaimRecord | None, pods: Sequence[PodRecord], nodes: Mapping[str, NodeNow]) -> VolumeNow:
        mounts = tuple(Mount(pod.name, pod.node) for pod in pods)
        told = max(_told(key, pods, nodes), key=lambda each: each.stats.time, default=None)
        if told is None:
            state, reason = _without(record, pods, nodes)
            return VolumeNow(record, state, self._and_unlisted(record, reason), mounts)
        shared = _is_shared(record, told.stats)
        state, reason = _of(told, record, shared=shared)
        return VolumeNow(record, state, self._and_unlisted(record, reason), mounts, told.stats, shared, self._trend(key))

    def _and_unlisted(self, record: ClaimRecord | None, reason: str) -> str:
        """The reason, and why the claim itself is not known: then only what pods and kubelets tell is shown."""
        if record is not None:
            return reason
        unlisted = "kubeglance may not list persistentvolumeclaims" if self._forbidden() else "the claim was not listed yet"
        return f"{reason}; {unlisted}" if reason else unlisted


def _told(claim: Key, pods: Sequence[PodRecord], nodes: Mapping[str, NodeNow]) -> Iterator[_Told]:
    """All entries about a claim: a claim that is shared has one of each pod, and all are of the same volume."""
    for pod in pods:
        node = nodes.get(pod.node)
        now = node.pods.get(pod.key) if node is not None else None
        if node is None or now is None:
            continue
        for volume in now.volumes:
            if volume.claim == claim and (volume.capacity is not None or volume.used is not None):
                yield _Told(volume, now, node, pod.node)


def _without(record: ClaimRecord | None, pods: Sequence[PodRecord], nodes: Mapping[str, NodeNow]) -> tuple[State, str]:
    """State and reason of a claim of which no kubelet tells."""
    if record is not None and record.phase == "Lost":
        return State.UNBOUND, f"the claim has lost its volume {record.volume or 'and does not say which'}"
    if record is not None and not record.volume:
        waits = "" if pods else ", and no pod mounts it"
        return State.UNBOUND, f"the claim is {record.phase or 'new'}: it has no volume yet{waits}"
    if not pods:
        return State.NOT_MOUNTED, "no pod mounts it, and kubelets tell of mounted volumes only"
    running = [pod for pod in pods if pod.node and pod.phase == "Running"]
    if not running:
        return State.NOT_MOUNTED, f"no pod that mounts it runs: {pods[0].name} is {pods[0].phase or 'new'}"
    return State.NO_STATS, _silent(record, running[0], nodes.get(running[0].node))


def _silent(record: ClaimRecord | None, pod: PodRecord, node: NodeNow | None) -> str:
    """Why the kubelet of a running pod tells nothing of its claim."""
    trouble = node.trouble(SOURCE) if node is not None else None
    if trouble is not None:
        return _failing(pod.node, trouble)
    if node is None or node.stats is None:
        return f"there are no statistics of node {pod.node}, where {pod.name} mounts it"
    if pod.key not in node.pods:
        return f"the kubelet of node {pod.node} does not tell of {pod.name} yet, which mounts it"
    if node.stats.time - _began(pod) < YOUNG:
        return f"{pod.name}, which mounts it, has just started: kubelets measure volumes every one to two minutes"
    if record is not None and record.provisioner:
        return f"its driver {record.provisioner} gives the kubelet of node {pod.node} no figures"
    return f"its driver gives the kubelet of node {pod.node} no figures: those of hostPath, image and fc volumes never do"


def _of(told: _Told, record: ClaimRecord | None, *, shared: bool) -> tuple[State, str]:
    """State and reason of a claim that a kubelet tells of."""
    stats, trouble = told.stats, told.node.trouble(SOURCE)
    if trouble is not None:
        return State.STALE, _failing(told.name, trouble)
    if told.pod.absent:
        return State.STALE, f"the kubelet of node {told.name} does not tell of it any more; these are its last figures"
    if stats.block or (record is not None and record.block):
        return State.BLOCK, "a raw block device: only its size is known"
    if shared:
        return State.REPORTED, "the file system is larger than the claim: others store in it too, and free space is that of all"
    return State.REPORTED, ""


def _failing(node: str, trouble: Trouble) -> str:
    return f"node {node} cannot be scraped since {format_time(trouble.since)} ({trouble.cause})"


def _is_shared(record: ClaimRecord | None, stats: VolumeStats) -> bool:
    if record is None or stats.capacity is None or stats.block:
        return False
    size = record.capacity or record.requested
    return bool(size) and stats.capacity > SHARED * (size or 0)


def _began(pod: PodRecord) -> int:
    """When the first of a pod's running containers started (Unix ns): its volumes were mounted by then."""
    return min((container.started_ns for container in pod.containers if container.started_ns is not None), default=pod.created_ns)
