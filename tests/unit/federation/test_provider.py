"""app/federation/provider.py and backend.py: other adapters behind routes, which come, fail, hang and go."""

import asyncio
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry

from app.cache.reports import Report, Reports
from app.certs import Authority
from app.clock import SystemClock
from app.federation import backend, health
from app.federation.provider import PLACEHOLDER, Routes
from app.kinds.collectors import state
from app.kube.credentials import FixedCredentials
from app.served_metrics.values import NODES, PODS, Absent, Answer, Question, Resource
from app.telemetry import Metrics
from app.wire.label_selectors import parse_label_selector
from tests.fakes.clock import ManualClock
from tests.fakes.dialing import FunctionDialer, Reply
from tests.fakes.kube_server import refusal

CUSTOM, EXTERNAL = "/apis/custom.metrics.k8s.io", "/apis/external.metrics.k8s.io/v1beta1"
TIME = "2025-11-30T10:53:20Z"
CUSTOM_ROUTE = "- {name: team, api: custom, url: 'https://team', ca: ca.crt}"
KEDA_ROUTE = "- {name: keda, api: external, url: 'https://keda', ca: ca.crt, metrics: ['s*-*', depth]}"
HITS = Question("custom", "hits", PODS, "shop")
DEPTH = Question("external", "depth", namespace="shop")


class Adapter:
    """An adapter of a few lines: `answers` by host and path; what is not there is a 404. `requests` are kept."""

    def __init__(self) -> None:
        listed = {"resources": [{"name": "pods/hits", "namespaced": True}, {"name": "nodes/load", "namespaced": False}]}
        item = {"describedObject": {"name": "web", "namespace": "shop"}, "timestamp": TIME, "value": "10500m"}
        load = {"describedObject": {"name": "one"}, "timestamp": TIME, "value": "2"}
        depth = {"metricName": "depth", "metricLabels": {"q": "a"}, "timestamp": TIME, "value": "7"}
        self.answers: dict[str, Any] = {
            "/version": {"goVersion": "go1.24"},
            f"{CUSTOM}/v1beta2": listed,
            f"{CUSTOM}/v1beta2/namespaces/shop/pods/*/hits": {"items": [item]},
            f"{CUSTOM}/v1beta2/nodes/one/load": {"items": [load]},
            EXTERNAL: {"resources": [{"name": PLACEHOLDER}]},
            f"{EXTERNAL}/namespaces/shop/depth": {"items": [depth]},
            f"{EXTERNAL}/namespaces/shop/s0-rabbit": {"items": [depth]},
        }
        self.fault: Callable[[httpx.Request], Awaitable[Reply]] | Exception | None = None
        self.requests: list[httpx.Request] = []

    async def __call__(self, request: httpx.Request) -> Reply:
        self.requests.append(request)
        if isinstance(self.fault, Exception):
            raise self.fault
        if self.fault is not None:
            return await self.fault(request)
        answer = self.answers.get(request.url.path, refusal(404, f"no {request.url.path}", "NotFound"))
        return answer if isinstance(answer, httpx.Response | bytes) else httpx.Response(200, json=answer)


class Whole:
    """Routes with their file, and the adapter that all of them lead to."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.adapter, self.clock, self.changes = folder, Adapter(), ManualClock(), 0
        self.reports, self.metrics = Reports(), Metrics(CollectorRegistry())

    def start(self, *routes: str) -> Routes:
        self.write(*routes)
        self.routes = Routes(
            self.folder / "routes.yaml",
            FixedCredentials("Bearer ours"),
            self.clock,
            reports=self.reports,
            metrics=self.metrics,
            changed=self._changed,
            dialer=lambda: FunctionDialer(self.adapter),
        )
        return self.routes

    def write(self, *routes: str) -> None:
        """Another file, as when the kubelet swaps the link of a ConfigMap."""
        fresh = self.folder / "fresh.yaml"
        fresh.write_text("routes:\n" + "\n".join(routes), encoding="utf-8")
        fresh.replace(self.folder / "routes.yaml")

    def _changed(self) -> None:
        self.changes += 1

    def listed(self) -> list[str]:
        return [entry.discovery_name for entry in self.routes.entries()]

    def report(self, route: str = "team") -> Report:
        self.reports.ask()
        found = self.reports.get(f"route:{route}")
        assert found is not None
        return found

    def counted(self) -> dict[tuple[str, str], float]:
        """Requests by route and result."""
        samples = [sample for family in self.metrics.registry.collect() for sample in family.samples]
        asked = [each for each in samples if each.name == "kubeglance_route_requests_total"]
        return {(each.labels["route"], each.labels["result"]): each.value for each in asked}

    def seconds(self, route: str = "team") -> float | None:
        """What the requests of a route took together."""
        return self.metrics.registry.get_sample_value("kubeglance_route_request_duration_seconds_sum", {"route": route})


@pytest.fixture
def whole(tmp_path: Path) -> Whole:
    (tmp_path / "ca.crt").write_bytes(Authority.create("routes", SystemClock()).certificate_pem)
    return Whole(tmp_path)


async def reason(routes: Routes, question: Question, *, known: bool = True) -> str:
    found = await routes.answer(question)
    assert isinstance(found, Absent), found
    assert found.known is known, found
    return found.reason


async def values(routes: Routes, question: Question) -> list[Decimal]:
    found = await routes.answer(question)
    assert isinstance(found, Answer), found
    return [series.value for series in found.series]


async def test_what_an_adapter_lists_is_listed_and_answered(whole: Whole) -> None:
    """As our own ServiceAccount, with the selectors that were sent. Objects without a namespace are asked for at the root."""
    routes = whole.start(CUSTOM_ROUTE)
    assert [] == whole.listed()
    assert "route team never answered: it was not asked yet" in await reason(routes, HITS, known=False)
    await routes.turn()

    assert (["pods/hits", "nodes/load"], 1) == (whole.listed(), whole.changes)
    assert {("route team", "adapter")} == {(entry.provider, entry.source) for entry in routes.entries()}
    selected = Question("custom", "hits", PODS, "shop", None, parse_label_selector("app in (a,b)"), parse_label_selector("verb!=GET"))
    assert [Decimal("10.5")] == await values(routes, selected)
    sent = whole.adapter.requests[-1]
    assert {"labelSelector": "app in (a,b)", "metricLabelSelector": "verb!=GET"} == dict(sent.url.params)
    assert "Bearer ours" == sent.headers["Authorization"]
    assert [Decimal(2)] == await values(routes, Question("custom", "load", NODES, "shop", "one"))
    assert [1_764_500_000 * 10**9] * 2 == [routes.state(entry).last for entry in routes.entries()]
    assert await routes.answer(Question("custom", "misses", PODS, "shop")) is None
    assert await routes.answer(DEPTH) is None


async def test_an_adapter_that_lists_nothing(whole: Whole) -> None:
    """KEDA: the file names its metrics. Those in full are listed at once, for patterns the API is there."""
    routes = whole.start(KEDA_ROUTE)
    assert ["depth"] == whole.listed()
    await routes.turn()

    assert [[Decimal(7)], [Decimal(7)]] == [
        await values(routes, each) for each in (DEPTH, Question("external", "s0-rabbit", namespace="shop"))
    ]
    assert "no /apis/external" in await reason(routes, Question("external", "s1-none", namespace="shop"), known=False)
    routes = whole.start(KEDA_ROUTE.replace(", depth", ""))
    assert [PLACEHOLDER] == whole.listed()


async def test_an_older_version(whole: Whole) -> None:
    """An adapter that serves v1beta1 only is asked in it."""
    for path in [path for path in whole.adapter.answers if "v1beta2" in path]:
        whole.adapter.answers[path.replace("v1beta2", "v1beta1")] = whole.adapter.answers.pop(path)
    routes = whole.start(CUSTOM_ROUTE)
    await routes.turn()

    assert [Decimal("10.5")] == await values(routes, HITS)


async def _no_answer(_request: httpx.Request) -> Reply:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        pytest.param(ConnectionRefusedError(111, "Connection refused"), "Connection refused", id="dead"),
        pytest.param(_no_answer, "it did not answer within 0.01 s", id="hangs"),
    ],
)
async def test_an_adapter_that_does_not_answer(whole: Whole, fault: Any, cause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its metrics stay listed and have no value: the cause is told, and how old its last answer is. Then it is back."""
    monkeypatch.setattr(backend, "WAIT_S", 0.01)
    routes = whole.start(CUSTOM_ROUTE, KEDA_ROUTE)
    await routes.turn()
    whole.adapter.fault = fault
    whole.clock.advance(42)

    told = await reason(routes, HITS)
    assert "the adapter of route team fails (its last answer is 42 s old): " in told
    assert cause in told
    await routes.turn()
    assert ["pods/hits", "nodes/load", "depth"] == whole.listed()
    assert cause in routes.state(routes.entries()[0]).error
    whole.adapter.fault = None
    assert [Decimal("10.5")] == await values(routes, HITS)
    whole.clock.advance(health.TURN_S)
    await routes.turn()
    assert not routes.state(routes.entries()[0]).error


@pytest.mark.parametrize(
    ("answer", "cause", "known"),
    [
        pytest.param(refusal(500, "Internal error"), "the adapter answered 500: Internal error", True, id="500"),
        pytest.param(refusal(403, "no right", "Forbidden"), "the adapter answered 403: no right", True, id="403"),
        pytest.param(refusal(404, "could not find the metric", "NotFound"), "could not find the metric", False, id="404"),
        pytest.param(httpx.Response(200, text="<html>"), "the answer of the adapter is not JSON", True, id="no JSON"),
        pytest.param({"items": []}, "the adapter has no values", True, id="empty"),
        pytest.param({"items": [{"value": "x"}]}, "has a value that cannot be read", True, id="no quantity"),
        pytest.param(httpx.Response(200, content=b"1" * 2048), "has more than 1000 bytes", True, id="too much"),
    ],
)
async def test_an_answer_without_a_value(whole: Whole, answer: Any, cause: str, known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs its own metric: the adapter is well."""
    monkeypatch.setattr(backend, "MOST_BYTES", 1000)
    whole.adapter.answers[f"{CUSTOM}/v1beta2/namespaces/shop/pods/*/hits"] = answer
    routes = whole.start(CUSTOM_ROUTE)
    await routes.turn()

    assert cause in await reason(routes, HITS, known=known)
    assert [Decimal(2)] == await values(routes, Question("custom", "load", NODES, "shop", "one"))


async def test_a_kubeglance_is_no_adapter(whole: Whole) -> None:
    """It would be asked in circles."""
    whole.adapter.answers["/version"] = {"goVersion": "python3.11.2"}
    routes = whole.start(CUSTOM_ROUTE, KEDA_ROUTE)
    await routes.turn()

    assert ["depth"] == whole.listed()
    assert "it is a kubeglance itself" in await reason(routes, DEPTH)
    assert {"/version"} == {request.url.path for request in whole.adapter.requests}


async def test_a_file_that_changes(whole: Whole) -> None:
    """What is the same stays as it is; a file that cannot be used leaves all as it is."""
    routes = whole.start(CUSTOM_ROUTE)
    await routes.turn()
    whole.write(CUSTOM_ROUTE.replace("custom", "costume"))
    await routes.turn()
    assert ["pods/hits", "nodes/load"] == whole.listed()
    whole.write(KEDA_ROUTE)
    await routes.turn()
    assert ["depth"] == whole.listed()
    assert await routes.answer(HITS) is None
    assert [Decimal(7)] == await values(routes, DEPTH)


async def test_a_ca_that_comes_after_the_file(whole: Whole) -> None:
    """The file is the same then; a route is there as soon as all that it names is."""
    routes = whole.start(CUSTOM_ROUTE)
    whole.write(KEDA_ROUTE.replace("ca.crt", "late.crt"))
    await routes.turn()
    assert ["pods/hits", "nodes/load"] == whole.listed()
    (whole.folder / "late.crt").write_bytes((whole.folder / "ca.crt").read_bytes())
    await routes.turn()

    assert ["depth"] == whole.listed()


async def test_another_ca_is_another_route(whole: Whole) -> None:
    """Connections that an older one verified are not used any more."""
    routes = whole.start(KEDA_ROUTE)
    await routes.turn()
    ca = whole.folder / "ca.crt"
    ca.write_bytes(ca.read_bytes() + b"\n")
    os.utime(ca, ns=(1, 1))
    asked = len(whole.adapter.requests)
    await routes.turn()

    assert ["/version", EXTERNAL] == [request.url.path for request in whole.adapter.requests[asked:]]


async def test_what_is_asked_is_quoted(whole: Whole) -> None:
    """A name of a metric or of an object stays one part of a path."""
    routes = whole.start(KEDA_ROUTE.replace("depth", '"*"').replace("external", "custom"))
    await routes.turn()
    await reason(routes, Question("custom", "a/b?c d", Resource("x", "y/z"), "n/s", "o#p"), known=False)

    assert whole.adapter.requests[-1].url.raw_path == f"{CUSTOM}/v1beta2/namespaces/n%2Fs/y%2Fz.x/o%23p/a%2Fb%3Fc%20d".encode()


async def test_a_route_is_reported(whole: Whole) -> None:
    """Waiting, well, failing since then and so often, and well again: as `kubectl get collectors` tells it."""
    routes = whole.start(CUSTOM_ROUTE)
    assert ("Pending", 0, 0) == (state(whole.report()), whole.report().items, whole.report().last)

    began = whole.clock.wall()
    await routes.turn()
    well = whole.report()
    assert ("Healthy", 2, round(began * 1e9), "") == (state(well), well.items, well.last, well.error)
    assert ("adapter", "https://team", str(whole.folder / "routes.yaml")) == (well.source, well.endpoint, well.file)
    assert (health.LIST_S, round((began + health.LIST_S) * 1e9)) == (well.interval, well.next)

    whole.adapter.fault = ConnectionRefusedError(111, "Connection refused")
    whole.clock.advance(10)
    await reason(routes, HITS)
    whole.clock.advance(20)
    await routes.turn()
    failing = whole.report()
    assert ("Failing", 2, round(began * 1e9), 2) == (state(failing), failing.items, failing.last, failing.failures)
    (target,) = failing.failing
    assert ("team", "dial", round((began + 10) * 1e9), 2) == (target.name, target.cause, target.since, target.failures)
    assert target.message == failing.error
    assert "Connection refused" in failing.error

    whole.adapter.fault = None
    whole.clock.advance(health.TURN_S)
    await routes.turn()
    assert ("Healthy", 0, "") == (state(whole.report()), whole.report().failures, whole.report().error)


async def test_a_file_that_cannot_be_used_is_reported(whole: Whole) -> None:
    """With each route, for each stays as it was; a route that is gone has no report and no series any more."""
    routes = whole.start(CUSTOM_ROUTE, KEDA_ROUTE)
    await routes.turn()
    whole.write(CUSTOM_ROUTE.replace("custom", "costume"))
    await routes.turn()
    assert ["Invalid", "Invalid"] == [state(whole.report(route)) for route in ("team", "keda")]
    assert "routes.yaml:2:21: routes[0].api: Unsupported value" in whole.report().invalid

    whole.write(KEDA_ROUTE)
    await routes.turn()
    whole.reports.ask()
    assert (["route:keda"], "Healthy") == (whole.reports.names(), state(whole.report("keda")))
    assert {"keda"} == {route for route, _ in whole.counted()}
    assert whole.seconds() is None


async def _slow(whole: Whole, _request: httpx.Request) -> Reply:
    whole.clock.advance(2)
    return httpx.Response(200, json={})


async def test_requests_are_counted_with_their_time(whole: Whole) -> None:
    """Those for lists too. Of a caller that leaves nothing is counted."""
    routes = whole.start(CUSTOM_ROUTE)
    await routes.turn()
    await values(routes, HITS)
    assert ({("team", "success"): 3.0}, 0.0) == (whole.counted(), whole.seconds())

    whole.adapter.fault = partial(_slow, whole)
    await reason(routes, HITS)
    assert ({("team", "success"): 3.0, ("team", "payload"): 1.0}, 2.0) == (whole.counted(), whole.seconds())

    whole.adapter.fault = _no_answer
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await routes.answer(HITS)
    assert {("team", "success"): 3.0, ("team", "payload"): 1.0} == whole.counted()


def _distrust() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "Hostname mismatch"
    return error


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        pytest.param(ConnectionRefusedError(111, "Connection refused"), "dial", id="dead"),
        pytest.param(socket.gaierror(-2, "Name or service not known"), "dns", id="no such Service"),
        pytest.param(_distrust(), "certificate", id="the certificate of somebody else"),
        pytest.param(ConnectionResetError(104, "Connection reset"), "closed", id="closed"),
        pytest.param(_no_answer, "deadline", id="hangs"),
    ],
)
async def test_what_keeps_an_adapter_from_answering_has_a_cause(
    whole: Whole, fault: Any, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same ones as of other sources, in the report and in self-metrics; known issues have a remedy for each."""
    monkeypatch.setattr(backend, "WAIT_S", 0.01)
    whole.adapter.fault = fault
    await whole.start(CUSTOM_ROUTE).turn()

    assert ["Failing", cause] == [state(whole.report()), whole.report().failing[0].cause]
    assert {("team", cause): 1.0} == whole.counted()


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        pytest.param(refusal(401, "who are you", "Unauthorized"), "unauthorized", id="401"),
        pytest.param(refusal(403, "no right", "Forbidden"), "forbidden", id="403"),
        pytest.param(refusal(404, "no such API", "NotFound"), "not_found", id="404"),
        pytest.param(refusal(503, "not yet"), "status", id="503"),
        pytest.param(httpx.Response(200, text="<html>"), "payload", id="no JSON"),
        pytest.param({"items": []}, "payload", id="no list of resources"),
        pytest.param(httpx.Response(200, content=b"1" * 2048), "too_large", id="too much"),
    ],
)
async def test_a_list_that_is_of_no_use_has_a_cause(whole: Whole, answer: Any, cause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The adapter answers, and that is known: its last answer is none that is old."""
    monkeypatch.setattr(backend, "MOST_BYTES", 1000)
    for version in ("v1beta2", "v1beta1"):
        whole.adapter.answers[f"{CUSTOM}/{version}"] = answer
    await whole.start(CUSTOM_ROUTE).turn()

    assert ["Failing", cause] == [state(whole.report()), whole.report().failing[0].cause]
    assert {("team", "success"), ("team", cause)} == whole.counted().keys()
    assert "its last answer is 0 s old" in await reason(whole.routes, HITS, known=False)


async def test_a_kubeglance_is_reported_as_not_allowed(whole: Whole) -> None:
    """It answers, and is not asked any further."""
    whole.adapter.answers["/version"] = {"goVersion": "python3.11.2"}
    await whole.start(CUSTOM_ROUTE).turn()

    assert ["Failing", "not_allowed"] == [state(whole.report()), whole.report().failing[0].cause]
