"""Field selectors: the grammar of k8s.io/apimachinery/pkg/fields, over the two fields that every object has."""

import re
from collections.abc import Iterable

from msgspec import Struct

from app.wire.status import bad_request, quote

FIELDS = ("metadata.name", "metadata.namespace")

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

    @property
    def empty(self) -> bool:
        return not self.terms

    @property
    def name(self) -> str | None:
        """The one metadata.name that can match, None if any can. RBAC resourceNames are asked with it."""
        return self._exact("metadata.name")

    @property
    def namespace(self) -> str | None:
        """The one metadata.namespace that can match, None if any can."""
        return self._exact("metadata.namespace")

    def _exact(self, field: str) -> str | None:
        return next((term.value for term in self.terms if term.field == field and term.equal), None)

    def matches(self, key: tuple[str, str]) -> bool:
        """Whether the object at (namespace, name) is selected."""
        namespace, name = key
        return all(((name if term.field == "metadata.name" else namespace) == term.value) is term.equal for term in self.terms)

    def for_review(self) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """The terms as a SubjectAccessReview takes them."""
        return tuple((term.field, "In" if term.equal else "NotIn", (term.value,)) for term in self.terms)


def parse_field_selector(text: str) -> FieldSelector:
    """The selector in `text`. Raises Problem 400 with upstream's words, for an unknown field too."""
    if not text:
        return ANY
    terms = []
    for part in sorted(_TERM.findall(text)):
        operator = _OPERATOR.search(part)
        if operator is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        value = _unescape(part[operator.end() :])
        terms.append(FieldTerm(part[: operator.start()], value, operator[0] != "!="))
    for term in terms:
        if term.field not in FIELDS:
            known = ", ".join(quote(field) for field in FIELDS)
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
