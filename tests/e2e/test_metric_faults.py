"""Metrics from Prometheus whatever goes wrong there: a value is the last good one or none, and never a zero; the cause is told.

What the real server can be made to do it does; what it cannot (414, a proxy's page, a token that expires) a server of a few lines says.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, cast

import pytest
import yaml
from prometheus_client import CollectorRegistry

from app.cache.reports import Reports
from app.cache.versions import Versions
from app.clock import SystemClock
from app.declared.check import check
from app.declared.declaration import is_metric
from app.declared.documents import read
from app.declared.live_metric import compile_metric
from app.declared.mask import Mask
from app.declared.means import Provider
from app.declared.secrets import Secrets
from app.pipeline.live_loop import LiveLoop, Opener, Surroundings
from app.pipeline.live_series import ArrangedSeries, LiveSeries
from app.served_metrics.declared import DeclaredMetrics
from app.served_metrics.objects import Objects as Described
from app.served_metrics.values import Absent, Answer, Question
from app.telemetry import Metrics
from collectors import sources
from collectors._prometheus_servers import ServerSpec
from collectors._source import Source
from tests.e2e.conftest import demand
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.sources import prometheus
from tests.e2e.sources.collecting import OWN, Objects
from tests.e2e.sources.exporter import Exporter
from tests.e2e.sources.prometheus import PrometheusServer
from tests.fakes.declared import at_once

ODD = 'odd{kind="nan"} NaN\nodd{kind="inf"} +Inf\nodd{kind="minus"} -Inf\nodd{kind="large"} 1e+18\nodd{kind="part"} 0.1\n'
GOOD = json.dumps({"status": "success", "data": {"resultType": "scalar", "result": [1764500000, "7"]}})


@dataclass
class Metric:
    """One external metric as `serve` serves it: `once` collects, `ask` answers."""

    loop: LiveLoop[ArrangedSeries]
    provider: DeclaredMetrics
    reports: Reports
    name: str

    async def once(self) -> None:
        await self.loop.once()

    async def ask(self) -> Answer | Absent:
        found = await self.provider.answer(Question("external", self.name, None, "shop"))
        assert found is not None
        return found

    async def values(self) -> list[Decimal]:
        found = await self.ask()
        return [each.value for each in found.series] if isinstance(found, Answer) else []

    @property
    def causes(self) -> list[str]:
        report = self.reports.get(self.name.replace("_", "-"))
        assert report is not None
        return [each.cause for each in report.failing]


@asynccontextmanager
async def serving(
    urls: Mapping[str, str],
    queries: Mapping[str, str],
    *,
    secrets: Mapping[str, str] | None = None,
    timeout: str = "5s",
    auth: Any = None,
) -> AsyncIterator[Sequence[Metric]]:
    """Metrics of named servers, by name: a query of the server `main`, or "SERVER: QUERY" of another one."""
    clock, mask, reports = SystemClock(), Mask(), Reports()
    held = Objects(secrets={"token": secrets} if secrets is not None else {}, config_maps={})
    specs = {name: ServerSpec.model_validate({"url": url, **({"auth": auth} if auth else {})}) for name, url in urls.items()}
    means = Provider(Secrets(held, own_namespace=OWN, mask=mask, clock=clock), mask, clock, servers=specs)
    around = Surroundings(clock, Versions(clock, 1), reports, Metrics(CollectorRegistry()), at_once, mask)
    provider = DeclaredMetrics(cast("Described", None), reports, clock, changed=lambda: None)
    opened: list[Source] = []
    found: list[Metric] = []
    for name, query in queries.items():
        server, _, rest = query.partition(": ") if ": " in query else ("main", "", query)
        documents, _ = read(yaml.safe_dump(_said(name, server, rest, timeout)), "m.yaml")
        (declaration,) = check(documents).declarations
        assert is_metric(declaration)
        spec = sources()["prometheus"].spec.model_validate(declaration.resource.spec.source["prometheus"])
        opened.append(sources()["prometheus"].open(spec, means.means(declaration)))
        series = LiveSeries(declaration, compile_metric(declaration), source="prometheus", clock=clock)
        provider.put({declaration.name: series.metric})
        loop = LiveLoop(declaration, series, Opener("prometheus", f"prometheus {server}", _given(opened[-1])), around)
        found.append(Metric(loop, provider, reports, name))
    try:
        yield found
    finally:
        for source in opened:
            await source.aclose()
        await means.aclose()


def _given(source: Source) -> Callable[[], Source]:
    return lambda: source


def _said(name: str, server: str, query: str, timeout: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubeglance.io/v1alpha1",
        "kind": "LiveMetric",
        "metadata": {"name": name.replace("_", "-")},
        "spec": {
            "api": "external",
            "name": name,
            "source": {"prometheus": {"server": server, "query": query}},
            "interval": "15s",
            "timeout": timeout,
            "items": "response",
            "sample": {"value": "item.value", "labels": {"kind": "item.labels.kind"} if query == "odd" else {}},
            "namespaces": ["shop"],
        },
    }


@pytest.fixture(scope="module")
def server(_end_with_us: None) -> Iterator[PrometheusServer]:
    """A server that has scraped odd numbers."""
    demand(prometheus.skip_reason())
    with Exporter(lambda: ODD) as exporter, PrometheusServer([exporter.target]) as started:
        started.start()
        wait_until("the exporter to be scraped", lambda: len(started.query("odd")) == 5, seconds=60)
        yield started


def url(server: PrometheusServer) -> dict[str, str]:
    return {"main": f"http://127.0.0.1:{server.port}"}


@dataclass
class Scripted:
    """A server that says what the test wants: a status and a body, or None to hang. It keeps the requests."""

    says: tuple[int, str] | None = (200, GOOD)
    requests: list[str] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    token: str = ""
    url: str = ""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        with suppress(OSError, EOFError):  # who asks may be gone by now
            await self._answer(reader, writer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.requests.append(request)
        self.asked.set()
        if self.says is None:
            await reader.read()
            return
        status, body = (401, "") if self.token and f"Bearer {self.token}\r\n" not in request else self.says
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
        await writer.drain()


@asynccontextmanager
async def scripted() -> AsyncIterator[Scripted]:
    found = Scripted()
    listening = await asyncio.start_server(found.serve, "127.0.0.1", 0)
    found.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield found
    finally:
        listening.close()
        await asyncio.gather(*found.tasks)  # who asked has gone


async def test_odd_numbers(server: PrometheusServer) -> None:
    """NaN and infinite ones are dropped and counted; a large one is exact."""
    async with serving(url(server), {"odd_numbers": "odd"}) as (metric,):
        await metric.once()
        report = metric.reports.get("odd-numbers")

        assert [Decimal(10**18), Decimal("0.1")] == await metric.values()
        assert report is not None
        assert (2, 3) == (report.items, report.dropped)


@pytest.mark.parametrize(
    ("query", "cause"),
    [
        pytest.param("nonexistent", None, id="an empty answer is no failure, and no zero"),
        pytest.param('odd{kind="nan"}', None, id="nothing but NaN"),
        pytest.param('"text"', "payload", id="of the wrong type"),
        pytest.param("sum(", "query", id="400"),
        pytest.param("odd * on (job) odd", "query", id="422"),
    ],
)
async def test_no_value(server: PrometheusServer, query: str, cause: str | None) -> None:
    """An answer without a number is no answer; a failure has the cause."""
    async with serving(url(server), {"empty": query}) as (metric,):
        await metric.once()
        absent = await metric.ask()

        assert isinstance(absent, Absent)
        assert absent.known
        assert ([cause] if cause else []) == metric.causes
        if cause:
            assert f"fails ({cause}" in absent.reason


@pytest.mark.parametrize("outage", ["killed", "frozen"])
async def test_a_server_that_is_down_or_hangs(server: PrometheusServer, outage: str) -> None:
    """The last good value stays for its time, and the next good one is taken."""
    async with serving(url(server), {"three": "scalar(vector(3))"}, timeout="2s") as (metric,):
        await metric.once()
        if outage == "killed":
            server.kill()
        else:
            server.freeze()
        try:
            await metric.once()
            assert {"killed": metric.causes[0] in {"dial", "closed"}, "frozen": metric.causes == ["deadline"]}[outage]
            assert [Decimal(3)] == await metric.values()
        finally:
            if outage == "killed":
                server.start()
            else:
                server.thaw()
        await metric.once()

        assert ([], [Decimal(3)]) == (metric.causes, await metric.values())


@pytest.mark.parametrize(
    ("says", "cause"),
    [
        pytest.param((414, ""), "status", id="414"),
        pytest.param((422, '{"status":"error","errorType":"execution","error":"too many samples"}'), "query", id="422"),
        pytest.param((422, "query too long"), "status", id="422 of another server"),
        pytest.param((503, '{"status":"error","errorType":"timeout","error":"query timed out"}'), "deadline", id="503"),
        pytest.param((503, "<html>"), "status", id="503 of a proxy"),
        pytest.param((200, '{"status":"success","data":{"resu'), "payload", id="invalid JSON"),
        pytest.param((200, "<html>"), "payload", id="a page"),
        pytest.param((401, ""), "unauthorized", id="401"),
    ],
)
async def test_answers_that_are_none(says: tuple[int, str], cause: str) -> None:
    """Before any value there is none, and after one it stays."""
    async with scripted() as odd, serving({"main": odd.url}, {"seven": "x"}) as (metric,):
        odd.says = says
        await metric.once()
        before, causes = await metric.ask(), metric.causes
        odd.says = (200, GOOD)
        await metric.once()
        good = await metric.values()
        odd.says = says
        await metric.once()

        assert isinstance(before, Absent)
        assert cause in before.reason
        assert ([cause], [Decimal(7)], [cause]) == (causes, good, metric.causes)
        assert [Decimal(7)] == await metric.values()


async def test_a_token_that_expired_is_read_again() -> None:
    """Within the same collection, once somebody has put a new one into the Secret."""
    secret = {"token": "old"}
    auth = {"bearer": {"token": {"valueFrom": {"secretKeyRef": {"name": "token", "key": "token"}}}}}
    async with scripted() as odd:
        odd.token = "old"
        async with serving({"main": odd.url}, {"seven": "x"}, secrets=secret, auth=auth) as (metric,):
            await metric.once()
            odd.token = "new"
            await metric.once()

            assert ["unauthorized"] == metric.causes
            assert [Decimal(7)] == await metric.values()
            assert "old" not in str(await metric.ask())


async def test_a_source_that_hangs_does_not_delay_a_healthy_one() -> None:
    """Twenty metrics of a server that hangs, and one of another."""
    async with scripted() as hanging, scripted() as healthy:
        hanging.says = None
        queries = {f"h{index}": f"hanging: q{index}" for index in range(20)}
        async with serving({"hanging": hanging.url, "main": healthy.url}, {**queries, "good": "x"}, timeout="2s") as metrics:
            *stuck, good = metrics
            waiting = [asyncio.ensure_future(each.once()) for each in stuck]
            await hanging.asked.wait()
            await good.once()

            assert [Decimal(7)] == await good.values()
            assert not any(each.done() for each in waiting)
            await asyncio.gather(*waiting)
            assert [["deadline"]] * 20 == [each.causes for each in stuck]
            assert [[]] * 20 == [await each.values() for each in stuck]


async def test_what_is_asked_alike_is_asked_once() -> None:
    """Ten metrics of one query cost one request."""
    async with scripted() as odd, serving({"main": odd.url}, {f"m{index}": "x" for index in range(10)}) as metrics:
        await asyncio.gather(*(each.once() for each in metrics))

        assert 1 == len(odd.requests)
        assert [[Decimal(7)]] * 10 == [await each.values() for each in metrics]
