"""From what is known of a subject to a published item: what it says is compared first, and nothing is made of what did not change."""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, NamedTuple

import structlog

from app.cache.collection import Collection, Item
from app.cache.values import NodeUsage, PodUsage
from app.kube.records import Key, NodeRecord, PodRecord

_log = structlog.get_logger(__name__)


class Subject(Enum):
    """What the objects of a kind are about, one object each."""

    NODE = "node"
    POD = "pod"


Known = tuple[Key, NodeRecord | PodRecord | None, NodeUsage | PodUsage | None]
"""What is known of one subject: its record, None if the cluster has no such thing, and its usage, None if there is none now."""


class Projection(NamedTuple):
    """One kind as the publisher sees it: what its objects are about, the pure function that makes their values, and where they go.

    `project(record, usage)` gives the value that an object says, None for no object. An object has the labels of its subject.
    """

    subject: Subject
    project: Callable[[Any, Any], Any]
    collection: Collection

    def publish(self, subjects: Iterable[Known], version: int) -> None:
        """Bring the objects of `subjects` up to date. One that has its labels and its value already stays, with its version.

        Nothing is encoded here: most objects change more than once between two reads.
        """
        collection = self.collection
        items, gone = [], []
        for key, record, usage in subjects:
            old = collection.known(key)
            value = self._value(key, record, usage) if record is not None else None
            if record is None or value is None:
                if old is not None:
                    gone.append(key)
            elif old is None or old.value != value or old.labels != record.labels:
                items.append(Item(key, record.labels, version, value))
        if items or gone:
            collection.replace(items, gone, version)

    def renew(self, key: Key, record: PodRecord, usage: PodUsage, version: int) -> None:
        """Bring the object of a pod up to date that was late: its version, which the collection has had since, is one of then."""
        value = self._value(key, record, usage)
        if value is not None:
            self.collection.renew(key, value, version)

    def _value(self, key: Key, record: NodeRecord | PodRecord, usage: NodeUsage | PodUsage | None) -> Any:
        try:
            return self.project(record, usage)
        except Exception:  # noqa: BLE001 - an odd subject costs its object only: the caller is a task that the process lives by
            _log.exception("an object cannot be made and is left out; please report it", kind=self.subject.value, key=key)
            return None
