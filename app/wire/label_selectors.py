"""Label selectors: the grammar of k8s.io/apimachinery/pkg/labels, parsed once and merged into few predicates (label_matching.py).

    selector     = [ requirement { "," requirement } ]
    requirement  = KEY | "!" KEY | KEY ( "=" | "==" | "!=" | ">" | "<" ) [ VALUE ] | KEY ( "in" | "notin" ) "(" values ")"

`!=` and `notin` are true of objects without the key. `in` and `notin` are words only between a key and its values.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from app.errors import Problem
from app.wire.label_matching import Requirement, compile_matcher, int64
from app.wire.label_syntax import faults_of_key, faults_of_value
from app.wire.selector_size import check_size
from app.wire.status import bad_request, quote

_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>]+))")
_OPERATORS = ("in", "notin", "=", "==", "!=", ">", "<")
_EXPECTED = "in, notin, =, ==, !=, gt, lt"
_LONGEST_KEPT = 256
_REVIEW_OPERATORS = {"in": "In", "=": "In", "==": "In", "notin": "NotIn", "!=": "NotIn", "exists": "Exists", "!": "DoesNotExist"}


class LabelSelector:
    """A parsed selector. `matches` says whether labels fulfil all requirements."""

    def __init__(self, requirements: Sequence[Requirement]) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda requirement: requirement.key))
        self.matches = compile_matcher(self.requirements)

    @property
    def empty(self) -> bool:
        return not self.requirements

    def __str__(self) -> str:
        """The selector as text that parses to the same again."""
        return ",".join(map(_written, self.requirements))

    def for_review(self) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """The requirements as a SubjectAccessReview takes them. `>` and `<` have no form there: left out, as upstream does."""
        return tuple(
            (requirement.key, _REVIEW_OPERATORS[requirement.operator], requirement.values)
            for requirement in self.requirements
            if requirement.operator in _REVIEW_OPERATORS
        )


def _written(requirement: Requirement) -> str:
    key, operator, values = requirement.key, requirement.operator, requirement.values
    match operator:
        case "exists":
            return key
        case "!":
            return f"!{key}"
        case "in" | "notin":
            return f"{key} {operator} ({','.join(values)})"
        case _:
            return f"{key}{operator}{values[0]}"


def parse_label_selector(text: str) -> LabelSelector:
    """The selector in `text`. Raises Problem 400 with upstream's words."""
    if not text:
        return EVERYTHING
    return _kept(text) if len(text) <= _LONGEST_KEPT else _parsed(text)


def _parsed(text: str) -> LabelSelector:
    check_size("labelSelector", text.count(",") + 1)  # a comma stands between requirements and between values
    return LabelSelector(_Parser(text).parse())


_kept = lru_cache(maxsize=1024)(_parsed)  # each HPA sends its own again and again, and reading it costs as much as all else of an answer


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
    if operator in {"<", ">"} and int64(values[0]) is None:
        faults.append(f"values[0]: Invalid value: {quote(values[0])}: for 'Gt', 'Lt' operators, the value must be an integer")
    for index, value in enumerate(values):
        if fault := faults_of_value(value):
            faults.append(f"values[{index}][{key}]: Invalid value: {quote(value)}: {fault}")
    if faults:
        raise _unparsable(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")


EVERYTHING = LabelSelector(())
"""The selector that selects all."""
