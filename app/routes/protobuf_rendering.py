"""From items to bodies in protobuf: of one object and of lists, as joins of encoded bytes. Tables have no such form upstream."""

from collections.abc import Callable
from functools import partial

from app.cache.collection import Item
from app.kinds._base import Kind
from app.routes.lists import ListForm, Page
from app.routes.rendering import PARTIAL, PARTIAL_LIST, Form, check_scope
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
        if form.target == PARTIAL:
            return enclose(f"meta.k8s.io/{form.version}", PARTIAL, self._metadata(item))
        entry = item.entry
        if entry is None:
            entry = item.entry = self._entry(item)
        return enclose(self._group_version, self._kind.kind, _message(entry))

    def many(self, form: Form) -> ListForm:
        """How lists are made in this form. Raises Problem 406."""
        check_scope(form, self._kind, many=True)
        if form.target != PARTIAL_LIST:
            return ListForm(self._entry, _frame(self._group_version, self._kind.list_kind), kept="entry", measured=True)
        items, frame = (_BETA_ITEMS, _beta_frame) if form.version == "v1beta1" else (_ITEMS, _frame)
        return ListForm(partial(self._partial, items), frame(f"meta.k8s.io/{form.version}", PARTIAL_LIST), measured=True)

    def _entry(self, item: Item) -> bytes:
        return delimited(_ITEMS, self._metadata(item) + self._fields(item.value))

    def _partial(self, number: int, item: Item) -> bytes:
        return delimited(number, self._metadata(item))

    def _metadata(self, item: Item) -> bytes:
        """The field `metadata` of an object, and so a whole PartialObjectMetadata."""
        kind, value = self._kind, item.value
        namespace, name = item.key
        metadata = object_meta(
            namespace=namespace,
            name=name,
            version=item.version,
            created=kind.created(value),
            labels=item.labels,
            annotations=kind.annotations(value),
            uid=kind.uid(item.key, value) if kind.uid is not None else "",
        )
        return delimited(_METADATA, metadata)


def _no_fields(_value: object) -> bytes:
    return b""


def _frame(group_version: str, kind: str) -> Callable[[Page, int | None], tuple[bytes, bytes]]:
    """The envelope, whose length stands before all else, and the list's metadata before its elements."""

    def frame(page: Page, length: int | None) -> tuple[bytes, bytes]:
        metadata = delimited(_METADATA, list_meta(*page))
        start, end = envelope(group_version, kind, len(metadata) + (length or 0))
        return start + metadata, end

    return frame


def _beta_frame(group_version: str, kind: str) -> Callable[[Page, int | None], tuple[bytes, bytes]]:
    """The same with the metadata behind the elements."""

    def frame(page: Page, length: int | None) -> tuple[bytes, bytes]:
        metadata = delimited(_BETA_METADATA, list_meta(*page))
        start, end = envelope(group_version, kind, len(metadata) + (length or 0))
        return start, metadata + end

    return frame


def _message(entry: bytes) -> bytes:
    """The message in an element of a list: what stands behind the tag and the length."""
    start = 1
    while entry[start] > 0x7F:
        start += 1
    return entry[start + 1 :]
