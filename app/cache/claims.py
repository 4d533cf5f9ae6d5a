"""The persistent volume claims of the cluster, and the pods that mount each: one object for each claim, mounted or not."""

from collections.abc import Iterable, Sequence, Set

from msgspec import Struct

from app.cache.cluster import PodChange, Pods
from app.cache.collection import Collection, Item
from app.cache.versions import Versions
from app.kube.records import ClaimRecord, Key, PodRecord


class Claim(Struct, frozen=True, gc=False):
    """A claim and the pods that name it among their volumes, by name. `record` is None while claims were not listed yet, or may not be."""

    record: ClaimRecord | None
    pods: tuple[Key, ...]


class Claims:
    """Claims by key (namespace, name). A reflector feeds it through `apply`, `keys` and `listed`; it listens to `pods` from now on.

    `members` has an item for each claim that kube-apiserver told of. Until all of them were listed, and for ever where kubeglance may not
    list them, also for those that only pods tell of.
    """

    def __init__(self, pods: Pods, versions: Versions) -> None:
        self.members = Collection(why=self._why, version=versions.current)
        self._versions = versions
        self._records: dict[Key, ClaimRecord] = {}
        self._mounts: dict[Key, set[Key]] = {}
        self._listed = False
        pods.listeners.append(self._pods_changed)

    def __len__(self) -> int:
        return len(self._records)

    def keys(self) -> Set[Key]:
        """Of those that kube-apiserver told of."""
        return self._records.keys()

    def apply(self, upserts: Sequence[ClaimRecord], deletes: Sequence[Key]) -> None:
        """Put records in and take keys out."""
        for record in upserts:
            self._records[record.key] = record
        for key in deletes:
            self._records.pop(key, None)
        self._publish([*(record.key for record in upserts), *deletes])

    def listed(self) -> None:
        """All claims were listed: what only pods tell of does not exist."""
        if not self._listed:
            self._listed = True
            self._publish(self._mounts)

    def _pods_changed(self, changes: Sequence[PodChange]) -> None:
        touched: set[Key] = set()
        for old, new in changes:
            if old is not None and new is not None and _alike(old, new):
                continue
            if old is not None and old.claims:
                touched.update(self._unmount(old.namespace, old.claims, old.key))
            if new is not None and new.claims:
                for name in new.claims:
                    self._mounts.setdefault((new.namespace, name), set()).add(new.key)
                    touched.add((new.namespace, name))
        if touched:
            self._publish(touched)

    def _unmount(self, namespace: str, names: Iterable[str], pod: Key) -> Iterable[Key]:
        for name in names:
            key = (namespace, name)
            mounts = self._mounts.get(key, set())
            mounts.discard(pod)
            if not mounts:
                self._mounts.pop(key, None)
            yield key

    def _publish(self, keys: Iterable[Key]) -> None:
        """Bring the items of `keys` up to date."""
        version = self._versions.next()
        items, gone = [], []
        for key in keys:
            record, pods = self._records.get(key), tuple(sorted(self._mounts.get(key, ())))
            if record is not None:
                items.append(Item(record.key, record.labels, version, Claim(record, pods)))
            elif pods and not self._listed:
                items.append(Item(key, (), version, Claim(None, pods)))
            else:
                gone.append(key)
        self.members.replace(items, gone, version)

    def _why(self, key: Key) -> str | None:
        return None if self._listed or key in self._records else "the persistent volume claims of the cluster were not listed yet"


def _alike(old: PodRecord, new: PodRecord) -> bool:
    """Whether a pod that changed is the same for its claims: a pod's status is told many times in its life."""
    return old.claims == new.claims and old.node == new.node and old.phase == new.phase
