"""prometheus-adapter's configuration file, as its documentation has it (docs/config.md there, release 0.12.0).

All that is wrong is told at once, with its place and the word that was probably meant. A rule with a fault costs itself: the others are
served. Keys are strict, as they are in the adapter.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct

from app.adapter.naming import Filter, Names, NamingError, Regex, names
from app.adapter.query import QueryError, build, equal, is_by_object
from app.adapter.template import Template, TemplateError
from app.declared.documents import Document, read
from app.declared.faults import Fault, Path, path_text
from app.nearest import nearest_word
from app.served_metrics.values import Resource

_SECTIONS = ("rules", "externalRules", "resourceRules")
_RULE = ("seriesQuery", "seriesFilters", "resources", "name", "metricsQuery")
_T = TypeVar("_T")
_SAMPLE = (equal("kg_label", "kg_value"),)


class Rule(Struct, frozen=True, eq=False):
    """A rule of `rules` or `externalRules` that can be used.

    `place` names it for people: rules[2]. `overrides` are resources by label as they are written. `by_object` says whether one query
    serves all objects (query.is_by_object).
    """

    place: str
    external: bool
    series_query: str
    filters: tuple[Filter, ...]
    names: Names
    template: str
    overrides: Mapping[str, Resource]
    namespaced: bool
    query: Template
    metrics_query: str
    by_object: bool


class ResourceRule(Struct, frozen=True, eq=False):
    """What of resourceRules is about CPU or about memory. `container_label` names containers."""

    container_query: Template
    node_query: Template
    template: str
    overrides: Mapping[str, Resource]
    container_label: str


class ResourceRules(Struct, frozen=True):
    """resourceRules. `window` is what is told as the window of usages (seconds)."""

    cpu: ResourceRule
    memory: ResourceRule
    window: float


class Config(Struct, frozen=True):
    """The rules of a file that can be used, in its order, and all that is wrong with it."""

    rules: tuple[Rule, ...] = ()
    resource_rules: ResourceRules | None = None
    faults: tuple[Fault, ...] = ()


def parse(text: str | bytes, file: str) -> Config:
    """The configuration in `text`. Raises nothing: what is wrong is in the answer."""
    documents, faults = read(text, file)
    if not documents:
        return Config(faults=tuple(faults))
    reader = _Reader(documents[0])
    reader.faults += faults
    if len(documents) > 1:
        reader.faults.append(Fault(documents[1].positions.start, "", "only the first document of the file is read"))
    return reader.config()


class _Reader:
    """Walks one document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.faults: list[Fault] = []

    def config(self) -> Config:
        top = self._mapping(self._document.value, (), _SECTIONS)
        rules: list[Rule] = []
        for section in ("rules", "externalRules"):
            for index, value in enumerate(self._list(top.get(section), (section,))):
                rule = self._rule(value, (section, index), external=section == "externalRules")
                rules += [rule] if rule is not None else []
        resource_rules = self._resource_rules(top["resourceRules"]) if top.get("resourceRules") else None
        return Config(tuple(rules), resource_rules, tuple(self.faults))

    def _resource_rules(self, value: Any) -> ResourceRules | None:
        """resourceRules; None if anything is wrong with them, which is then among the faults."""
        path: Path = ("resourceRules",)
        before = len(self.faults)
        fields = self._mapping(value, path, ("cpu", "memory", "window"))
        cpu, memory = (self._resource_rule(fields.get(name), (*path, name)) for name in ("cpu", "memory"))
        window = self._made(lambda: _seconds(self._text(fields, "window", path)), (*path, "window"))
        if len(self.faults) > before or cpu is None or memory is None or window is None:
            return None
        return ResourceRules(cpu, memory, window)

    def _resource_rule(self, value: Any, path: Path) -> ResourceRule | None:
        fields = self._mapping(value, path, ("containerQuery", "nodeQuery", "resources", "containerLabel"))
        texts = {name: self._text(fields, name, path) for name in ("containerQuery", "nodeQuery", "containerLabel")}
        for name, text in texts.items():
            if not text.strip():
                self._fault((*path, name), "is missing" if name not in fields else "is empty")
        template, overrides, _ = self._resources(fields.get("resources", {}), (*path, "resources"))
        container = self._made(lambda: Template(texts["containerQuery"]), (*path, "containerQuery"))
        node = self._made(lambda: Template(texts["nodeQuery"]), (*path, "nodeQuery"))
        if container is None or node is None:
            return None
        for name, query in (("containerQuery", container), ("nodeQuery", node)):
            if texts[name].strip():
                self._made(partial(build, query, "", _SAMPLE, ("kg_label",)), (*path, name))
        return ResourceRule(container, node, template, overrides, texts["containerLabel"])

    def _rule(self, value: Any, path: Path, *, external: bool) -> Rule | None:
        """The rule; None if anything is wrong with it, which is then among the faults."""
        before = len(self.faults)
        fields = self._mapping(value, path, _RULE)
        series_query = self._text(fields, "seriesQuery", path)
        metrics_query = self._text(fields, "metricsQuery", path)
        for name, text in (("seriesQuery", series_query), ("metricsQuery", metrics_query)):
            if not text.strip() and len(self.faults) == before:
                self._fault((*path, name), "is missing" if name not in fields else "is empty", expected="a query")
        filters = [
            found
            for index, each in enumerate(self._list(fields.get("seriesFilters"), (*path, "seriesFilters")))
            if (found := self._filter(each, (*path, "seriesFilters", index))) is not None
        ]
        name_path = (*path, "name")
        naming = self._mapping(fields.get("name", {}), name_path, ("matches", "as"))
        matches, output = self._text(naming, "matches", name_path), self._text(naming, "as", name_path)
        made = self._made(lambda: names(matches, output), (*name_path, "matches"))
        if matches and made is not None:
            filters.append(Filter(made.pattern))
        template, overrides, namespaced = self._resources(fields.get("resources", {}), (*path, "resources"))
        query = self._made(lambda: Template(metrics_query), (*path, "metricsQuery"))
        if query is not None and len(self.faults) == before:
            self._made(lambda: build(query, "series", _SAMPLE, () if external else ("kg_label",)), (*path, "metricsQuery"))
        if len(self.faults) > before or query is None or made is None:
            return None
        place = f"{path[0]}[{path[1]}]"
        by_object = not external and is_by_object(query)
        return Rule(place, external, series_query, tuple(filters), made, template, overrides, namespaced, query, metrics_query, by_object)

    def _filter(self, value: Any, path: Path) -> Filter | None:
        fields = self._mapping(value, path, ("is", "isNot"))
        texts = {name: text for name in ("is", "isNot") if (text := self._text(fields, name, path))}
        if len(texts) != 1:
            self._fault(path, "has both" if texts else "has neither", expected="one of is, isNot")
            return None
        name, text = next(iter(texts.items()))
        pattern = self._made(lambda: Regex(text), (*path, name))
        return Filter(pattern, inverted=name == "isNot") if pattern is not None else None

    def _resources(self, value: Any, path: Path) -> tuple[str, dict[str, Resource], bool]:
        fields = self._mapping(value, path, ("template", "overrides", "namespaced"))
        template = self._text(fields, "template", path)
        if template:
            self._made(lambda: Template(template), (*path, "template"))
        overrides: dict[str, Resource] = {}
        for label, each in self._mapping(fields.get("overrides", {}), (*path, "overrides"), None).items():
            where = (*path, "overrides", label)
            named = self._mapping(each, where, ("group", "resource"))
            resource = Resource(self._text(named, "group", where), self._text(named, "resource", where))
            if not resource.name:
                self._fault(where, "names no resource", expected="resource")
            if not re.fullmatch(r"[a-zA-Z_]\w*", label, re.ASCII):
                self._fault(where, f'"{label}" is no label of Prometheus', expected="letters, digits and _")
            overrides[label] = resource
        namespaced = fields.get("namespaced")
        if namespaced is not None and not isinstance(namespaced, bool):
            self._fault((*path, "namespaced"), "must be true or false")
        return template, overrides, namespaced is not False

    def _made(self, make: Callable[[], _T], path: Path) -> _T | None:
        """What `make` makes; None, and a fault, where it cannot."""
        try:
            return make()
        except (TemplateError, NamingError, QueryError) as exc:
            self._fault(path, str(exc))
            return None

    def _mapping(self, value: Any, path: Path, known: tuple[str, ...] | None) -> dict[str, Any]:
        """The fields of a mapping; those that are not `known` are faults."""
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._fault(path, f"is {_kind(value)}", expected="a mapping")
            return {}
        for key in value:
            if known is not None and key not in known:
                self._fault(
                    (*path, key), "unknown field", expected=f"one of {', '.join(known)}", nearest=nearest_word(key, known), key=True
                )
        return {key: each for key, each in value.items() if known is None or key in known}

    def _list(self, value: Any, path: Path) -> list[Any]:
        if value is None or isinstance(value, list):
            return value or []
        self._fault(path, f"is {_kind(value)}", expected="a list")
        return []

    def _text(self, fields: Mapping[str, Any], name: str, path: Path) -> str:
        value = fields.get(name)
        if value is None or isinstance(value, str):
            return value or ""
        self._fault((*path, name), f"is {_kind(value)}", expected="a text")
        return ""

    def _fault(self, path: Path, message: str, *, expected: str = "", nearest: str = "", key: bool = False) -> None:
        place = self._document.positions.of(path, key=key)
        self.faults.append(Fault(place, path_text(path), message, expected, nearest))


def _seconds(text: str) -> float:
    """A window, as Prometheus writes durations (1m, 90s); a minute where there is none. Raises QueryError."""
    found = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", text)
    if found is None:
        raise QueryError(f"{text!r} is no duration such as 1m")
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return float(3600 * hours + 60 * minutes + seconds) or 60.0


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case _:
            return "a text"
