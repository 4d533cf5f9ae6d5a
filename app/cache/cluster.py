"""The nodes and pods of the cluster, as the reflectors last saw them. Changes are told to one listener, after they were made."""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import NamedTuple

from msgspec.structs import replace

from app.kube.records import Key, NodeRecord, PodRecord


class NodeChange(NamedTuple):
    """A node before and after; None where it was not there."""

    old: NodeRecord | None
    new: NodeRecord | None


class PodChange(NamedTuple):
    """A pod before and after; None where it was not there."""

    old: PodRecord | None
    new: PodRecord | None


class Nodes:
    """Nodes by key ("", name). A reflector feeds it through `apply` and `keys`."""

    def __init__(self) -> None:
        self._records: dict[Key, NodeRecord] = {}
        self.listeners: list[Callable[[Sequence[NodeChange]], None]] = []

    def __len__(self) -> int:
        return len(self._records)

    def get(self, key: Key) -> NodeRecord | None:
        return self._records.get(key)

    def keys(self) -> Set[Key]:
        return self._records.keys()

    def values(self) -> Sequence[NodeRecord]:
        return list(self._records.values())

    def apply(self, upserts: Sequence[NodeRecord], deletes: Sequence[Key]) -> None:
        """Put records in and take keys out; listeners hear of what really changed, in one call."""
        changes = []
        for record in upserts:
            old = self._records.get(record.key)
            if old != record:
                self._records[record.key] = record
                changes.append(NodeChange(old, record))
        changes.extend(NodeChange(old, None) for key in deletes if (old := self._records.pop(key, None)) is not None)
        if changes:
            for listener in self.listeners:
                listener(changes)


class Pods:
    """Pods by key (namespace, name), and by the node that runs them. A reflector feeds it through `apply` and `keys`."""

    def __init__(self) -> None:
        self._records: dict[Key, PodRecord] = {}
        self._by_node: dict[str, dict[Key, PodRecord]] = {}
        self.listeners: list[Callable[[Sequence[PodChange]], None]] = []

    def __len__(self) -> int:
        return len(self._records)

    def get(self, key: Key) -> PodRecord | None:
        return self._records.get(key)

    def keys(self) -> Set[Key]:
        return self._records.keys()

    def on_node(self, node: str) -> Mapping[Key, PodRecord]:
        """The pods whose spec.nodeName is `node`."""
        return self._by_node.get(node, {})

    def apply(self, upserts: Sequence[PodRecord], deletes: Sequence[Key]) -> None:
        """Put records in and take keys out; listeners hear of what really changed, in one call."""
        changes = []
        for record in upserts:
            key = record.key
            old = self._records.get(key)
            if old == record:
                continue
            new = record if old is None else _with_parts_of(old, record)
            if old is not None and old.node != new.node:
                self._leave_node(old)
            self._records[key] = new
            if new.node:
                self._by_node.setdefault(new.node, {})[key] = new
            changes.append(PodChange(old, new))
        for key in deletes:
            old = self._records.pop(key, None)
            if old is not None:
                self._leave_node(old)
                changes.append(PodChange(old, None))
        if changes:
            for listener in self.listeners:
                listener(changes)

    def _leave_node(self, record: PodRecord) -> None:
        on_node = self._by_node.get(record.node)
        if on_node is not None and on_node.pop(record.key, None) is not None and not on_node:
            del self._by_node[record.node]


def _with_parts_of(old: PodRecord, new: PodRecord) -> PodRecord:
    """`new` with what `old` has as well: its key, which others keep too, and its labels. A pod's status is told many times in its life."""
    return replace(new, name=old.name, key=old.key, labels=old.labels if old.labels == new.labels else new.labels)
