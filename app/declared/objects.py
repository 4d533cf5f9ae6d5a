"""What a collection becomes: the objects of a declared kind, and what of the response became none."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from msgspec import Struct

from app.kinds._base import Cell
from app.kube.records import Key, Labels


class LiveValue(Struct, frozen=True, gc=False):
    """What an object of a declared kind says. `spec` and `status` are JSON-like values that never change, None where there is none.

    `created` and `observed` are Unix ns (`created` 0 if the source does not know); `cells` are those behind Name. `fresh` turns false
    when a later collection failed. `item` is the element of the response behind the object, kept where /raw or /log is served. `trend` is
    the last cell of a kind that draws one. `metrics` are the numbers of spec.metrics, None where the object gives none.
    """

    spec: Any
    status: Any
    annotations: Labels
    created: int
    observed: int
    cells: tuple[Cell, ...]
    fresh: bool = True
    item: Any = None
    trend: str = ""
    metrics: tuple[Decimal | None, ...] = ()


def created(value: LiveValue) -> int:
    """For Kind.created."""
    return value.created


def observed(value: LiveValue) -> int:
    """For Kind.measured."""
    return value.observed


def annotations(value: LiveValue) -> Labels:
    """For Kind.annotations."""
    return value.annotations


def cells(name: str, value: LiveValue) -> tuple[Cell, ...]:
    """For Kind.cells."""
    return (name, *value.cells)


class LiveObject(NamedTuple):
    """One object, as the cache takes it."""

    key: Key
    labels: Labels
    value: LiveValue


class Dropped(Struct, frozen=True, gc=False):
    """An item that became no object: its index in the list, its name if that is known, and why, in one sentence."""

    index: int
    name: str
    reason: str


class Mapped(NamedTuple):
    """What became of one response. `blank` has what costs cells only: columns of which CEL gave an error."""

    objects: list[LiveObject]
    dropped: list[Dropped]
    blank: Sequence[Dropped] = ()
