"""Which objects the kinds have that are joined when they are read: who comes, changes and goes with the nodes and pods of the cluster."""

from collections.abc import Callable, Sequence

from app.cache.cluster import NodeChange, Nodes, PodChange, Pods
from app.cache.collection import Collection, Item
from app.cache.reservations import ENDED
from app.cache.versions import Versions
from app.kube.records import Key, PodRecord

MembersOf = Callable[[PodRecord], Sequence[Key]]
"""(pod) -> the keys of its objects. The value of each member is the pod."""


def pod_itself(pod: PodRecord) -> Sequence[Key]:
    """One object for each pod that is on a node and has not ended."""
    return (pod.key,) if _is_there(pod) else ()


def its_containers(pod: PodRecord) -> Sequence[Key]:
    """One object for each container of such a pod.

    What runs in the pod as long as it does has one always; an init container, or one to debug, while it runs. The name is that of the
    pod, a dot, that of the container: these have no dots, so it can be taken apart at the last one.
    """
    if not _is_there(pod):
        return ()
    return [
        (pod.namespace, f"{pod.name}.{container.name}")
        for container in pod.containers
        if container.running or not (container.init or container.ephemeral)
    ]


def _is_there(pod: PodRecord) -> bool:
    return bool(pod.node) and pod.phase not in ENDED


def follow_pods(pods: Pods, members: Collection, members_of: MembersOf, versions: Versions) -> None:
    """Keep `members` in step with the pods, from now on."""

    def changed(changes: Sequence[PodChange]) -> None:
        version = versions.next()
        items: dict[Key, Item] = {}
        gone: set[Key] = set()
        for old, new in changes:
            for key in members_of(old) if old is not None else ():
                items.pop(key, None)
                gone.add(key)
            for key in members_of(new) if new is not None else ():
                items[key] = Item(key, new.labels if new is not None else (), version, new)
                gone.discard(key)
        members.replace(items.values(), gone, version)

    pods.listeners.append(changed)


def follow_nodes(nodes: Nodes, pods: Pods, members: Collection, versions: Versions) -> None:
    """Keep `members`, one for each node, in step with the nodes. A node's object is about its pods too, and steps with each of them."""

    def changed(changes: Sequence[NodeChange]) -> None:
        version = versions.next()
        items = [Item(new.key, new.labels, version, new) for _, new in changes if new is not None]
        members.replace(items, [old.key for old, new in changes if old is not None and new is None], version)

    def pods_changed(changes: Sequence[PodChange]) -> None:
        names = {record.node for change in changes for record in change if record is not None}
        known = [item for name in names if (item := members.get(("", name))) is not None]
        if known:
            version = versions.next()
            members.replace([Item(item.key, item.labels, version, item.value) for item in known], (), version)

    nodes.listeners.append(changed)
    pods.listeners.append(pods_changed)
