"""The source prometheus against a real one: queries to items, its own errors, and a server that is killed or stands still."""

from collections.abc import Iterator
from typing import Any

import pytest

from collectors._base import Cause, CollectError
from collectors._source import Response
from tests.e2e.conftest import demand
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.sources import prometheus
from tests.e2e.sources.collecting import Collecting, Objects, example
from tests.e2e.sources.exporter import Exporter
from tests.e2e.sources.prometheus import PrometheusServer

NOTHING = Objects(secrets={}, config_maps={})
_GPU = '{{gpu="{n}",UUID="GPU-{uuid}",device="nvidia{n}",modelName="NVIDIA A100",Hostname="gpu-1"{pod}}}'
_POD = ',namespace="ml",pod="train-0"'
GPUS = "".join(
    f"{name}{_GPU.format(n=n, uuid=f'5fd4f087-000{n}', pod=_POD if n == 0 else '')} {values[n]}\n"
    for name, values in {
        "DCGM_FI_DEV_GPU_UTIL": (97, 0),
        "DCGM_FI_DEV_FB_USED": (30720, 0),
        "DCGM_FI_DEV_FB_FREE": (10240, 40960),
    }.items()
    for n in range(2)
)
"""What dcgm-exporter says of a node with two GPUs."""
ODD = 'odd_numbers{kind="nan"} NaN\nodd_numbers{kind="inf"} +Inf\nodd_numbers{kind="large"} 1e+18\nodd_numbers{kind="part"} 0.1\n'


@pytest.fixture(scope="module")
def server(_end_with_us: None) -> Iterator[PrometheusServer]:
    """A server that has scraped an exporter."""
    demand(prometheus.skip_reason())
    with Exporter(lambda: GPUS + ODD) as exporter, PrometheusServer([exporter.target]) as started:
        started.start()
        wait_until("all to be scraped twice", lambda: len(started.query("count_over_time(up[1m]) >= 2")) == 2, seconds=60)
        yield started


def asking(server: PrometheusServer, query: str, *, timeout: str = "10s", **source: Any) -> dict[str, Any]:
    """A kind of whatever a query gives: its first label is the name."""
    properties = {"status": {"type": "object", "properties": {"value": {"type": "integer", "format": "int64"}}}}
    return {
        "apiVersion": "kubeglance.io/v1alpha1",
        "kind": "LiveResource",
        "metadata": {"name": "answers.example.com"},
        "spec": {
            "group": "example.com",
            "version": "v1alpha1",
            "scope": "Cluster",
            "names": {"kind": "Answer", "plural": "answers"},
            "source": {"prometheus": {"url": f"http://127.0.0.1:{server.port}", "query": query, **source}},
            "timeout": timeout,
            "items": "response",
            "object": {"name": "item.labels.job", "observedAt": "item.timestamp", "status": {"value": "int(item.value)"}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        },
    }


async def asked(said: dict[str, Any]) -> Response:
    async with Collecting(said, NOTHING) as collecting:
        return (await collecting.collect())[0]


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_query_to_objects(server: PrometheusServer, method: str) -> None:
    """Each series is an object, seen when Prometheus evaluated the query."""
    async with Collecting(asking(server, "sum by (job) (up)", method=method), NOTHING) as collecting:
        _, mapped = await collecting.collect()

    assert {("prometheus", 1), ("test", 1)} == {(each.key[1], each.value.status["value"]) for each in mapped.objects}
    assert all(each.value.observed > 0 for each in mapped.objects)


@pytest.mark.parametrize(
    ("query", "values"),
    [
        pytest.param("scalar(vector(0.25))", [0.25], id="scalar"),
        pytest.param("vector(3)", [3], id="vector"),
        pytest.param("max_over_time(up{job='prometheus'}[1m])[3s:1s]", [1], id="matrix"),
        pytest.param("nonexistent", [], id="nothing"),
    ],
)
async def test_types_of_results(server: PrometheusServer, query: str, values: list[float]) -> None:
    """Scalars, vectors and ranges, the last value of each."""
    assert values == [item["value"] for item in (await asked(asking(server, query))).value]


async def test_odd_numbers(server: PrometheusServer) -> None:
    """Large ones are exact, NaN and infinite ones are told and never become a number."""
    response = await asked(asking(server, "odd_numbers"))

    assert {"large": 10**18, "part": 0.1} == {item["labels"]["kind"]: item["value"] for item in response.value}
    assert len(response.unusable) == 2
    assert all('kind="' in each.name for each in response.unusable)


@pytest.mark.parametrize(
    ("query", "cause", "words"),
    [
        pytest.param("sum(", Cause.QUERY, "400 Bad Request: bad_data: ", id="no-query"),
        pytest.param(
            "up * on (instance) up * on(x) {__name__=~'.+'}", Cause.QUERY, "422 Unprocessable Entity: execution: ", id="many-to-many"
        ),
        pytest.param('"text"', Cause.PAYLOAD, "gives a string", id="string"),
    ],
)
async def test_queries_that_give_nothing(server: PrometheusServer, query: str, cause: Cause, words: str) -> None:
    """Prometheus' own errorType and message, and what to do."""
    with pytest.raises(CollectError) as caught:
        await asked(asking(server, query))

    assert cause is caught.value.cause
    assert words in caught.value.message
    assert caught.value.remedy


async def test_the_example_of_gpus(server: PrometheusServer) -> None:
    """deploy/examples/dcgm-gpus.yaml: several values of one GPU in one answer."""
    said = example("dcgm-gpus.yaml", url=f"http://127.0.0.1:{server.port}")
    async with Collecting(said, NOTHING) as collecting:
        _, mapped = await collecting.collect()

    found = {each.key[1]: each.value.status for each in mapped.objects}
    assert {"gpu-5fd4f087-0000", "gpu-5fd4f087-0001"} == set(found)
    assert (97, 30720 << 20, 10240 << 20) == tuple(
        found["gpu-5fd4f087-0000"][field] for field in ("utilizationPercent", "memoryUsedBytes", "memoryFreeBytes")
    )
    assert not mapped.dropped


async def test_a_server_that_is_killed_and_comes_back(server: PrometheusServer) -> None:
    """The same source goes on with its next life."""
    async with Collecting(asking(server, "vector(1)"), NOTHING) as collecting:
        await collecting.collect()
        server.kill()
        with pytest.raises(CollectError) as caught:
            await collecting.collect()
        server.start()
        _, mapped = await collecting.collect()

    assert caught.value.cause in {Cause.DIAL, Cause.CLOSED}
    assert mapped.dropped  # vector(1) has no label job


async def test_a_server_that_stands_still(server: PrometheusServer) -> None:
    """The deadline ends it."""
    server.freeze()
    try:
        with pytest.raises(CollectError) as caught:
            await asked(asking(server, "up", timeout="1s"))
    finally:
        server.thaw()

    assert caught.value.cause is Cause.DEADLINE
