"""What a kind is: its names, its columns, its schema, and pure functions from the value of an object to its forms."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from app.auth.identity import User
from app.cache.collection import Item
from app.cache.projection import Subject
from app.kube.records import Key, Labels

__all__ = ["Age", "Asked", "Cell", "Column", "Kind", "Subject", "Subresource", "Told"]


class Age(Struct, frozen=True, gc=False):
    """A cell that shows how long ago something was (`at`, Unix ns): the age is worked out when the table is read, as of CRD columns of
    type date."""

    at: int


Cell = str | int | float | bool | None | Age


@dataclass(frozen=True)
class Column:
    """A Table column; the fields are those of meta/v1 TableColumnDefinition. Priority 0 is shown always, 1 with -o wide."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class Asked(Struct, frozen=True):
    """A GET of a subresource, after the caller was allowed it: the object, the query (last value of each name), and who asks."""

    item: Item
    query: Mapping[str, str]
    caller: User


class Told(Struct, frozen=True):
    """The answer of a subresource: a whole body, or pieces as they come."""

    body: bytes | AsyncIterator[bytes]
    content_type: str = "application/json"


@dataclass(frozen=True)
class Subresource:
    """A part of an object that is read by itself, under RBAC of its own: `get` on <resource>/<name>.

    `answer` raises Problem. `kind` is what discovery says it is, in the parent's group and version.
    """

    name: str
    kind: str
    answer: Callable[[Asked], Awaitable[Told]]


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

    `subject` and `project` are of kinds that the store publishes, one object for each subject: `project(record, usage)` gives the value,
    None for no object. `edit` is a sentence for whoever tries to write: what to change instead.
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
