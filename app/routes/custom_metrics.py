"""custom.metrics.k8s.io: metrics of objects, as HPAs of the types Pods and Object ask for them.

    {resource}/{name}/{metric}                          objects without a namespace, or of all namespaces
    namespaces/{namespace}/{resource}/{name}/{metric}   objects of a namespace; also those without one, for the HPA knows no other path
    namespaces/{namespace}/metrics/{metric}             the Namespace itself

A name of * stands for all objects that labelSelector takes. metricLabelSelector takes series by their labels.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from app.kinds._base import Column
from app.routes.metric_answers import Place
from app.served_metrics.objects import ObjectKind, Unavailable
from app.served_metrics.values import NAMESPACES, Api, Question, Resource, Series
from app.wire.field_selectors import parse_field_selector
from app.wire.label_selectors import EVERYTHING, parse_label_selector
from app.wire.metric_values import CUSTOM, VERSIONS, Measured, MetricValues, Reference
from app.wire.status import bad_request

_ALL = "*"


Describe = Callable[[Resource], Awaitable[ObjectKind | Unavailable]]
"""What a resource is, by whichever of its names (app.served_metrics.objects.Objects.kind)."""


class CustomMetrics:
    """Implements app.routes.metric_answers.MetricsApi."""

    api: Api = "custom"
    group = CUSTOM
    versions = VERSIONS[CUSTOM]
    list_kind = "MetricValueList"
    columns = (
        Column("Object", format="name", description="The object that the value describes."),
        Column("Metric", description="Name of the metric."),
    )

    def __init__(self, describe: Describe) -> None:
        self._describe = describe

    def place(self, version: str, parts: Sequence[str]) -> Place | None:
        """See MetricsApi. `namespaces/NAME/METRIC` looks like the path of a Namespace's metric, and is none."""
        match parts:
            case ["namespaces", name, "metrics", metric]:
                return Place(metric, NAMESPACES, "", name)
            case ["namespaces", namespace, resource, name, metric]:
                return _place(metric, resource, namespace, name)
            case ["namespaces", name, metric]:
                of_namespace = "NAMESPACE" if name == _ALL else name
                right = f"/apis/{CUSTOM}/{version}/namespaces/{of_namespace}/metrics/{metric}"
                raise bad_request(f"invalid request path: the metric {metric} of a namespace is at {right}")
            case [resource, name, metric]:
                return _place(metric, resource, "", name)
        return None

    def question(self, place: Place, query: Mapping[str, str]) -> Question:
        """See MetricsApi. One object is asked for by its name alone, whatever its labels are."""
        fields = query.get("fieldSelector", "")
        if fields and parse_field_selector(fields, ("metadata.name",)).name != (place.name or _ALL):
            raise bad_request("fieldSelector metadata.name doesn't match requested name")
        objects = parse_label_selector(query.get("labelSelector", ""))
        series = parse_label_selector(query.get("metricLabelSelector", ""))
        return Question(
            self.api, place.metric, place.resource, place.namespace, place.name, objects if place.name is None else EVERYTHING, series
        )

    async def values(self, version: str, question: Question) -> "_Values | Unavailable":
        """See MetricsApi."""
        kind = await self._describe(question.resource or NAMESPACES)
        return kind if isinstance(kind, Unavailable) else _Values(version, question, kind)

    def missing(self, place: Place, query: Mapping[str, str]) -> str:
        """See MetricsApi."""
        name = f" {place.name}" if place.name is not None else ""
        selector = query.get("metricLabelSelector", "")
        return f"{place.metric} for {place.resource}{name}{f' with selector {selector}' if selector else ''}"


def _place(metric: str, resource: str, namespace: str, name: str) -> Place:
    plural, _, group = resource.partition(".")
    return Place(metric, Resource(group, plural), namespace, None if name == _ALL else name)


class _Values:
    """Implements app.routes.metric_answers.Values."""

    def __init__(self, version: str, question: Question, kind: ObjectKind) -> None:
        self._values = MetricValues(version, question.metric, question.series)
        self._metric = question.metric
        self._everywhere = not question.namespace
        self._kind, self._api_version = kind.kind, kind.api_version

    def json(self, series: Series, measured: Measured) -> bytes:
        return self._values.json(self._described(series), measured)

    def protobuf(self, series: Series, measured: Measured) -> bytes:
        return self._values.protobuf(self._described(series), measured)

    def cells(self, series: Series) -> tuple[str, ...]:
        namespace, name = _key(series)
        return (f"{namespace}/{name}" if namespace and self._everywhere else name, self._metric)

    def named(self, series: Series) -> Mapping[str, str]:
        namespace, name = _key(series)
        return {"name": name, **({"namespace": namespace} if namespace else {})}

    def _described(self, series: Series) -> Reference:
        return Reference(self._kind, self._api_version, *_key(series))


def _key(series: Series) -> tuple[str, str]:
    if series.object is None:
        raise TypeError("a series of a custom metric describes an object")
    return series.object
