"""Metrics of an adapter file as LiveMetrics that serve the same values: or what keeps one from it, in words.

A file selects series before its query adds them up, a LiveMetric after it: what follows for selectors stands in `notes`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from app.adapter.discovery import Listed
from app.adapter.naming import UNNAMESPACED, Find, NamingError, is_label
from app.adapter.prometheus import Sample
from app.adapter.query import QueryError, build, equal, keeps_apart, labels_of_result, present
from app.adapter.resources import built_in
from app.served_metrics.values import NAMESPACES, Resource
from app.wire import object_names
from app.wire.label_syntax import faults_of_key

_OTHERS = re.compile(r"[^a-z0-9]+")
_CEL_WORDS = frozenset({"false", "in", "null", "true"})
"""What CEL takes for no field."""

_AS_FOR_FILES: Mapping[str, Any] = {"timeout": "10s", "limits": {"items": 100000, "bodyBytes": "64Mi"}}
"""How long an answer to a file's query may take, and how large it may be: what works there works here."""

_BUILT_IN = frozenset(known.resource for known in built_in())


class NotConvertible(Exception):
    """A metric that no LiveMetric serves. The message says why, in words."""


class Source(Struct, frozen=True):
    """The Prometheus that LiveMetrics ask: its base URL, and GET or POST."""

    url: str
    method: str = "GET"


class Converted(Struct, frozen=True):
    """A metric of a file as a LiveMetric without a name.

    `words` are those of its name, `identity` is its alone. `by` are the labels that tell objects apart, none of an external metric.
    `labels` are all that the series of the result have, None where only samples tell. `notes` are for whoever reads it.
    """

    words: tuple[str, ...]
    identity: str
    spec: Mapping[str, Any]
    by: tuple[str, ...]
    labels: Sequence[str] | None
    notes: tuple[str, ...]

    @property
    def query(self) -> str:
        """In PromQL."""
        query: str = self.spec["source"]["prometheus"]["query"]
        return query

    def seen(self, samples: Iterable[Sample]) -> "Converted":
        """The same, after a look at what its query gives now. Raises NotConvertible."""
        given = [dict(sample.labels) for sample in samples]
        if self.by:
            objects = Counter(tuple(labels.get(label, "") for label in self.by) for labels in given)
            several = next((key for key, count in objects.items() if count > 1 and key[-1]), None)
            if several is not None:
                which = "/".join(several)
                raise NotConvertible(
                    f"its query gives several series of {which}, and the file serves any of them: aggregate by << .GroupBy >>"
                )
            return self
        if self.labels is not None:
            return self._labelled(self.labels)
        if not given:
            raise NotConvertible(
                "its query gives nothing now, and only samples tell which labels its series have: try it when there are some"
            )
        labelled = self._labelled(sorted({label for labels in given for label in labels}))
        kept = labelled.spec["sample"].get("labels", {})
        if len({tuple(labels.get(label, "") for label in kept) for labels in given}) < len(given):
            raise NotConvertible("its series differ by labels that no selector can name, and a LiveMetric would drop all but one")
        return labelled.noting("the labels are those that its series have now: add others that may come")

    def unseen(self) -> "Converted":
        """The same, where there is no Prometheus to look at. Raises NotConvertible."""
        if self.by:
            text = "the query does not say that an object has one series only: of several the first is served, and the others are dropped"
            return self if self.labels is not None and set(self.labels) == set(self.by) else self.noting(text)
        if self.labels is None:
            raise NotConvertible("its query does not say which labels its series have: give --prometheus-url, where they are seen")
        return self._labelled(self.labels)

    def noting(self, *notes: str) -> "Converted":
        """The same, with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def _labelled(self, labels: Sequence[str]) -> "Converted":
        """With these as the labels of its series, but for those that no selector can name."""
        kept = [label for label in labels if not faults_of_key(label)]
        left_out = [label for label in labels if label not in kept]
        sample = {**self.spec["sample"], **({"labels": {label: _label(label) for label in kept}} if kept else {})}
        notes = [f"left out, as no selector can name it: the label {label}" for label in left_out]
        return replace(self, spec={**self.spec, "sample": sample}, notes=(*self.notes, *notes))


def custom(listed: Listed, resource: Resource, find: Find, source: Source) -> Converted:
    """A custom metric: one query for the objects of all namespaces. Raises NotConvertible."""
    if not listed.rule.by_object:
        raise NotConvertible("metricsQuery does not keep objects apart, so that no one query gives the values of all of them")
    known = find(*resource)
    in_namespaces = resource not in UNNAMESPACED and (known is None or known.namespaced)
    try:
        label = listed.association.label(resource)
        namespace = listed.association.label(NAMESPACES) if in_namespaces else ""
        by = (*([namespace] if namespace else []), label)
        query = build(listed.rule.query, listed.series, map(present, by), by)
    except (NamingError, QueryError) as exc:
        raise NotConvertible(str(exc)) from exc
    if not keeps_apart(listed.rule.query, by, by):
        raise NotConvertible(f"metricsQuery groups by the first label of several only, and not by {' and '.join(by)}")
    described = {"namespace": _label(namespace)} if namespace else {}
    notes = ["series have no labels: metricLabelSelector finds none by them, where the file selects series before the query adds them up"]
    if resource not in _BUILT_IN:
        notes.append(f"{resource} is taken for the plural of a resource in namespaces: not every cluster has it")
    return Converted(
        words=(resource.name, listed.metric),
        identity=listed.entry.discovery_name,
        spec={
            "api": "custom",
            "name": listed.metric,
            "describes": {"group": resource.group, "resource": resource.name},
            **_collected(source, query),
            "sample": {"object": {**described, "name": _label(label)}, "value": "item.value", "observedAt": "item.timestamp"},
        },
        by=by,
        labels=labels_of_result(query),
        notes=tuple(notes),
    )


def external(listed: Listed, source: Source, namespace: str = "") -> Converted:
    """An external metric: for all namespaces, or for `namespace` where its query names it. Raises NotConvertible."""
    if listed.rule.namespaced and not namespace:
        raise NotConvertible("its query is another one in each namespace: say in which it is to be served, by --namespace")
    try:
        matchers = [equal(listed.association.label(NAMESPACES), namespace)] if listed.rule.namespaced else []
        query = build(listed.rule.query, listed.series, matchers, ())
    except (NamingError, QueryError) as exc:
        raise NotConvertible(str(exc)) from exc
    labels = labels_of_result(query)
    where = namespace if listed.rule.namespaced else ""
    what = "labelSelector finds series by the labels below only"
    if not keeps_apart(listed.rule.query, (), labels or ()):
        what = f"{what}, and after the query: where that compares series with each other, the file's values are others"
    return Converted(
        words=(listed.metric, *([where] if where else [])),
        identity=f"{where}/{listed.metric}",
        spec={
            "api": "external",
            "name": listed.metric,
            **_collected(source, query),
            "sample": {"value": "item.value", "observedAt": "item.timestamp"},
            "namespaces": [where] if where else "any",
        },
        by=(),
        labels=labels,
        notes=(what,),
    )


def live_metrics(converted: Sequence[Converted]) -> list[tuple[Converted, dict[str, Any]]]:
    """All of them as documents, each with a name of its own.

    That is the metric's in its words, where no other comes to the same and it is short enough; else a slug with a hash, and a note.
    """
    names = Counter(map(_readable, converted))
    return [_named(each, is_alone=names[_readable(each)] == 1) for each in converted]


def _named(converted: Converted, *, is_alone: bool) -> tuple[Converted, dict[str, Any]]:
    name = readable = _readable(converted)
    if not is_alone or not object_names.is_label(readable):
        name = object_names.label_name(converted.identity)
        why = "too long for a name" if is_alone else "the name of another one too"
        converted = converted.noting(f"metadata.name was changed: {readable} is {why}")
    return converted, {
        "apiVersion": "kubeglance.io/v1alpha1",
        "kind": "LiveMetric",
        "metadata": {"name": name},
        "spec": dict(converted.spec),
    }


def _readable(converted: Converted) -> str:
    return _OTHERS.sub("-", "-".join(converted.words).lower()).strip("-")


def _label(name: str) -> str:
    """The CEL that gives a label of an item."""
    return f"item.labels.{name}" if is_label(name) and name not in _CEL_WORDS else f"item.labels[{json.dumps(name)}]"


def _collected(source: Source, query: str) -> dict[str, Any]:
    method = {"method": source.method} if source.method != "GET" else {}
    return {
        "source": {"prometheus": {"url": source.url, "query": query, **method}},
        "interval": "15s",
        **_AS_FOR_FILES,
        "items": "response",
    }
