"""What changed in the simulated cluster, kept for watchers: a bounded log of events with the object as it was then."""

import asyncio
from collections import deque
from collections.abc import Iterator

from msgspec import Struct

from app.simulation.model import EventType, SimulatedCluster, SimulatedNode, SimulatedPod, Thing
from app.simulation.objects import Object, claim_object, node_object, pod_object

_KEPT = 10_000


class Event(Struct, frozen=True):
    """One change. `resource` is nodes, pods or persistentvolumeclaims."""

    version: int
    type: EventType
    resource: str
    object: Object


class Journal:
    """Follows a cluster from its construction on. Watchers ask `after(version)` and wait for `changed`."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.start = self.version = cluster.version
        self._events: deque[Event] = deque(maxlen=_KEPT)
        self._waiters: set[asyncio.Event] = set()
        cluster.listen(self._record)

    def after(self, version: int) -> Iterator[Event]:
        """The events later than `version`, oldest first."""
        return iter([event for event in self._events if event.version > version])

    def waiter(self) -> asyncio.Event:
        """An asyncio.Event that is set at each change, until it is handed back to `forget`."""
        waiter = asyncio.Event()
        self._waiters.add(waiter)
        return waiter

    def forget(self, waiter: asyncio.Event) -> None:
        """The watcher has ended."""
        self._waiters.discard(waiter)

    def _record(self, event: EventType, thing: Thing) -> None:
        if len(self._events) == _KEPT:
            self.start = self._events[0].version
        self.version = thing.version
        resource, found = _object(thing)
        self._events.append(Event(thing.version, event, resource, found))
        for waiter in self._waiters:
            waiter.set()


def _object(thing: Thing) -> tuple[str, Object]:
    if isinstance(thing, SimulatedNode):
        return "nodes", node_object(thing)
    if isinstance(thing, SimulatedPod):
        return "pods", pod_object(thing)
    return "persistentvolumeclaims", claim_object(thing)
