"""From published objects to the bytes of an answer: when they were never read since they changed, and when they were."""

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.micro.whole import Whole
from benchmarks.servers import API
from benchmarks.workloads.list_pods import JSON, PROTOBUF, TABLE
from benchmarks.workloads.list_pods_selector import PATH as SELECTOR

FORMS = pytest.mark.parametrize(
    "accept", [pytest.param(JSON, id="json"), pytest.param(PROTOBUF, id="protobuf"), pytest.param(TABLE, id="table")]
)
LISTS = pytest.mark.parametrize(
    "path", [pytest.param(f"{API}/pods", id="all-pods"), pytest.param(SELECTOR, id="selector"), pytest.param(f"{API}/nodes", id="nodes")]
)


@FORMS
@LISTS
def test_first_read(benchmark: BenchmarkFixture, whole: Whole, path: str, accept: str) -> None:
    """After a whole round of scrapes: every object is encoded anew."""
    where, _, query = path.partition("?")

    assert benchmark.pedantic(whole.read, args=(where, query, accept), setup=whole.round, rounds=5) > 0


@FORMS
@LISTS
def test_read_again(benchmark: BenchmarkFixture, whole: Whole, path: str, accept: str) -> None:
    """Nothing has changed since."""
    where, _, query = path.partition("?")

    assert benchmark(whole.read, where, query, accept) > 0


def test_get_one_pod(benchmark: BenchmarkFixture, whole: Whole) -> None:
    """One object by its name."""
    pod = next(iter(whole.plan.all_pods()))

    assert benchmark(whole.read, f"{API}/namespaces/{pod.namespace}/pods/{pod.name}") > 0
