"""The metrics of an adapter file, as a Provider: what is asked for is asked of Prometheus, and kept warm while somebody asks."""

import asyncio
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Protocol, TypeVar

from app.adapter.discovery import Listed, Metrics
from app.adapter.naming import UNNAMESPACED, Known, NamingError
from app.adapter.prometheus import Sample
from app.adapter.queries import WAIT_S, Kept, Queries
from app.adapter.query import MOST_BYTES, Matcher, QueryError, build, equal, in_pieces, named, present, selected
from app.served_metrics.in_order import in_order
from app.served_metrics.objects import Described, Unavailable
from app.served_metrics.values import NAMESPACES, Absent, Answer, Entry, Question, Resource, Series, State

_SHOWN = 300
_AT_ONCE = 1000
"""More samples than these are looked at beside the event loop."""

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9._:]*[A-Za-z0-9])?")
"""What may name an object. A template may write names into a query as they are, so that no other text gets there."""

_T = TypeVar("_T")


class DescribedObjects(Protocol):
    """Finds described objects (app.served_metrics.objects.Objects)."""

    async def of(self, resource: Resource) -> Described | Unavailable: ...


class Find(Protocol):
    """The resource of a group and a name."""

    def __call__(self, group: str, name: str) -> Known | None: ...


class AdapterMetrics:
    """Implements Provider. `put` has other metrics served."""

    name = "prometheus-adapter's rules"

    def __init__(self, queries: Queries, objects: DescribedObjects, find: Find) -> None:
        self._queries = queries
        self._objects = objects
        self._find = find
        self._metrics: Metrics = {}
        self._entries: Sequence[Entry] = []
        self._last: dict[tuple[Resource | None, str], Sequence[str]] = {}
        self.not_listed = "the series of Prometheus were not listed yet"
        """Why nothing may be known yet; "" once it is."""

    def put(self, metrics: Metrics) -> bool:
        """Serve these. Whether others are listed than before."""
        before, self._entries = self._entries, [listed.entry for listed in metrics.values()]
        self._metrics = metrics
        self._last = {key: texts for key, texts in self._last.items() if key in metrics}
        return self._entries != before

    def entries(self) -> Sequence[Entry]:
        """See Provider."""
        return self._entries

    def state(self, entry: Entry) -> State:
        """See Provider. It tells of the last question: metrics nobody asks for are not asked of Prometheus."""
        texts = self._last.get((entry.resource, entry.metric), ())
        kept = [each for text in texts if (each := self._queries.get(text)) is not None]
        if not kept:
            return State(None, 0, "")
        samples = [sample for each in kept if each.result is not None for sample in each.result.samples]
        error = next((str(each.error) for each in kept if each.error is not None), "")
        return State(len(samples), max((sample.time for sample in samples), default=0), error)

    async def answer(self, question: Question) -> Answer | Absent | None:
        """See Provider. It waits for the first answer to a query, but not for long."""
        listed = self._metrics.get((question.resource, question.metric))
        if listed is None:
            return Absent(self.not_listed, known=False) if self.not_listed else None
        try:
            return await (
                self._external(listed, question) if question.resource is None else self._custom(listed, question, question.resource)
            )
        except (NamingError, QueryError) as exc:
            return Absent(f"{listed.rule.place}: {exc}")

    async def _external(self, listed: Listed, question: Question) -> Answer | Absent:
        kept = await self._ask(listed, question.namespace, [external_query(listed, question)])
        if isinstance(kept, Absent):
            return kept
        found = await _made(kept[0], None, _by_labels)
        return Answer(found) if found else _nothing(listed, kept)

    async def _custom(self, listed: Listed, question: Question, resource: Resource) -> Answer | Absent:
        described = await self._objects.of(resource)
        known = self._find(*resource)
        namespace = "" if resource in UNNAMESPACED or (known is not None and not known.namespaced) else question.namespace
        # The adapter asks for one object without looking whether there is one; of an unlisted resource we do the same.
        labels = None if isinstance(described, Unavailable) else described.labels
        if question.name is not None:
            names = [question.name]
            if _NAME.fullmatch(question.name) is None:
                return Absent(f"there is no object of such a name among the {resource}{_in(namespace)}")
            if labels is not None and labels((namespace, question.name)) is None:
                return Absent(f"there is no {question.name} among the {resource}{_in(namespace)}")
        elif isinstance(described, Unavailable):
            return Absent(described.reason)
        else:
            keys = described.in_namespace(namespace)
            names = sorted(key[1] for key in keys if (own := described.labels(key)) is not None and question.objects.matches(own))
            if not names:
                return Absent(f"no {resource}{_in(namespace)} fulfil the selector")
        label = listed.association.label(resource)
        kept = await self._ask(listed, namespace, custom_queries(listed, label, namespace, question, names))
        if isinstance(kept, Absent):
            return kept
        by_name: dict[str, Series] = {}
        for each in kept:
            by_name |= await _made(each, (label, namespace), partial(_by_name, label, namespace))
        found = [series for name in names if (series := by_name.get(name)) is not None]
        return Answer(found) if found else _nothing(listed, kept, label=label, asked=f"{resource}{_in(namespace)}", others=bool(by_name))

    async def _ask(self, listed: Listed, namespace: str, texts: Sequence[str]) -> Sequence[Kept] | Absent:
        """The queries with their answers, or why there are none."""
        owner = (listed.resource, listed.metric, namespace)
        found = await asyncio.gather(*(self._queries.ask(text, owner) for text in texts))
        kept = [each for each in found if each is not None]
        if len(kept) < len(texts):
            return Absent("too many different queries are asked at one time")
        self._last[listed.resource, listed.metric] = texts
        for each in kept:
            if not self._queries.is_fresh(each):
                return Absent(self._why(each))
        return kept

    def _why(self, kept: Kept) -> str:
        """Why a query has no answer that counts."""
        age = self._queries.age(kept)
        last = "it never answered this query" if age is None else f"expired: its last answer is {age:.0f} s old"
        if kept.error is None:
            return f"Prometheus did not answer within {WAIT_S:g} s; {last}: {kept.text[:_SHOWN]}"
        return f"Prometheus fails ({kept.error.cause}): {kept.error.message}; {last}"


def external_query(listed: Listed, question: Question) -> str:
    """The query of an external metric. Raises QueryError and NamingError."""
    matchers = selected(question.series)
    if listed.rule.namespaced and question.namespace:
        matchers.append(equal(listed.association.label(NAMESPACES), question.namespace))
    return build(listed.rule.query, listed.series, matchers, ())


def custom_queries(listed: Listed, label: str, namespace: str, question: Question, names: Sequence[str]) -> Sequence[str]:
    """The queries that give the metric of the objects `names`, of all if there are none: one for all objects that there are where the rule
    allows it, else as many as keep each within MOST_BYTES. Raises QueryError and NamingError."""
    matchers = selected(question.series)
    if namespace:
        matchers.append(equal(listed.association.label(NAMESPACES), namespace))

    def query(objects: Matcher) -> str:
        return build(listed.rule.query, listed.series, [*matchers, objects], (label,))

    if listed.rule.by_object or not names:
        return [query(present(label))]
    return [query(named(label, piece)) for piece in in_pieces(names, MOST_BYTES // 2)]


async def _made(kept: Kept, what: Hashable, make: Callable[[Sequence[Sample]], _T]) -> _T:
    """What is made of a result, once for all who ask; of many samples in a thread, while others are answered."""
    samples = kept.result.samples if kept.result is not None else ()
    made = kept.made  # of this result: what comes meanwhile has its own
    if what not in made:
        made[what] = make(samples) if len(samples) <= _AT_ONCE else await asyncio.to_thread(make, samples)
    found: _T = made[what]
    return found


def _by_labels(samples: Sequence[Sample]) -> Sequence[Series]:
    """The series of the result of an external metric, in order."""
    series = [Series(None, sample.labels, sample.value, sample.time) for sample in samples]
    return list(in_order(series, attrgetter("labels")))


def _by_name(label: str, namespace: str, samples: Sequence[Sample]) -> Mapping[str, Series]:
    """The series of a result by the name of the object; of several of one object the last counts, as in the adapter."""
    found: dict[str, Series] = {}
    for sample in samples:
        name = next((value for key, value in sample.labels if key == label), "")
        if name:
            labels = tuple(pair for pair in sample.labels if pair[0] != label)
            found[name] = Series((namespace, name), labels, sample.value, sample.time)
    return found


def _nothing(listed: Listed, kept: Sequence[Kept], *, label: str = "", asked: str = "", others: bool = False) -> Absent:
    """Why answers that came have nothing of what is asked for."""
    text = kept[0].text[:_SHOWN]
    results = [each.result for each in kept if each.result is not None]
    dropped = [why for result in results for why in result.dropped]
    if others:
        return Absent(f"{listed.rule.place}: Prometheus has the metric of other {asked}, and of none of those asked for: {text}")
    if dropped:
        return Absent(f"{listed.rule.place}: no sample is a number ({dropped[0]}): {text}")
    if label and any(result.samples for result in results):
        return Absent(f"{listed.rule.place}: the result has no label {label}: does metricsQuery aggregate by << .GroupBy >>? {text}")
    return Absent(f"{listed.rule.place}: the query gives nothing: {text}")


def _in(namespace: str) -> str:
    return f" in namespace {namespace}" if namespace else ""
