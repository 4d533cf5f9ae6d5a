"""What discovery and OpenAPI tell of the metrics APIs: each metric that is listed, and nothing at all of an API that has none.

An empty list of resources is an error to clients, and an API of which nobody serves a metric is perhaps somebody else's.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.routes.metric_schemas import custom_models, external_models, model_name
from app.routes.operations import Operation, Parameter, camel, path_item
from app.served_metrics.providers import Registry
from app.served_metrics.values import Api, Entry, Resource
from app.wire.accept import JSON, PROTOBUF
from app.wire.metric_values import CUSTOM, EXTERNAL, VERSIONS

_LIST, _EXTERNAL_LIST = "MetricValueList", "ExternalMetricValueList"
_VERBS = ["get"]
_NAMESPACE = Parameter("namespace", "path", "string", "Namespace of the objects.")
_RESOURCE = Parameter("resource", "path", "string", "Resource of the objects, its group behind a dot: pods, ingresses.networking.k8s.io.")
_NAME = Parameter("name", "path", "string", "Name of the object, or * for all that labelSelector takes.")
_METRIC = Parameter("metric", "path", "string", "Name of the metric.")
_OBJECTS = Parameter("labelSelector", "query", "string", "Selects objects by their labels, where the name is *.")
_SERIES = Parameter("metricLabelSelector", "query", "string", "Selects series by their labels.")
_EXTERNAL_SERIES = Parameter("labelSelector", "query", "string", "Selects series by their labels.")


class MetricDescriptions:
    """app.routes.descriptions.Descriptions of the metrics that providers list."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[Api, _Described] = {}

    def current(self) -> tuple["_Described", ...]:
        listed: dict[Api, list[Entry]] = {}
        for entry in self._registry.entries():
            listed.setdefault(entry.api, []).append(entry)
        self._known = {api: self._description(api, tuple(listed[api])) for api in sorted(listed)}
        return tuple(self._known.values())

    def _description(self, api: Api, entries: tuple[Entry, ...]) -> "_Described":
        known = self._known.get(api)
        if known is not None and known.entries == entries:
            return known
        return CustomMetricsDescription(entries) if api == "custom" else ExternalMetricsDescription(entries)

    def on_change(self, listener: Callable[[], None]) -> None:
        self._registry.listeners.append(listener)


class CustomMetricsDescription:
    """app.routes.descriptions.Description of custom.metrics.k8s.io. A metric is a subresource of what it describes."""

    group, versions, name = CUSTOM, VERSIONS[CUSTOM], "metrics"

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self.entries = entries

    def resources(self, version: str) -> list[dict[str, Any]]:
        del version
        return [_resource(entry, _LIST) for entry in self.entries]

    def aggregated(self, version: str) -> list[dict[str, Any]]:
        """The described resources are no resources of this API, so each has an empty responseKind and no verbs: clients leave it out, and
        keep the metrics below it (k8s.io/client-go discovery, convertAPIResource)."""
        below: dict[Resource | None, list[Entry]] = {}
        for entry in self.entries:
            below.setdefault(entry.resource, []).append(entry)
        return [
            {
                "resource": str(resource),
                "responseKind": {"group": "", "version": "", "kind": ""},
                "scope": _scope(entries[0]),
                "singularResource": "",
                "verbs": [],
                "subresources": [{"subresource": entry.metric, "responseKind": self.kind(version), "verbs": _VERBS} for entry in entries],
            }
            for resource, entries in below.items()
        ]

    def paths(self, version: str, *, version_3: bool) -> dict[str, Any]:
        """The paths of all metrics: which there are is told by discovery."""
        base = f"/apis/{self.group}/{version}"
        by_path: Mapping[str, tuple[str, Sequence[Parameter]]] = {
            "{resource}/{name}/{metric}": ("Metric", (_RESOURCE, _NAME, _METRIC, _OBJECTS, _SERIES)),
            "namespaces/{namespace}/metrics/{metric}": ("NamespaceMetric", (_NAMESPACE, _METRIC, _SERIES)),
            "namespaces/{namespace}/{resource}/{name}/{metric}": (
                "NamespacedMetric",
                (_NAMESPACE, _RESOURCE, _NAME, _METRIC, _OBJECTS, _SERIES),
            ),
        }
        return {
            f"{base}/{path}": path_item(_operation(self, version, "get", of, parameters), version_3=version_3)
            for path, (of, parameters) in by_path.items()
        }

    def models(self, version: str, *, version_3: bool) -> dict[str, Any]:
        return custom_models(version, version_3=version_3)

    def kind(self, version: str) -> dict[str, str]:
        """What a metric answers with."""
        return {"group": self.group, "version": version, "kind": _LIST}


class ExternalMetricsDescription:
    """app.routes.descriptions.Description of external.metrics.k8s.io. A metric is a resource, and listing it gives its values."""

    group, versions, name = EXTERNAL, VERSIONS[EXTERNAL], "metrics"

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self.entries = entries

    def resources(self, version: str) -> list[dict[str, Any]]:
        del version
        return [_resource(entry, _EXTERNAL_LIST) for entry in self.entries]

    def aggregated(self, version: str) -> list[dict[str, Any]]:
        return [
            {
                "resource": entry.metric,
                "responseKind": self.kind(version),
                "scope": _scope(entry),
                "singularResource": "",
                "verbs": _VERBS,
            }
            for entry in self.entries
        ]

    def paths(self, version: str, *, version_3: bool) -> dict[str, Any]:
        operation = _operation(self, version, "list", "Metric", (_NAMESPACE, _METRIC, _EXTERNAL_SERIES))
        return {f"/apis/{self.group}/{version}/namespaces/{{namespace}}/{{metric}}": path_item(operation, version_3=version_3)}

    def models(self, version: str, *, version_3: bool) -> dict[str, Any]:
        return external_models(version, version_3=version_3)

    def kind(self, version: str) -> dict[str, str]:
        """What a metric answers with."""
        return {"group": self.group, "version": version, "kind": _EXTERNAL_LIST}


_Described = CustomMetricsDescription | ExternalMetricsDescription


def _resource(entry: Entry, kind: str) -> dict[str, Any]:
    return {"name": entry.discovery_name, "singularName": "", "namespaced": _is_namespaced(entry), "kind": kind, "verbs": _VERBS}


def _is_namespaced(entry: Entry) -> bool:
    """External metrics always are: a namespace is part of their path."""
    return entry.api == "external" or entry.namespaced


def _scope(entry: Entry) -> str:
    return "Namespaced" if _is_namespaced(entry) else "Cluster"


def _operation(described: _Described, version: str, action: str, of: str, parameters: Sequence[Parameter]) -> Operation:
    kind = described.kind(version)
    return Operation(
        id=f"{'read' if action == 'get' else action}{camel(described.group)}{version.capitalize()}{of}",
        description="values of a metric",
        action=action,
        group=described.group,
        version=version,
        kind=kind,
        model=model_name(described.group, version, kind["kind"]),
        media=[JSON, PROTOBUF],
        parameters=parameters,
    )
