"""From the JSON of a Node, Pod, PersistentVolumeClaim or ConfigMap to its record: only what is kept ever becomes a Python object.

150,000 pods are kept, so what recurs is shared: names are interned; equal label sets, owners and resources are one tuple or record.
The tables behind that are emptied when they are full: an LRU would cost more time for each pod than all the rest of its decoding.
"""

from collections.abc import Callable
from datetime import datetime
from sys import intern
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct, field

from app.errors import KubeError
from app.kube.deep_json import UNDECODABLE, shallow
from app.kube.records import ClaimRecord, ContainerRecord, Key, Labels, NodeRecord, PodRecord, Resources
from app.wire.quantity import parse_bytes, parse_cpu

_MOST_SHARED = 32_768
_NS = 10**9
K = TypeVar("K")
T = TypeVar("T")

_EMPTY = Resources()
_NOBODY: Key = ("", "")
_labels_seen: dict[Labels, Labels] = {}
_pairs_seen: dict[tuple[str, str], tuple[str, str]] = {}
_owners_seen: dict[Key, Key] = {}
_resources_seen: dict[tuple[str | float | None, ...], Resources] = {}


class _Owner(Struct, gc=False):
    kind: str = ""
    name: str = ""
    controller: bool | None = None


class _Annotations(Struct, gc=False):
    """The only annotations that are read; all others are skipped without being decoded."""

    mirror: str | None = field(default=None, name="kubernetes.io/config.mirror")
    config_hash: str | None = field(default=None, name="kubernetes.io/config.hash")
    metrics_path: str | None = field(default=None, name="metrics.k8s.io/resource-metrics-path")
    provisioner: str | None = field(default=None, name="volume.kubernetes.io/storage-provisioner")
    beta_provisioner: str | None = field(default=None, name="volume.beta.kubernetes.io/storage-provisioner")


class _Metadata(Struct, rename="camel"):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    labels: dict[str, str] | None = None
    annotations: _Annotations | None = None
    owner_references: list[_Owner] | None = None


class _Amounts(Struct, gc=False):
    cpu: str | int | float | None = None
    memory: str | int | float | None = None
    storage: str | int | float | None = field(default=None, name="ephemeral-storage")
    pods: str | int | float | None = None


class _Requirements(Struct):
    requests: _Amounts | None = None
    limits: _Amounts | None = None


class _Container(Struct, rename="camel"):
    name: str
    resources: _Requirements | None = None
    restart_policy: str | None = None


class _Running(Struct, rename="camel"):
    started_at: datetime | None = None


class _Terminated(Struct, rename="camel"):
    finished_at: datetime | None = None
    reason: str = ""


class _State(Struct):
    running: _Running | None = None
    terminated: _Terminated | None = None


class _ContainerStatus(Struct, rename="camel"):
    name: str
    state: _State | None = None
    last_state: _State | None = None
    resources: _Requirements | None = None
    restart_count: int = 0


class _Condition(Struct, gc=False):
    type: str = ""
    status: str = ""


class _ClaimSource(Struct, gc=False, rename="camel"):
    claim_name: str = ""


class _EphemeralSource(Struct, gc=False):
    """A template of a claim, of which nothing is read."""


class _Volume(Struct, gc=False, rename="camel"):
    """Of its sources only the two that lead to a claim are read: a claim by name, and one that is made for the pod."""

    name: str = ""
    persistent_volume_claim: _ClaimSource | None = None
    ephemeral: _EphemeralSource | None = None


class _PodSpec(Struct, rename="camel"):
    node_name: str = ""
    host_network: bool | None = None
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    ephemeral_containers: list[_Container] | None = None
    volumes: list[_Volume] | None = None
    resources: _Requirements | None = None


class _PodStatus(Struct, rename="camel"):
    phase: str = ""
    qos_class: str = ""
    resources: _Requirements | None = None
    start_time: datetime | None = None
    conditions: list[_Condition] | None = None
    container_statuses: list[_ContainerStatus] | None = None
    init_container_statuses: list[_ContainerStatus] | None = None
    ephemeral_container_statuses: list[_ContainerStatus] | None = None


class _Pod(Struct):
    metadata: _Metadata
    spec: _PodSpec
    status: _PodStatus = field(default_factory=_PodStatus)


class _Address(Struct, gc=False):
    type: str = ""
    address: str = ""


class _Endpoint(Struct, gc=False):
    port: int = field(default=0, name="Port")


class _DaemonEndpoints(Struct, rename="camel"):
    kubelet_endpoint: _Endpoint | None = None


class _NodeStatus(Struct, rename="camel"):
    addresses: list[_Address] | None = None
    conditions: list[_Condition] | None = None
    capacity: _Amounts | None = None
    allocatable: _Amounts | None = None
    daemon_endpoints: _DaemonEndpoints | None = None


class _Node(Struct):
    metadata: _Metadata
    status: _NodeStatus = field(default_factory=_NodeStatus)


class _StorageAmounts(Struct, gc=False):
    storage: str | int | float | None = None


class _StorageRequirements(Struct):
    requests: _StorageAmounts | None = None


class _ClaimSpec(Struct, rename="camel"):
    storage_class_name: str | None = None
    volume_name: str = ""
    volume_mode: str = ""
    resources: _StorageRequirements | None = None


class _ClaimStatus(Struct):
    phase: str = ""
    capacity: _StorageAmounts | None = None


class _Claim(Struct):
    metadata: _Metadata
    spec: _ClaimSpec = field(default_factory=_ClaimSpec)
    status: _ClaimStatus = field(default_factory=_ClaimStatus)


class _ConfigMap(Struct):
    metadata: _Metadata
    data: dict[str, str] | None = None


class ConfigMapRecord(Struct, frozen=True):
    """A ConfigMap; `data` maps keys to texts (binaryData is not read)."""

    namespace: str
    name: str
    data: dict[str, str]

    @property
    def key(self) -> Key:
        return (self.namespace, self.name)


class Decoder(Generic[T]):
    """msgspec with our own error: KubeError, saying which part of the object could not be read."""

    def __init__(self, kind: type[T]) -> None:
        self._decoder = msgspec.json.Decoder(kind)

    def __call__(self, body: bytes | msgspec.Raw) -> T:
        try:
            try:
                return self._decoder.decode(body)
            except RecursionError:
                return self._decoder.decode(shallow(bytes(body)))
        except UNDECODABLE as exc:
            raise KubeError(f"cannot read it: {exc}") from exc


_decode_pod = Decoder(_Pod)
_decode_node = Decoder(_Node)
_decode_claim = Decoder(_Claim)
_decode_config_map = Decoder(_ConfigMap)


def node(body: bytes | msgspec.Raw) -> NodeRecord:
    """The record of a core/v1 Node. Raises KubeError."""
    raw = _decode_node(body)
    meta, status = raw.metadata, raw.status
    endpoint = status.daemon_endpoints.kubelet_endpoint if status.daemon_endpoints else None
    return NodeRecord(
        name=intern(meta.name),
        uid=meta.uid,
        labels=_labels(meta.labels),
        created_ns=_ns(meta.creation_timestamp) or 0,
        ready=_is_ready(status.conditions),
        addresses=tuple((intern(address.type), address.address) for address in status.addresses or () if address.address),
        kubelet_port=endpoint.port if endpoint else 0,
        metrics_path=(meta.annotations.metrics_path if meta.annotations else None) or "",
        capacity=_resources(status.capacity),
        allocatable=_resources(status.allocatable),
        most_pods=_amount(parse_bytes, status.allocatable.pods) if status.allocatable is not None else None,
    )


def pod(body: bytes | msgspec.Raw) -> PodRecord:
    """The record of a core/v1 Pod. Raises KubeError."""
    raw = _decode_pod(body)
    meta, spec, status = raw.metadata, raw.spec, raw.status
    actual, declared = status.resources or _Requirements(), spec.resources or _Requirements()
    return PodRecord(
        namespace=intern(meta.namespace),
        name=meta.name,
        uid=meta.uid,
        kubelet_uid=_kubelet_uid(meta),
        node=intern(spec.node_name),
        labels=_labels(meta.labels),
        phase=intern(status.phase),
        ready=_is_ready(status.conditions),
        created_ns=_ns(meta.creation_timestamp) or 0,
        owner=_owner(meta.owner_references),
        host_network=bool(spec.host_network),
        containers=_containers(spec, status, _taken_on(meta, status)),
        claims=_claims(meta.name, spec.volumes),
        requests=_in_force(declared.requests, actual.requests),
        limits=_in_force(declared.limits, actual.limits),
        qos=intern(status.qos_class),
    )


def claim(body: bytes | msgspec.Raw) -> ClaimRecord:
    """The record of a core/v1 PersistentVolumeClaim. Raises KubeError."""
    raw = _decode_claim(body)
    meta, spec, status = raw.metadata, raw.spec, raw.status
    notes = meta.annotations or _Annotations()
    requests = spec.resources.requests if spec.resources is not None else None
    return ClaimRecord(
        namespace=intern(meta.namespace),
        name=intern(meta.name),
        uid=meta.uid,
        labels=_labels(meta.labels),
        created_ns=_ns(meta.creation_timestamp) or 0,
        phase=intern(status.phase),
        requested=_amount(parse_bytes, requests.storage) if requests is not None else None,
        capacity=_amount(parse_bytes, status.capacity.storage) if status.capacity is not None else None,
        storage_class=intern(spec.storage_class_name or ""),
        volume=spec.volume_name,
        block=spec.volume_mode == "Block",
        provisioner=intern(notes.provisioner or notes.beta_provisioner or ""),
    )


def config_map(body: bytes | msgspec.Raw) -> ConfigMapRecord:
    """The record of a core/v1 ConfigMap. Raises KubeError."""
    raw = _decode_config_map(body)
    return ConfigMapRecord(namespace=raw.metadata.namespace, name=raw.metadata.name, data=raw.data or {})


def _kubelet_uid(meta: _Metadata) -> str:
    """A mirror pod stands for a static pod: its kubelet reports it under the hash of its manifest, which is in an annotation."""
    notes = meta.annotations
    if notes is not None and notes.mirror is not None and notes.config_hash:
        return notes.config_hash
    return meta.uid


def _taken_on(meta: _Metadata, status: _PodStatus) -> int | None:
    """When the kubelet took the pod on (Unix ns), None if unknown. A mirror pod can be younger than the containers of its static pod: 0."""
    return _ns(status.start_time) if _kubelet_uid(meta) == meta.uid else 0


def _claims(pod: str, volumes: list[_Volume] | None) -> tuple[str, ...]:
    """The names of the claims among a pod's volumes, each once. One that is made for the pod is named after both (KEP-1698)."""
    names: dict[str, None] = {}
    for volume in volumes or ():
        if volume.persistent_volume_claim is not None:
            names[intern(volume.persistent_volume_claim.claim_name)] = None
        elif volume.ephemeral is not None:
            names[intern(f"{pod}-{volume.name}")] = None
    return tuple(names)


def _shared(seen: dict[K, T], key: K, value: T) -> T:
    """What is kept for `key`: `value`, if that is the first one."""
    if len(seen) >= _MOST_SHARED:
        seen.clear()
    return seen.setdefault(key, value)


def _owner(owners: list[_Owner] | None) -> Key:
    for owner in owners or ():
        if owner.controller:
            key = (owner.kind, owner.name)
            return _shared(_owners_seen, key, key)
    return _NOBODY


def _is_ready(conditions: list[_Condition] | None) -> bool:
    return any(condition.type == "Ready" and condition.status == "True" for condition in conditions or ())


def _containers(spec: _PodSpec, status: _PodStatus, taken_on: int | None) -> tuple[ContainerRecord, ...]:
    """Containers of the spec with what their statuses say, in the order: containers, init containers, ephemeral containers.

    Virtual kubelets often set the phase and no container statuses: a main container or sidecar without one counts as running, so long
    as the pod does. An ordinary init or ephemeral container without a status has not started.
    """
    known = {
        entry.name: entry
        for entries in (status.container_statuses, status.init_container_statuses, status.ephemeral_container_statuses)
        for entry in entries or ()
    }
    pod_runs = status.phase == "Running"
    main = [_container(entry, known.get(entry.name), pod_runs, taken_on) for entry in spec.containers or ()]
    for entry in spec.init_containers or ():
        sidecar = entry.restart_policy == "Always"
        main.append(_container(entry, known.get(entry.name), pod_runs and sidecar, taken_on, init=not sidecar, sidecar=sidecar))
    main += [_container(entry, known.get(entry.name), False, taken_on, ephemeral=True) for entry in spec.ephemeral_containers or ()]
    return tuple(main)


def _container(
    entry: _Container,
    status: _ContainerStatus | None,
    presumed: bool,
    taken_on: int | None,
    *,
    init: bool = False,
    sidecar: bool = False,
    ephemeral: bool = False,
) -> ContainerRecord:
    """`presumed`: whether it runs if there is no status. `taken_on`: see _taken_on.

    Resources of the status, where it has any, are those in force (KEP-1287).
    """
    running = status.state.running if status is not None and status.state is not None else None
    last = status.last_state.terminated if status is not None and status.last_state is not None else None
    ended = _ns(last.finished_at) if last is not None else None
    end = last or (status.state.terminated if status is not None and status.state is not None else None)
    declared = entry.resources or _Requirements()
    actual = (status.resources if status is not None else None) or _Requirements()
    return ContainerRecord(
        name=intern(entry.name),
        running=presumed if status is None else running is not None,
        started_ns=_ns(running.started_at) if running is not None else None,
        requests=_resources(actual.requests or declared.requests),
        limits=_resources(actual.limits or declared.limits),
        init=init,
        sidecar=sidecar,
        since_ns=ended if ended is not None else taken_on,
        ephemeral=ephemeral,
        restarts=status.restart_count if status is not None else 0,
        ended=intern(end.reason) if end is not None else "",
    )


def _labels(labels: dict[str, str] | None) -> Labels:
    """Sorted by key. Label sets that are not shared, as those of a StatefulSet's pods, share most of their pairs."""
    if not labels:
        return ()
    pairs = tuple(sorted(labels.items()))
    seen = _labels_seen.get(pairs)
    if seen is not None:
        return seen
    pairs = tuple(_shared(_pairs_seen, pair, pair) for pair in pairs)
    return _shared(_labels_seen, pairs, pairs)


def _resources(amounts: _Amounts | None) -> Resources:
    if amounts is None:
        return _EMPTY
    key = (amounts.cpu, amounts.memory, amounts.storage)
    seen = _resources_seen.get(key)
    if seen is not None:
        return seen
    resources = Resources(
        cpu=_amount(parse_cpu, amounts.cpu), memory=_amount(parse_bytes, amounts.memory), storage=_amount(parse_bytes, amounts.storage)
    )
    return _shared(_resources_seen, key, resources)


def _in_force(declared: _Amounts | None, actual: _Amounts | None) -> Resources:
    """Resources of a pod as a whole: those that its spec sets, with the amounts of the status, where it has any.

    Kubelets of 1.37 write into the status what the pod's cgroup has, of every pod: where nothing was set, the largest number there is.
    """
    wanted, told = _resources(declared), _resources(actual)
    if wanted is _EMPTY or told is _EMPTY:
        return wanted
    cpu = told.cpu if wanted.cpu is not None and told.cpu is not None else wanted.cpu
    memory = told.memory if wanted.memory is not None and told.memory is not None else wanted.memory
    return Resources(cpu, memory, wanted.storage)


def _amount(parse: Callable[[str], int], amount: str | float | None) -> int | None:
    """A quantity, which may be a bare number in JSON. One that cannot be read is as if it were not set: it serves percentages only,
    and must not cost the pod.
    """
    try:
        return None if amount is None else parse(str(amount))
    except ValueError:
        return None


def _ns(moment: datetime | None) -> int | None:
    """Unix nanoseconds, exactly (a float holds microseconds of today, not more; Kubernetes stamps whole seconds)."""
    if moment is None:
        return None
    if moment.tzinfo is None:
        raise KubeError(f"cannot read it: the time {moment.isoformat()} has no time zone")
    return int(moment.timestamp()) * _NS + moment.microsecond * 1000
