"""From the bytes of one node's answer to samples."""

from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.micro.whole import Whole
from benchmarks.plan import SECOND
from collectors import kubelet_resource, kubelet_summary


def test_resource(benchmark: BenchmarkFixture, whole: Whole) -> None:
    """/metrics/resource, after a scrape that told of the same containers."""
    body, received = whole.bodies[0].resource.at(whole.now), whole.now / SECOND
    layout = kubelet_resource.parse(body, received=received).layout

    assert benchmark(kubelet_resource.parse, body, received=received, layout=layout).layout is layout


def test_resource_with_other_containers(benchmark: BenchmarkFixture, whole: Whole) -> None:
    """The same, the first time or after a container came or went."""
    body = whole.bodies[0].resource.at(whole.now)

    assert benchmark(kubelet_resource.parse, body, received=whole.now / SECOND).pods


def test_summary(benchmark: BenchmarkFixture, whole: Whole) -> None:
    """/stats/summary?only_cpu_and_memory=true."""
    body = whole.bodies[0].summary.at(whole.now)

    assert benchmark(kubelet_summary.parse, body, received=whole.now / SECOND).pods
