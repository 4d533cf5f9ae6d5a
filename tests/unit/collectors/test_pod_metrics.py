"""collectors/pod_metrics.py: pods that are asked themselves, by servers that are real and on loopback."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

from app.declared.http_client import open_client
from collectors._base import Cause, CollectError
from collectors._source import Limits, Means, PodEndpoint, PodEndpoints, Response, Source
from collectors.pod_metrics import SOURCE, PodMetricsSpec
from tests.fakes.sources import FakeHttp, FakeSecrets, means

BODY = '# TYPE requests_total counter\nrequests_total{{code="200"}} {count}\n# TYPE depth gauge\ndepth 3\n'
WALL = 1_764_500_000.0


class Cluster:
    """The pods that there are, and what a watch of them would say."""

    def __init__(self, *pods: PodEndpoint) -> None:
        self.endpoints: Sequence[PodEndpoint] = pods
        self.error: CollectError | None = None
        self.asked: list[tuple[str, str]] = []
        self.open = 0

    def pods(self, *, namespace: str, labels: str) -> PodEndpoints:
        self.asked.append((namespace, labels))
        self.open += 1
        return _Watch(self)

    def watch(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("nobody watches objects")


class _Watch:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def tried(self) -> None:
        """It is."""

    def pods(self) -> Sequence[PodEndpoint]:
        if self._cluster.error is not None:
            raise self._cluster.error
        return self._cluster.endpoints

    async def aclose(self) -> None:
        self._cluster.open -= 1


class Stage:
    """A source whose pods are servers; `wall` is the time."""

    def __init__(self, cluster: Cluster, given: Means, **said: Any) -> None:
        self.wall = WALL
        self.cluster = cluster
        spec = PodMetricsSpec.model_validate(
            {"labelSelector": "app=web", "port": "http", "metrics": [{"name": "requests_total"}, {"name": "depth"}], **said}
        )
        self.source: Source = SOURCE.open(spec, replace(given, cluster=cluster, wall=lambda: self.wall))

    async def collect(self) -> Response:
        return await self.source.collect()


def real(secrets: FakeSecrets | None = None, *, timeout: float = 5.0) -> Means:
    """Means whose HTTP is the real one, and which may reach this machine."""
    given = means(FakeHttp(lambda _: pytest.fail("nobody asks this")), secrets, timeout=timeout)

    async def may_reach(host: str, _port: int) -> Sequence[str]:
        return [host]

    return replace(given, may_reach=may_reach, http=lambda trust: open_client(trust, may_reach, timeout))


Answering = Callable[[str], str | None]


@asynccontextmanager
async def pod(name: str, answer: Answering, *, instance: str = "u/0", port: str = "http") -> AsyncIterator[PodEndpoint]:
    """A pod that answers `answer(request)`: a body, a whole response that begins with HTTP/, or None to hang."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(OSError, EOFError):  # who asks may be gone by now
            await respond(reader, writer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        said = answer(request)
        if said is None:
            await reader.read()
            return
        whole = said if said.startswith("HTTP/") else f"HTTP/1.1 200 OK\r\nContent-Length: {len(said)}\r\nConnection: close\r\n\r\n{said}"
        writer.write(whole.encode())
        await writer.drain()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield PodEndpoint("shop", name, instance, "127.0.0.1", (("", 1), (port, server.sockets[0].getsockname()[1])))
    finally:
        server.close()
        await asyncio.gather(*tasks)  # who asked has gone


def counting(*counts: int) -> Answering:
    """A pod whose counter goes through these values."""
    left = list(counts)
    return lambda _request: BODY.format(count=left.pop(0) if len(left) > 1 else left[0])


def values(response: Response, metric: str) -> dict[str, Any]:
    return {item["pod"]: item["value"] for item in response.value if item["metric"] == metric}


async def test_counters_become_rates_and_gauges_stay() -> None:
    """An item has the pod, the series' labels, the time and, of a rate, the window."""
    async with pod("a", counting(100, 130)) as a:
        stage = Stage(Cluster(a), real(), namespaces=["shop"])
        first = await stage.collect()
        stage.wall += 15
        second = await stage.collect()
        await stage.source.aclose()

    assert ({}, {"a": 3}) == (values(first, "requests_total"), values(first, "depth"))
    assert {
        "namespace": "shop",
        "pod": "a",
        "metric": "requests_total",
        "labels": {"code": "200"},
        "value": 2.0,
        "timestamp": "2025-11-30T10:53:35.000Z",
        "window": 15.0,
    } in second.value
    assert [("shop", "app=web")] == stage.cluster.asked
    assert 0 == stage.cluster.open


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(lambda _: None, "not answered in time", id="it hangs"),
        pytest.param(lambda _: "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "503", id="503"),
        pytest.param(lambda _: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "404", id="404"),
        pytest.param(lambda _: "HTTP/1.1 301 Moved\r\nLocation: http://x/\r\nContent-Length: 0\r\n\r\n", "redirects", id="redirect"),
        pytest.param(lambda _: "HTTP/1.1 200 OK\r\nContent-Length: 50\r\nConnection: close\r\n\r\nhalf", "closed before", id="half a body"),
        pytest.param(lambda _: "x" * 2_000_000, "limits.bodyBytes", id="too much"),
    ],
)
async def test_a_pod_that_fails_costs_itself(answer: Answering, words: str) -> None:
    """It is told with the reason, and has no zero; the other one is there."""
    async with pod("good", counting(1)) as good, pod("bad", answer) as bad:
        stage = Stage(Cluster(bad, good), real(timeout=1.0))
        response = await stage.collect()
        await stage.source.aclose()

    assert {"good": 3} == values(response, "depth")
    (told,) = response.unusable
    assert "shop/bad" == told.name
    assert words in told.reason


def telling(series: int, *, nan: bool = False) -> Answering:
    """A pod that tells so many gauges."""
    lines = "".join(f'depth{{queue="{number}"}} {"NaN" if nan else number}\n' for number in range(series))
    return lambda _request: f"# TYPE depth gauge\n{lines}"


@pytest.mark.parametrize(
    ("answer", "said", "words"),
    [
        pytest.param(telling(21), {}, "it tells 21 series, and limits.items is 20: have it tell fewer, or raise limits.items", id="items"),
        pytest.param(telling(6), {"seriesPerPod": 5}, "it tells 6 series, and seriesPerPod is 5: have it tell", id="its own limit"),
        pytest.param(telling(21), {"seriesPerPod": 50}, "it tells 21 series, and limits.items is 20", id="the smaller of both"),
        pytest.param(telling(6, nan=True), {"seriesPerPod": 5}, "it tells 6 series", id="what is no number counts too"),
        pytest.param(telling(5000), {}, "it tells 5000 series", id="many"),
        pytest.param(telling(18), {}, "it tells 18 of the 24 series of 3 pods, and limits.items is 20: have it tell", id="all together"),
    ],
)
async def test_a_pod_whose_series_explode_costs_itself(answer: Answering, said: dict[str, Any], words: str) -> None:
    """It is told by its name, with what to do, and the others are there."""
    async with pod("a", telling(3)) as a, pod("bad", answer) as bad, pod("c", telling(3)) as c:
        stage = Stage(Cluster(a, bad, c), replace(real(), limits=Limits(items=20)), **said)
        response = await stage.collect()
        await stage.source.aclose()

    assert ["a"] * 3 + ["c"] * 3 == [item["pod"] for item in response.value]
    (told,) = response.unusable
    assert "shop/bad" == told.name
    assert words in told.reason


@pytest.mark.parametrize(
    ("counts", "left_out"),
    [
        pytest.param([7, 7, 6], [], id="it is just enough"),
        pytest.param([8, 8, 8], [], id="all are large: the limit is wrong"),
        pytest.param([9, 8, 8], [0], id="the largest is left out, though it is not enough"),
        pytest.param([3, 9, 12, 4, 4], [2], id="no more are left out than must be"),
        pytest.param([4, 12, 12, 4, 4], [1, 2], id="several"),
        pytest.param([12, 9], [0], id="of two the larger"),
    ],
)
async def test_pods_are_left_out_only_where_the_others_tell_less(counts: list[int], left_out: list[int]) -> None:
    """Where it is not enough, whoever counts the items has the collection fail as a whole."""
    async with AsyncExitStack() as stack:
        pods = [await stack.enter_async_context(pod(f"p{index}", telling(count))) for index, count in enumerate(counts)]
        stage = Stage(Cluster(*pods), replace(real(), limits=Limits(items=20)))
        response = await stage.collect()
        await stage.source.aclose()

    assert [f"shop/p{index}" for index in left_out] == [each.name for each in response.unusable]
    assert sum(counts) - sum(counts[index] for index in left_out) == len(response.value)


async def test_rates_go_on_after_a_pod_told_too_much() -> None:
    """From what it told before."""
    answers = [BODY.format(count=100), telling(30)(""), BODY.format(count=400)]
    async with pod("a", lambda _: answers.pop(0)) as a, pod("b", telling(1)) as b:
        stage = Stage(Cluster(a, b), replace(real(), limits=Limits(items=20)))
        for _ in range(3):
            response = await stage.collect()
            stage.wall += 15
        await stage.source.aclose()

    assert {"a": 10.0} == values(response, "requests_total")


async def test_nobody_listens() -> None:
    """A pod that is just going; and one without a port of that name."""
    async with pod("gone", counting(1)) as gone:
        pass
    async with pod("good", counting(1)) as good, pod("other", counting(1), port="metrics") as other:
        stage = Stage(Cluster(gone, good, other), real())
        response = await stage.collect()
        await stage.source.aclose()

    assert {"good": 3} == values(response, "depth")
    assert ["shop/gone", "shop/other"] == [each.name for each in response.unusable]
    assert 'it has no port named "http"; it has metrics: name a port of its containers' == response.unusable[1].reason


async def test_all_pods_fail() -> None:
    """Then the collection does, so that the last values are known to be old."""
    async with pod("a", lambda _: "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") as a:
        stage = Stage(Cluster(a), real())
        with pytest.raises(CollectError) as caught:
            await stage.collect()
        await stage.source.aclose()

    assert Cause.STATUS is caught.value.cause
    assert "none of 1 pods" in caught.value.message


async def test_pods_that_hang_do_not_take_the_turns_of_others_for_ever() -> None:
    """Those that failed are asked last the next time."""
    async with AsyncExitStack() as stack:
        hanging = [await stack.enter_async_context(pod(f"a{index}", lambda _: None)) for index in range(6)]
        good = await stack.enter_async_context(pod("z", counting(1)))
        stage = Stage(Cluster(*hanging, good), real(timeout=0.5), concurrency=1)
        with pytest.raises(CollectError):
            await stage.collect()
        stage.source._failing.discard(("shop", "z"))  # type: ignore[attr-defined]
        response = await stage.collect()
        await stage.source.aclose()

    assert {"z": 3} == values(response, "depth")


async def test_another_instance_begins_anew() -> None:
    """A container that was started again, or another pod of that name: no rate between two lives."""
    async with pod("a", counting(100, 500, 530)) as a:
        stage = Stage(Cluster(a), real())
        await stage.collect()
        stage.cluster.endpoints = [PodEndpoint(a.namespace, a.name, "u/1", a.address, a.ports)]
        stage.wall += 15
        restarted = await stage.collect()
        stage.wall += 15
        later = await stage.collect()
        await stage.source.aclose()

    assert ({}, {"a": 2.0}) == (values(restarted, "requests_total"), values(later, "requests_total"))


async def test_a_pod_that_is_gone_is_forgotten() -> None:
    """No item and no error; and no pods are no error either."""
    async with pod("a", counting(100, 130)) as a:
        stage = Stage(Cluster(a), real())
        await stage.collect()
        stage.cluster.endpoints = []
        gone = await stage.collect()
        stage.cluster.endpoints = [a]
        stage.wall += 15
        back = await stage.collect()
        await stage.source.aclose()

    assert ([], []) == (gone.value, list(gone.unusable))
    assert {} == values(back, "requests_total")


async def test_what_pods_are_asked() -> None:
    """Path, token and headers."""
    requests: list[str] = []

    def answer(request: str) -> str:
        requests.append(request)
        return BODY.format(count=1)

    async with pod("a", answer) as a:
        token = {"bearer": {"token": {"valueFrom": {"secretKeyRef": {"name": "token", "key": "t"}}}}}
        said = {"path": "/stats?format=text", "auth": token, "headers": {"X-Env": "test"}, "port": a.ports[1][1]}
        stage = Stage(Cluster(a), real(FakeSecrets(token="abc")), **said)
        await stage.collect()
        await stage.source.aclose()

    assert requests[0].startswith("GET /stats?format=text HTTP/1.1\r\n")
    assert "Authorization: Bearer abc\r\n" in requests[0]
    assert "X-Env: test\r\n" in requests[0]


async def test_a_watch_that_fails_is_the_failure() -> None:
    """It is not known which pods there are."""
    stage = Stage(Cluster(), real())
    stage.cluster.error = CollectError(Cause.FORBIDDEN, "pods: 403")
    with pytest.raises(CollectError) as caught:
        await stage.collect()

    assert Cause.FORBIDDEN is caught.value.cause


@pytest.mark.parametrize(
    ("said", "words"),
    [
        pytest.param({"port": 0}, "1 to 65535", id="no port"),
        pytest.param({"path": "metrics"}, "begin with /", id="no path"),
        pytest.param({"path": "/a b"}, "begin with /", id="a path that ends the request"),
        pytest.param({"metrics": []}, "at least 1", id="nothing is taken"),
        pytest.param({"seriesPerPod": 0}, "greater than or equal to 1", id="no series"),
        pytest.param({"metrics": [{"name": "a{b}"}]}, "match", id="a query is no name"),
        pytest.param({"metrics": [{"name": "a", "type": "histogram"}]}, "counter", id="of histograms parts are taken"),
    ],
)
def test_specs_that_are_none(said: dict[str, Any], words: str) -> None:
    """Told when they are read."""
    with pytest.raises(ValueError, match=words):
        PodMetricsSpec.model_validate({"port": 80, "metrics": [{"name": "a"}], **said})


def test_what_people_see() -> None:
    """Which pods, and where."""
    spec = PodMetricsSpec.model_validate(
        {"namespaces": ["shop"], "labelSelector": "app=web", "port": 80, "path": "/m?token=x", "metrics": [{"name": "a"}]}
    )

    assert "pods app=web in shop: http port 80 /m" == SOURCE.endpoint(spec)
    assert ["shop"] == SOURCE.namespaces(spec)
