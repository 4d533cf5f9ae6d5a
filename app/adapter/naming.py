"""From series to metrics: which resources a series tells of, by its labels, and what its metric is called.

As in prometheus-adapter: a label leads to a resource by an override, or by the template read backwards; a resource leads to its label the
same way forwards. Names are those that the cluster's discovery knows, singular or plural, in any group where none is given.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from app.adapter.template import Template, TemplateError
from app.served_metrics.values import NAMESPACES, NODES, Resource

VOLUMES = Resource("", "persistentvolumes")
UNNAMESPACED = frozenset({NAMESPACES, NODES, VOLUMES})
"""The resources that the adapter takes to be cluster-scoped: it lists all others as namespaced."""

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_EXPANSION = re.compile(r"\$(?:\$|(\w+)|\{(\w+)\})")
_BRACKETS = re.compile(r"\\.|\[\^?(?:\[:\^?\w+:\]|\\.|[^\]\\])+\]", re.DOTALL)
_POSIX = re.compile(r"(?<!^)\[:(\^?\w+):\]")
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
"""Those that the name of a series can have, as Python writes them: it would take [[:alpha:]] for other characters, and say nothing."""

_SANITIZED = str.maketrans(".-", "__")


class NamingError(Exception):
    """A rule that names nothing. The message says why, in words."""


class Known(Struct, frozen=True):
    """A resource that the cluster has."""

    resource: Resource
    singular: str
    namespaced: bool = True


Find = Callable[[str, str], Known | None]
"""The resource by a group ("" for any, a prefix will do) and its singular or plural name."""


def is_label(name: str) -> bool:
    """Whether PromQL can name a label so, without quotes."""
    return _LABEL.fullmatch(name) is not None


class Filter(Struct, frozen=True):
    """Series by their name: those that `regex` is found in, or with `inverted` the others."""

    regex: re.Pattern[str]
    inverted: bool = False

    def takes(self, name: str) -> bool:
        """Whether a series of that name is taken."""
        return (self.regex.search(name) is None) == self.inverted


def regex(text: str) -> re.Pattern[str]:
    r"""A regular expression of Go's (RE2). What is written otherwise in Python is put in its words: \z, [:alpha:], and $ as the end of the
    text.

    Raises NamingError for what is none.
    """
    text = _BRACKETS.sub(lambda found: _POSIX.sub(_posix, found.group()), text)
    try:
        return re.compile(re.sub(r"(\\.)|(\[(?:\\.|[^\]])*\])|\$", _translated, text.replace(r"\z", "$")), re.ASCII)
    except (re.error, RecursionError, OverflowError) as exc:
        raise NamingError(f"{text!r} is no regular expression: {exc}") from exc


def _posix(found: re.Match[str]) -> str:
    if found.group(1) not in _CLASSES:
        raise NamingError(f"{found.group()} is not known: there are {', '.join(_CLASSES)}")
    return _CLASSES[found.group(1)]


def _translated(found: re.Match[str]) -> str:
    return found.group(0) if found.group(0) != "$" else r"\Z"


class Names(Struct, frozen=True):
    """What metrics are called: `matches` is as it is written, `output` has $1, ${1}x, $name, and $$ for a dollar."""

    matches: str
    pattern: re.Pattern[str]
    output: str

    def name(self, series: str) -> str | None:
        """The metric of a series; None where its name does not match."""
        found = self.pattern.search(series)
        if found is None:
            return None
        groups = {str(index): text or "" for index, text in enumerate((found.group(), *found.groups()))}
        groups |= {name: text or "" for name, text in found.groupdict().items()}

        def one(expansion: re.Match[str]) -> str:
            return "$" if expansion.group() == "$$" else groups.get(expansion.group(1) or expansion.group(2), "")

        return _EXPANSION.sub(one, self.output)


def names(matches: str, output: str) -> Names:
    """The names of a rule, by name.matches and name.as ("" where they are not given). Raises NamingError."""
    pattern = regex(matches or ".*")
    if not output:
        if pattern.groups > 1:
            raise NamingError(f'{matches!r} has {pattern.groups} groups, so that "as" must say which one is the name')
        output = "$1" if pattern.groups else "$0"
    return Names(matches or ".*", pattern, output)


class Association:
    """Labels and resources of one rule, both ways."""

    def __init__(self, template: str, overrides: Mapping[str, Resource], find: Find) -> None:
        """`overrides` are resources by label, as they are written. Raises NamingError for one that the cluster does not have."""
        self._find = find
        self._template = _label_template(template) if template else None
        self._backwards = _backwards(self._template) if self._template is not None else None
        self._overrides: dict[str, Resource] = {}
        self._labels: dict[Resource, str] = {}
        for label, written in sorted(overrides.items()):
            known = find(*written)
            if known is None:
                raise NamingError(f"the cluster serves no resource {written}, which label {label} is said to name")
            self._overrides[label] = known.resource
            self._labels.setdefault(known.resource, label)

    def label(self, resource: Resource) -> str:
        """The label that names objects of a resource. Raises NamingError where the rule has none."""
        if resource not in self._labels:
            self._labels[resource] = self._by_template(resource)
        return self._labels[resource]

    def resources(self, labels: Iterable[str]) -> tuple[list[Resource], bool]:
        """The resources that labels name, and whether the adapter lists them as namespaced."""
        found: list[Resource] = []
        namespaced = False
        for label in sorted(labels):
            resource = self._overrides.get(label)
            if resource is None and self._backwards is not None and (match := self._backwards.fullmatch(label)) is not None:
                groups = match.groupdict()
                known = self._find(groups.get("group", ""), groups["resource"])
                if known is None:
                    continue
                resource = known.resource
                self._labels.setdefault(resource, label)
            if resource is not None and resource not in found:
                found.append(resource)
            namespaced = namespaced or resource not in UNNAMESPACED
        return found, namespaced

    def _by_template(self, resource: Resource) -> str:
        if self._template is None:
            raise NamingError(f"no label names {resource}: resources has no template, and no override for it")
        known = self._find(*resource)
        singular = known.singular if known is not None else resource.name
        label = _filled(self._template, resource.group.translate(_SANITIZED), singular)
        if not is_label(label):
            raise NamingError(f"resources.template makes {label!r} of {resource}, which is no label")
        return label


def _label_template(text: str) -> Template:
    try:
        return Template(text)
    except TemplateError as exc:
        raise NamingError(f"resources.template {exc}") from exc


def _filled(template: Template, group: str, resource: str) -> str:
    try:
        return template.fill({"Group": group, "Resource": resource})
    except TemplateError as exc:
        raise NamingError(f"resources.template: {exc}") from exc


def _backwards(template: Template) -> re.Pattern[str]:
    """The template as a pattern that finds group and resource in a label."""
    pattern = _filled(template, "(?P<group>.+?)", "(?P<resource>.+?)")
    if "(?P<resource>" not in pattern:
        raise NamingError("resources.template must have << .Resource >> in it")
    return regex(pattern)
