"""From items to bodies: JSON, Table and PartialObjectMetadata, of one object and of lists, as joins of encoded bytes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice

from msgspec import Struct

from app.cache.collection import Item
from app.errors import Problem
from app.kinds._base import Kind
from app.wire.accept import Target
from app.wire.table import NONE, OBJECT, encode_cells, encode_columns, head, parse_include_object, partial_object, row


class Form(Struct, frozen=True):
    """The form of an answer. `target` "" is the object itself; `version` is that of the meta.k8s.io group."""

    target: str = ""
    version: str = ""
    include: str = ""


PLAIN = Form()

BATCH = 256
"""Items joined at once where a list is streamed: enough to be quick, few enough to be small."""


def form_of(target: Target | None, query: Mapping[str, str]) -> Form:
    """The form that was negotiated. Raises Problem 400 for a bad includeObject."""
    if target is None:
        return PLAIN
    include = parse_include_object(query) if target.kind == "Table" else ""
    return Form(target.kind, target.version, include)


class Renderer:
    """Makes the bodies of one kind in one of its versions."""

    def __init__(self, kind: Kind, version: str) -> None:
        self._kind = kind
        self.group_version = f"{kind.group}/{version}"
        self._item_head = head(kind.kind, self.group_version)
        self._list_head = head(kind.list_kind, self.group_version)
        self._columns = encode_columns([asdict(column) for column in kind.columns])

    def one(self, item: Item, form: Form) -> bytes:
        """The body of a get."""
        if form.target == "PartialObjectMetadataList":
            raise _wrong_form(f"you requested PartialObjectMetadataList, but the requested object is not a list ({self._kind.kind})")
        if form.target == "Table":
            metadata = b'{"resourceVersion":"%d"}' % item.version
            return b"".join(self.many([item], metadata, form))
        if form.target == "PartialObjectMetadata":
            return partial_object(_partial_head(form), item.metadata) + b"\n"
        return self._whole(item) + b"\n"

    def many(self, items: Sequence[Item], metadata: bytes, form: Form) -> Iterable[bytes]:
        """The body of a list, in chunks."""
        if form.target == "PartialObjectMetadata":
            raise _wrong_form(f"you requested PartialObjectMetadata, but the requested object is a list ({self._kind.list_kind})")
        if form.target == "Table":
            start = b'%b"metadata":%b,"columnDefinitions":%b,"rows":[' % (
                head("Table", f"meta.k8s.io/{form.version}"),
                metadata,
                self._columns,
            )
            partial = _partial_head(form)
            chunks = (self._row(item, form, partial) for item in items)
        elif form.target == "PartialObjectMetadataList":
            partial = _partial_head(form)
            start = b'%b"metadata":%b,"items":[' % (head("PartialObjectMetadataList", f"meta.k8s.io/{form.version}"), metadata)
            chunks = (partial_object(partial, item.metadata) for item in items)
        else:
            start = b'%b"metadata":%b,"items":[' % (self._list_head, metadata)
            return _joined(start, (item.body for item in items))
        return _joined(start, chunks)

    def plain_length(self, items: Sequence[Item], metadata: bytes) -> int:
        """The length of the plain list, without making it."""
        around = len(self._list_head) + len(b'"metadata":,"items":[') + len(metadata) + len(b"]}\n")
        return around + sum(len(item.body) for item in items) + max(len(items) - 1, 0)

    def _whole(self, item: Item) -> bytes:
        return self._item_head + item.body[1:]

    def _row(self, item: Item, form: Form, partial: bytes) -> bytes:
        cells = item.row
        if cells is None:
            cells = item.row = encode_cells(self._kind.cells(item.key[1], item.value))
        if form.include == NONE:
            return row(cells, b"null")
        if form.include == OBJECT:
            return row(cells, self._whole(item))
        return row(cells, partial_object(partial, item.metadata))


def _partial_head(form: Form) -> bytes:
    return head("PartialObjectMetadata", f"meta.k8s.io/{form.version}")


def _joined(start: bytes, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """start, the chunks with commas between (joined some hundred at a time), and the end of list and line."""
    rest = iter(chunks)
    yield start
    batch = b",".join(islice(rest, BATCH))
    while batch:
        yield batch
        batch = b",".join(islice(rest, BATCH))
        if batch:
            yield b","
    yield b"]}\n"


def _wrong_form(message: str) -> Problem:
    return Problem(406, "NotAcceptable", message)
