"""Label requirements merged into few predicates: what one object costs does not grow with the number of requirements.

Whatever an object must have, it must have a label for: more required keys than labels is a no at once, and all else is looked up in sets.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

Pairs = tuple[tuple[str, str], ...]
"""Labels as pairs sorted by key (the same as app.kube.records.Labels)."""

Matcher = Callable[[Pairs], bool]

_INT64 = range(-(2**63), 2**63)
_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")


class Requirement(Struct, frozen=True):
    """One requirement. `operator` is one of in, notin, =, ==, !=, >, <, exists, !; `values` are sorted and without repeats."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


def int64(text: str) -> int | None:
    """The number, as strconv.ParseInt(text, 10, 64) has it; None where that fails."""
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if number in _INT64 else None


def compile_matcher(requirements: Sequence[Requirement]) -> Matcher:
    """One predicate that is true of labels which fulfil all requirements."""
    present: set[str] = set()
    absent: set[str] = set()
    unequal: set[tuple[str, str]] = set()
    allowed: dict[str, set[str]] = {}
    bounds: dict[str, tuple[int, int]] = {}
    for requirement in requirements:
        key, operator, values = requirement.key, requirement.operator, requirement.values
        if operator == "exists":
            present.add(key)
        elif operator == "!":
            absent.add(key)
        elif operator in {"!=", "notin"}:
            unequal.update((key, value) for value in values)
        elif operator in {"=", "==", "in"}:
            allowed[key] = allowed[key].intersection(values) if key in allowed else set(values)
        else:
            bounds[key] = _narrowed(bounds.get(key, (_INT64.start - 1, _INT64.stop)), operator, int(values[0]))
    if not all(allowed.values()):
        return lambda _labels: False  # two requirements on one key contradict each other
    parts: list[Matcher] = []
    if unequal:
        parts.append(frozenset(unequal).isdisjoint)
    if allowed:
        parts += _of_values(allowed)
    if present or absent:
        parts.append(_of_keys(present, absent))
    if bounds:
        parts.append(_within(bounds))
    return _all(parts)


def _all(parts: Sequence[Matcher]) -> Matcher:
    if not parts:
        return lambda _labels: True
    if len(parts) == 1:
        return parts[0]
    return lambda labels: all(part(labels) for part in parts)


def _of_values(allowed: Mapping[str, set[str]]) -> list[Matcher]:
    """Predicates for keys whose value must be among some."""
    pairs = frozenset((key, value) for key, values in allowed.items() if len(values) == 1 for value in values)
    choices = [frozenset((key, value) for value in values) for key, values in allowed.items() if len(values) > 1]
    parts: list[Matcher] = []
    if len(pairs) == 1:
        (pair,) = pairs
        parts.append(lambda labels: pair in labels)  # labels are few: a scan of the tuple is quicker than any set
    elif pairs:
        parts.append(lambda labels: len(pairs) <= len(labels) and pairs.issubset(labels))
    if len(choices) == 1:
        (choice,) = choices
        parts.append(lambda labels: not choice.isdisjoint(labels))
    elif choices:
        parts.append(lambda labels: len(choices) <= len(labels) and not any(choice.isdisjoint(labels) for choice in choices))
    return parts


def _of_keys(present: set[str], absent: set[str]) -> Matcher:
    """The predicate for keys that must be there, and for those that must not."""

    def match(labels: Pairs) -> bool:
        keys = [key for key, _ in labels]
        return absent.isdisjoint(keys) and len(present) <= len(keys) and present.issubset(keys)

    return match


def _narrowed(bounds: tuple[int, int], operator: str, bound: int) -> tuple[int, int]:
    low, high = bounds
    return (max(low, bound), high) if operator == ">" else (low, min(high, bound))


def _within(bounds: Mapping[str, tuple[int, int]]) -> Matcher:
    """The predicate for keys whose value must be a number between two, both excluded."""

    def match(labels: Pairs) -> bool:
        found = 0
        for key, value in labels:
            if key in bounds:
                low, high = bounds[key]
                number = int64(value)
                if number is None or not low < number < high:
                    return False
                found += 1
        return found == len(bounds)

    return match
