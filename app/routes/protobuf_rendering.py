"""From items to bodies in protobuf: of one object and of lists, as joins of encoded bytes. Tables have no such form upstream."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from app.cache.collection import Item
from app.kinds._base import Kind
from app.routes.rendering import BATCH, PARTIAL, PARTIAL_LIST, Body, Form, Page, check_scope
from app.wire.messages import list_meta, object_meta
from app.wire.protobuf import delimited, enclose, envelope

_METADATA, _ITEMS = 1, 2
_BETA_ITEMS, _BETA_METADATA = 1, 2  # PartialObjectMetadataList of meta.k8s.io/v1beta1 alone has them the other way round


class ProtobufRenderer:
    """Makes the protobuf bodies of one kind in one of its versions.

    An item is encoded once, as an element of a list: the versions of a group differ in the envelope's type alone. Of a kind without a
    message of its own there is the metadata, as with custom resources.
    """

    def __init__(self, kind: Kind, version: str) -> None:
        self._kind = kind
        self._group_version = f"{kind.group}/{version}"
        self._fields = kind.protobuf or _no_fields

    def one(self, item: Item, form: Form) -> bytes:
        """The body of a get. Raises Problem 406."""
        check_scope(form, self._kind, many=False)
        message = _message(self._entry(item))
        if form.target == PARTIAL:
            return enclose(f"meta.k8s.io/{form.version}", PARTIAL, _first_field(message))
        return enclose(self._group_version, self._kind.kind, message)

    def many(self, items: Sequence[Item], page: Page, form: Form) -> Body:
        """The body of a list, in chunks. Raises Problem 406."""
        check_scope(form, self._kind, many=True)
        entries = map(self._entry, items)
        metadata = list_meta(*page)
        if form.target != PARTIAL_LIST:
            return _list(self._group_version, self._kind.list_kind, delimited(_METADATA, metadata), list(entries))
        group_version = f"meta.k8s.io/{form.version}"
        partials = (_first_field(_message(entry)) for entry in entries)
        if form.version == "v1beta1":
            elements = [*(delimited(_BETA_ITEMS, partial) for partial in partials), delimited(_BETA_METADATA, metadata)]
            return _list(group_version, PARTIAL_LIST, b"", elements)
        return _list(group_version, PARTIAL_LIST, delimited(_METADATA, metadata), [delimited(_ITEMS, partial) for partial in partials])

    def unread(self, items: Sequence[Item], _form: Form) -> Sequence[Item]:
        """Those that are still to be encoded."""
        return [item for item in items if item.entry is None]

    def encode(self, items: Iterable[Item], _form: Form) -> None:
        """Encode each and keep it on the item."""
        for item in items:
            self._entry(item)

    def _entry(self, item: Item) -> bytes:
        entry = item.entry
        if entry is None:
            namespace, name = item.key
            metadata = object_meta(
                namespace=namespace,
                name=name,
                version=item.version,
                created=self._kind.created(item.value),
                labels=item.labels,
                annotations=self._kind.annotations(item.value),
            )
            entry = item.entry = delimited(_ITEMS, delimited(_METADATA, metadata) + self._fields(item.value))
        return entry


def _no_fields(_value: object) -> bytes:
    return b""


def _list(group_version: str, kind: str, metadata: bytes, elements: Sequence[bytes]) -> Body:
    length = len(metadata) + sum(map(len, elements))
    head, tail = envelope(group_version, kind, length)
    return Body(_joined(head + metadata, elements, tail), len(head) + length + len(tail))


def _joined(start: bytes, elements: Iterable[bytes], end: bytes) -> Iterator[bytes]:
    """start, the elements (some hundred at a time), and end."""
    rest = iter(elements)
    yield start
    while batch := b"".join(islice(rest, BATCH)):
        yield batch
    yield end


def _message(entry: bytes) -> bytes:
    """The message in an element of a list."""
    start, _ = _payload(entry)
    return entry[start:]


def _first_field(message: bytes) -> bytes:
    """Tag, length and payload of the first field. For an object that is its metadata, and so a whole PartialObjectMetadata."""
    start, length = _payload(message)
    return message[: start + length]


def _payload(field: bytes) -> tuple[int, int]:
    """Where the payload of a length-delimited field with a tag of one byte begins, and its length."""
    length = shift = 0
    for position in range(1, len(field)):
        byte = field[position]
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return position + 1, length
    raise ValueError("a length that does not end")
