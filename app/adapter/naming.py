"""From series to metrics: which resources a series tells of, by its labels, and what its metric is called.

As in prometheus-adapter: a label leads to a resource by an override, or by the template read backwards; a resource leads to its label the
same way forwards. Names are those that the cluster's discovery knows, singular or plural, in any group where none is given.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import re2
from msgspec import Struct

from app.adapter.template import Template, TemplateError
from app.served_metrics.values import NAMESPACES, NODES, Resource

VOLUMES = Resource("", "persistentvolumes")
UNNAMESPACED = frozenset({NAMESPACES, NODES, VOLUMES})
"""The resources that the adapter takes to be cluster-scoped: it lists all others as namespaced."""

_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False  # they are told by who compiles it
_EXPANSION = re.compile(r"\$(?:\$|(\w+)|\{(\w+)\})")
_UNKNOWN = Resource("", "")
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


class Regex:
    """A regular expression of Go's, which are RE2's: in time that grows with the text, whatever stands in it."""

    def __init__(self, text: str) -> None:
        """Raises NamingError for what is none."""
        try:
            self._compiled = re2.compile(text, _OPTIONS)
        except UnicodeEncodeError as exc:
            raise NamingError(f"{text!r} is no regular expression: {exc.reason}") from exc
        except re2.error as exc:
            why = exc.args[0].decode()
            raise NamingError(f"{text!r} is no regular expression of RE2: {why}{_not_in_re2(why)}") from exc

    @property
    def groups(self) -> int:
        """How many groups it has."""
        groups: int = self._compiled.groups
        return groups

    def is_in(self, text: str) -> bool:
        """Whether it is found anywhere in a text."""
        return self._compiled.search(_bytes(text)) is not None

    def first_in(self, text: str) -> Mapping[str, str] | None:
        """What its groups took where it is found first, by number and by name; "0" is all that was taken."""
        return _groups(self._compiled.search(_bytes(text)))

    def whole(self, text: str) -> Mapping[str, str] | None:
        """The same where it takes the whole text."""
        return _groups(self._compiled.fullmatch(_bytes(text)))


def _groups(found: Any) -> Mapping[str, str] | None:
    if found is None:
        return None
    numbered = {str(index): each for index, each in enumerate((found.group(), *found.groups()))}
    return {name: (each or b"").decode(errors="replace") for name, each in (numbered | found.groupdict()).items()}


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _not_in_re2(why: str) -> str:
    """What people write who know other regular expressions."""
    if "invalid perl operator" in why:
        return " (it can look neither ahead nor behind)"
    return " (what a group took cannot be asked for again)" if re.search(r"invalid escape sequence: \\[1-9]", why) else ""


class Filter(Struct, frozen=True):
    """Series by their name: those that `regex` is found in, or with `inverted` the others."""

    regex: Regex
    inverted: bool = False

    def takes(self, name: str) -> bool:
        """Whether a series of that name is taken."""
        return self.regex.is_in(name) != self.inverted


class Names(Struct, frozen=True):
    """What metrics are called: `matches` is as it is written, `output` has $1, ${1}x, $name, and $$ for a dollar."""

    matches: str
    pattern: Regex
    output: str

    def name(self, series: str) -> str | None:
        """The metric of a series; None where its name does not match."""
        groups = self.pattern.first_in(series)
        if groups is None:
            return None

        def one(expansion: re.Match[str]) -> str:
            return "$" if expansion.group() == "$$" else groups.get(expansion.group(1) or expansion.group(2), "")

        return _EXPANSION.sub(one, self.output)


def names(matches: str, output: str) -> Names:
    """The names of a rule, by name.matches and name.as ("" where they are not given). Raises NamingError."""
    pattern = Regex(matches or ".*")
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
        self._by_label: dict[str, Resource | None] = {}
        """What the template makes of the labels that were looked at: thousands of series share some."""
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
            if resource is None and self._backwards is not None:
                if label not in self._by_label:
                    self._by_label[label] = self._named(self._backwards, label)
                resource = self._by_label[label]
                if resource == _UNKNOWN:
                    continue
            if resource is not None and resource not in found:
                found.append(resource)
            namespaced = namespaced or resource not in UNNAMESPACED
        return found, namespaced

    def _named(self, backwards: Regex, label: str) -> Resource | None:
        """What the template makes of a label: None where it is not of its form, _UNKNOWN where the cluster has no such resource."""
        read = backwards.whole(label)
        if read is None:
            return None
        known = self._find(read.get("group", ""), read["resource"])
        if known is None:
            return _UNKNOWN
        self._labels.setdefault(known.resource, label)
        return known.resource

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


def _backwards(template: Template) -> Regex:
    """The template as a pattern that finds group and resource in a label."""
    pattern = _filled(template, "(?P<group>.+?)", "(?P<resource>.+?)")
    if "(?P<resource>" not in pattern:
        raise NamingError("resources.template must have << .Resource >> in it")
    return Regex(pattern)
