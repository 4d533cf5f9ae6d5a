"""The metrics of the cluster: request rates of all pods, as an application tells them, and the rule that serves them."""

from collections.abc import Mapping
from zlib import crc32

from app.clock import Clock
from benchmarks.plan import NAMESPACE_PODS, SELECTED_APP, Plan

METRICS = tuple(f"http_requests_{number:02d}" for number in range(20))
"""As autoscalers name them. Prometheus' series end in _total."""

GROUP = "custom.metrics.k8s.io"
API = f"/apis/{GROUP}/v1beta2"
RULES = """
rules:
- seriesQuery: '{__name__=~"^http_requests_.*_total$",namespace!="",pod!=""}'
  resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}}}
  name: {matches: "^(.*)_total$"}
  metricsQuery: 'sum(rate(<<.Series>>{<<.LabelMatchers>>}[1m])) by (<<.GroupBy>>)'
"""
"""The usual rule: counters as rates, for pods and for their namespace."""


def pace(metric: str, namespace: str, pod: str) -> int:
    """Requests a second of a pod, known to whoever knows its name: 1 to 99."""
    return 1 + crc32(f"{metric}/{namespace}/{pod}".encode()) % 99


def of_pods(namespace: str, metric: str, app: str) -> str:
    """What an autoscaler asks for: one metric of all pods of its Deployment."""
    return f"{API}/namespaces/{namespace}/pods/*/{metric}?labelSelector=app%3D{app}"


def selected(plan: Plan, namespace: str, metric: str, app: str = SELECTED_APP) -> Mapping[str, int]:
    """What the answer must hold, by pod."""
    return {
        pod.name: pace(metric, namespace, pod.name) for pod in plan.all_pods() if pod.namespace == namespace and pod.labels["app"] == app
    }


class Told:
    """All counters, in Prometheus' text format, as one exporter tells them: as many series as pods times METRICS."""

    def __init__(self, plan: Plan, clock: Clock) -> None:
        self._clock = clock
        self._start = clock.monotonic()
        self._series = [
            (f'{metric}_total{{namespace="{pod.namespace}",pod="{pod.name}"}}', pace(metric, pod.namespace, pod.name))
            for metric in METRICS
            for pod in plan.all_pods()
        ]

    def __call__(self) -> str:
        seconds = self._clock.monotonic() - self._start
        return "".join(f"{series} {pace * seconds:.3f}\n" for series, pace in self._series)


PODS = 2 * NAMESPACE_PODS
"""Two namespaces."""
