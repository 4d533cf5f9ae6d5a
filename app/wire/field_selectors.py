"""Field selectors: the grammar of k8s.io/apimachinery/pkg/fields, over the two fields that every object has, and those of its kind."""

import re
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from app.wire.selector_size import check_size
from app.wire.status import bad_request, quote

FIELDS = ("metadata.name", "metadata.namespace")
"""What every object is selected by."""

_TERM = re.compile(r"(?:[^\\,]|\\.|\\\Z)+", re.DOTALL)
_OPERATOR = re.compile(r"!=|==|=")
_PIECE = re.compile(r"\\(.?)|([,=])|[^\\,=]+", re.DOTALL)


class FieldTerm(Struct, frozen=True):
    """`field` equals `value`, or differs from it where `equal` is false."""

    field: str
    value: str
    equal: bool


class FieldSelector:
    """A parsed selector; all terms must hold."""

    def __init__(self, terms: Iterable[FieldTerm]) -> None:
        self.terms = tuple(terms)
        self._name = self._values("metadata.name")
        self._namespace = self._values("metadata.namespace")
        others = sorted({term.field for term in self.terms}.difference(FIELDS))
        self._others = tuple((field, self._values(field)) for field in others)

    @property
    def empty(self) -> bool:
        return not self.terms

    @property
    def name(self) -> str | None:
        """The one metadata.name that can match, None if any can. RBAC resourceNames are asked with it."""
        return self._name.one

    @property
    def namespace(self) -> str | None:
        """The one metadata.namespace that can match, None if any can."""
        return self._namespace.one

    def _values(self, field: str) -> "_Values":
        terms = [term for term in self.terms if term.field == field]
        return _Values(tuple(term.value for term in terms if term.equal), frozenset(term.value for term in terms if not term.equal))

    def matches(self, key: tuple[str, str]) -> bool:
        """Whether the object at (namespace, name) is selected. What it costs does not grow with the number of terms."""
        namespace, name = key
        return self._name.allow(name) and self._namespace.allow(namespace)

    @property
    def by_key(self) -> bool:
        """Whether `matches` tells all."""
        return not self._others

    def matches_fields(self, value_of: Callable[[str], str]) -> bool:
        """Whether the fields of a kind's own are as they must be; `value_of` gives the value of each that is asked about."""
        return all(values.allow(value_of(field)) for field, values in self._others)

    def for_review(self) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """The terms as a SubjectAccessReview takes them."""
        return tuple((term.field, "In" if term.equal else "NotIn", (term.value,)) for term in self.terms)


class _Values:
    """What the terms say of one field: it equals all of `equal` (so two different ones allow nothing), and none of `unequal`."""

    def __init__(self, equal: tuple[str, ...], unequal: frozenset[str]) -> None:
        self.one = equal[0] if equal else None
        self._equal = frozenset(equal)
        self._unequal = unequal

    def allow(self, value: str) -> bool:
        return self._equal <= {value} and value not in self._unequal


def parse_field_selector(text: str, fields: Sequence[str] = FIELDS) -> FieldSelector:
    """The selector in `text`, over `fields`. Raises Problem 400 with upstream's words, for an unknown field too."""
    if not text:
        return ANY
    parts = _TERM.findall(text)
    check_size("fieldSelector", len(parts))
    terms = []
    for part in sorted(parts):
        operator = _OPERATOR.search(part)
        if operator is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        value = _unescape(part[operator.end() :])
        terms.append(FieldTerm(part[: operator.start()], value, operator[0] != "!="))
    for term in terms:
        if term.field not in fields:
            known = ", ".join(quote(field) for field in fields)
            raise bad_request(f"{quote(term.field)} is not a known field selector: only {known}")
    return FieldSelector(terms)


def _unescape(value: str) -> str:
    r"""The value without its escapes. `\\`, `\,` and `\=` are all there are."""
    pieces = []
    for match in _PIECE.finditer(value):
        escaped, bare = match.groups()
        if bare is not None:
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(bare)}")
        if escaped is not None and escaped not in {"\\", ",", "="}:
            raise bad_request(f"invalid field selector: invalid escape sequence: \\{escaped}")
        if escaped == "":
            raise bad_request("invalid field selector: invalid escape sequence: \\")
        pieces.append(match[0] if escaped is None else escaped)
    return "".join(pieces)


ANY = FieldSelector(())
"""The selector that selects all."""
