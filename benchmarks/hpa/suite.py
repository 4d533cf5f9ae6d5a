"""The hpa suite: first each server alone under 500 autoscalers, which tells what they cost Prometheus; then both in turn, as fast as they
answer.

prometheus-adapter asks kube-apiserver for pods on each request, five times a second unless --client-qps says more. Targets are against
one without that limit (--client-qps=1000); what it does as it is released is reported beside.
"""

import asyncio
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import quantiles

import httpx

from app.clock import SystemClock
from app.wire.quantity import parse_cpu
from benchmarks import load
from benchmarks.answers import WrongAnswer
from benchmarks.cluster import Cluster
from benchmarks.contest import contest
from benchmarks.growth.pace import Server as Paced
from benchmarks.hpa.autoscalers import PERIOD_S, Autoscalers
from benchmarks.hpa.metrics import GROUP, METRICS, PODS, RULES, Told, of_pods, selected
from benchmarks.plan import SELECTED_APP
from benchmarks.progress import say
from benchmarks.rows import Better, Figure, Row
from benchmarks.scenarios import FEW, Scenario
from benchmarks.servers import Server, start_kubeglance
from tests.e2e.controlplane import programs
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.peer import PrometheusAdapter
from tests.e2e.sources import prometheus
from tests.e2e.sources.exporter import Exporter
from tests.e2e.sources.prometheus import PrometheusServer

NEEDED = ("etcd", "kube-apiserver", "kubectl", PrometheusAdapter.name)
AUTOSCALERS = 500
NAMESPACE = "team-0"
APPS = ("web", "cart", "worker", "mail")
"""The Deployments of each namespace, each asked for by a selector of its own."""

TOLERANCE = 0.05
"""Part of a rate: Prometheus extrapolates to the ends of its window."""

_SCRAPED = "10s"
_RIGHT_WITHIN_S = 180
_READER = f"""
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: benchmarks-autoscaler}}
rules:
- {{apiGroups: [{GROUP}], resources: ["*"], verbs: [get]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: benchmarks-autoscaler}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: benchmarks-autoscaler}}
subjects: [{{kind: ServiceAccount, name: reader, namespace: benchmarks}}]
"""

RATE = Figure("hpa_requests", "requests/s", Better.HIGHER, 10)
RATE_P50 = Figure("hpa_requests_p50", "ms", Better.LOWER)
RATE_P99 = Figure("hpa_requests_p99", "ms", Better.LOWER)
ALONE_P50 = Figure("hpa_request_alone_p50", "ms", Better.LOWER, 0.05)
ALONE_P99 = Figure("hpa_request_alone_p99", "ms", Better.LOWER)
CONTESTED = (RATE, RATE_P50, RATE_P99, ALONE_P50, ALONE_P99)
QUERIES = Figure("hpa_autoscalers_queries", "per answer", Better.LOWER, 0.1)
ANSWERED = Figure("hpa_autoscalers_answered", "%", Better.HIGHER)
SYNC_P50 = Figure("hpa_autoscalers_p50", "ms", Better.LOWER)
SYNC_P99 = Figure("hpa_autoscalers_p99", "ms", Better.LOWER)
AUTOSCALED = (QUERIES, ANSWERED, SYNC_P50, SYNC_P99)


def limited(figure: Figure) -> Figure:
    """The same beside the adapter as it is released; nothing is claimed of it."""
    return replace(figure, name=f"{figure.name}_default_limit", target=None)


FIGURES = (*CONTESTED, *AUTOSCALED, *(limited(figure) for figure in (*CONTESTED, *AUTOSCALED)))


@dataclass(frozen=True)
class Stage:
    """All that the servers work on."""

    scenario: Scenario
    cluster: Cluster
    prometheus: PrometheusServer
    arguments: Sequence[str]

    def kubeglance(self) -> Server:
        """With its defaults: it scrapes kubelets too."""
        return start_kubeglance("kubeglance", self.cluster.plane, self.cluster.token, *self.arguments)

    def adapter(self) -> Server:
        """Without its limit."""
        return self._adapter("prometheus-adapter --client-qps=1000", "--client-qps=1000", "--client-burst=1000")

    def limited_adapter(self) -> Server:
        """As it is released."""
        return self._adapter("prometheus-adapter")

    def _adapter(self, name: str, *flags: str) -> Server:
        program = PrometheusAdapter(self.cluster.plane, arguments=self.arguments, flags=flags)
        return Server(name, program, self.cluster.plane, self.cluster.token)

    def wait_right(self, server: Server) -> None:
        """Until the answers for all metrics, namespaces and apps are right. Raises WaitedInVain with what is wrong."""
        with server.client() as client:
            for namespace, metric in product(self.cluster.plan.namespaces, METRICS):
                expected = selected(self.cluster.plan, namespace, metric)

                def look(path: str = of_pods(namespace, metric, SELECTED_APP), expected: Mapping[str, int] = expected) -> bool:
                    server.check()
                    try:
                        check(server.name, expected, client.get(path))
                    except (httpx.TransportError, WrongAnswer) as error:
                        raise OSError(str(error)) from error
                    return True

                wait_until(f"{server.name} is right about {metric} in {namespace}", look, seconds=_RIGHT_WITHIN_S, every=1)


Measure = Callable[[Stage, Server], Mapping[Figure, float]]


def missing() -> str | None:
    """One line that says what is to be installed or built first, if anything is."""
    return programs.skip_reason(*NEEDED) or prometheus.skip_reason() or load.missing()


def fitted(scenario: Scenario) -> Scenario:
    """The scenario with two namespaces of 700 pods, whatever size it says."""
    return replace(scenario, nodes=PODS // scenario.pods)


def run(scenario: Scenario, chosen: frozenset[str], directory: Path) -> list[Row]:
    """All rows; nothing if only other rows are wanted."""
    if chosen:
        return []
    series = PODS * len(METRICS)
    say(f"starting a control plane with {PODS} pods, and Prometheus with {series} series")
    rules = directory / "adapter.yaml"
    rules.write_text(RULES, encoding="utf-8")
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster.up(scenario, directory / "hpa"))
        cluster.plane.apply(_READER)
        exporter = stack.enter_context(Exporter(Told(cluster.plan, SystemClock())))
        server = stack.enter_context(PrometheusServer([exporter.target], interval=_SCRAPED)).start()
        counted = f'count({{__name__=~"{METRICS[0][:-2]}.*"}}) == {series}'
        wait_until("all series in Prometheus", lambda: bool(server.query(counted)), seconds=_RIGHT_WITHIN_S, every=1)
        arguments = [f"--config={rules}", f"--prometheus-url={server.url}/", "--metrics-relist-interval=1m"]
        return list(_rows(Stage(scenario, cluster, server, arguments)))


def check(who: str, expected: Mapping[str, int], answer: httpx.Response) -> None:
    """Raise WrongAnswer unless these pods and no others have these rates, within TOLERANCE."""
    if answer.status_code != 200:
        raise WrongAnswer(f"{who}: {answer.url} was answered {answer.status_code}: {answer.text[:300]}")
    seen = {item["describedObject"]["name"]: parse_cpu(item["value"]) / 1e9 for item in answer.json()["items"]}
    if missing := expected.keys() ^ seen.keys():
        raise WrongAnswer(f"{who}: {len(missing)} pods are missing or should not be there, such as {min(missing)}")
    for pod, rate in expected.items():
        if abs(seen[pod] - rate) > TOLERANCE * rate:
            raise WrongAnswer(f"{who}: {pod} has {rate} requests a second, the answer says {seen[pod]}")


def _rows(stage: Stage) -> Iterator[Row]:
    ours, unlimited = (_alone(stage, start, _autoscaled) for start in (stage.kubeglance, stage.adapter))
    as_released = _alone(stage, stage.limited_adapter, _as_fast_as_it_answers, _autoscaled)
    with closing(stage.kubeglance()) as kubeglance, closing(stage.adapter()) as adapter:
        for server in (kubeglance, adapter):
            stage.wait_right(server)
        measure = partial(_as_fast_as_it_answers, stage)
        contested = contest(kubeglance, adapter, stage.scenario.rounds, measure, judges=stage.scenario.judges)
    yield from contested
    yield from (Row(figure, [ours[figure]], [unlimited[figure]]) for figure in AUTOSCALED)
    yield from (Row(limited(row.figure), row.ours, [as_released[row.figure]]) for row in contested)
    yield from (Row(limited(figure), [ours[figure]], [as_released[figure]]) for figure in AUTOSCALED)


def _alone(stage: Stage, start: Callable[[], Server], *measures: Measure) -> Mapping[Figure, float]:
    """What one server does while no other asks Prometheus."""
    with closing(start()) as server:
        stage.wait_right(server)
        return {figure: value for measure in measures for figure, value in measure(stage, server).items()}


def _autoscaled(stage: Stage, server: Server) -> Mapping[Figure, float]:
    """Under all autoscalers; they have asked once before it counts."""
    context = ssl.create_default_context(cafile=stage.cluster.plane.pki.serving.certificate)
    headers = f"Host: 127.0.0.1\r\nAccept: application/json\r\nAuthorization: Bearer {server.reader}"
    paced = Paced(server.port, context, headers)
    combinations = product(stage.cluster.plan.namespaces, METRICS, APPS)
    kinds = [of_pods(namespace, metric, app) for namespace, metric, app in combinations]
    paths = [kinds[number % len(kinds)] for number in range(AUTOSCALERS)]
    seconds = stage.scenario.windows * PERIOD_S

    async def measure() -> tuple[int, Sequence[float]]:
        autoscalers = Autoscalers(paced, paths)
        async with asyncio.TaskGroup() as group:
            group.create_task(autoscalers.run(PERIOD_S + seconds))
            await asyncio.sleep(PERIOD_S)
            asked, answered = stage.prometheus.asked(), len(autoscalers.latencies)
        return stage.prometheus.asked() - asked, autoscalers.latencies[answered:]

    asked, latencies = asyncio.run(measure())
    if len(latencies) < 2:
        raise WrongAnswer(f"{server.name} answered {len(latencies)} requests of {AUTOSCALERS} autoscalers in {seconds:.0f} s")
    values = {
        QUERIES: asked / len(latencies),
        ANSWERED: 100 * len(latencies) / (AUTOSCALERS * stage.scenario.windows),
        **dict(zip((SYNC_P50, SYNC_P99), _percentiles(latencies), strict=True)),
    }
    _tell(server, values)
    return values


def _as_fast_as_it_answers(stage: Stage, server: Server) -> Mapping[Figure, float]:
    """The same request on 4 connections, and on one."""
    stage.cluster.check()
    server.check()
    paths = [of_pods(NAMESPACE, METRICS[0], SELECTED_APP)]
    headers = {**server.headers, "Accept": "application/json"}
    many, one = (load.run(server.url, paths, headers, connections=each, seconds=stage.scenario.span_seconds) for each in (FEW, 1))
    values = {
        RATE: many.rate,
        RATE_P50: many.percentile(0.5),
        RATE_P99: many.percentile(0.99),
        ALONE_P50: one.percentile(0.5),
        ALONE_P99: one.percentile(0.99),
    }
    _tell(server, values)
    return values


def _percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    """The median and the 99th percentile, in ms."""
    cuts = quantiles(seconds, n=100)
    return 1000 * cuts[49], 1000 * cuts[98]


def _tell(server: Server, values: Mapping[Figure, float]) -> None:
    say(f"{server.name}: " + ", ".join(f"{figure.name} {value:.5g} {figure.unit}" for figure, value in values.items()))
