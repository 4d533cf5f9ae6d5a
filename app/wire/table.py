"""Tables and PartialObjectMetadata (meta/v1): the forms that kubectl and metadata informers ask for, as bytes around encoded items."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from app.wire.status import bad_request, quote

METADATA = "Metadata"
OBJECT = "Object"
NONE = "None"


def parse_include_object(query: Mapping[str, str]) -> str:
    """TableOptions.includeObject: Metadata (also the default), Object or None. Raises Problem 400."""
    value = query.get("includeObject", "")
    if not value:
        return METADATA
    if value not in {METADATA, OBJECT, NONE}:
        fault = f"includeObject: Invalid value: {quote(value)}: must be 'Metadata', 'Object', 'None', or empty"
        raise bad_request(f"Unable to convert to Table as requested: {fault}")
    return value


def encode_columns(columns: Sequence[Mapping[str, Any]]) -> bytes:
    """columnDefinitions: a list of {name, type, format, description, priority}, in that order, none left out."""
    order = ("name", "type", "format", "description", "priority")
    return msgspec.json.encode([{field: column[field] for field in order} for column in columns])


def encode_cells(cells: Sequence[object]) -> bytes:
    """The cells of one row."""
    return msgspec.json.encode(cells)


def head(kind: str, api_version: str) -> bytes:
    """The start of an object: `{"kind":...,"apiVersion":...,` to which the rest of the fields is joined."""
    return f'{{"kind":{quote(kind)},"apiVersion":{quote(api_version)},'.encode()


def partial_object(start: bytes, metadata: bytes) -> bytes:
    """One PartialObjectMetadata; `start` is its head, made once for a whole list."""
    return b'%b"metadata":%b}' % (start, metadata)


def row(cells: bytes, obj: bytes) -> bytes:
    """One TableRow."""
    return b'{"cells":%b,"object":%b}' % (cells, obj)
