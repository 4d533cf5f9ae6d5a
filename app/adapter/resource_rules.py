"""resourceRules of an adapter file: usage of nodes and containers from Prometheus, where kubelets are not asked.

Four queries each interval, for all nodes and pods at once. What has only one of CPU and memory has no usage: nothing is made up.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import structlog

from app.adapter.config import ResourceRule, ResourceRules
from app.adapter.naming import Association, Find, NamingError
from app.adapter.prometheus import Result, Sample
from app.adapter.query import QueryError, build, present
from app.cache.cluster import Nodes, Pods
from app.cache.rates import Step, rated_step
from app.cache.samples import Source, time_to_live
from app.kube.records import Key
from app.served_metrics.values import NAMESPACES, NODES, PODS
from collectors._base import Batch, Cause, CollectError, NoData, PodSamples
from collectors._base import Sample as Measured

NAME = "prometheus"
_NANO = 10**9

_log = structlog.get_logger(__name__)


class Asked(Protocol):
    """A Prometheus."""

    async def query(self, text: str) -> Result: ...


class Sink(Protocol):
    """Takes what was measured of a node and its pods (app/cache/store.py)."""

    def publish(self, node: str, source: str, batch: Batch) -> bool: ...

    def failed(self, node: str, source: str, error: CollectError) -> None: ...


class _Point(NamedTuple):
    """One value and when it was measured (Unix ns)."""

    value: int
    time: int


class _Found(NamedTuple):
    """One resource: points of nodes by name, of containers by pod and name."""

    nodes: Mapping[str, _Point]
    containers: Mapping[tuple[str, str, str], _Point]


def source_of(rules: ResourceRules, interval: float) -> Source:
    """How the cache takes what the rules give: rates, over the window of the file."""
    window = round(rules.window * _NANO)

    def step(last: Step | None, new: Measured, _agent_started: int | None, now: float) -> Step | None:
        return rated_step(last, new, window, now)

    return Source(NAME, step, time_to_live(interval))


class ResourceUsage:
    """Asks the rules' queries, and publishes what they give for each node. `sink()` is who takes it."""

    def __init__(
        self,
        rules: ResourceRules,
        prometheus: Asked,
        find: Find,
        *,
        nodes: Nodes,
        pods: Pods,
        sink: Callable[[], Sink],
        interval: float,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._rules = rules
        self._prometheus = prometheus
        self._find = find
        self._nodes = nodes
        self._pods = pods
        self._sink = sink
        self._interval = interval
        self._sleep = sleep
        self._error = ""

    async def run(self) -> None:
        """Ask, publish, and wait for the next time."""
        while True:
            await self.collect()
            await self._sleep(self._interval)

    async def collect(self) -> None:
        """Ask once. What fails is known of every node, and the last values stay until their time to live ends."""
        try:
            cpu, memory = await asyncio.gather(self._of(self._rules.cpu, _NANO), self._of(self._rules.memory, 1))
        except (NamingError, QueryError) as exc:
            self._failed(CollectError(Cause.MAPPING, f"resourceRules: {exc}", "mend the adapter's file"))
        except CollectError as exc:
            self._failed(exc)
        else:
            self._error = ""
            self._publish(cpu, memory)

    def _failed(self, error: CollectError) -> None:
        if error.message != self._error:
            _log.warning("resourceRules cannot be asked: the last values stay for a while", error=error.message)
        self._error = error.message
        for name in self._names():
            self._sink().failed(name, NAME, error)

    def _publish(self, cpu: _Found, memory: _Found) -> None:
        containers: dict[Key, list[Measured]] = {}
        for (namespace, pod, container), used in cpu.containers.items():
            beside = memory.containers.get((namespace, pod, container))
            if beside is not None:
                containers.setdefault((namespace, pod), []).append(_measured(container, used, beside))
        for name in self._names():
            node = _measured("", cpu.nodes[name], memory.nodes[name]) if name in cpu.nodes and name in memory.nodes else None
            on_node = {key: PodSamples("", tuple(containers[key])) for key in self._pods.on_node(name) if key in containers}
            if node is None and not on_node:
                self._sink().failed(name, NAME, NoData("the queries of resourceRules give nothing of this node or its pods"))
            else:
                self._sink().publish(name, NAME, Batch(node, on_node))

    def _names(self) -> Iterable[str]:
        return [node.name for node in self._nodes.values()]

    async def _of(self, rule: ResourceRule, scale: int) -> _Found:
        """What the two queries of a rule give, `scale` units to one of Prometheus'."""
        association = Association(rule.template, rule.overrides, self._find)
        node, pod, namespace = (association.label(each) for each in (NODES, PODS, NAMESPACES))
        by = [namespace, pod, rule.container_label]
        of_nodes, of_containers = await asyncio.gather(
            self._prometheus.query(build(rule.node_query, "", [present(node)], [node])),
            self._prometheus.query(build(rule.container_query, "", [present(namespace), present(pod)], by)),
        )
        return _Found(
            {name: point for (name,), point in _points(of_nodes.samples, [node], scale)},
            {(one, two, three): point for (one, two, three), point in _points(of_containers.samples, by, scale)},
        )


def _points(samples: Iterable[Sample], by: Sequence[str], scale: int) -> Iterable[tuple[tuple[str, ...], _Point]]:
    """Samples by the values of labels; without those that lack one, or are negative."""
    for sample in samples:
        labels = dict(sample.labels)
        key = tuple(labels.get(label, "") for label in by)
        if all(key) and sample.value >= 0:
            yield key, _Point(int(sample.value * scale), sample.time)


def _measured(name: str, cpu: _Point, memory: _Point) -> Measured:
    """CPU in nanocores and memory in bytes, as of the earlier of both times; a node has no name in its own sample."""
    time = min(cpu.time, memory.time)
    return Measured(name, None, time, memory.value, time, cpu_rate=cpu.value)
