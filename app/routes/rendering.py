"""From items to bodies: JSON, Table and PartialObjectMetadata, of one object and of lists."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from app.cache.collection import Item
from app.clock import Clock
from app.duration import human_duration
from app.errors import Problem
from app.kinds._base import Age, Cell, Kind
from app.routes.documents import indent
from app.routes.lists import ListForm, Page
from app.wire.accept import JSON, Negotiated
from app.wire.metadata import list_metadata, object_metadata
from app.wire.table import METADATA, NONE, OBJECT, encode_cells, encode_columns, head, parse_include_object, partial_object, row

TABLE, PARTIAL, PARTIAL_LIST = "Table", "PartialObjectMetadata", "PartialObjectMetadataList"


class Form(Struct, frozen=True):
    """The form of an answer. `target` "" is the object itself; `version` is that of the meta.k8s.io group."""

    target: str = ""
    version: str = ""
    include: str = ""
    media: str = JSON
    pretty: bool = False


PLAIN = Form()
KUBECTL_TABLE = Form(TABLE, "v1", METADATA)
"""What `kubectl get` asks for."""

_END = b"]}\n"


def form_of(negotiated: Negotiated, query: Mapping[str, str], *, pretty: bool = False) -> Form:
    """The form that was negotiated. Raises Problem 400 for a bad includeObject."""
    target = negotiated.target
    if target is None:
        return PLAIN if negotiated.media == JSON and not pretty else Form(media=negotiated.media, pretty=pretty)
    include = parse_include_object(query) if target.kind == TABLE else ""
    return Form(target.kind, target.version, include, negotiated.media, pretty)


def check_scope(form: Form, kind: Kind, *, many: bool) -> None:
    """Raises Problem 406 where metadata of one object was asked of a list, or the other way round."""
    if many and form.target == PARTIAL:
        raise _wrong_form(f"you requested {PARTIAL}, but the requested object is a list ({kind.list_kind})")
    if not many and form.target == PARTIAL_LIST:
        raise _wrong_form(f"you requested {PARTIAL_LIST}, but the requested object is not a list ({kind.kind})")


def metadata_of(kind: Kind, item: Item) -> bytes:
    """The metadata of an object, as JSON."""
    value = item.value
    namespace, name = item.key
    return object_metadata(
        namespace=namespace,
        name=name,
        version=item.version,
        created=kind.created(value),
        labels=item.labels,
        annotations=kind.annotations(value),
        uid=kind.uid(item.key, value) if kind.uid is not None else "",
    )


def printed(cells: Sequence[Cell], now: float) -> list[object]:
    """The cells as a Table has them at `now` (Unix seconds): ages as kubectl prints them, the rest as it is."""
    return [_age(cell, now) if isinstance(cell, Age) else cell for cell in cells]


def _age(cell: Age, now: float) -> str:
    return human_duration(int(now * 1e9) - cell.at) if cell.at else "<unknown>"


class Renderer:
    """Makes the JSON bodies of one kind in one of its versions."""

    def __init__(self, kind: Kind, version: str, clock: Clock) -> None:
        self._kind = kind
        self._clock = clock
        self._ages = kind.has_ages
        group_version = f"{kind.group}/{version}"
        self._item_head = head(kind.kind, group_version)
        self._list_head = head(kind.list_kind, group_version)
        self._columns = encode_columns([asdict(column) for column in kind.columns])
        self._list_forms: dict[Form, ListForm] = {}

    def one(self, item: Item, form: Form) -> bytes:
        """The body of a get. Raises Problem 406."""
        check_scope(form, self._kind, many=False)
        if form.pretty:
            return indent(self.one(item, replace(form, pretty=False)))
        if form.target == TABLE:
            rows = self.many(form)
            start, end = rows.frame(Page(item.version), None)
            return start + rows.encode(item) + end
        if form.target == PARTIAL:
            return self._partial(_partial_head(form), item) + b"\n"
        return self._whole(item) + b"\n"

    def many(self, form: Form) -> ListForm:
        """How lists are made in this form. Raises Problem 406."""
        check_scope(form, self._kind, many=True)
        known = self._list_forms.get(form)
        if known is None:
            known = self._list_forms[form] = _indented(self.many(replace(form, pretty=False))) if form.pretty else self._list_form(form)
        return known

    def _list_form(self, form: Form) -> ListForm:
        if form.target == TABLE:
            frame = _frame(head(TABLE, f"meta.k8s.io/{form.version}"), b',"columnDefinitions":%b,"rows":[' % self._columns)
            kept = "row" if form == KUBECTL_TABLE and not self._ages else ""
            return ListForm(partial(self._row, form, _partial_head(form)), frame, separator=b",", kept=kept)
        if form.target == PARTIAL_LIST:
            frame = _frame(head(PARTIAL_LIST, f"meta.k8s.io/{form.version}"), b',"items":[')
            return ListForm(partial(self._partial, _partial_head(form)), frame, separator=b",")
        return ListForm(self._body, _frame(self._list_head, b',"items":['), separator=b",", kept="body")

    def _body(self, item: Item) -> bytes:
        fields = self._kind.json(item.value)
        separator = b"," if len(fields) > len(b"{}") else b""
        return b'{"metadata":%b%b%b' % (metadata_of(self._kind, item), separator, fields[1:])

    def _whole(self, item: Item) -> bytes:
        body = item.body
        if body is None:
            body = item.body = self._body(item)
        return self._item_head + body[1:]

    def _partial(self, start: bytes, item: Item) -> bytes:
        return partial_object(start, metadata_of(self._kind, item))

    def _row(self, form: Form, start: bytes, item: Item) -> bytes:
        kind = self._kind
        values = kind.cells(item.key[1], item.value)
        cells = encode_cells(printed(values, self._clock.wall()) if self._ages else values)
        if form.include == NONE:
            return row(cells, b"null")
        if form.include == OBJECT:
            return row(cells, self._whole(item))
        return row(cells, self._partial(start, item))


def _partial_head(form: Form) -> bytes:
    return head(PARTIAL, f"meta.k8s.io/{form.version}")


def _frame(start: bytes, behind_metadata: bytes) -> Callable[[Page, int | None], tuple[bytes, bytes]]:
    return lambda page, _length: (b'%b"metadata":%b%b' % (start, list_metadata(*page), behind_metadata), _END)


def _indented(plain: ListForm) -> ListForm:
    """The form with indentation, element by element: no list is so long that one has to wait for it."""

    def encode(item: Item) -> bytes:
        lines = indent(plain.encode(item)).rstrip(b"\n")
        return b"    " + lines.replace(b"\n", b"\n    ")

    def frame(page: Page, length: int | None) -> tuple[bytes, bytes]:
        whole = indent(b"".join(plain.frame(page, 0)))
        if length == 0:
            return whole, b""
        start, _, end = whole.rpartition(b"[]")
        return start + b"[\n", b"\n  ]" + end

    return ListForm(encode, frame, separator=b",\n")


def _wrong_form(message: str) -> Problem:
    return Problem(406, "NotAcceptable", message)
