"""What is wrong with a declaration, and where: one Fault for each thing, all of them at once."""

import re
from collections.abc import Mapping

from msgspec import Struct

Path = tuple[str | int, ...]
"""Where in a document: names of fields and indexes, such as ("spec", "additionalPrinterColumns", 1, "priority")."""


class Place(Struct, frozen=True, order=True):
    """A place in a file, or in a key of a ConfigMap ("configmap NAMESPACE/NAME:KEY"). Lines and columns count from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Fault(Struct, frozen=True):
    """One thing that is wrong: `message` says what, `expected` what was wanted instead, `nearest` the known word that is most like it.

    A `warning` does not keep a declaration from being served.
    """

    place: Place
    path: str
    message: str
    expected: str = ""
    nearest: str = ""
    warning: bool = False

    def __str__(self) -> str:
        text = ": ".join([str(self.place), *(["warning"] if self.warning else []), *([self.path] if self.path else []), self.message])
        if self.expected:
            text += f"; expected {self.expected}"
        return in_one_line(f'{text}; did you mean "{self.nearest}"?' if self.nearest else text)


_CONTROLS = {number: f"\\x{number:02x}" for number in (*range(32), *range(127, 160), 0x2028, 0x2029)}


def in_one_line(text: str) -> str:
    """A text of which parts are somebody else's, as a terminal may show it: what would steer it, or begin a line, is written out."""
    return text.translate(_CONTROLS)


def path_text(path: Path) -> str:
    """The path as Kubernetes writes it: spec.additionalPrinterColumns[1].priority; names with dots in brackets."""
    text = ""
    for part in path:
        if isinstance(part, int) or "." in part or "/" in part:
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


class Positions(Struct, frozen=True):
    """Where each part of a document stands: that of a value by its path, that of a field's name by the path with `key`.

    `written` has the texts that are written otherwise than they read (quoted, folded, as blocks), as they are written.
    """

    start: Place
    values: Mapping[Path, Place]
    keys: Mapping[Path, Place]
    written: Mapping[Path, str] = {}

    def of(self, path: Path, *, key: bool = False) -> Place:
        """The place of what is at `path`, or of the nearest part around it that the document has."""
        while path:
            found = (self.keys if key else self.values).get(path) or self.values.get(path)
            if found is not None:
                return found
            path, key = path[:-1], False
        return self.start

    def within(self, path: Path, text: str, offset: int) -> Place:
        """The place of character `offset` of `text`, which is what the value at `path` reads."""
        place = self.values.get(path)
        if place is None:
            return self.of(path)
        written = self.written.get(path)
        if written is None:
            return Place(place.file, place.line, place.column + min(offset, len(text)))
        before = written[: _offset_as_written(written, text, offset)]
        breaks = list(LINE_BREAK.finditer(before))
        if not breaks:
            return Place(place.file, place.line, place.column + len(before))
        return Place(place.file, place.line + len(breaks), len(before) - breaks[-1].end() + 1)


LINE_BREAK = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
"""What ends a line in YAML 1.1, as its parsers count."""

_PIECES = {
    '"': re.compile(r"\\(?:x..|u[dD][89abAB]..\\u....|u....|U........|\r\n|.)|.", re.DOTALL),
    "'": re.compile(r"''|.", re.DOTALL),
}
_PIECE = re.compile(r".", re.DOTALL)
_BLANK_ESCAPES = frozenset("nrtvf _NLP\n\r\x85\u2028\u2029")


def _offset_as_written(written: str, text: str, offset: int) -> int:
    """Where in `written` the character is that `text` has at `offset`.

    Quotes, folding and indentation change nothing but blanks, and an escape is one character: so the characters that are not blank are
    the same ones, in the same order.
    """
    wanted = sum(not char.isspace() for char in text[:offset])
    style = written[0]
    first_break = LINE_BREAK.search(written) if style in "|>" else None
    begin = first_break.end() if first_break else 1 if style in _PIECES else 0
    end = len(written) - 1 if style in _PIECES else len(written)
    for piece in _PIECES.get(style, _PIECE).finditer(written, begin, end):
        if not _is_blank(piece[0]):
            if wanted == 0:
                return piece.start()
            wanted -= 1
    return end


def _is_blank(piece: str) -> bool:
    if piece[0] != "\\" or len(piece) == 1:
        return piece.isspace()
    if piece[1] in "xuU":
        return chr(int(piece[2:], 16)).isspace() if len(piece) <= 6 else False
    return piece[1] in _BLANK_ESCAPES
