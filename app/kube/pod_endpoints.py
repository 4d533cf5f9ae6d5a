"""Where pods can be asked: addresses and ports of those that run, by a watch of the selected ones. What else they say is not kept."""

from collections.abc import Iterable, Sequence, Set

from msgspec import Raw, Struct

from app.errors import KubeError
from app.kube.deep_json import UNDECODABLE, decode
from app.kube.records import Key
from app.kube.watched import Watched
from collectors._source import PodEndpoint


class EndpointRecord(Struct, frozen=True):
    """One pod; `endpoint` is None while it cannot be asked: it has no address yet, or is to be deleted."""

    key: Key
    endpoint: PodEndpoint | None


class _Metadata(Struct, rename={"deleted": "deletionTimestamp"}):
    name: str
    namespace: str
    uid: str = ""
    deleted: str | None = None


class _Port(Struct, rename={"number": "containerPort"}):
    number: int
    name: str = ""


class _Container(Struct):
    ports: list[_Port] | None = None


class _Spec(Struct, frozen=True, rename={"init_containers": "initContainers"}):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None


class _ContainerStatus(Struct, rename={"restarts": "restartCount"}):
    restarts: int = 0


class _Status(
    Struct,
    frozen=True,
    rename={"address": "podIP", "containers": "containerStatuses", "init_containers": "initContainerStatuses"},
):
    address: str = ""
    containers: list[_ContainerStatus] | None = None
    init_containers: list[_ContainerStatus] | None = None


class _Pod(Struct):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


def decode_endpoint(raw: Raw) -> EndpointRecord:
    """The record of a pod. Raises KubeError."""
    try:
        pod = decode(raw, _Pod)
    except UNDECODABLE as exc:
        raise KubeError(f"cannot read it: {exc}") from exc
    metadata, status = pod.metadata, pod.status
    key = (metadata.namespace, metadata.name)
    if not status.address or metadata.deleted is not None:
        return EndpointRecord(key, None)
    restarts = sum(each.restarts for each in (*(status.containers or ()), *(status.init_containers or ())))
    return EndpointRecord(key, PodEndpoint(*key, f"{metadata.uid}/{restarts}", status.address, tuple(_ports(pod.spec))))


def _ports(spec: _Spec) -> Iterable[tuple[str, int]]:
    for container in (*(spec.containers or ()), *(spec.init_containers or ())):
        for port in container.ports or ():
            yield port.name, port.number


class KeptEndpoints:
    """The store of one watch. A reflector feeds it through `apply` and `keys`."""

    def __init__(self) -> None:
        self._records: dict[Key, EndpointRecord] = {}

    def pods(self) -> Sequence[PodEndpoint]:
        """Those that can be asked, by namespace and name."""
        return [record.endpoint for _, record in sorted(self._records.items()) if record.endpoint is not None]

    def keys(self) -> Set[Key]:
        """Part of the reflector's Store."""
        return self._records.keys()

    def apply(self, upserts: Sequence[EndpointRecord], deletes: Sequence[Key]) -> None:
        """Part of the reflector's Store."""
        for record in upserts:
            self._records[record.key] = record
        for key in deletes:
            self._records.pop(key, None)


def endpoints_of(namespace: str, labels: str) -> Watched[EndpointRecord]:
    """Running pods; `namespace` "" is all."""
    selectors = {"labelSelector": labels, "fieldSelector": "status.phase=Running"}
    role = f"a Role and RoleBinding in namespace {namespace}" if namespace else "a ClusterRole and ClusterRoleBinding"
    return Watched(
        name="pods that are asked",
        path=f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods",
        decode=decode_endpoint,
        grant=f'grant {{apiGroups: [""], resources: [pods], verbs: [list, watch]}} to our ServiceAccount with {role}',
        params={name: text for name, text in selectors.items() if text},
    )
