"""YAML documents, read as YAML 1.2's core schema has it: what is not plainly a number, true, false or null is text.

YAML 1.1 would make true of yes, 8 of 010, 90 of 1:30 and a date of 2026-01-01; here they are text, 10, text and text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import yaml

from app.declared.faults import LINE_BREAK, Fault, Place
from app.declared.tree import Budget, Tree, UnreadableError

_PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml, where PyYAML was built with it, takes a tenth of the time
_MARKER = re.compile(r"(?:\A|(?<=[\n\r\x85\u2028\u2029]))(?:---|\.\.\.)(?=[ \t\n\r\x85\u2028\u2029]|\Z)")
_NOT_ALLOWED = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_TAG = "tag:yaml.org,2002:"

_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)}
"""What a plain scalar with a tag must be."""

_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_MAX_DIGITS = 64
_RANGE = (-(2**63), 2**64)


def trees(text: str, file: str, budget: Budget) -> Iterator[tuple[Tree | None, list[Fault]]]:
    """Each document with its faults; None for one that cannot be read. Others go on: where the next one begins is plain.

    A line that begins with --- or ... ends a document wherever it stands (YAML 1.2.2, section 9.1.2).
    """
    begins = [0, *(found.start() for found in _MARKER.finditer(text) if found.start())]
    line = 1
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        part = text[begin:end]
        yield from _Part(part, file, line, budget).trees()
        line += sum(1 for _ in LINE_BREAK.finditer(part))


class _Part:
    """The text of one document; `line` is its first line in the file."""

    def __init__(self, text: str, file: str, line: int, budget: Budget) -> None:
        self._text = text.replace("...", "   ", 1) if _MARKER.match(text) and text[0] == "." else text
        self._file, self._line, self._budget = file, line, budget
        self._lines = [0, *(found.end() for found in LINE_BREAK.finditer(text))]

    def trees(self) -> Iterator[tuple[Tree | None, list[Fault]]]:
        odd = _NOT_ALLOWED.search(self._text)
        if odd is not None:
            yield None, [Fault(self._place_of(odd.start()), "", f"the character U+{ord(odd[0]):04X} is not allowed in YAML")]
            return
        if self._text.startswith("%"):
            yield None, [Fault(self._place_of(0), "", "directives such as %YAML are not supported", "the document without it")]
            return
        read: list[Tree] = []
        try:
            for event in yaml.parse(self._text, Loader=_PARSER):
                if isinstance(event, yaml.DocumentStartEvent):
                    read.append(Tree(self._place(event.end_mark if event.explicit else event.start_mark), self._budget))
                elif read and not isinstance(event, yaml.DocumentEndEvent | yaml.StreamEndEvent):
                    self._take(read[-1], event)
        except UnreadableError as err:
            fault = err.fault
        except yaml.MarkedYAMLError as err:
            mark = err.problem_mark or err.context_mark
            place = self._place(mark) if mark is not None else self._place_of(0)
            fault = Fault(place, "", self._words(err, place))
        except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as err:
            fault = Fault(self._place_of(0), "", f"is not valid YAML: {' '.join(str(err).split())}")
        else:
            yield from ((tree, tree.faults) for tree in read if tree.value is not None)
            return
        yield None, [*(found for tree in read for found in tree.faults), fault]

    def _take(self, tree: Tree, event: Any) -> None:
        begin, end = event.start_mark.index, event.end_mark.index
        place = self._place_of(begin)
        if isinstance(event, yaml.ScalarEvent):
            tree.scalar(self._value(tree, event, place), place, self._text[begin:end], event.anchor)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            is_mapping = isinstance(event, yaml.MappingStartEvent)
            if event.tag not in {None, "!", f"{_TAG}{'map' if is_mapping else 'seq'}"}:
                tree.fault(place, _unknown_tag(event.tag))
            (tree.mapping if is_mapping else tree.sequence)(place, event.anchor)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            tree.end()
        elif isinstance(event, yaml.AliasEvent):
            tree.alias(event.anchor or "", place)

    def _value(self, tree: Tree, event: yaml.ScalarEvent, place: Place) -> Any:
        text: str = event.value
        if event.tag in {"!", f"{_TAG}str"} or (event.tag is None and event.style):
            return text
        try:
            value = core_value(text)
        except ValueError as err:
            tree.fault(place, str(err))
            return 0
        if event.tag is not None:
            types = _TYPES.get(event.tag.removeprefix(_TAG), ())
            if not types:
                tree.fault(place, _unknown_tag(event.tag))
            elif type(value) not in types:
                tree.fault(place, f"{text!r} is no {event.tag.replace(_TAG, '!!')}")
        return value

    def _place(self, mark: Any) -> Place:
        return self._place_of(mark.index)

    def _place_of(self, index: int) -> Place:
        index = min(index, len(self._text))  # libyaml reads on as if there were one more line break
        line = bisect_right(self._lines, index)
        return Place(self._file, self._line + line - 1, index - self._lines[line - 1] + 1)

    def _words(self, err: yaml.MarkedYAMLError, place: Place) -> str:
        lines = LINE_BREAK.split(self._text)
        number = place.line - self._line
        if number < len(lines) and "\t" in lines[number][: len(lines[number]) - len(lines[number].lstrip())]:
            return "a tab indents this line; YAML takes spaces only"
        around = f" {err.context}" if err.context else ""
        return f"is not valid YAML: {err.problem or 'no reason was given'}{around}"


def _unknown_tag(tag: str | None) -> str:
    return f"the tag {(tag or '').replace(_TAG, '!!')} is not supported"


def core_value(text: str) -> Any:
    """What a plain scalar is by the core schema (YAML 1.2.2, section 10.3.2). Raises ValueError for numbers that JSON cannot hold."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _NO_NUMBER.fullmatch(text):
        raise ValueError(f"{text} is not a number that JSON has")
    if _INTEGER.fullmatch(text):
        number = int(text, 0) if text[:2] in {"0o", "0x"} else int(text) if len(text) <= _MAX_DIGITS else _RANGE[1]
        if not _RANGE[0] <= number < _RANGE[1]:
            raise ValueError(f"{text[:_MAX_DIGITS]} does not fit into 64 bits")
        return number
    if _FLOAT.fullmatch(text):
        value = float(text)
        if value in {float("inf"), float("-inf")}:
            raise ValueError(f"{text[:_MAX_DIGITS]} is too large for a number")
        return value
    return text
