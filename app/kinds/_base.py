"""What a kind is: its names, its columns, its schema, and pure functions from a subject of the cluster to an object and its forms."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.cache.projection import Subject
from app.kube.records import Labels

__all__ = ["Cell", "Column", "Kind", "Subject"]

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Column:
    """A Table column; the fields are those of meta/v1 TableColumnDefinition. Priority 0 is shown always, 1 with -o wide."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True)
class Kind:
    """One kind, wholly declared.

    `versions`: preferred first; all share one wire form. `resource` is the plural in paths. `about` is the resource name that a 404
    uses for a subject without values (metrics-server says podmetrics.metrics.k8s.io for pods).
    `schema` is the OpenAPI schema of the object's fields beyond apiVersion, kind and metadata: {"properties": {...}, "required": [...],
    "description": ...}.

    `project(record, usage)` gives the value of an object, None for no object. An object whose value and labels stay equal is the same.
    All else is made of the value, and only when it is first read. `created(value)` is when it was measured (Unix ns), which becomes
    metadata.creationTimestamp; `annotations(value)` are pairs sorted by key. `json(value)` is the JSON object of the fields behind
    metadata. `cells(name, value)` gives one cell for each column. `protobuf(value)` gives the bytes of the protobuf fields behind
    metadata, which is field 1; None where the kind has no such message.
    """

    group: str
    versions: tuple[str, ...]
    kind: str
    resource: str
    singular: str
    namespaced: bool
    about: str
    subject: Subject
    columns: tuple[Column, ...]
    schema: Mapping[str, Any]
    project: Callable[[Any, Any], Any]
    created: Callable[[Any], int]
    annotations: Callable[[Any], Labels]
    json: Callable[[Any], bytes]
    cells: Callable[[str, Any], tuple[Cell, ...]]
    protobuf: Callable[[Any], bytes] | None = None
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ("get", "list")
    group_priority: int = 100
    version_priorities: Mapping[str, int] | None = None

    @property
    def list_kind(self) -> str:
        return f"{self.kind}List"
