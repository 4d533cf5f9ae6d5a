"""Objects of any resource of the cluster, whole, kept by watches: what the source `kubernetes` (collectors/) reads.

Bounded: of more objects or bytes than were asked for only the names and sizes are kept, until there is room for all again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence, Set
from itertools import count
from typing import Any, Protocol

from msgspec import Raw, Struct

from app.clock import Clock
from app.errors import KubeError
from app.kube.client import KubeClient
from app.kube.deep_json import UNDECODABLE, decode
from app.kube.pod_endpoints import EndpointRecord, KeptEndpoints, endpoints_of
from app.kube.records import Key
from app.kube.reflector import Reflector
from app.kube.watched import Watched
from collectors._base import Cause, CollectError
from collectors._source import Limits, PodEndpoint

_PIECE = 20
"""Objects that are decoded between two turns of the loop: whole ones can be a hundred times larger than what is kept of a pod."""

_GRACE_S = 10.0
"""How long a watch may be broken before what it saw is no longer told: one that is cut is back within a second or two."""

_CAUSES = {401: Cause.UNAUTHORIZED, 403: Cause.FORBIDDEN, 404: Cause.NOT_FOUND}
_REMEDIES = {
    Cause.NOT_FOUND: "see kubectl api-resources; a resource whose CustomResourceDefinition comes later is found then",
    Cause.FORBIDDEN: "grant it to kubeglance's ServiceAccount; it is tried again and again",
}


class Tasks(Protocol):
    """Starts and stops tasks by key."""

    def start(self, key: Hashable, run: Callable[[], Awaitable[None]]) -> None: ...

    def stop(self, key: Hashable) -> None: ...


class ObjectRecord(Struct, frozen=True):
    """One object: decoded, and how many bytes kube-apiserver sent of it."""

    key: Key
    object: Mapping[str, Any]
    size: int


class _Identity(Struct):
    name: str
    namespace: str = ""


class _Object(Struct):
    metadata: _Identity


def decode_object(raw: Raw) -> ObjectRecord:
    """The record of any object. Raises KubeError."""
    try:
        identity = decode(raw, _Object).metadata
        found = decode(raw)
    except UNDECODABLE as exc:
        raise KubeError(f"cannot read it: {exc}") from exc
    found["metadata"].pop("managedFields", None)
    return ObjectRecord((identity.namespace, identity.name), found, memoryview(raw).nbytes)


class KeptObjects:
    """The store of one watch, within limits. A reflector feeds it through `apply` and `keys`."""

    def __init__(self, limits: Limits, changed: asyncio.Event) -> None:
        self._limits = limits
        self._changed = changed
        self._kept: dict[Key, ObjectRecord] = {}
        self._refused: dict[Key, int] = {}
        """What there was no room for: sizes by key."""
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes of all objects, of those that are not kept too."""
        return self._size

    def __len__(self) -> int:
        return len(self._kept) + len(self._refused)

    @property
    def is_whole(self) -> bool:
        """Whether every object is kept."""
        return not self._refused

    @property
    def has_room(self) -> bool:
        """Whether all objects, also those that are not kept, are within the limits."""
        return len(self) <= self._limits.items and self._size <= self._limits.body_bytes

    def keys(self) -> Set[Key]:
        """Part of the reflector's Store."""
        return self._kept.keys() | self._refused.keys()

    def apply(self, upserts: Sequence[ObjectRecord], deletes: Sequence[Key]) -> None:
        """Part of the reflector's Store."""
        for key in [*deletes, *(record.key for record in upserts)]:
            kept = self._kept.pop(key, None)
            self._size -= kept.size if kept is not None else self._refused.pop(key, 0)
        for record in upserts:
            self._size += record.size
            if self.is_whole and len(self._kept) < self._limits.items and self._size <= self._limits.body_bytes:
                self._kept[record.key] = record
            else:
                self._refused[record.key] = record.size
        self._changed.set()

    def objects(self) -> list[Mapping[str, Any]]:
        """By namespace and name."""
        return [record.object for _, record in sorted(self._kept.items())]


class WatchedObjects:
    """One resource, watched until `aclose`. Implements collectors' ClusterObjects."""

    def __init__(
        self,
        client: KubeClient,
        watched: Watched[ObjectRecord],
        *,
        api_version: str,
        limits: Limits,
        changed: asyncio.Event,
        clock: Clock,
    ) -> None:
        self._client = client
        self._watched = watched
        self._api_version = api_version
        self._limits = limits
        self._changed = changed
        self._clock = clock
        self.restart: Callable[[], None] = lambda: None
        self.close: Callable[[], None] = lambda: None
        self._begin()

    def _begin(self) -> None:
        self._store = KeptObjects(self._limits, self._changed)
        self._reflector = Reflector(self._client, self._watched, self._store, self._clock)

    async def run(self) -> None:
        """Keep in step, for ever."""
        await self._reflector.run()

    async def tried(self) -> None:
        """See ClusterObjects."""
        await self._reflector.tried.wait()

    @property
    def size(self) -> int:
        """See ClusterObjects."""
        return self._store.size

    def objects(self) -> list[Mapping[str, Any]]:
        """See ClusterObjects. What there was no room for is listed anew once there may be."""
        _in_step(self._reflector, self._watched.name, self._clock)
        store = self._store
        if not store.is_whole:
            if store.has_room:
                self._begin()
                self.restart()
            what = f"there are {len(store)} {self._watched.name} of {store.size} bytes together"
            limits = f"limits.items is {self._limits.items} and limits.bodyBytes {self._limits.body_bytes}"
            raise CollectError(Cause.TOO_LARGE, f"{what}; {limits}", "select fewer, or raise the limit")
        # Items of lists of kube-apiserver's own kinds do not say what they are; objects of events do.
        identity = {"apiVersion": self._api_version, "kind": self._reflector.kind}
        return [{**identity, **each} for each in store.objects()]

    async def aclose(self) -> None:
        """Stop to watch."""
        self.close()


class WatchedPods:
    """Where pods are, watched until `aclose`. Implements collectors' PodEndpoints."""

    def __init__(self, client: KubeClient, watched: Watched[EndpointRecord], clock: Clock) -> None:
        self._store = KeptEndpoints()
        self._reflector = Reflector(client, watched, self._store, clock)
        self._name = watched.name
        self._clock = clock
        self.run = self._reflector.run
        self.close: Callable[[], None] = lambda: None

    async def tried(self) -> None:
        """See PodEndpoints."""
        await self._reflector.tried.wait()

    def pods(self) -> Sequence[PodEndpoint]:
        """See PodEndpoints."""
        _in_step(self._reflector, self._name, self._clock)
        return self._store.pods()

    async def aclose(self) -> None:
        """Stop to watch."""
        self.close()


def _in_step(reflector: Reflector[Any], name: str, clock: Clock) -> None:
    """Raise CollectError for a watch that does not tell what is now."""
    trouble, listed = reflector.trouble, reflector.synced.is_set()
    if trouble is not None and (not listed or clock.monotonic() - trouble.since > _GRACE_S):
        cause = _CAUSES.get(trouble.status or 0, Cause.STATUS if trouble.status else Cause.DIAL)
        raise CollectError(cause, trouble.message, _REMEDIES.get(cause, ""))
    if not listed:
        raise CollectError(Cause.NO_DATA, f"{name} were not listed yet")


class ClusterWatches:
    """Implements collectors' Cluster for one declaration. A tenant's `namespace` is all that it may see; "" sees the whole cluster."""

    _numbers = count()

    def __init__(self, client: KubeClient, clock: Clock, tasks: Tasks, *, declaration: str, namespace: str = "") -> None:
        """`declaration` names the tasks."""
        self._client = client
        self._clock = clock
        self._tasks = tasks
        self._declaration = declaration
        self._namespace = namespace

    def watch(
        self, api_version: str, resource: str, *, namespace: str, labels: str, fields: str, limits: Limits, changed: asyncio.Event
    ) -> WatchedObjects:
        """See Cluster."""
        if resource == "secrets":
            raise CollectError(Cause.FORBIDDEN, "Secrets are never a source", "declare another resource")
        watched = objects_of(api_version, resource, self._seen(namespace), labels, fields)
        found = WatchedObjects(self._client, watched, api_version=api_version, limits=limits, changed=changed, clock=self._clock)
        key = (self._declaration, watched.name, next(self._numbers))
        found.restart = lambda: self._tasks.start(key, found.run)
        found.close = lambda: self._tasks.stop(key)
        self._tasks.start(key, found.run)
        return found

    def pods(self, *, namespace: str, labels: str) -> WatchedPods:
        """See Cluster."""
        watched = endpoints_of(self._seen(namespace), labels)
        found = WatchedPods(self._client, watched, self._clock)
        key = (self._declaration, watched.name, next(self._numbers))
        found.close = lambda: self._tasks.stop(key)
        self._tasks.start(key, found.run)
        return found

    def _seen(self, namespace: str) -> str:
        """The namespace to look into. Raises CollectError for one that a tenant may not."""
        if self._namespace and namespace not in {"", self._namespace}:
            what = f"a declaration of namespace {self._namespace} may not look into namespace {namespace}"
            raise CollectError(Cause.FORBIDDEN, what, f"leave namespaces out, or name {self._namespace} only")
        return self._namespace or namespace


def objects_of(api_version: str, resource: str, namespace: str, labels: str, fields: str) -> Watched[ObjectRecord]:
    """Any resource, such as apps/v1 deployments; `namespace` "" is all."""
    group, _, version = api_version.rpartition("/")
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    named = f"{resource}.{group}" if group else resource
    selectors = {"labelSelector": labels, "fieldSelector": fields}
    rule = f'{{apiGroups: ["{group}"], resources: [{resource}], verbs: [list, watch]}}'
    role = f"a Role and RoleBinding in namespace {namespace}" if namespace else "a ClusterRole and ClusterRoleBinding"
    return Watched(
        name=named,
        path=f"{root}/namespaces/{namespace}/{resource}" if namespace else f"{root}/{resource}",
        decode=decode_object,
        grant=f"grant {rule} to our ServiceAccount with {role}",
        params={name: text for name, text in selectors.items() if text},
        piece=_PIECE,
    )
