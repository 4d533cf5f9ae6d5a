"""The endpoints of the metrics APIs, by group."""

from app.auth.identity import Gate
from app.clock import Clock
from app.routes.custom_metrics import CustomMetrics, Describe
from app.routes.external_metrics import ExternalMetrics
from app.routes.metric_answers import MetricAnswers, MetricsApi
from app.routes.problems import Endpoint
from app.served_metrics.providers import Registry


def create_metrics_apis(registry: Registry, describe: Describe, *, gate: Gate, clock: Clock) -> dict[str, Endpoint]:
    """An endpoint for each API that the HPA asks. Each is served while `registry` lists metrics of it."""
    apis: tuple[MetricsApi, ...] = (CustomMetrics(describe), ExternalMetrics())
    return {api.group: Endpoint(MetricAnswers(api, registry, gate=gate, clock=clock).answer) for api in apis}
