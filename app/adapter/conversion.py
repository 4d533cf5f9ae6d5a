"""Metrics of an adapter file as LiveMetrics that serve the same values."""

import re
from collections.abc import Sequence
from typing import Any

from app.adapter.discovery import Listed
from app.adapter.naming import UNNAMESPACED, Find, NamingError
from app.adapter.query import QueryError, build, equal, present
from app.served_metrics.values import NAMESPACES, Resource

_NO_NAME = re.compile(r"[^a-z0-9]+")
_LONGEST = 63


class NotConvertible(Exception):
    """A metric that no LiveMetric serves. The message says why, in words."""


def custom(listed: Listed, resource: Resource, find: Find, url: str) -> dict[str, Any]:
    """The LiveMetric of a custom metric: one query for the objects of all namespaces. Raises NotConvertible."""
    if not listed.rule.by_object:
        raise NotConvertible("metricsQuery does not keep objects apart, so that no one query gives the values of all of them")
    known = find(*resource)
    in_namespaces = resource not in UNNAMESPACED and (known is None or known.namespaced)
    try:
        label = listed.association.label(resource)
        namespace = listed.association.label(NAMESPACES) if in_namespaces else ""
        by = [*([namespace] if namespace else []), label]
        query = build(listed.rule.query, listed.series, map(present, by), by)
    except (NamingError, QueryError) as exc:
        raise NotConvertible(str(exc)) from exc
    described = {"namespace": f"item.labels.{namespace}"} if namespace else {}
    return _live_metric(
        f"{resource.name}-{listed.metric}",
        {
            "api": "custom",
            "name": listed.metric,
            "describes": {"group": resource.group, "resource": resource.name},
            **_source(url, query),
            "sample": {"object": {**described, "name": f"item.labels.{label}"}, "value": "item.value", "observedAt": "item.timestamp"},
        },
    )


def external(listed: Listed, url: str, namespaces: Sequence[str]) -> list[dict[str, Any]]:
    """The LiveMetrics of an external metric: one for all namespaces, or one for each of `namespaces` where its query names the namespace.

    Raises NotConvertible. Labels of the series are for the reader to add: a file does not say which there are.
    """
    try:
        if not listed.rule.namespaced:
            return [_external(listed, "", build(listed.rule.query, listed.series, (), ()), url)]
        if not namespaces:
            raise NotConvertible("its query is another one in each namespace: say in which it is to be served, by --namespace")
        label = listed.association.label(NAMESPACES)
        return [_external(listed, each, build(listed.rule.query, listed.series, [equal(label, each)], ()), url) for each in namespaces]
    except (NamingError, QueryError) as exc:
        raise NotConvertible(str(exc)) from exc


def with_labels(metric: dict[str, Any], labels: Sequence[str]) -> dict[str, Any]:
    """The same with these labels of its samples as those of its series."""
    sample = {**metric["spec"]["sample"], "labels": {label: f"item.labels.{label}" for label in labels}}
    return {**metric, "spec": {**metric["spec"], "sample": sample}} if labels else metric


def _external(listed: Listed, namespace: str, query: str, url: str) -> dict[str, Any]:
    return _live_metric(
        f"{listed.metric}-{namespace}" if namespace else listed.metric,
        {
            "api": "external",
            "name": listed.metric,
            **_source(url, query),
            "sample": {"value": "item.value", "observedAt": "item.timestamp"},
            "namespaces": [namespace] if namespace else "any",
        },
    )


def _source(url: str, query: str) -> dict[str, Any]:
    return {
        "source": {"prometheus": {"url": url, "query": query}},
        "interval": "15s",
        "limits": {"items": 10000, "bodyBytes": "16Mi"},
        "items": "response",
    }


def _live_metric(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    cut = _NO_NAME.sub("-", name.lower()).strip("-")[:_LONGEST].rstrip("-")
    return {"apiVersion": "kubeglance.io/v1alpha1", "kind": "LiveMetric", "metadata": {"name": cut}, "spec": spec}
