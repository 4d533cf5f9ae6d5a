"""Queries as a rule's metricsQuery makes them, and whether one query can serve all objects of a namespace at once."""

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from app.adapter.naming import is_label
from app.adapter.template import Template, TemplateError
from app.wire.label_matching import Requirement
from app.wire.label_selectors import LabelSelector

MOST_BYTES = 8192
"""Of a query. Servers refuse long ones (VictoriaMetrics those over 16,384 bytes), and proxies long URLs."""

_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")
_SERIES, _LABEL, _MATCHERS = "kg_series", "kg_label", 'kg_matcher="kg_value"'
_NAMED = "kg_named"
_TOKEN = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`|kg_matcher=\"kg_value\"|[A-Za-z_:][\w:]*|[(){}\[\],]|\S")
_AGGREGATIONS = frozenset({"sum", "avg", "min", "max", "count", "stddev", "stdvar", "group", "quantile"})
_OF_ONE_SERIES = re.compile(
    r"abs|ceil|floor|round|clamp(_max|_min)?|exp|ln|log2|log10|sqrt|sgn|timestamp|i?rate|increase|i?delta|deriv|changes|resets"
    r"|predict_linear|histogram_quantile|(avg|min|max|sum|count|quantile|stddev|stdvar|last|present)_over_time"
)
"""What gives the same of an object whether or not there are others: functions of one series, and aggregations, if they are by object."""

_ACROSS = frozenset({"on", "ignoring", "group_left", "group_right", "without", "topk", "bottomk", "limitk", "limit_ratio", "count_values"})
"""Words that bring series of several objects together, or may."""


class QueryError(Exception):
    """A query that cannot be made. The message says why, in words."""


class Matcher(Struct, frozen=True):
    """One label matcher of PromQL. `values` are what LabelValuesByName has for the label, "a|b"; "" for none."""

    label: str
    operator: str
    value: str
    values: str

    def __str__(self) -> str:
        return f"{self.label}{self.operator}{quoted(self.value)}"


def quoted(text: str) -> str:
    """A string of PromQL."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def equal(label: str, value: str) -> Matcher:
    """The label has this value."""
    return Matcher(label, "=", value, value)


def named(label: str, names: Sequence[str]) -> Matcher:
    """The label has one of these values."""
    if len(names) == 1:
        return equal(label, names[0])
    return Matcher(label, "=~", "|".join(map(_literal, names)), "|".join(names))


def present(label: str) -> Matcher:
    """The label has any value."""
    return Matcher(label, "!=", "", "")


def selected(selector: LabelSelector) -> list[Matcher]:
    """The matchers of a selector of series. Raises QueryError for what PromQL has no matcher for."""
    return [_matcher(requirement) for requirement in selector.requirements]


def _matcher(requirement: Requirement) -> Matcher:
    label, values = requirement.key, requirement.values
    if not is_label(label):
        raise QueryError(f"the metric selector names {label}, which is no label of Prometheus: letters, digits and _ only")
    joined = "|".join(values)
    match requirement.operator:
        case "exists":
            return present(label)
        case "!":
            return Matcher(label, "=", "", "")
        case "=" | "==" | "in" if len(values) == 1:
            # A label without a value is none in Prometheus: = "" would select series that a selector does not.
            return Matcher(label, "=", values[0], joined) if values[0] else _impossible(label)
        case "!=" | "notin" if len(values) == 1:
            return Matcher(label, "!=", values[0], joined)
        case "in":
            return Matcher(label, "=~", "|".join(_literal(value) for value in values if value), joined)
        case "notin":
            return Matcher(label, "!~", "|".join(map(_literal, values)), joined)
        case operator:
            raise QueryError(f"the metric selector compares {label} by {operator}, which no matcher of Prometheus does")


def _impossible(label: str) -> Matcher:
    raise QueryError(f'the metric selector wants {label} to be "", which Prometheus cannot tell from a series without it: write !{label}')


def _literal(text: str) -> str:
    """Text as a regular expression that matches it alone."""
    return _SPECIAL.sub(lambda found: f"\\{found.group()}", text)


def build(template: Template, series: str, matchers: Iterable[Matcher], group_by: Sequence[str]) -> str:
    """The query. Raises QueryError where the template cannot be filled in, or gives nothing."""
    matchers = list(matchers)
    values = {
        "Series": series,
        "LabelMatchers": ",".join(map(str, matchers)),
        "LabelValuesByName": {matcher.label: matcher.values for matcher in matchers},
        "GroupBy": ",".join(group_by),
        "GroupBySlice": list(group_by),
    }
    return _filled(template, values)


def _filled(template: Template, values: Mapping[str, object]) -> str:
    try:
        text = template.fill(values)
    except TemplateError as exc:
        raise QueryError(f"metricsQuery: {exc}") from exc
    if not text.strip():
        raise QueryError("metricsQuery gives an empty query")
    return text


def in_pieces(names: Sequence[str], room: int) -> list[Sequence[str]]:
    """Names in pieces, each of which takes no more than `room` bytes as a regular expression."""
    pieces: list[list[str]] = [[]]
    taken = 0
    for name in names:
        size = len(quoted(_literal(name)).encode()) + 1
        if pieces[-1] and taken + size > room:
            pieces.append([])
            taken = 0
        pieces[-1].append(name)
        taken += size
    return list(pieces)


def is_by_object(template: Template) -> bool:
    """Whether a query without the names of objects gives of each object what one with them gives."""
    return keeps_apart(template, [_LABEL], [_LABEL])


def keeps_apart(template: Template, group_by: Sequence[str], labels: Sequence[str]) -> bool:
    """Whether a query for all values of `labels` gives of each what one whose matchers select that one gives.

    It does where all that the matchers select is aggregated by these labels, or not at all, and nothing else brings series of several
    values together. What is not plainly so is not so: then the query names the objects, as the adapter's does.
    """
    filling = {"Series": _SERIES, "LabelMatchers": _MATCHERS, "GroupBy": ",".join(group_by), "GroupBySlice": list(group_by)}
    try:
        text = template.fill({**filling, "LabelValuesByName": dict.fromkeys(labels, _NAMED)})
        if text != template.fill({**filling, "LabelValuesByName": {}}):
            return False
    except TemplateError:
        return False
    tokens = _TOKEN.findall(text)
    if _ACROSS.intersection(tokens) or _MATCHERS not in tokens:
        return False
    return all(_is_apart(tokens, index, labels) for index, token in enumerate(tokens) if token == _MATCHERS)


def labels_of_result(query: str) -> Sequence[str] | None:
    """The labels that series of a query's result have, but for those without a value; None where the query does not say."""
    tokens = _TOKEN.findall(query)
    while tokens and tokens[0] == "(" and _closing(tokens, 0) == len(tokens) - 1:
        tokens = tokens[1:-1]
    called = tokens[0] if tokens else ""
    if called == "scalar" and tokens[1:2] == ["("] and _closing(tokens, 1) == len(tokens) - 1:
        return ()
    if called not in _AGGREGATIONS:
        return None
    rest = tokens[1:]
    by: Sequence[str] = ()
    if rest[:2] == ["by", "("]:
        end = _closing(rest, 1)
        by, rest = rest[2:end], rest[end + 1 :]
    end = _closing(rest, 0) + 1
    if rest[:1] != ["("] or end > len(rest):
        return None
    if not by and rest[end : end + 2] == ["by", "("]:
        closed = _closing(rest, end + 1)
        by, end = rest[end + 2 : closed], closed + 1
    names = dict.fromkeys(word for word in by if word != ",")
    return tuple(names) if end == len(rest) and all(map(is_label, names)) else None


def _is_apart(tokens: Sequence[str], at: int, labels: Sequence[str]) -> bool:
    """Whether all calls around a token leave the values of these labels apart."""
    depth = 0
    for index in range(at - 1, -1, -1):
        bracket = tokens[index]
        if bracket in {")", "]", "}"}:
            depth += 1
        elif bracket in {"(", "[", "{"} and depth:
            depth -= 1
        elif bracket == "(":
            called, by = _call(tokens, index)
            if called in _AGGREGATIONS:
                if not set(labels) <= set(by):
                    return False
            elif called and _OF_ONE_SERIES.fullmatch(called) is None:
                return False
    return True


def _call(tokens: Sequence[str], opened: int) -> tuple[str, Sequence[str]]:
    """What is called with the parenthesis at `opened` ("" for nothing), and the labels behind its by."""
    before = opened - 1
    if before >= 0 and tokens[before] == ")":
        start = _opening(tokens, before)
        if start >= 2 and tokens[start - 1] == "by":
            return tokens[start - 2], tokens[start + 1 : before]
        return ")", ()
    name = tokens[before] if before >= 0 and re.fullmatch(r"[A-Za-z_]\w*", tokens[before]) else ""
    if name in {"and", "or", "unless", "bool"}:
        return "", ()
    end = _closing(tokens, opened)
    if name in _AGGREGATIONS and tokens[end + 1 : end + 3] == ["by", "("]:
        return name, tokens[end + 3 : _closing(tokens, end + 2)]
    return name, ()


def _opening(tokens: Sequence[str], closed: int) -> int:
    depth = 0
    for index in range(closed, -1, -1):
        depth += (tokens[index] == ")") - (tokens[index] == "(")
        if not depth:
            return index
    return -1


def _closing(tokens: Sequence[str], opened: int) -> int:
    depth = 0
    for index in range(opened, len(tokens)):
        depth += (tokens[index] == "(") - (tokens[index] == ")")
        if not depth:
            return index
    return len(tokens)
