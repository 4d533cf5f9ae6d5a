"""Answers for declared metrics: from what was collected, and never by asking a source."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from app.cache.reports import Report, Reports
from app.clock import Clock
from app.kube.records import Key
from app.served_metrics.kept import Kept
from app.served_metrics.objects import Described, Objects, Unavailable
from app.served_metrics.values import PODS, Absent, Answer, Api, Entry, Question, Resource, Series, State
from app.wire.timestamps import format_time

_NO_OBJECT: Key = ("", "")


class DeclaredMetric(Struct, frozen=True):
    """One LiveMetric as it is served. `declaration` is its name, `source` the type of its source; `namespaces` are those that it is served
    in, None for all; `since` is from when on it is (monotonic seconds)."""

    declaration: str
    api: Api
    name: str
    resource: Resource | None
    namespaced: bool
    namespaces: frozenset[str] | None
    source: str
    kept: Kept
    since: float

    @property
    def entry(self) -> Entry:
        """As it is listed."""
        return Entry(self.api, self.name, self.resource, self.namespaced, self.declaration, self.source)

    def is_served_in(self, namespace: str) -> bool:
        """Whether a question of that namespace may have an answer; one of all namespaces may."""
        return not namespace or self.namespaces is None or namespace in self.namespaces


_Name = tuple[str, str, Resource | None]


class DeclaredMetrics:
    """Implements Provider for LiveMetrics. `changed` is called when what is listed may be another."""

    name = "declarations"

    def __init__(self, objects: Objects, reports: Reports, clock: Clock, *, changed: Callable[[], None]) -> None:
        self._objects = objects
        self._reports = reports
        self._clock = clock
        self._changed = changed
        self._declared: dict[str, DeclaredMetric] = {}
        self._by_name: Mapping[_Name, Sequence[DeclaredMetric]] = {}

    def put(self, changes: Mapping[str, DeclaredMetric | None]) -> None:
        """Serve these, by declaration; None takes one away."""
        for declaration, metric in changes.items():
            if metric is None:
                self._declared.pop(declaration, None)
            else:
                self._declared[declaration] = metric
        by_name: dict[_Name, list[DeclaredMetric]] = {}
        for metric in self._declared.values():
            by_name.setdefault((metric.api, metric.name, metric.resource), []).append(metric)
        self._by_name = by_name
        self._changed()

    def entries(self) -> Sequence[Entry]:
        """See Provider. What several declarations serve in namespaces of their own is one entry."""
        return [metrics[0].entry for metrics in self._by_name.values()]

    def state(self, entry: Entry) -> State:
        """See Provider."""
        now = self._clock.monotonic()
        metrics = self._by_name.get((entry.api, entry.metric, entry.resource), ())
        reports = [report for metric in metrics if (report := self._reports.get(metric.declaration)) is not None]
        return State(
            sum(metric.kept.count(now) for metric in metrics),
            max((metric.kept.newest for metric in metrics), default=0),
            next((report.error for report in reports if report.error), ""),
        )

    async def answer(self, question: Question) -> Answer | Absent | None:
        """See Provider. It waits only where a resource is watched that nobody asked for before."""
        known = self._by_name.get((question.api, question.metric, question.resource))
        if known is None:
            return None
        metrics = [metric for metric in known if metric.is_served_in(question.namespace)]
        if not metrics:
            return Absent(f"{question.metric} is not served in namespace {question.namespace}", known=False)
        if question.resource is None:
            return _answer([self._external(metric, question) for metric in metrics])
        described = await self._objects.of(question.resource)
        if isinstance(described, Unavailable):
            return Absent(described.reason)
        return _answer([self._custom(metric, question, described) for metric in metrics])

    def _external(self, metric: DeclaredMetric, question: Question) -> list[Series] | str:
        """The series, or why there are none."""
        now = self._clock.monotonic()
        series = metric.kept.external(now)
        found = [each for each in series if question.series.matches(each.labels)]
        if found:
            return found
        stand_in = self._stand_in(metric, None, now)
        if stand_in is not None:
            return [stand_in]
        return "no series fulfils the selector" if series else self._why(metric, now)

    def _custom(self, metric: DeclaredMetric, question: Question, described: Described) -> list[Series] | str:
        """The series, or why there are none. What describes an object that is gone is none."""
        now = self._clock.monotonic()
        namespace = question.namespace if metric.namespaced else ""
        everywhere = metric.namespaced and not namespace
        of_objects = metric.kept.all_objects(now) if everywhere else metric.kept.objects(now, namespace)
        keys: Iterable[Key]
        if question.name is not None:
            keys = [(namespace, question.name)]
            if described.labels((namespace, question.name)) is None:
                return f"there is no {question.name} among the {question.resource}{_in(namespace)}"
        else:
            candidates = of_objects if metric.kept.missing.constant is None else sorted(described.in_namespace(namespace))
            keys = [key for key in candidates if (labels := described.labels(key)) is not None and question.objects.matches(labels)]
        found: list[Series] = []
        for key in keys:
            matching = [each for each in of_objects.get(key, ()) if question.series.matches(each.labels)]
            if not matching and (stand_in := self._stand_in(metric, key, now)) is not None:
                matching = [stand_in]
            found += matching
        if found:
            return found
        if any(key in of_objects for key in keys):
            return "no series fulfils the metric selector"
        if of_objects:
            others = f"{metric.declaration} has samples of other {question.resource}{_in(namespace)}, and none of those asked for"
            return f"{others}{_hint(question)}"
        return self._why(metric, now)

    def _stand_in(self, metric: DeclaredMetric, key: Key | None, now: float) -> Series | None:
        """The constant, if one is declared, once it is sure that the source gives no value."""
        constant = metric.kept.missing.constant
        if constant is None:
            return None
        report = self._reports.get(metric.declaration)
        answered = metric.kept.collected is not None and (report is None or not report.failing)
        if not answered and not metric.kept.is_out_of_date(now, metric.since):
            return None
        return Series(key, (), constant, int(self._clock.wall() * 1e9))

    def _why(self, metric: DeclaredMetric, now: float) -> str:
        """Why there is no series at all."""
        report = self._reports.get(metric.declaration)
        if report is not None and report.failing:
            return _failing(metric, report, self._clock.wall())
        if report is None or not report.last:
            return f"no data yet: the source of {metric.declaration} was not asked yet"
        last = format_time(report.last)
        if metric.kept.is_out_of_date(now, metric.since):
            return f"expired: the last good collection of {metric.declaration} was at {last}"
        dropped = f", and {report.dropped} items that could not be used: {report.error}" if report.dropped else ""
        return f"the source of {metric.declaration} answers, and told no living sample at {last}{dropped}"


def _failing(metric: DeclaredMetric, report: Report, wall: float) -> str:
    """The error and its age."""
    trouble = report.failing[0]
    last = f"; expired: its last good collection was at {format_time(report.last)}" if report.last else "; it never gave any"
    since = f"for {max(0, round(wall - trouble.since / 1e9))} s"
    return f"the source of {metric.declaration} fails ({trouble.cause}, {since}): {trouble.message}{last}"


def _hint(question: Question) -> str:
    """An HPA selects the pods of its own target, whatever its metric is about."""
    if question.resource != PODS or question.name is not None or question.objects.empty:
        return ""
    return "; an HPA asks for the pods of its target: for a metric of others use the type Object or External"


def _in(namespace: str) -> str:
    return f" in namespace {namespace}" if namespace else ""


def _answer(parts: Sequence[list[Series] | str]) -> Answer | Absent:
    """Of several declarations together: all series, else the first reason."""
    series = [each for part in parts if not isinstance(part, str) for each in part]
    if series:
        return Answer(series if len(parts) == 1 else sorted(series, key=lambda each: (each.object or _NO_OBJECT, each.labels)))
    return Absent(next(part for part in parts if isinstance(part, str)))
