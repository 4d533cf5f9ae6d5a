"""One JSON document (RFC 8259), with the places of its parts."""

import json
import re
from bisect import bisect_right
from typing import NoReturn

from app.declared.faults import Fault, Place
from app.declared.tree import Budget, Tree, UnreadableError
from app.declared.yaml_text import core_value

_SPACE = re.compile(r"[ \t\n\r]*+")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", re.ASCII)
_WORD = re.compile(r"[A-Za-z_]+")
_LINE = re.compile(r"\r\n|[\n\r]")
_CONSTANTS = {"true": True, "false": False, "null": None}


def tree(text: str, file: str, budget: Budget) -> tuple[Tree | None, list[Fault]]:
    """The document with its faults, None if it cannot be read."""
    reader = _Reader(text, file, budget)
    try:
        reader.document()
    except UnreadableError as err:
        return None, [*reader.tree.faults, err.fault]
    return reader.tree, reader.tree.faults


class _Reader:
    """Recursive descent; the tree ends it where it goes too deep."""

    def __init__(self, text: str, file: str, budget: Budget) -> None:
        self._text, self._file = text, file
        self._lines = [0, *(found.end() for found in _LINE.finditer(text))]
        self._at = 0
        self._skip_space()
        self.tree = Tree(self._place(), budget)

    def document(self) -> None:
        """All of the text."""
        self._value()
        if self._at < len(self._text):
            self._refuse("there is something after the document", "the end of the file")

    def _value(self) -> None:
        char = self._text[self._at : self._at + 1]
        if char == "{":
            self._mapping()
        elif char == "[":
            self._sequence()
        else:
            self._scalar()

    def _mapping(self) -> None:
        self.tree.mapping(self._place())
        self._at += 1
        self._skip_space()
        more = not self._took("}")
        while more:
            if self._text[self._at : self._at + 1] != '"':
                self._refuse("is not valid JSON", "a key in double quotes")
            self._scalar()
            if not self._took(":"):
                self._refuse("is not valid JSON", '":" after the key')
            self._value()
            more = self._took(",")
            if not more and not self._took("}"):
                self._refuse("is not valid JSON", '"," or "}"')
        self.tree.end()

    def _sequence(self) -> None:
        self.tree.sequence(self._place())
        self._at += 1
        self._skip_space()
        more = not self._took("]")
        while more:
            self._value()
            more = self._took(",")
            if not more and not self._took("]"):
                self._refuse("is not valid JSON", '"," or "]"')
        self.tree.end()

    def _scalar(self) -> None:
        place = self._place()
        if (found := _STRING.match(self._text, self._at)) is not None:
            value = json.loads(found[0])
            if any("\ud800" <= char <= "\udfff" for char in value):
                self.tree.fault(place, "a \\u escape stands for half a character")
                value = value.encode("utf-8", "replace").decode()
        elif (found := _NUMBER.match(self._text, self._at)) is not None:
            try:
                value = core_value(found[0])
            except ValueError as err:
                self.tree.fault(place, str(err))
                value = 0
        elif (found := _WORD.match(self._text, self._at)) is not None and found[0] in _CONSTANTS:
            value = _CONSTANTS[found[0]]
        else:
            self._refuse("is not valid JSON", "a value")
        self._at = found.end()
        self.tree.scalar(value, place, found[0])
        self._skip_space()

    def _took(self, char: str) -> bool:
        if self._text[self._at : self._at + 1] != char:
            return False
        self._at += 1
        self._skip_space()
        return True

    def _skip_space(self) -> None:
        found = _SPACE.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _place(self) -> Place:
        line = bisect_right(self._lines, self._at)
        return Place(self._file, line, self._at - self._lines[line - 1] + 1)

    def _refuse(self, message: str, expected: str) -> NoReturn:
        raise UnreadableError(Fault(self._place(), "", message, expected))
