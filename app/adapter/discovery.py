"""What the rules list: series are asked for on an interval, and become metrics by the names and labels that they have.

Each rule costs itself only: the last good list of its series stays where a newer one cannot be had.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Protocol

from msgspec import Struct

from app.adapter.config import Rule
from app.adapter.naming import UNNAMESPACED, Association, Find, NamingError
from app.adapter.prometheus import Shape
from app.clock import Clock
from app.served_metrics.values import Api, Entry, Resource
from collectors._base import Cause, CollectError


class Listed(Struct, frozen=True, eq=False):
    """A metric that a rule lists. `resource` is None for an external one, `series` the name of the series behind it."""

    metric: str
    resource: Resource | None
    namespaced: bool
    series: str
    rule: Rule
    association: Association

    @property
    def entry(self) -> Entry:
        """As it is listed in discovery."""
        api: Api = "external" if self.resource is None else "custom"
        return Entry(api, self.metric, self.resource, self.namespaced, f"prometheus-adapter {self.rule.place}", "prometheus")


Metrics = Mapping[tuple[Resource | None, str], Listed]
"""By described resource (None: external) and name."""


class Trouble(Struct, frozen=True):
    """What is wrong with a rule: a cause (collectors._base.Cause), words, and since when (Unix ns)."""

    cause: str
    message: str
    since: int


class Lists(Protocol):
    """A Prometheus that lists its series."""

    async def series(self, selector: str, start: float) -> list[Shape]: ...


class Discovery:
    """The metrics of some rules. `troubles` are those of the last relist by the rule's place; `find` finds resources."""

    def __init__(self, rules: Sequence[Rule], lists: Lists, find: Find, clock: Clock, *, max_age: float) -> None:
        """`max_age` (s): series without a sample for so long are not listed."""
        self._rules = rules
        self._lists = lists
        self.find = find
        self._clock = clock
        self._max_age = max_age
        self._shapes: dict[str, list[Shape]] = {}
        self.metrics: Metrics = {}
        self.troubles: dict[str, Trouble] = {}

    @property
    def listed_once(self) -> bool:
        """Whether the series of some rule were ever listed."""
        return bool(self._shapes)

    def successor(self, rules: Sequence[Rule]) -> "Discovery":
        """One for other rules. The lists of those queries that they share stay, and so does what is served until the next relist."""
        after = Discovery(rules, self._lists, self.find, self._clock, max_age=self._max_age)
        queries = {rule.series_query for rule in rules}
        after._shapes = {query: shapes for query, shapes in self._shapes.items() if query in queries}
        after.metrics = self.metrics
        return after

    async def relist(self) -> None:
        """Ask for the series of all rules, the same ones once, and look anew at what they are."""
        start = self._clock.wall() - self._max_age
        queries = dict.fromkeys(rule.series_query for rule in self._rules)
        answers = await asyncio.gather(*(self._lists.series(query, start) for query in queries), return_exceptions=True)
        failed: dict[str, CollectError] = {}
        for query, answer in zip(queries, answers, strict=True):
            if isinstance(answer, CollectError):
                failed[query] = answer
            elif isinstance(answer, BaseException):
                raise answer
            else:
                self._shapes[query] = answer
        # Thousands of series take a while: whoever asks for a metric meanwhile gets a turn.
        self.metrics, self.troubles = await asyncio.to_thread(self._look, failed)

    def _look(self, failed: Mapping[str, CollectError]) -> tuple[Metrics, dict[str, Trouble]]:
        """The metrics of all lists that there are, and the rules' troubles; `failed` is what could not be listed anew."""
        metrics: dict[tuple[Resource | None, str], Listed] = {}
        troubles: dict[str, Trouble] = {}
        for rule in self._rules:
            if (error := failed.get(rule.series_query)) is not None:
                troubles[rule.place] = self._trouble(rule, error.cause, error.message)
            try:
                association = Association(rule.template, rule.overrides, self.find)
                for listed in _listed(rule, association, self._shapes.get(rule.series_query, ())):
                    metrics[listed.resource, listed.metric] = listed
            except NamingError as exc:
                troubles[rule.place] = self._trouble(rule, Cause.MAPPING, str(exc))
        return metrics, troubles

    def _trouble(self, rule: Rule, cause: str, message: str) -> Trouble:
        before = self.troubles.get(rule.place)
        return Trouble(cause, message, before.since if before is not None else int(self._clock.wall() * 1e9))


def _listed(rule: Rule, association: Association, shapes: Iterable[Shape]) -> Iterable[Listed]:
    """The metrics of one rule, in the order of its series: of two with one name the last counts, as in the adapter."""
    for name, alike in groupby(shapes, key=attrgetter("name")):
        metric = rule.names.name(name) if all(each.takes(name) for each in rule.filters) else None
        if not metric or "/" in metric:
            continue
        for shape in alike:
            if rule.external:
                yield Listed(metric, None, True, name, rule, association)
                continue
            resources, namespaced = association.resources(shape.labels)
            for resource in resources:
                yield Listed(metric, resource, namespaced and resource not in UNNAMESPACED, name, rule, association)
