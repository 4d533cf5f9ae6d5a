"""A file's rules without a cluster: which metrics they list, for `kubeglance explain` and `kubeglance convert`."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from app.adapter.config import Config, Rule, parse
from app.adapter.discovery import Discovery, Lists
from app.adapter.naming import Find, Known
from app.adapter.prometheus import Shape
from app.adapter.resources import Resources
from app.clock import Clock
from app.declared.documents import MAX_BYTES
from app.errors import KubeglanceError
from app.served_metrics.values import Resource
from collectors._base import Cause, CollectError

_NAMED = re.compile(r"\s*([a-zA-Z_:][\w:]*)\s*(?:\{.*\})?\s*", re.DOTALL)
_MATCHED = re.compile(r"([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)")


def read_config(file: Path) -> Config:
    """The rules of a file. Raises KubeglanceError where it cannot be read."""
    try:
        with file.open("rb") as opened:
            return parse(opened.read(MAX_BYTES + 1), str(file))
    except OSError as exc:
        raise KubeglanceError(f"cannot read {file}: {exc.strerror}") from exc


def finder(rules: Sequence[Rule]) -> Find:
    """Finds resources that every cluster has, and takes for known what overrides name beside them: there is no cluster to ask."""
    resources = Resources()
    named = {resource for rule in rules for resource in rule.overrides.values()}

    def find(group: str, name: str) -> Known | None:
        written = Resource(group, name)
        return resources.find(group, name) or (Known(written, name) if written in named else None)

    return find


class Written:
    """The series that rules name themselves, in place of a Prometheus that would list them."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules

    async def series(self, selector: str, _start: float) -> list[Shape]:
        """The one series of a selector with a name, with all labels that it or an override names. Raises CollectError for others."""
        found = _NAMED.fullmatch(selector)
        if found is None:
            message = "seriesQuery names no single series: what it lists is known only to Prometheus"
            raise CollectError(Cause.QUERY, message, "give --prometheus-url")
        overridden = [label for rule in self._rules if rule.series_query == selector for label in rule.overrides]
        return [Shape(found.group(1), frozenset([*overridden, *_labels(selector)]))]


def _labels(selector: str) -> Iterator[str]:
    return (found.group(1) for found in _MATCHED.finditer(re.sub(r'"(?:[^"\\]|\\.)*"', '""', selector)))


async def listed(config: Config, lists: Lists, clock: Clock, max_age: float, tell: Callable[[str], None]) -> Discovery:
    """What the rules list now. What is wrong with the file or a rule is told, a line each."""
    for fault in config.faults:
        tell(str(fault))
    found = Discovery(config.rules, lists, finder(config.rules), clock, max_age=max_age)
    await found.relist()
    for place, trouble in found.troubles.items():
        tell(f"{place}: {trouble.message}")
    return found
