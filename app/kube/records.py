"""What kubeglance keeps of a Node, a Pod and a PersistentVolumeClaim: immutable, slim, untracked by the garbage collector.

150,000 of them are kept: strings that recur are interned, labels are tuples shared between pods that have the same ones.
"""

from msgspec import Struct
from msgspec.structs import force_setattr

Labels = tuple[tuple[str, str], ...]
"""Labels or annotations as pairs, sorted by key."""

Key = tuple[str, str]
"""(namespace, name); namespace is "" for what is cluster-scoped."""


class Resources(Struct, frozen=True, gc=False):
    """CPU in nanocores, memory and ephemeral storage in bytes of a request, a limit or a capacity; None where it is not set."""

    cpu: int | None = None
    memory: int | None = None
    storage: int | None = None


INSTANCE_SLACK = 2 * 10**9
"""Kubelet and pod status tell a container's start with different precision: up to this much apart (ns) it is the same one, where the status
does not tell when the instance before it ended."""


class ContainerRecord(Struct, frozen=True, gc=False):
    """One container of a pod's spec, joined with its status.

    `running` follows status.state.running. `started_ns` is state.running.startedAt in Unix ns (whole seconds), None if unknown.
    `since_ns` is the earliest time at which that instance can have been created (Unix ns, by the node's clock): when the one before it
    ended, else when the kubelet took the pod on; None if unknown.
    Init containers with restartPolicy Always (native sidecars, KEP-753) are `sidecar`; ordinary init containers are `init`; those that were
    added to debug the pod are `ephemeral`. `restarts` counts, and `ended` is why the instance before it ended, "" if there was none:
    OOMKilled, Error, Completed.

    `earliest_ns` follows from these. What started earlier is not the instance that runs but a leftover; what started later is news that
    the status has yet to tell. What kubelets report as a container's start is when it was *created*; the status tells when it was started.
    Between the two a busy machine or a slow runtime needs seconds. So an instance is told from the one before by when that one ended.
    """

    name: str
    running: bool
    started_ns: int | None = None
    requests: Resources = Resources()
    limits: Resources = Resources()
    init: bool = False
    sidecar: bool = False
    since_ns: int | None = None
    ephemeral: bool = False
    restarts: int = 0
    ended: str = ""
    earliest_ns: int = 0

    def __post_init__(self) -> None:
        earliest = self.since_ns
        if earliest is None:
            earliest = self.started_ns - INSTANCE_SLACK if self.started_ns is not None else 0
        force_setattr(self, "earliest_ns", earliest)

    def is_same_instance(self, started: int | None) -> bool:
        """Whether what started then (Unix ns, None if that is not told) is the instance that runs."""
        return started is None or started >= self.earliest_ns


class PodRecord(Struct, frozen=True, gc=False):
    """One pod. `kubelet_uid` is the uid that its kubelet reports: the pod's own, or a mirror pod's config hash.

    `claims` are the names of the persistent volume claims among its volumes, those of generic ephemeral volumes too. `requests` and
    `limits` are those of the pod as a whole, where it has any (KEP-2837); `qos` is its class.
    `key` follows from namespace and name. It is kept because much is looked up by it, and shared by whatever is kept under it.
    """

    namespace: str
    name: str
    uid: str
    kubelet_uid: str
    node: str
    labels: Labels
    phase: str
    ready: bool
    created_ns: int
    owner: Key
    host_network: bool
    containers: tuple[ContainerRecord, ...]
    claims: tuple[str, ...] = ()
    requests: Resources = Resources()
    limits: Resources = Resources()
    qos: str = ""
    key: Key = ("", "")

    def __post_init__(self) -> None:
        key = (self.namespace, self.name)
        if self.key != key:
            force_setattr(self, "key", key)


class NodeRecord(Struct, frozen=True, gc=False):
    """One node. `addresses` are (type, address) in the order of status.addresses; `kubelet_port` is 0 if the status has none.

    `metrics_path` is the annotation metrics.k8s.io/resource-metrics-path, "" if absent. `most_pods` is how many may run there, None if that
    is not told.
    """

    name: str
    uid: str
    labels: Labels
    created_ns: int
    ready: bool
    addresses: tuple[tuple[str, str], ...]
    kubelet_port: int
    metrics_path: str
    capacity: Resources
    allocatable: Resources
    most_pods: int | None = None

    @property
    def key(self) -> Key:
        return ("", self.name)


class ClaimRecord(Struct, frozen=True, gc=False):
    """One persistent volume claim. `phase` is Pending, Bound or Lost; `block`: its volume is a raw device (volumeMode Block).

    `requested` is what it asks for and `capacity` what it was given, in bytes, None where that is not told. `volume` is the
    PersistentVolume that it is bound to, "" if none; `provisioner` is who makes its volumes, "" where the claim does not say.
    """

    namespace: str
    name: str
    uid: str
    labels: Labels
    created_ns: int
    phase: str
    requested: int | None
    capacity: int | None
    storage_class: str
    volume: str
    block: bool
    provisioner: str

    @property
    def key(self) -> Key:
        return (self.namespace, self.name)
