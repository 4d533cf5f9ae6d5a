"""Label selectors: the grammar of k8s.io/apimachinery/pkg/labels, parsed once and compiled to one fast predicate.

    selector     = [ requirement { "," requirement } ]
    requirement  = KEY | "!" KEY | KEY ( "=" | "==" | "!=" | ">" | "<" ) [ VALUE ] | KEY ( "in" | "notin" ) "(" values ")"

`!=` and `notin` are true of objects without the key. `in` and `notin` are words only between a key and its values.
"""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from app.errors import Problem
from app.wire.label_syntax import faults_of_key, faults_of_value
from app.wire.status import bad_request, quote

Pairs = tuple[tuple[str, str], ...]
"""Labels as pairs sorted by key (the same as app.kube.records.Labels)."""

Matcher = Callable[[Pairs], bool]

_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>]+))")
_OPERATORS = ("in", "notin", "=", "==", "!=", ">", "<")
_EXPECTED = "in, notin, =, ==, !=, gt, lt"
_REVIEW_OPERATORS = {"in": "In", "=": "In", "==": "In", "notin": "NotIn", "!=": "NotIn", "exists": "Exists", "!": "DoesNotExist"}
_INT64 = range(-(2**63), 2**63)
_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")


class Requirement(Struct, frozen=True):
    """One requirement. `operator` is one of in, notin, =, ==, !=, >, <, exists, !; `values` are sorted and without repeats."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector:
    """A parsed selector. `matches` says whether labels fulfil all requirements."""

    def __init__(self, requirements: Sequence[Requirement]) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda requirement: requirement.key))
        self.matches = _compile(self.requirements)

    @property
    def empty(self) -> bool:
        return not self.requirements

    def for_review(self) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """The requirements as a SubjectAccessReview takes them. `>` and `<` have no form there: left out, as upstream does."""
        return tuple(
            (requirement.key, _REVIEW_OPERATORS[requirement.operator], requirement.values)
            for requirement in self.requirements
            if requirement.operator in _REVIEW_OPERATORS
        )


def parse_label_selector(text: str) -> LabelSelector:
    """The selector in `text`. Raises Problem 400 with upstream's words."""
    if not text:
        return EVERYTHING
    return LabelSelector(_Parser(text).parse())


class _Parser:
    """Recursive descent over (is_word, literal) tokens; "" is the end."""

    def __init__(self, text: str) -> None:
        self._tokens = [(bool(word), word or symbol) for symbol, word in _TOKEN.findall(text)]
        self._tokens.append((False, ""))
        self._at = 0

    def _peek(self) -> tuple[bool, str]:
        return self._tokens[min(self._at, len(self._tokens) - 1)]

    def _next(self) -> tuple[bool, str]:
        token = self._peek()
        self._at += 1
        return token

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while self._peek() != (False, ""):
            is_word, literal = self._peek()
            if not is_word and literal != "!":
                raise bad_request(f"found '{literal}', expected: !, identifier, or 'end of string'")
            requirements.append(self._requirement())
            _, literal = self._next()
            if literal == "":
                break
            if literal != ",":
                raise bad_request(f"found '{literal}', expected: ',' or 'end of string'")
            is_word, following = self._peek()
            if not is_word and following != "!":
                raise bad_request(f"found '{following}', expected: identifier after ','")
        return requirements

    def _requirement(self) -> Requirement:
        is_word, key = self._next()
        negated = not is_word and key == "!"
        if negated:
            is_word, key = self._next()
        if not is_word:
            raise _unparsable(f"found '{key}', expected: identifier")
        if fault := faults_of_key(key):
            raise _unparsable(f"<nil>: Invalid value: {quote(key)}: {fault}")
        _, following = self._peek()
        if negated or following in {"", ","}:
            return Requirement(key, "!" if negated else "exists")
        _, operator = self._next()
        if operator not in _OPERATORS:
            raise _unparsable(f"found '{operator}', expected: {_EXPECTED}")
        values = self._values() if operator in {"in", "notin"} else (self._exact_value(),)
        _check_values(key, operator, values)
        return Requirement(key, operator, values)

    def _exact_value(self) -> str:
        is_word, literal = self._peek()
        if not is_word and literal in {"", ","}:
            return ""
        self._at += 1
        if not is_word:
            raise _unparsable(f"found '{literal}', expected: identifier")
        return literal

    def _values(self) -> tuple[str, ...]:
        """The values in parentheses; an empty place between commas is the empty value."""
        _, literal = self._next()
        if literal != "(":
            raise _unparsable(f"found '{literal}' expected: '('")
        values: set[str] = set()
        pending = ""
        while True:
            is_word, literal = self._next()
            if is_word:
                values.add(literal)
                _, literal = self._next()
                if literal == ")":
                    return tuple(sorted(values))
                if literal != ",":
                    raise _unparsable(f"found '{literal}', expected: ',' or ')'")
                pending = ","
            elif literal in {",", ")"}:
                values.add("")
                if literal == ")":
                    return tuple(sorted(values))
                pending = ","
            else:
                expected = "',', or identifier" if pending else "',', ')' or identifier"
                raise _unparsable(f"found '{literal}', expected: {expected}")


def _unparsable(text: str) -> Problem:
    return bad_request(f"unable to parse requirement: {text}")


def _check_values(key: str, operator: str, values: tuple[str, ...]) -> None:
    faults = []
    if operator in {"<", ">"} and _int64(values[0]) is None:
        faults.append(f"values[0]: Invalid value: {quote(values[0])}: for 'Gt', 'Lt' operators, the value must be an integer")
    for index, value in enumerate(values):
        if fault := faults_of_value(value):
            faults.append(f"values[{index}][{key}]: Invalid value: {quote(value)}: {fault}")
    if faults:
        raise _unparsable(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")


def _int64(text: str) -> int | None:
    """The number, as strconv.ParseInt(text, 10, 64) has it; None where that fails."""
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if number in _INT64 else None


def _compile(requirements: Sequence[Requirement]) -> Matcher:
    parts = [_matcher(requirement) for requirement in requirements]
    if not parts:
        return lambda _labels: True
    if len(parts) == 1:
        return parts[0]
    return lambda labels: all(part(labels) for part in parts)


def _matcher(requirement: Requirement) -> Matcher:
    """One requirement as a predicate. Labels are few and small: a scan of the tuple is quicker than building a dict."""
    key, operator = requirement.key, requirement.operator
    if operator == "exists":
        return lambda labels: any(label == key for label, _ in labels)
    if operator == "!":
        return lambda labels: all(label != key for label, _ in labels)
    pairs = frozenset((key, value) for value in requirement.values)
    if operator in {"=", "==", "in"}:
        if len(pairs) == 1:
            (pair,) = pairs
            return lambda labels: pair in labels
        return lambda labels: not pairs.isdisjoint(labels)
    if operator in {"!=", "notin"}:
        return pairs.isdisjoint
    bound = int(requirement.values[0])

    def compare(labels: Pairs) -> bool:
        for label, value in labels:
            if label == key:
                number = _int64(value)
                return number is not None and (number > bound if operator == ">" else number < bound)
        return False

    return compare


EVERYTHING = LabelSelector(())
"""The selector that selects all."""
