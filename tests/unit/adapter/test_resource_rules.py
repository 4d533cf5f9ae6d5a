"""resourceRules: prometheus-adapter's facts (its resourceprovider tests), and no made-up zeros."""

from decimal import Decimal

import pytest

from app.adapter.config import ResourceRules, parse
from app.adapter.prometheus import Result, Sample
from app.adapter.resource_rules import NAME, ResourceUsage, source_of
from app.adapter.resources import Resources
from app.cache.cluster import Nodes, Pods
from collectors._base import Batch, CollectError
from collectors._base import Sample as Measured
from tests.unit.adapter.rules import RESOURCE_RULES
from tests.unit.cache.test_store import node, pod

LATE, EARLY = 1_700_000_060_000_000_000, 1_700_000_000_000_000_000


def rules() -> ResourceRules:
    config = parse(RESOURCE_RULES, "config.yaml")
    assert config.faults == ()
    assert config.resource_rules is not None
    return config.resource_rules


class Taken:
    """What was published, or failed, by node."""

    def __init__(self) -> None:
        self.batches: dict[str, Batch] = {}
        self.failures: dict[str, CollectError] = {}

    def publish(self, node: str, source: str, batch: Batch) -> bool:
        assert source == NAME
        self.batches[node] = batch
        return True

    def failed(self, node: str, source: str, error: CollectError) -> None:
        self.failures[node] = error


class Prometheus:
    """Answers by the first word of a query."""

    def __init__(self, **says: Result) -> None:
        self.says = says
        self.asked: list[str] = []

    async def query(self, text: str) -> Result:
        self.asked.append(text)
        return self.says.get(text.partition("(")[0], Result([]))


def sample(value: str, time: int = LATE, **labels: str) -> Sample:
    return Sample(tuple(sorted(labels.items())), Decimal(value), time)


def container(namespace: str, pod: str, name: str, value: str, time: int = LATE) -> Sample:
    return sample(value, time, namespace=namespace, pod=pod, container=name)


async def collected(prometheus: Prometheus) -> Taken:
    nodes, pods, taken = Nodes(), Pods(), Taken()
    nodes.apply([node("n1"), node("n2")], [])
    pods.apply([pod("a", containers=("x", "y")), pod("b", on="n2", containers=("x",))], [])
    usage = ResourceUsage(rules(), prometheus, Resources().find, nodes=nodes, pods=pods, sink=lambda: taken, interval=15.0)
    await usage.collect()
    return taken


async def test_four_queries_serve_all_nodes_and_pods() -> None:
    """By the labels of the file."""
    prometheus = Prometheus()
    await collected(prometheus)

    assert {
        'nodecpu(x{instance!=""}) by (instance)',
        'cpu(rate(x{namespace!="",pod!=""}[1m])) by (namespace,pod,container)',
        'nodemem(x{instance!=""}) by (instance)',
        'mem(x{namespace!="",pod!=""}) by (namespace,pod,container)',
    } == set(prometheus.asked)


async def test_usage_is_as_of_the_earlier_time() -> None:
    """Nanocores and bytes."""
    taken = await collected(
        Prometheus(
            nodecpu=Result([sample("1.5", instance="n1")]),
            nodemem=Result([sample("1000", EARLY, instance="n1")]),
            cpu=Result([container("ns", "a", "x", "0.25")]),
            mem=Result([container("ns", "a", "x", "5e6")]),
        )
    )
    (key, told), *others = taken.batches["n1"].pods.items()

    assert Measured("", None, EARLY, 1000, EARLY, cpu_rate=1_500_000_000) == taken.batches["n1"].node
    assert (("ns", "a"), []) == (key, others)
    assert (Measured("x", None, LATE, 5_000_000, LATE, cpu_rate=250_000_000),) == told.containers


async def test_what_is_missing_is_missing() -> None:
    """The adapter makes a 0 of the other one, of NaN and of negative values; here there is no usage."""
    taken = await collected(
        Prometheus(
            cpu=Result([container("ns", "a", "x", "0.25"), container("ns", "b", "x", "-1")]),
            mem=Result([container("ns", "a", "y", "5"), container("ns", "b", "x", "5")]),
            nodecpu=Result([sample("1", instance="n1")]),
        )
    )

    assert {} == taken.batches
    assert {"n1", "n2"} == set(taken.failures)


async def test_a_failure_is_known_of_every_node() -> None:
    """The last values stay for their time to live."""

    class Down(Prometheus):
        async def query(self, text: str) -> Result:
            raise CollectError("dial", "connection refused")  # type: ignore[arg-type]

    taken = await collected(Down())

    assert {"n1": "connection refused", "n2": "connection refused"} == {name: str(error) for name, error in taken.failures.items()}


def test_a_sample_is_a_usage_at_once_over_the_window_of_the_file() -> None:
    """Its CPU is a rate already. The same sample told again is no news."""
    source = source_of(rules(), 15.0)
    first = source.step(None, Measured("x", None, LATE, 5, LATE, cpu_rate=7), None, 1.0)
    assert first is not None

    assert (7, 5, 180 * 10**9, LATE) == (first.cpu, first.memory, first.window, first.time)
    assert first is source.step(first, Measured("x", None, LATE, 6, LATE, cpu_rate=8), None, 2.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("resourceRules: {cpu: {}}", "resourceRules.cpu.containerQuery: is missing"),
        (RESOURCE_RULES.replace("3m", "3x"), "'3x' is no duration"),
        (RESOURCE_RULES.replace("containerLabel", "containerLable"), 'did you mean "containerLabel"?'),
        (RESOURCE_RULES.replace("<<.GroupBy>>", "<<.Group>>"), "there is no field .Group"),
    ],
)
def test_faults_cost_resource_rules_only(text: str, said: str) -> None:
    """Other rules of the file go on."""
    config = parse(text, "config.yaml")

    assert None is config.resource_rules
    assert any(said in str(fault) for fault in config.faults), config.faults
