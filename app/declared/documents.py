"""The documents of a file: plain values with the places of all their parts, read within bounds. What is wrong is told, never raised."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from app.declared import json_text, yaml_text
from app.declared.faults import Fault, Place, Positions
from app.declared.tree import Budget, Tree

MAX_BYTES = 1 << 20
"""Most bytes of a file: what a ConfigMap can hold."""

MAX_DOCUMENTS = 1000
MAX_FAULTS = 1000


class Document(Struct, frozen=True):
    """One document. `digest` is the SHA-256 of what it says, wherever and however it is written.

    One that is not `sound` has faults that were told when it was read: it can be looked at, not used.
    """

    value: Any
    positions: Positions
    digest: str
    sound: bool = True


def read(text: str | bytes, file: str) -> tuple[list[Document], list[Fault]]:
    """The documents of `text` and all that is wrong with it. JSON if the name of the file ends with .json, else YAML.

    A document that cannot be read costs only itself. Empty documents are none.
    """
    start = Place(file)
    if len(text) > MAX_BYTES or (isinstance(text, str) and len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES):
        return [], [Fault(start, "", f"is larger than {MAX_BYTES >> 20} MiB")]
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as err:
            return [], [Fault(_place_of(err.object[: err.start], file), "", "is not UTF-8")]
    text = text.removeprefix("\ufeff")
    documents: list[Document] = []
    faults: list[Fault] = []
    for tree, found in _trees(text, file):
        faults += found
        if tree is not None:
            documents.append(Document(tree.value, tree.positions, _digest(tree.value), sound=not tree.faults))
        if len(documents) > MAX_DOCUMENTS:
            faults.append(Fault(documents.pop().positions.start, "", f"too many documents: a file may have {MAX_DOCUMENTS:,}"))
            break
        if len(faults) > MAX_FAULTS:
            faults[MAX_FAULTS:] = [Fault(start, "", f"there is more: only {MAX_FAULTS} faults are told of one file")]
            break
    return documents, faults


def _trees(text: str, file: str) -> Iterable[tuple[Tree | None, Sequence[Fault]]]:
    if not file.endswith(".json"):
        return yaml_text.trees(text, file, Budget())
    return [json_text.tree(text, file, Budget())] if text.strip() else []


def _place_of(before: bytes, file: str) -> Place:
    """The place behind `before`, which is good UTF-8."""
    lines = before.decode("utf-8").split("\n")
    return Place(file, len(lines), len(lines[-1]) + 1)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
