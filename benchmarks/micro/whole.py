"""A store over a whole planned cluster and the endpoint in front of it. Time stands still until the next round of scrapes."""

import asyncio
from collections.abc import Iterable, MutableMapping
from typing import Any

import msgspec

from app import kinds
from app.cache.cluster import Nodes, Pods
from app.cache.collection import Collection
from app.cache.projection import Projection
from app.cache.samples import Samples
from app.cache.sources import source
from app.cache.store import Store
from app.cache.versions import Versions
from app.clock import SystemClock
from app.kinds._catalog import Catalog, Served
from app.kube import decode
from app.routes.resources import create_resources
from benchmarks.kubelet_bodies import NodeBodies
from benchmarks.plan import SECOND, Plan
from collectors import kubelet_resource, kubelet_summary
from collectors._base import Batch
from tests.e2e.objects import NodeObject, PodObject, running_status, stamp
from tests.fakes.gate import FakeGate

STEP = 20 * SECOND
"""From one round to the next: every cgroup has been looked at anew."""


class Whole:
    """All nodes of `plan`; the pods of each have values once two rounds are published."""

    def __init__(self, plan: Plan) -> None:
        clock = SystemClock()
        self.plan = plan
        self.now = int(clock.wall()) * SECOND
        self.bodies = [NodeBodies(plan, node, {}) for node in range(plan.nodes)]
        self._layouts: list[object] = [None] * plan.nodes
        nodes, pods = Nodes(), Pods()
        versions = Versions(clock, instance=1)
        published = [
            (kind, Projection(kind.subject, kind.project, Collection(lambda _key: None, versions.current)))
            for kind in kinds.published()
            if kind.subject is not None and kind.project is not None
        ]
        self.store = Store(
            nodes=nodes,
            pods=pods,
            samples=Samples(clock.monotonic),
            sources=(
                source("kubelet_resource", 15),
                source("kubelet_summary", 30),
            ),
            projections=[projection for _, projection in published],
            versions=versions,
            clock=clock,
        )
        nodes.apply([decode.node(_raw(node)) for node in _node_objects(plan)], ())
        pods.apply([decode.pod(_raw(pod)) for pod in _pod_objects(plan)], ())
        catalog = Catalog([Served(kind, projection.collection) for kind, projection in published])
        self._endpoint = create_resources(catalog, gate=FakeGate(), clock=clock, versions=versions)
        self._loop = asyncio.new_event_loop()

    def resource(self, node: int) -> Batch:
        """What a scrape of /metrics/resource gives now, read as by a scraper: with the layout of the last one."""
        body = self.bodies[node].resource.at(self.now)
        batch = kubelet_resource.parse(body, received=self.now / SECOND, layout=self._layouts[node])
        self._layouts[node] = batch.layout
        return batch

    def summary(self, node: int) -> Batch:
        """What a scrape of /stats/summary gives now."""
        return kubelet_summary.parse(self.bodies[node].summary.at(self.now), received=self.now / SECOND)

    def publish(self, node: int, source: str, batch: Batch) -> None:
        """What follows a scrape."""
        self.store.publish(self.plan.node_name(node), source, batch)

    def round(self) -> None:
        """All nodes, once."""
        self.now += STEP
        for node in range(self.plan.nodes):
            self.publish(node, "kubelet_resource", self.resource(node))

    def read(self, path: str, query: str = "", accept: str = "application/json") -> int:
        """One request; answers the length of the body, and sees to it that there is one."""
        return self._loop.run_until_complete(self._read(path, query, accept))

    def close(self) -> None:
        """End the loop."""
        self._loop.close()

    async def _read(self, path: str, query: str, accept: str) -> int:
        status = length = 0

        async def send(message: MutableMapping[str, Any]) -> None:
            nonlocal status, length
            status = message.get("status", status)
            length += len(message.get("body", b""))

        async def receive() -> MutableMapping[str, Any]:
            return {"type": "http.request"}

        headers = [(b"accept", accept.encode())]
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": headers,
        }
        await self._endpoint(scope, receive, send)
        if status != 200:
            raise AssertionError(f"{path} was answered {status}")
        return length


def _node_objects(plan: Plan) -> Iterable[dict[str, Any]]:
    for number in range(plan.nodes):
        node = NodeObject(plan.node_name(number), plan.address(number), 10250)
        made = node.as_object()
        yield made | {"metadata": {**made["metadata"], "uid": node.name}, "status": node.as_status(stamp(plan.booted))}


def _pod_objects(plan: Plan) -> Iterable[dict[str, Any]]:
    for pod in plan.all_pods():
        made = PodObject(pod.namespace, pod.name, plan.node_name(pod.node), pod.containers, pod.labels).as_object()
        yield made | {"metadata": {**made["metadata"], "uid": pod.uid}, "status": running_status(pod.containers, stamp(pod.started))}


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))
