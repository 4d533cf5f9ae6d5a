"""external.metrics.k8s.io: metrics of no object of the cluster, as HPAs of the type External ask for them.

    namespaces/{namespace}/{metric}

labelSelector takes series by their labels. An HPA sums all values that it gets.
"""

from collections.abc import Mapping, Sequence

from app.kinds._base import Column
from app.routes.metric_answers import Place
from app.served_metrics.values import Api, Question, Series
from app.wire.label_selectors import parse_label_selector
from app.wire.metric_values import EXTERNAL, VERSIONS, ExternalMetricValues, Measured
from app.wire.status import bad_request


class ExternalMetrics:
    """Implements app.routes.metric_answers.MetricsApi."""

    api: Api = "external"
    group = EXTERNAL
    versions = VERSIONS[EXTERNAL]
    list_kind = "ExternalMetricValueList"
    columns = (Column("Metric", format="name", description="Name of the metric."),)

    def place(self, version: str, parts: Sequence[str]) -> Place | None:
        """See MetricsApi."""
        del version
        match parts:
            case ["namespaces", namespace, metric]:
                return Place(metric, namespace=namespace)
        return None

    def question(self, place: Place, query: Mapping[str, str]) -> Question:
        """See MetricsApi."""
        if query.get("fieldSelector"):
            raise bad_request("external metrics have no fields: select series by their labels, with labelSelector")
        return Question(self.api, place.metric, namespace=place.namespace, series=parse_label_selector(query.get("labelSelector", "")))

    async def values(self, version: str, question: Question) -> "_Values":
        """See MetricsApi."""
        del version
        return _Values(question)

    def missing(self, place: Place, query: Mapping[str, str]) -> str:
        """See MetricsApi. Upstream names no resource here; the namespace tells more."""
        selector = query.get("labelSelector", "")
        return f"{place.metric} in namespace {place.namespace}{f' with selector {selector}' if selector else ''}"


class _Values:
    """Implements app.routes.metric_answers.Values."""

    def __init__(self, question: Question) -> None:
        self._values = ExternalMetricValues(question.metric)
        self._metric, self._namespace = question.metric, question.namespace

    def json(self, series: Series, measured: Measured) -> bytes:
        return self._values.json(series.labels, measured)

    def protobuf(self, series: Series, measured: Measured) -> bytes:
        return self._values.protobuf(series.labels, measured)

    def cells(self, series: Series) -> tuple[str, ...]:
        del series
        return (self._metric,)

    def named(self, series: Series) -> Mapping[str, str]:
        del series
        return {"name": self._metric, "namespace": self._namespace}
