"""`python -m benchmarks.hot_path`: the CPU cost of each step between a kubelet's answer and a client's list, one process, no network.

100 simulated nodes x 70 pods x 2 containers. Each figure is the median CPU time of one step over several rounds: for comparing one
commit with another on one machine, and for nothing else. A claim against a peer needs both in one run.
"""

import asyncio
import time
from collections.abc import Callable, MutableMapping
from statistics import median
from typing import Any

import msgspec

from app import kinds
from app.cache import rates
from app.cache.cluster import Nodes, Pods
from app.cache.collection import Collection
from app.cache.projection import Projection
from app.cache.samples import Samples, Source, time_to_live
from app.cache.store import Store
from app.cache.versions import Versions
from app.clock import SystemClock
from app.kube import decode
from app.routes.resources import Served, create_resources
from app.simulation.exposition import resource_metrics
from app.simulation.generate import generate
from app.simulation.objects import node_object, pod_object
from app.simulation.summary import summary
from collectors import kubelet_resource, kubelet_summary
from tests.fakes.gate import FakeGate

NODES, PODS, CONTAINERS = 100, 70, 2
SECOND = 10**9
STEP = 20 * SECOND


class Bench:
    """A store over a whole simulated cluster, and a clock that only the bodies follow."""

    def __init__(self) -> None:
        clock = SystemClock()
        self.cluster = generate(clock, NODES, PODS, CONTAINERS)
        self.now = int(clock.wall()) * SECOND
        self.nodes, self.pods = Nodes(), Pods()
        versions = Versions(clock, instance=1)
        served = [Served(kind, Collection(lambda _key: None, versions.current)) for kind in kinds.load()]
        self.store = Store(
            nodes=self.nodes,
            pods=self.pods,
            samples=Samples(clock.monotonic),
            sources=(
                Source("kubelet_resource", rates.resource_step, time_to_live(15)),
                Source("kubelet_summary", rates.summary_step, time_to_live(30)),
            ),
            projections=[Projection(kind.subject, kind.project, collection) for kind, collection in served],
            versions=versions,
            clock=clock,
        )
        self.nodes.apply([decode.node(_raw(node_object(node))) for node in self.cluster.nodes.values()], ())
        self.pods.apply([decode.pod(_raw(pod_object(pod))) for node in self.cluster.nodes.values() for pod in node.pods.values()], ())
        self.endpoint = create_resources(served, gate=FakeGate(), clock=clock, versions=versions)
        self.some_pod = next(iter(self.pods.keys()))

    def scrape(self) -> dict[str, list[float]]:
        """One round over all nodes; CPU seconds of each step."""
        self.now += STEP
        spent: dict[str, list[float]] = {"parse resource": [], "publish resource": [], "parse summary": [], "publish summary": []}
        for node in self.cluster.nodes.values():
            resource_body = resource_metrics(node, self.now).encode()
            summary_body = summary(node, self.now, only_cpu_and_memory=True)
            seconds, batch = _timed(lambda body=resource_body: kubelet_resource.parse(body, received=self.now / SECOND))
            spent["parse resource"].append(seconds)
            spent["publish resource"].append(
                _timed(lambda name=node.name, taken=batch: self.store.publish(name, "kubelet_resource", taken))[0]
            )
            seconds, batch = _timed(lambda body=summary_body: kubelet_summary.parse(body, received=self.now / SECOND))
            spent["parse summary"].append(seconds)
            spent["publish summary"].append(
                _timed(lambda name=node.name, taken=batch: self.store.publish(name, "kubelet_summary", taken))[0]
            )
        return spent

    async def read(self, path: str, query: str = "", accept: str = "application/json") -> float:
        """CPU seconds of one request to the resource endpoint."""

        async def send(_message: MutableMapping[str, Any]) -> None:
            return

        async def receive() -> MutableMapping[str, Any]:
            return {"type": "http.request"}

        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(b"accept", accept.encode())],
        }
        start = time.process_time()
        await self.endpoint(scope, receive, send)
        return time.process_time() - start


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def _timed(act: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = act()
    return time.process_time() - start, result


async def main() -> None:
    """Print one line a step."""
    bench = Bench()
    for _ in range(2):
        bench.scrape()
    rounds = [bench.scrape() for _ in range(5)]
    for step in rounds[0]:
        _print(f"{step} (one node)", [seconds for spent in rounds for seconds in spent[step]])
    api = "/apis/metrics.k8s.io/v1beta1"
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    protobuf = "application/vnd.kubernetes.protobuf, */*"
    namespace, name = bench.some_pod
    for what, path, query, accept in (
        ("get one pod", f"{api}/namespaces/{namespace}/pods/{name}", "", "application/json"),
        ("list one namespace by label", f"{api}/namespaces/shop/pods", "labelSelector=app%3Dcart", "application/json"),
        ("list all pods by label", f"{api}/pods", "labelSelector=app%3Dcart", "application/json"),
        ("list nodes", f"{api}/nodes", "", "application/json"),
        ("list all pods", f"{api}/pods", "", "application/json"),
        ("list all pods as a Table", f"{api}/pods", "", table),
        ("list nodes in protobuf", f"{api}/nodes", "", protobuf),
        ("list all pods in protobuf", f"{api}/pods", "", protobuf),
    ):
        first = await bench.read(path, query, accept)
        _print(f"{what}, first after a publish", [first])
        _print(what, [await bench.read(path, query, accept) for _ in range(50)])


def _print(what: str, seconds: list[float]) -> None:
    print(f"{what:<45}{median(seconds) * 1e6:>12.1f} us CPU")


if __name__ == "__main__":
    asyncio.run(main())
