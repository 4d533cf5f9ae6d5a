"""The objects that metrics describe: which there are, their labels, and what their resource is called.

Pods and nodes are known from the caches, live kinds from the catalog. Of any other resource the metadata is watched from when it is first
asked for until nobody has for a while. A first question waits for the first list, but not for long.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import structlog

from app.cache.cluster import Nodes, Pods
from app.clock import Clock
from app.errors import KubeError
from app.kinds._catalog import Catalog
from app.kinds._catalog import Objects as LiveObjects
from app.kube.client import KubeClient
from app.kube.object_labels import LabelsRecord, ObjectLabels, labels_of
from app.kube.records import Key, Labels
from app.kube.reflector import Reflector
from app.served_metrics.values import NODES, PODS, Resource

WAIT_S = 3.0
"""How long a question waits for what is asked for the first time: an HPA gives up after half a minute."""

UNUSED_S = 600.0
"""A watch that nobody needed for so long ends."""

_KNOWN_S = 600.0
_UNKNOWN_S = 30.0
"""How long the names of a group are taken for known; and how soon it is asked anew for one that it does not have."""

_MOST_GROUPS = 256
_MOST_WATCHES = 64

log = structlog.get_logger(__name__)


class Unavailable(NamedTuple):
    """Why objects cannot be known now: one sentence."""

    reason: str


class ObjectKind(NamedTuple):
    """A resource by its plural, with the kind of its objects and the version that the cluster prefers."""

    resource: Resource
    version: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """As in an object: v1, networking.k8s.io/v1."""
        return f"{self.resource.group}/{self.version}" if self.resource.group else self.version


class Described(Protocol):
    """The objects of one resource as they are now."""

    def labels(self, key: Key) -> Labels | None:
        """The labels of an object, None if there is none."""
        ...

    def in_namespace(self, namespace: str) -> Iterable[Key]:
        """The objects of a namespace; of all with ""."""
        ...


class Tasks(Protocol):
    """Starts and stops tasks by key."""

    def start(self, key: Hashable, run: Callable[[], Awaitable[None]]) -> None: ...

    def stop(self, key: Hashable) -> None: ...


_CORE = {
    name: ObjectKind(Resource("", names[0]), "v1", kind, namespaced)
    for kind, namespaced, names in (
        ("Pod", True, ("pods", "pod", "po")),
        ("Node", False, ("nodes", "node", "no")),
        ("Namespace", False, ("namespaces", "namespace", "ns")),
        ("Service", True, ("services", "service", "svc")),
    )
    for name in names
}
"""Resources that every cluster has, by all their names: nobody is asked for them."""


class _Pods:
    def __init__(self, pods: Pods) -> None:
        self._pods = pods

    def labels(self, key: Key) -> Labels | None:
        record = self._pods.get(key)
        return record.labels if record is not None else None

    def in_namespace(self, namespace: str) -> Iterable[Key]:
        return [key for key in self._pods.keys() if not namespace or key[0] == namespace]  # noqa: SIM118 -- it is no mapping


class _Nodes:
    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    def labels(self, key: Key) -> Labels | None:
        record = self._nodes.get(key)
        return record.labels if record is not None else None

    def in_namespace(self, namespace: str) -> Iterable[Key]:
        return () if namespace else list(self._nodes.keys())


class _OfKind:
    """The objects of a live kind."""

    def __init__(self, objects: LiveObjects) -> None:
        self._objects = objects

    def labels(self, key: Key) -> Labels | None:
        item = self._objects.get(key)
        return item.labels if item is not None else None

    def in_namespace(self, namespace: str) -> Iterable[Key]:
        return [item.key for item in self._objects.snapshot(namespace or None)]


class _Watch:
    """The metadata of one resource, and when it was last needed (monotonic seconds)."""

    def __init__(self, client: KubeClient, kind: ObjectKind, clock: Clock) -> None:
        self.store = ObjectLabels()
        watched = labels_of(kind.resource.group, kind.version, kind.resource.name)
        self.reflector: Reflector[LabelsRecord] = Reflector(client, watched, self.store, clock)
        self.used = clock.monotonic()


class _Group(NamedTuple):
    """The resources of a group by all their names, and when they were asked for (monotonic seconds). `fault` is why there are none."""

    kinds: Mapping[str, ObjectKind]
    asked: float
    fault: str = ""


class Objects:
    """Finds described objects. `tasks` run the watches, from when it is set."""

    def __init__(
        self, *, nodes: Nodes, pods: Pods, catalog: Catalog, client: KubeClient, clock: Clock, listed: Callable[[Resource], bool]
    ) -> None:
        """`listed` tells of pods and of nodes whether they were listed."""
        self._own: Mapping[Resource, Described] = {PODS: _Pods(pods), NODES: _Nodes(nodes)}
        self._catalog = catalog
        self._client = client
        self._clock = clock
        self._listed = listed
        self._groups: dict[str, _Group] = {}
        self._asking: dict[str, asyncio.Lock] = {}
        self._watches: dict[Resource, _Watch] = {}
        self.tasks: Tasks | None = None

    async def name(self, resource: Resource) -> Resource:
        """The resource by its plural, whichever of its names is used; the same where nobody knows it."""
        kind = await self.kind(resource)
        return resource if isinstance(kind, Unavailable) else kind.resource

    async def kind(self, resource: Resource) -> ObjectKind | Unavailable:
        """What a resource is, by whichever of its names."""
        if not resource.group and resource.name in _CORE:
            return _CORE[resource.name]
        for served in self._catalog:
            kind = served.kind
            if kind.group == resource.group and resource.name in {kind.resource, kind.singular, *kind.short_names}:
                return ObjectKind(Resource(kind.group, kind.resource), kind.versions[0], kind.kind, kind.namespaced)
        group = await self._group(resource)
        return group.kinds.get(resource.name) or Unavailable(group.fault or f"the cluster serves no resource {resource}")

    async def of(self, resource: Resource) -> Described | Unavailable:
        """The objects of a resource, by whichever of its names."""
        if (own := self._own.get(resource)) is not None:
            return own if self._listed(resource) else Unavailable(f"{resource} were not listed yet")
        for served in self._catalog:
            if (served.kind.group, served.kind.resource) == resource:
                return _OfKind(served.collection)
        kind = await self.kind(resource)
        if isinstance(kind, Unavailable):
            return kind
        if kind.resource != resource:
            return await self.of(kind.resource)
        return await self._watched(kind)

    def expire(self) -> None:
        """End the watches that nobody needs any more."""
        now = self._clock.monotonic()
        for resource in [resource for resource, watch in self._watches.items() if now - watch.used > UNUSED_S]:
            del self._watches[resource]
            if self.tasks is not None:
                self.tasks.stop(resource)
            log.info("nobody asks for metrics of a resource any more, and it is no longer watched", resource=str(resource))

    async def _watched(self, kind: ObjectKind) -> Described | Unavailable:
        watch = self._watches.get(kind.resource)
        if watch is None:
            if self.tasks is None or len(self._watches) >= _MOST_WATCHES:
                return Unavailable(f"{kind.resource} cannot be watched: {len(self._watches)} resources are")
            watch = self._watches[kind.resource] = _Watch(self._client, kind, self._clock)
            self.tasks.start(kind.resource, watch.reflector.run)
        watch.used = self._clock.monotonic()
        reflector = watch.reflector
        try:
            async with asyncio.timeout(WAIT_S):
                await reflector.tried.wait()
        except TimeoutError:
            return Unavailable(f"{kind.resource} were not listed yet")
        if reflector.synced.is_set():
            return watch.store
        trouble = reflector.trouble
        return Unavailable(f"{kind.resource} cannot be listed: {trouble.message if trouble is not None else 'not listed yet'}")

    async def _group(self, resource: Resource) -> _Group:
        """The resources of a group, of now or of some minutes ago."""
        lock = self._asking.setdefault(resource.group, asyncio.Lock())
        async with lock:
            known = self._groups.get(resource.group)
            if known is not None:
                patience = _KNOWN_S if resource.name in known.kinds else _UNKNOWN_S
                if self._clock.monotonic() - known.asked < patience:
                    return known
            if known is None and len(self._groups) >= _MOST_GROUPS:
                self._groups.clear()
                self._asking = {resource.group: lock}
            try:
                async with asyncio.timeout(WAIT_S):
                    kinds = await self._discover(resource.group)
                found = _Group(kinds, self._clock.monotonic())
            except (KubeError, TimeoutError) as exc:
                # What was known stays: a cluster that does not answer takes no name away.
                why = "no answer in time" if isinstance(exc, TimeoutError) else str(exc)
                fault = f"the cluster does not tell what {resource} is: {why}"
                found = _Group(known.kinds if known is not None else {}, self._clock.monotonic(), fault)
            self._groups[resource.group] = found
            return found

    async def _discover(self, group: str) -> Mapping[str, ObjectKind]:
        version, path = "v1", "/api/v1"
        if group:
            described = await self._client.get_json(f"/apis/{group}")
            preferred = described.get("preferredVersion") if isinstance(described, dict) else None
            version = str(preferred.get("version", "")) if isinstance(preferred, dict) else ""
            path = f"/apis/{group}/{version}"
        listed = await self._client.get_json(path)
        found: dict[str, ObjectKind] = {}
        for each in listed.get("resources") or () if isinstance(listed, dict) else ():
            for name, kind in _kinds(group, version, each):
                found.setdefault(name, kind)
        return found


def _kinds(group: str, version: str, resource: Any) -> Iterable[tuple[str, ObjectKind]]:
    """A resource of a discovery document by each of its names; none for a subresource, and for what is none."""
    if not isinstance(resource, dict):
        return ()
    plural, kind = resource.get("name"), resource.get("kind")
    if not isinstance(plural, str) or not isinstance(kind, str) or "/" in plural:
        return ()
    short = resource.get("shortNames")
    names = [plural, resource.get("singularName"), *(short if isinstance(short, list) else [])]
    found = ObjectKind(Resource(group, plural), version, kind, resource.get("namespaced") is True)
    return [(name, found) for name in names if isinstance(name, str) and name]
