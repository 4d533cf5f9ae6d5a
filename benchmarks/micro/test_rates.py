"""From one node's samples to rates, usages and published objects."""

from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.micro.whole import STEP, Whole
from collectors._base import Batch

Arguments = tuple[tuple[int, str, Batch], dict[str, object]]


@pytest.mark.parametrize("source", ["kubelet_resource", "kubelet_summary"])
def test_publish(benchmark: BenchmarkFixture, whole: Whole, source: str) -> None:
    """All that follows a scrape; each time every value has changed."""
    take: Callable[[int], Batch] = whole.resource if source == "kubelet_resource" else whole.summary

    def next_scrape() -> Arguments:
        whole.now += STEP
        return (0, source, take(0)), {}

    benchmark.pedantic(whole.publish, setup=next_scrape, rounds=100, warmup_rounds=5)
