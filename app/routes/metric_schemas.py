"""OpenAPI schemas of the metrics APIs, under the names that k8s.io/metrics gives their models."""

from typing import Any

from app.routes.schemas import LIST_META, V2_REFS, V3_REFS
from app.wire.metric_values import CUSTOM, EXTERNAL

_REFERENCE = "io.kubeglance.apis.core.v1.ObjectReference"
_SELECTOR = "io.kubeglance.apis.meta.v1.LabelSelector"
_TEXT = {"type": "string"}
_STRINGS = {"type": "object", "additionalProperties": {"type": "string", "default": ""}}
_TIME = {"type": "string", "format": "date-time", "description": "When the value was measured, by its source."}
_WINDOW = {"type": "integer", "format": "int64", "description": "Seconds that the value was measured over; absent where it is a moment's."}
_QUANTITY = {"type": "string", "description": "The value, a Kubernetes quantity: 10500m is 10.5."}
_NAME = {**_TEXT, "description": "Name of the metric."}
_SHARED: dict[str, dict[str, Any]] = {
    _REFERENCE: {
        "description": "ObjectReference names the object that a value describes.",
        "type": "object",
        "properties": {
            "kind": {**_TEXT, "description": "Kind of the object."},
            "namespace": {**_TEXT, "description": "Namespace of the object; absent for cluster-scoped ones."},
            "name": {**_TEXT, "description": "Name of the object."},
            "apiVersion": {**_TEXT, "description": "Group and version of the kind."},
        },
    },
    _SELECTOR: {
        "description": "LabelSelector is the selector of series that the request had.",
        "type": "object",
        "properties": {
            "matchLabels": {**_STRINGS, "description": "Labels that must have these values."},
            "matchExpressions": {
                "type": "array",
                "description": "Further requirements; all must hold.",
                "items": {
                    "type": "object",
                    "required": ["key", "operator"],
                    "properties": {
                        "key": {**_TEXT, "description": "The label."},
                        "operator": {**_TEXT, "description": "In, NotIn, Exists or DoesNotExist."},
                        "values": {"type": "array", "items": _TEXT, "description": "Values of In and NotIn."},
                    },
                },
            },
        },
    },
}


def model_name(group: str, version: str, kind: str) -> str:
    """The name of a model: custom.metrics.k8s.io is the package custom_metrics."""
    package = group.removesuffix(".metrics.k8s.io")
    return f"io.k8s.metrics.pkg.apis.{package}_metrics.{version}.{kind}"


def custom_models(version: str, *, version_3: bool) -> dict[str, Any]:
    """MetricValueList and all that it is made of."""
    group, refs = CUSTOM, V3_REFS if version_3 else V2_REFS
    described = _reference(_REFERENCE, "The object that the value describes.", version_3=version_3)
    selector = _reference(_SELECTOR, "The selector of series that the request had, null for none.", version_3=version_3)
    models = dict(_SHARED)
    if version == "v1beta1":
        own: dict[str, Any] = {"metricName": _NAME, "timestamp": _TIME, "window": _WINDOW, "value": _QUANTITY, "selector": selector}
        required = ["describedObject", "metricName", "timestamp", "value", "selector"]
    else:
        identifier = model_name(group, version, "MetricIdentifier")
        models[identifier] = {
            "description": "MetricIdentifier names a metric.",
            "type": "object",
            "required": ["name", "selector"],
            "properties": {"name": _NAME, "selector": selector},
        }
        metric = _reference(identifier, "The metric.", version_3=version_3)
        own = {"metric": metric, "timestamp": _TIME, "windowSeconds": _WINDOW, "value": _QUANTITY}
        required = ["describedObject", "metric", "timestamp", "value"]
    models[model_name(group, version, "MetricValue")] = {
        "description": "MetricValue is the value of a metric of one object.",
        "type": "object",
        "required": required,
        "properties": {"describedObject": described, **own},
    }
    models.update(_list(group, version, "MetricValue", refs, version_3=version_3))
    return models


def external_models(version: str, *, version_3: bool) -> dict[str, Any]:
    """ExternalMetricValueList and its values."""
    group, refs = EXTERNAL, V3_REFS if version_3 else V2_REFS
    value = {
        "description": "ExternalMetricValue is one series of an external metric.",
        "type": "object",
        "required": ["metricName", "metricLabels", "timestamp", "value"],
        "properties": {
            "metricName": _NAME,
            "metricLabels": {**_STRINGS, "description": "Labels of the series, null for none."},
            "timestamp": _TIME,
            "window": _WINDOW,
            "value": _QUANTITY,
        },
    }
    name = model_name(group, version, "ExternalMetricValue")
    return {name: value, **_list(group, version, "ExternalMetricValue", refs, version_3=version_3)}


def _list(group: str, version: str, kind: str, refs: str, *, version_3: bool) -> dict[str, Any]:
    list_kind = f"{kind}List"
    schema = {
        "description": f"{list_kind} is the values of a metric.",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {**_TEXT, "description": "Group and version of this form of the list, as group/version."},
            "kind": {**_TEXT, "description": f"Kind of the list: {list_kind}."},
            "metadata": _reference(LIST_META, "Standard list metadata.", version_3=version_3),
            "items": {
                "type": "array",
                "description": "The values, by object and labels.",
                "items": {"$ref": refs + model_name(group, version, kind)},
            },
        },
        "x-kubernetes-group-version-kind": [{"group": group, "kind": list_kind, "version": version}],
    }
    return {model_name(group, version, list_kind): schema}


def _reference(name: str, description: str, *, version_3: bool) -> dict[str, Any]:
    if version_3:
        return {"description": description, "allOf": [{"$ref": V3_REFS + name}]}
    return {"description": description, "$ref": V2_REFS + name}
