"""From items to bodies: JSON, Table and PartialObjectMetadata, of one object and of lists, as joins of encoded bytes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice, repeat
from typing import NamedTuple

from msgspec import Struct

from app.cache.collection import Item
from app.errors import Problem
from app.kinds._base import Kind
from app.wire.accept import JSON, Negotiated
from app.wire.metadata import list_metadata, object_metadata
from app.wire.table import NONE, OBJECT, encode_cells, encode_columns, head, parse_include_object, partial_object, row

TABLE, PARTIAL, PARTIAL_LIST = "Table", "PartialObjectMetadata", "PartialObjectMetadataList"


class Form(Struct, frozen=True):
    """The form of an answer. `target` "" is the object itself; `version` is that of the meta.k8s.io group."""

    target: str = ""
    version: str = ""
    include: str = ""
    media: str = JSON


class Page(NamedTuple):
    """What ListMeta tells of a list: its version, and where there is more, the token for the next page and how much that is."""

    version: int
    token: str = ""
    remaining: int | None = None


class Body(NamedTuple):
    """Chunks of a body and their total length. Chunks are made as they are taken: who does not read must not cost a whole body."""

    chunks: Iterable[bytes]
    length: int


PLAIN = Form()

BATCH = 256
"""Items joined at once where a list is streamed: enough to be quick, few enough to be small."""

_HEAD = b'{"metadata":'
_END = b"]}\n"


def form_of(negotiated: Negotiated, query: Mapping[str, str]) -> Form:
    """The form that was negotiated. Raises Problem 400 for a bad includeObject."""
    target = negotiated.target
    if target is None:
        return PLAIN if negotiated.media == JSON else Form(media=negotiated.media)
    include = parse_include_object(query) if target.kind == TABLE else ""
    return Form(target.kind, target.version, include, negotiated.media)


def check_scope(form: Form, kind: Kind, *, many: bool) -> None:
    """Raises Problem 406 where metadata of one object was asked of a list, or the other way round."""
    if many and form.target == PARTIAL:
        raise _wrong_form(f"you requested {PARTIAL}, but the requested object is a list ({kind.list_kind})")
    if not many and form.target == PARTIAL_LIST:
        raise _wrong_form(f"you requested {PARTIAL_LIST}, but the requested object is not a list ({kind.kind})")


class Renderer:
    """Makes the JSON bodies of one kind in one of its versions."""

    def __init__(self, kind: Kind, version: str) -> None:
        self._kind = kind
        group_version = f"{kind.group}/{version}"
        self._item_head = head(kind.kind, group_version)
        self._list_head = head(kind.list_kind, group_version)
        self._columns = encode_columns([asdict(column) for column in kind.columns])

    def one(self, item: Item, form: Form) -> bytes:
        """The body of a get. Raises Problem 406."""
        check_scope(form, self._kind, many=False)
        if form.target == TABLE:
            return b"".join(self.many([item], Page(item.version), form).chunks)
        if form.target == PARTIAL:
            return partial_object(_partial_head(form), self._metadata(item)) + b"\n"
        return self._whole(item) + b"\n"

    def many(self, items: Sequence[Item], page: Page, form: Form) -> Body:
        """The body of a list, in chunks. Raises Problem 406."""
        check_scope(form, self._kind, many=True)
        metadata = list_metadata(*page)
        if form.target == TABLE:
            start = b'%b"metadata":%b,"columnDefinitions":%b,"rows":[' % (
                head(TABLE, f"meta.k8s.io/{form.version}"),
                metadata,
                self._columns,
            )
            partial = _partial_head(form)
            chunks = (self._row(item, form, partial) for item in items)
            lengths = self._row_lengths(items, form, partial)
        elif form.target == PARTIAL_LIST:
            partial = _partial_head(form)
            start = b'%b"metadata":%b,"items":[' % (head(PARTIAL_LIST, f"meta.k8s.io/{form.version}"), metadata)
            chunks = (partial_object(partial, self._metadata(item)) for item in items)
            lengths = self._partial_lengths(items, partial)
        else:
            start = b'%b"metadata":%b,"items":[' % (self._list_head, metadata)
            chunks = (self._body(item) for item in items)
            lengths = (len(self._body(item)) for item in items)
        return Body(_joined(start, chunks), len(start) + sum(lengths) + max(len(items) - 1, 0) + len(_END))

    def unread(self, items: Sequence[Item], form: Form) -> Sequence[Item]:
        """Those of which a part of this form is still to be encoded."""
        if form.target == TABLE:
            return [item for item in items if item.row is None or item.body is None]
        return [item for item in items if item.body is None]

    def encode(self, items: Iterable[Item], form: Form) -> None:
        """Encode what this form needs of each and keep it on the item."""
        for item in items:
            self._body(item)
            if form.target == TABLE:
                self._cells(item)

    def _body(self, item: Item) -> bytes:
        body = item.body
        if body is None:
            kind, value = self._kind, item.value
            namespace, name = item.key
            metadata = object_metadata(
                namespace=namespace,
                name=name,
                version=item.version,
                created=kind.created(value),
                labels=item.labels,
                annotations=kind.annotations(value),
            )
            fields = kind.json(value)
            separator = b"," if len(fields) > len(b"{}") else b""
            body = item.body = b"%b%b%b%b" % (_HEAD, metadata, separator, fields[1:])
            item.metadata_end = len(_HEAD) + len(metadata)
        return body

    def _metadata(self, item: Item) -> bytes:
        return self._body(item)[len(_HEAD) : item.metadata_end]

    def _cells(self, item: Item) -> bytes:
        cells = item.row
        if cells is None:
            cells = item.row = encode_cells(self._kind.cells(item.key[1], item.value))
        return cells

    def _whole(self, item: Item) -> bytes:
        return self._item_head + self._body(item)[1:]

    def _row(self, item: Item, form: Form, partial: bytes) -> bytes:
        cells = self._cells(item)
        if form.include == NONE:
            return row(cells, b"null")
        if form.include == OBJECT:
            return row(cells, self._whole(item))
        return row(cells, partial_object(partial, self._metadata(item)))

    def _row_lengths(self, items: Sequence[Item], form: Form, partial: bytes) -> Iterator[int]:
        """The lengths of the rows, without making them."""
        empty = len(row(b"", b""))
        if form.include == NONE:
            objects: Iterable[int] = repeat(len(b"null"))
        elif form.include == OBJECT:
            objects = (len(self._item_head) + len(self._body(item)) - 1 for item in items)
        else:
            objects = self._partial_lengths(items, partial)
        return (empty + len(self._cells(item)) + size for item, size in zip(items, objects, strict=False))

    def _partial_lengths(self, items: Sequence[Item], partial: bytes) -> Iterator[int]:
        empty = len(partial_object(partial, b""))
        return (empty + len(self._metadata(item)) for item in items)


def _partial_head(form: Form) -> bytes:
    return head(PARTIAL, f"meta.k8s.io/{form.version}")


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
    yield _END


def _wrong_form(message: str) -> Problem:
    return Problem(406, "NotAcceptable", message)
