"""From a LiveMetric to its series: compiled once, pure, safe to use from several threads.

An item is judged by itself: one without a number, or about nothing that can be described, is dropped, counted and named. Of two items that
are the same series the first is kept: an HPA would count both.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from app.declared.cel import Bound, CelError
from app.declared.declaration import MetricDeclaration
from app.declared.items import NAME_SHOWN, Items, Leaf, Unmappable, kind_of, leaf, needed, plain_path, texts, time_of, walk
from app.declared.metric_model import LiveMetric, served_in
from app.declared.objects import Dropped
from app.kube.records import Key, Labels
from app.served_metrics.numbers import exact
from app.served_metrics.values import Resource, Series

MOST_LABEL = 1024
"""Characters of a label's value."""

_SECOND = 10**9
_Identity = tuple[Key | None, Labels]


class MappedSeries(NamedTuple):
    """What became of one response."""

    objects: list[Series]
    dropped: list[Dropped]
    blank: tuple[()] = ()


class LiveMetricMapper:
    """The mapping of one metric. It keeps nothing between calls."""

    def __init__(self, metric: LiveMetric, served: frozenset[str] | None) -> None:
        """`served` are the namespaces that it is served in, None for all. Raises CelError for what was not checked."""
        spec, sample = metric.spec, metric.spec.sample
        self._items = Items(spec)
        self._served = served
        self._external = spec.api == "external"
        self._about_namespaces = spec.describes is not None and resource_of(metric) == ("", "namespaces")
        self._name = leaf("sample", "object.name", sample.object.name) if sample.object is not None else None
        namespace = sample.object.namespace if sample.object is not None else None
        self._namespace = leaf("sample", "object.namespace", namespace) if namespace is not None else None
        self._value = leaf("sample", "value", sample.value)
        self._value_path = plain_path(self._value.program.tree)
        self._labels = [(key, leaf("sample", f"labels.{key}", text)) for key, text in sorted(sample.labels.items())]
        self._observed = leaf("sample", "observedAt", sample.observed_at) if sample.observed_at is not None else None
        self._window = round(spec.window * _SECOND) if spec.window is not None else None

    def map(self, response: Any, observed: int, deadline: Callable[[], bool]) -> MappedSeries:
        """The series of a response that was seen at `observed` (Unix ns). `deadline()` turns true when it has taken too long.

        Raises CollectError where the response as a whole gives no items.
        """
        series: dict[_Identity, Series] = {}
        first: dict[_Identity, int] = {}
        dropped: list[Dropped] = []
        shared: dict[Labels, Labels] = {}
        for index, item in self._items.of(response, deadline):
            try:
                made = self._series(item, observed, shared)
                identity = (made.object, made.labels)
                _alone(identity, first)
            except Unmappable as why:
                dropped.append(why.dropped(index, dropped))
            else:
                series[identity] = made
                first[identity] = index
        return MappedSeries(list(series.values()), dropped)

    def _series(self, item: Any, observed: int, shared: dict[Labels, Labels]) -> Series:
        over = self._value.program.bind({"item": item})
        described = self._object(over)
        try:
            labels = _bounded(tuple(texts(self._labels, over)))
            value = self._number(item, over)
            time = time_of(self._observed, over) or observed
        except Unmappable as why:
            raise Unmappable(_named(described, ()), why.reason) from None
        return Series(described, shared.setdefault(labels, labels), value, time, self._window)

    def _object(self, over: Bound) -> Key | None:
        if self._name is None:
            return None
        name = _text(self._name, over)
        namespace = _text(self._namespace, over) if self._namespace is not None else ""
        scope = name if self._about_namespaces else namespace
        if self._served is not None and scope not in self._served:
            raise Unmappable(_named((namespace, name), ()), f'"{scope[:NAME_SHOWN]}" is none of the namespaces that it is served in')
        return (namespace, name)

    def _number(self, item: Any, over: Bound) -> Decimal:
        try:
            value = walk(item, self._value_path) if self._value_path is not None else self._value.program.evaluate(over)
            return exact(value)
        except CelError as error:
            raise Unmappable("", f"{self._value.place}: {error.message}") from None
        except ValueError as error:
            raise Unmappable("", f"{self._value.place}: {error}") from None


def compile_metric(declaration: MetricDeclaration) -> LiveMetricMapper:
    """The mapping of a declaration that was checked. Raises CelError for one that was not."""
    return LiveMetricMapper(declaration.resource, served_in(declaration.resource, declaration.namespace))


def resource_of(metric: LiveMetric) -> Resource | None:
    """The described resource, None of an external metric."""
    describes = metric.spec.describes
    return Resource(describes.group, describes.resource) if describes is not None else None


def _alone(identity: _Identity, first: Mapping[_Identity, int]) -> None:
    """Raises Unmappable where an item is that series already."""
    if identity in first:
        raise Unmappable(_named(*identity), f"is the same series as item {first[identity]}: the first is kept")


def _bounded(labels: Labels) -> Labels:
    for key, text in labels:
        if len(text) > MOST_LABEL:
            raise Unmappable("", f"sample.labels.{key}: has {len(text)} characters, may have at most {MOST_LABEL}")
    return labels


def _text(of: Leaf, over: Bound) -> str:
    """A name, which is no empty text."""
    value = needed(of, over)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Unmappable("", f"{of.place}: gives {kind_of(value)}, and not text")
    if value == "":
        raise Unmappable("", f"{of.place}: is empty")
    return str(value)


def _named(described: Key | None, labels: Labels) -> str:
    """A series for people."""
    name = "/".join(filter(None, described)) if described is not None else ""
    return f"{name}{{{','.join(f'{key}={text}' for key, text in labels)}}}" if labels else name
