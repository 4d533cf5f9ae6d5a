"""What is wrong with a declaration, and where: one Fault for each thing, all of them at once."""

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
        text = f"{self.place}: {self.path}: {self.message}" if self.path else f"{self.place}: {self.message}"
        if self.expected:
            text += f"; expected {self.expected}"
        return f'{text}; did you mean "{self.nearest}"?' if self.nearest else text


def path_text(path: Path) -> str:
    """The path as Kubernetes writes it: spec.additionalPrinterColumns[1].priority; names with dots in brackets."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif "." in part or "/" in part:
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


class Positions(Struct, frozen=True):
    """Where each part of a document stands: that of a value by its path, that of a field's name by the path with `key`."""

    start: Place
    values: Mapping[Path, Place]
    keys: Mapping[Path, Place]

    def of(self, path: Path, *, key: bool = False) -> Place:
        """The place of what is at `path`, or of the nearest part around it that the document has."""
        while path:
            found = (self.keys if key else self.values).get(path) or self.values.get(path)
            if found is not None:
                return found
            path, key = path[:-1], False
        return self.start
