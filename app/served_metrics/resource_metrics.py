"""Fields of declared kinds as metrics: custom ones of their objects, and external ones with a series for each object.

The numbers are worked out when an object is mapped (app/declared/mapping.py). Here they are looked up: objects live as long as they live.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct

from app.cache.collection import Item
from app.cache.reports import Reports
from app.kinds._catalog import Objects
from app.kube.records import Labels
from app.served_metrics.values import Absent, Answer, Api, Entry, Question, Resource, Series, State

NAME = "name"
"""The label of an external series with the name of its object. An object's own label of that name gives way."""


class KindMetrics(Struct, frozen=True):
    """The metrics of one declared kind: their names and APIs, in the order of the numbers in `metrics` of each object's value.

    `declaration` is its name, `source` the type of its source. `namespaces` are those that its objects may be in, None where it has none.
    """

    declaration: str
    source: str
    resource: Resource
    namespaced: bool
    metrics: tuple[tuple[str, frozenset[Api]], ...]
    objects: Objects
    namespaces: frozenset[str] | None = None

    def is_served_in(self, namespace: str) -> bool:
        """Whether a question of that namespace may have an answer; one of all namespaces may."""
        return not namespace or self.namespaces is None or namespace in self.namespaces


class _Metric(Struct, frozen=True):
    kind: KindMetrics
    index: int

    def value(self, item: Item) -> Decimal | None:
        numbers: tuple[Decimal | None, ...] = item.value.metrics
        return numbers[self.index] if self.index < len(numbers) else None


class ResourceMetrics:
    """Implements Provider for spec.metrics of LiveResources. `changed` is called when what is listed may be another."""

    name = "live kinds"

    def __init__(self, reports: Reports, *, changed: Callable[[], None]) -> None:
        self._reports = reports
        self._changed = changed
        self._kinds: dict[str, KindMetrics] = {}
        self._metrics: dict[tuple[str, str, Resource | None], list[_Metric]] = {}

    def put(self, changes: Mapping[str, KindMetrics | None]) -> None:
        """Serve these, by declaration; None takes one away."""
        for declaration, kind in changes.items():
            if kind is None:
                self._kinds.pop(declaration, None)
            else:
                self._kinds[declaration] = kind
        self._metrics = {}
        for kind in self._kinds.values():
            for index, (name, apis) in enumerate(kind.metrics):
                for api in sorted(apis):
                    resource = kind.resource if api == "custom" else None
                    self._metrics.setdefault((api, name, resource), []).append(_Metric(kind, index))
        self._changed()

    def entries(self) -> Sequence[Entry]:
        """See Provider. What several kinds serve in namespaces of their own is one entry."""
        return [_entry(name, resource, each[0].kind) for (_, name, resource), each in self._metrics.items()]

    def state(self, entry: Entry) -> State:
        """See Provider."""
        metrics = self._metrics.get((entry.api, entry.metric, entry.resource), ())
        times = [item.value.observed for each in metrics for item in each.kind.objects.snapshot() if each.value(item) is not None]
        reports = [report for each in metrics if (report := self._reports.get(each.kind.declaration)) is not None]
        return State(len(times), max(times, default=0), next((report.error for report in reports if report.error), ""))

    async def answer(self, question: Question) -> Answer | Absent | None:
        """See Provider."""
        known = self._metrics.get((question.api, question.metric, question.resource))
        if known is None:
            return None
        metric = next((each for each in known if each.kind.is_served_in(question.namespace)), None)
        if metric is None:
            return Absent(f"{question.metric} is not served in namespace {question.namespace}", known=False)
        return _external(metric, question) if question.resource is None else _custom(metric, question)


def _entry(name: str, resource: Resource | None, kind: KindMetrics) -> Entry:
    api: Api = "custom" if resource is not None else "external"
    return Entry(api, name, resource, kind.namespaced, kind.declaration, kind.source)


def _custom(metric: _Metric, question: Question) -> Answer | Absent:
    kind = metric.kind
    namespace = question.namespace if kind.namespaced else ""
    if question.name is None:
        items: Iterable[Item] = [item for item in _in(kind, namespace) if question.objects.matches(item.labels)]
    else:
        key = (namespace, question.name)
        item = kind.objects.get(key)
        if item is None:
            why = kind.objects.why(key)
            return Absent(f"there is no {question.name} among the {kind.resource}{f': {why}' if why else ''}")
        items = [item]
    series = [Series(item.key, (), value, item.value.observed) for item in items if (value := metric.value(item)) is not None]
    found = [each for each in series if question.series.matches(each.labels)]
    if found:
        return Answer(found)
    return Absent("the series of a live kind have no labels to select by" if series else _why(metric, namespace))


def _external(metric: _Metric, question: Question) -> Answer | Absent:
    kind = metric.kind
    namespace = question.namespace if kind.namespaced else ""
    series = [
        Series(None, _labels(item), value, item.value.observed)
        for item in _in(kind, namespace)
        if (value := metric.value(item)) is not None
    ]
    found = sorted((each for each in series if question.series.matches(each.labels)), key=_by_labels)
    if found:
        return Answer(found)
    return Absent("no series fulfils the selector" if series else _why(metric, namespace))


def _in(kind: KindMetrics, namespace: str) -> Sequence[Item]:
    return kind.objects.snapshot(namespace or None)


def _labels(item: Item) -> Labels:
    return tuple(sorted({**dict(item.labels), NAME: item.key[1]}.items()))


def _by_labels(series: Series) -> Any:
    return series.labels


def _why(metric: _Metric, namespace: str) -> str:
    """Why no object gives a number."""
    kind = metric.kind
    where = f" in namespace {namespace}" if namespace else ""
    if _in(kind, namespace):
        return f"none of the {kind.resource} that are asked for{where} gives this number now"
    why = kind.objects.why((namespace, ""))
    return f"there are no {kind.resource}{where}{f': {why}' if why else ''}"
