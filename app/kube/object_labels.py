"""Names and labels of all objects of a resource, kept by a watch of metadata alone: what else they say is not even sent."""

from collections.abc import Iterable, Sequence, Set

from msgspec import Raw, Struct

from app.errors import KubeError
from app.kube.deep_json import UNDECODABLE, decode
from app.kube.records import Key, Labels
from app.kube.watched import Watched

_METADATA = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1, application/json"
"""Servers that cannot leave out the rest send it, and it is read over."""


class LabelsRecord(Struct, frozen=True, gc=False):
    """One object."""

    key: Key
    labels: Labels


class _Metadata(Struct):
    name: str
    namespace: str = ""
    labels: dict[str, str] | None = None


class _Object(Struct):
    metadata: _Metadata


def decode_labels(raw: Raw) -> LabelsRecord:
    """The record of any object. Raises KubeError."""
    try:
        metadata = decode(raw, _Object).metadata
    except UNDECODABLE as exc:
        raise KubeError(f"cannot read it: {exc}") from exc
    return LabelsRecord((metadata.namespace, metadata.name), tuple(sorted((metadata.labels or {}).items())))


class ObjectLabels:
    """The store of one watch: labels by key. A reflector feeds it through `apply` and `keys`."""

    def __init__(self) -> None:
        self._labels: dict[Key, Labels] = {}
        self._shared: dict[Labels, Labels] = {}

    def labels(self, key: Key) -> Labels | None:
        """The labels of an object, None if there is none."""
        return self._labels.get(key)

    def in_namespace(self, namespace: str) -> Iterable[Key]:
        """The objects of a namespace; of all with ""."""
        return [key for key in self._labels if not namespace or key[0] == namespace]

    def keys(self) -> Set[Key]:
        """Part of the reflector's Store."""
        return self._labels.keys()

    def apply(self, upserts: Sequence[LabelsRecord], deletes: Sequence[Key]) -> None:
        """Part of the reflector's Store."""
        for record in upserts:
            self._labels[record.key] = self._shared.setdefault(record.labels, record.labels)
        for key in deletes:
            self._labels.pop(key, None)
        if len(self._shared) > 2 * len(self._labels) + 100:
            self._shared = {labels: labels for labels in self._labels.values()}


def labels_of(group: str, version: str, resource: str) -> Watched[LabelsRecord]:
    """Any resource of the cluster, such as networking.k8s.io, v1, ingresses."""
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    rule = f'{{apiGroups: ["{group}"], resources: [{resource}], verbs: [list, watch]}}'
    return Watched(
        name=f"labels of {resource}.{group}" if group else f"labels of {resource}",
        path=f"{root}/{resource}",
        decode=decode_labels,
        grant=f"grant {rule} to our ServiceAccount with a ClusterRole and ClusterRoleBinding",
        accept=(_METADATA.format("List"), _METADATA.format("")),
    )
