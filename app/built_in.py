"""The built-in live kinds and their objects: what is joined with what when somebody reads. A part of the composition root."""

from collections.abc import Callable
from functools import partial

from app.cache.claims import Claims
from app.cache.cluster import Nodes, Pods
from app.cache.collection import Collection
from app.cache.joined import Joined
from app.cache.members import follow_nodes, follow_pods, its_containers, pod_itself
from app.cache.projection import Subject
from app.cache.stats import Stats
from app.cache.trends import Trends
from app.cache.versions import Versions
from app.cache.views import Trended, Views, Why
from app.cache.volumes import Volumes
from app.clock import Clock
from app.kinds import containerstats, nodestats, podstats, volumestats
from app.kinds._catalog import Served
from app.kube.records import Key

MOST_TRENDS = 20_000
"""Objects of a kind of which trends are kept: 8 MB, and a tenth of a second of CPU each half minute. Larger clusters have none."""


class Usages:
    """The kinds that show what nodes, pods and containers use: their usage as the store publishes it, joined with `stats`."""

    def __init__(
        self,
        *,
        nodes: Nodes,
        pods: Pods,
        stats: Stats,
        node_usages: Collection,
        pod_usages: Collection,
        why: Why,
        versions: Versions,
        clock: Clock,
    ) -> None:
        """`node_usages` and `pod_usages` are those of metrics.k8s.io; `why` tells why there is none in them."""
        kinds = (nodestats, podstats, containerstats)
        trends = [Trends(kind.cpu, clock, MOST_TRENDS) for kind in kinds]
        views = Views(
            pods=pods,
            stats=stats,
            node_usages=node_usages,
            pod_usages=pod_usages,
            why=why,
            versions=versions,
            trends=Trended(*(each.of for each in trends)),
        )

        def members(absent: Callable[[Key], str | None]) -> Collection:
            return Collection(why=absent, version=versions.current)

        of_nodes, of_pods = members(partial(why, Subject.NODE)), members(partial(why, Subject.POD))
        self.pods = of_pods
        """The PodRecord of each pod that is on a node and not over."""
        of_containers = members(partial(_why_no_container, pods, why))
        follow_nodes(nodes, pods, of_nodes, versions)
        follow_pods(pods, of_pods, pod_itself, versions)
        follow_pods(pods, of_containers, its_containers, versions)
        joined = (
            Joined(of_nodes, views.node, views.version),
            Joined(of_pods, views.pod, views.version),
            Joined(of_containers, views.container, views.version),
        )
        self.served = [Served(kind.KIND, objects) for kind, objects in zip(kinds, joined, strict=True)]
        self.runs = [
            (f"trends of {kind.KIND.resource}", partial(each.run, objects))
            for kind, each, objects in zip(kinds, trends, joined, strict=True)
        ]
        """What has to run for ever, by name: it keeps the trends."""


class VolumeKind:
    """The kind that shows how full the volumes of claims are. `run` keeps their trends, for ever."""

    def __init__(self, *, claims: Claims, pods: Pods, stats: Stats, forbidden: Callable[[], bool], clock: Clock) -> None:
        """`forbidden()`: whether kube-apiserver refuses to list claims."""
        trends = Trends(volumestats.fullness, clock)
        joined = Joined(claims.members, Volumes(pods, stats.node, forbidden, trends.of).join, lambda: stats.version)
        self.served = Served(volumestats.KIND, joined)
        self.run = partial(trends.run, joined)


def _why_no_container(pods: Pods, why: Why, key: Key) -> str | None:
    """Why there is no object of a container: POD.CONTAINER."""
    namespace, name = key
    pod_key = (namespace, name.rpartition(".")[0])
    pod = pods.get(pod_key)
    if pod is None:
        return None
    container = name.rpartition(".")[2]
    if all(each.name != container for each in pod.containers):
        return f"pod {pod.name} has no container {container}"
    return why(Subject.POD, pod_key) if not pod_itself(pod) else f"container {container} does not run"
