"""What an object of a built-in live kind is made of, put together when it is read: what the cluster says of a node, pod or container, what
it uses, and what its kubelet tells besides."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from app.cache.cluster import PodChange, Pods
from app.cache.collection import Collection, Item
from app.cache.projection import Subject
from app.cache.reasons import Trouble
from app.cache.reservations import Reserved, reserved
from app.cache.stats import NodeNow, PodNow, Stats
from app.cache.values import ContainerUsage, NodeUsage, PodUsage
from app.cache.versions import Versions
from app.kube.records import ContainerRecord, Key, NodeRecord, PodRecord
from collectors._summary_records import ContainerStats

Why = Callable[[Subject, Key], str | None]
Trend = Callable[[Key], tuple[float | None, ...]]
"""(key) -> how the CPU of an object went lately, in nanocores; see app/cache/trends.py."""


def no_trend(_key: Key) -> tuple[float | None, ...]:
    """Of whom nothing is kept."""
    return ()


class NodeView(Struct, frozen=True, gc=False):
    """A node. `why` is why it has no usage, "" where it has one."""

    node: NodeRecord
    usage: NodeUsage | None
    now: NodeNow | None
    reserved: Reserved
    troubles: Mapping[str, Trouble]
    why: str = ""
    trend: Trend = no_trend


class PodView(Struct, frozen=True, gc=False):
    """A pod on a node. `why` is why it has no usage, "" where it has one; `troubles` are its node's."""

    pod: PodRecord
    usage: PodUsage | None
    now: PodNow | None
    troubles: Mapping[str, Trouble]
    why: str = ""
    trend: Trend = no_trend


class ContainerView(Struct, frozen=True, gc=False):
    """A container of such a pod. `whole` is the usage of its pod, of which `usage` is its part; `stats` are of the instance that runs."""

    pod: PodRecord
    container: ContainerRecord
    whole: PodUsage | None
    usage: ContainerUsage | None
    stats: ContainerStats | None
    troubles: Mapping[str, Trouble]
    why: str = ""
    trend: Trend = no_trend


class Trended(NamedTuple):
    """The trends of each kind."""

    nodes: Trend = no_trend
    pods: Trend = no_trend
    containers: Trend = no_trend


NO_TRENDS = Trended()


class Views:
    """Puts views together for members (app/cache/members.py). Each answer is a view and the version of its newest part.

    A view without a usage says why, which follows from all that is known: it is as new as the newest of that. So no version goes back
    either when a usage ends.
    """

    def __init__(
        self,
        *,
        pods: Pods,
        stats: Stats,
        node_usages: Collection,
        pod_usages: Collection,
        why: Why,
        versions: Versions,
        trends: Trended = NO_TRENDS,
    ) -> None:
        """`node_usages` and `pod_usages` are collections of NodeUsage and PodUsage. `why` tells why there is none in them."""
        self._pods = pods
        self._stats = stats
        self._node_usages = node_usages
        self._pod_usages = pod_usages
        self._why = why
        self._versions = versions
        self._reserved: dict[str, Reserved] = {}
        self._trends = trends
        pods.listeners.append(self._pods_changed)

    def version(self) -> int:
        """The newest version that any view can have."""
        return self._versions.current

    def node(self, member: Item) -> tuple[NodeView, int]:
        """The view of a node."""
        node: NodeRecord = member.value
        usage, version = self._usage(self._node_usages, node.key)
        now = self._stats.node(node.name)
        held = self._reserved.get(node.name)
        if held is None:
            held = self._reserved[node.name] = reserved(self._pods.on_node(node.name).values())
        why = "" if usage is not None else self._why(Subject.NODE, node.key) or ""
        return NodeView(node, usage, now, held, _troubles(now), why, self._trends.nodes), self._newest(version, now)

    def pod(self, member: Item) -> tuple[PodView, int]:
        """The view of a pod."""
        pod: PodRecord = member.value
        usage, version = self._usage(self._pod_usages, pod.key)
        node = self._stats.node(pod.node)
        now = node.pods.get(pod.key) if node is not None else None
        why = "" if usage is not None else self._why(Subject.POD, pod.key) or ""
        return PodView(pod, usage, now, _troubles(node), why, self._trends.pods), self._newest(version, node)

    def container(self, member: Item) -> tuple[ContainerView, int]:
        """The view of a container."""
        pod: PodRecord = member.value
        name = member.key[1][len(pod.name) + 1 :]
        container = next(each for each in pod.containers if each.name == name)
        whole: PodUsage | None
        whole, version = self._usage(self._pod_usages, pod.key)
        node = self._stats.node(pod.node)
        now = node.pods.get(pod.key) if node is not None else None
        usage, stats = None, None
        if container.running:
            usage = next((each for each in whole.containers if each.name == container.name), None) if whole is not None else None
            stats = next((each for each in now.stats.containers if each.name == container.name), None) if now is not None else None
            if stats is not None and not container.is_same_instance(stats.started):
                stats = None
        why = ""
        if usage is None:
            why, version = self._why_not(pod, container), self._versions.current
        return ContainerView(pod, container, whole, usage, stats, _troubles(node), why, self._trends.containers), self._newest(
            version, node
        )

    def _why_not(self, pod: PodRecord, container: ContainerRecord) -> str:
        if pod.phase == "Running" and not container.running:
            return f"container {container.name} does not run"
        return self._why(Subject.POD, pod.key) or ""

    def _usage(self, usages: Collection, key: Key) -> tuple[Any, int]:
        item = usages.get(key)
        return (item.value, item.version) if item is not None else (None, self._versions.current)

    def _newest(self, version: int, node: NodeNow | None) -> int:
        return max(version, node.version if node is not None else self._stats.version)

    def _pods_changed(self, changes: Sequence[PodChange]) -> None:
        for change in changes:
            for record in change:
                if record is not None:
                    self._reserved.pop(record.node, None)


def _troubles(node: NodeNow | None) -> Mapping[str, Trouble]:
    return node.troubles if node is not None else {}
