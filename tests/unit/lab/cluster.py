"""A kube-apiserver whose nodes and pods come, change and go while it is watched."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx

from tests.fakes.replay import Cluster, Stream

Object = dict[str, Any]


class ScriptedCluster(Cluster):
    """Objects by (resource, name), all pods in one namespace. What is put in and taken out is told to every watch."""

    def __init__(self) -> None:
        super().__init__()
        self._objects: dict[str, dict[str, Object]] = {"nodes": {}, "pods": {}}
        self._watches: dict[str, list[asyncio.Queue[bytes]]] = {"nodes": [], "pods": []}
        self._version = 10

    def put(self, resource: str, item: Object) -> None:
        """Create or change an object. A pod that is finished looks deleted to who selects by phase, as with a real kube-apiserver."""
        name = item["metadata"]["name"]
        if item.get("status", {}).get("phase") in {"Succeeded", "Failed"}:
            self.remove(resource, name)
            return
        kind = "MODIFIED" if name in self._objects[resource] else "ADDED"
        self._objects[resource][name] = self._versioned(item)
        self._tell(resource, kind, self._objects[resource][name])

    def remove(self, resource: str, name: str) -> None:
        """Delete an object, if it is there."""
        item = self._objects[resource].pop(name, None)
        if item is not None:
            self._tell(resource, "DELETED", self._versioned(item))

    def get(self, resource: str, name: str) -> Object | None:
        """The object as it is now."""
        return self._objects[resource].get(name)

    def names(self, resource: str) -> list[str]:
        """All names."""
        return sorted(self._objects[resource])

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        resource = request.url.path.rsplit("/", 1)[-1]
        if self.away or resource not in self._objects:
            return await super().__call__(request)
        if request.url.params.get("watch"):
            queue: asyncio.Queue[bytes] = asyncio.Queue()
            self._watches[resource].append(queue)
            return httpx.Response(200, stream=Stream(_events(queue)))
        items = list(self._objects[resource].values())
        return httpx.Response(200, json={"metadata": {"resourceVersion": str(self._version)}, "items": items})

    def _versioned(self, item: Object) -> Object:
        self._version += 1
        return {**item, "metadata": {**item["metadata"], "resourceVersion": str(self._version)}}

    def _tell(self, resource: str, kind: str, item: Object) -> None:
        event = json.dumps({"type": kind, "object": item}).encode() + b"\n"
        for queue in self._watches[resource]:
            queue.put_nowait(event)


async def _events(queue: asyncio.Queue[bytes]) -> AsyncIterator[bytes]:
    while True:
        yield await queue.get()
