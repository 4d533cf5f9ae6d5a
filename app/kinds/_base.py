"""What a kind is: its names, its columns, its schema, and pure functions from the value of an object to its forms."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from app.auth.identity import User
from app.cache.collection import Item
from app.cache.projection import Subject
from app.kube.records import Key, Labels

__all__ = ["Age", "Asked", "Cell", "Column", "Kind", "Subject", "Subresource", "Told"]


class Age(Struct, frozen=True, gc=False):
    """A cell that shows how long ago something was (`at`, Unix ns; 0 for not known): worked out when the table is read.

    It stands in a column of type date, as in CRDs, and only there: the rows of a kind with such columns are not kept.
    """

    at: int


Cell = str | int | float | bool | None | Age


@dataclass(frozen=True)
class Column:
    """A Table column; the fields are those of meta/v1 TableColumnDefinition. Priority 0 is shown always, 1 with -o wide.

    The cells of a column of type date are Age, or None.
    """

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class Asked(Struct, frozen=True):
    """A GET of a subresource, after the caller was allowed it: the object, the query (first value of each name), and who asks."""

    item: Item
    query: Mapping[str, str]
    caller: User


class Told(Struct, frozen=True):
    """The answer of a subresource: the JSON object of the fields behind metadata, or text in pieces that go out as they come.

    `columns` and `rows` are the same as a Table.
    """

    body: bytes | AsyncGenerator[bytes, None]
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()


@dataclass(frozen=True)
class Subresource:
    """A part of an object that is read by itself, under RBAC of its own: `get` on <resource>/<name>.

    `answer` raises Problem. `kind` is what discovery says it is, in the parent's group and version; `schema` is that of the fields behind
    metadata, as of a Kind, None where the answer is text. `parameters` are those of its query, with what each means. `tabular` is for
    answers that are a Table too.
    """

    name: str
    kind: str
    answer: Callable[[Asked], Awaitable[Told]]
    schema: Mapping[str, Any] | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    tabular: bool = False


@dataclass(frozen=True)
class Kind:
    """One kind, wholly declared.

    `versions`: preferred first; all share one wire form. `resource` is the plural in paths. `about` is the resource name that a 404
    uses for a subject without values (metrics-server says podmetrics.metrics.k8s.io for pods), "" for the resource itself.
    `schema` is the OpenAPI schema of the object's fields beyond apiVersion, kind and metadata: {"properties": {...}, "required": [...],
    "description": ...}.

    All forms are made of an object's value, and only when it is first read. An object whose value and labels stay equal is the same.
    `created(value)` becomes metadata.creationTimestamp (Unix ns, 0 for none); `measured(value)` is when what it says was seen, where that
    is another time; `annotations(value)` are pairs sorted by key. `uid(key, value)` is metadata.uid. `json(value)` is the JSON object of
    the fields behind metadata. `cells(name, value)` gives one cell for each column. `protobuf(value)` gives the bytes of the protobuf
    fields behind metadata, which is field 1; None where the kind has no such message. `fields` are further field selectors, by path.

    `subject` is what each object is about: where the cluster has none, a 404 says so; of a kind without a subject it is the object that
    is not found. `project` is of kinds that the store publishes: `project(record, usage)` gives the value, None for no object. `edit` is
    a sentence, without a full stop, for whoever tries to write: what to change instead.
    """

    group: str
    versions: tuple[str, ...]
    kind: str
    resource: str
    singular: str
    namespaced: bool
    columns: tuple[Column, ...]
    schema: Mapping[str, Any]
    created: Callable[[Any], int]
    annotations: Callable[[Any], Labels]
    json: Callable[[Any], bytes]
    cells: Callable[[str, Any], tuple[Cell, ...]]
    about: str = ""
    subject: Subject | None = None
    project: Callable[[Any, Any], Any] | None = None
    measured: Callable[[Any], int] | None = None
    uid: Callable[[Key, Any], str] | None = None
    protobuf: Callable[[Any], bytes] | None = None
    fields: Mapping[str, Callable[[Key, Any], str]] = field(default_factory=dict)
    subresources: tuple[Subresource, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ("get", "list")
    edit: str = ""
    group_priority: int = 100
    version_priorities: Mapping[str, int] | None = None

    @property
    def list_kind(self) -> str:
        return f"{self.kind}List"

    @property
    def has_ages(self) -> bool:
        """Whether its tables change while its objects do not."""
        return any(column.type == "date" for column in self.columns)
