"""What lies below the objects of a declared kind: their history, the items behind them, the logs of their pods."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from app.cache.history import History
from app.clock import Clock
from app.declared import jsonpath
from app.declared.model import HistoryModel, LiveResourceSpec
from app.declared.objects import LiveObject, LiveValue, Mapped
from app.declared.pod_logs import PodLogs
from app.kinds import _history, _raw
from app.kinds._base import Cell, Column, Subresource

Numbers = Sequence[tuple[str, ...]]
"""Paths of the fields of a kind's objects that are numbers, such as ("status", "ready")."""

MOST_FIELDS = 64
"""Numbers of an object that are kept; a kind with more has the first of them."""


@dataclass(frozen=True)
class Means:
    """What answers need. `mask` takes secrets out of a text; `logs` reads the logs of pods."""

    clock: Clock
    mask: Callable[[str], str]
    logs: PodLogs


class LiveHistory:
    """Keeps the numbers of a kind's objects, and draws their trend."""

    def __init__(self, model: HistoryModel, numbers: Numbers, interval: float) -> None:
        """`interval` is that of collections (s). Raises JsonPathError."""
        self._paths = [_plain(path) for path in numbers[:MOST_FIELDS]]
        fields = [".".join(path) for path in numbers[:MOST_FIELDS]]
        self._maximum = jsonpath.parse(model.maximum) if model.maximum is not None else None
        self._glyphs = model.glyphs
        self._trend: int | None = None
        if model.trend is not None:
            path = jsonpath.parse(model.trend)
            name = ".".join(path.fields) if path.fields is not None else model.trend.removeprefix(".")
            if name not in fields:
                fields.append(name)
                self._paths.append(path)
            self._trend = fields.index(name)
        self.kept = History(fields, model.points, int(interval * 1e9))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The column that is drawn, if one is."""
        return (_history.TREND,) if self._trend is not None else ()

    def take(self, mapped: Mapped, observed: int) -> Mapped:
        """The outcome of a collection at `observed` (Unix ns), its numbers kept, its objects with their trend."""
        self.kept.take(observed, {each.key: self._numbers(each.value) for each in mapped.objects})
        if self._trend is None:
            return mapped
        spans = self.kept.spans(self._trend, _history.SPANS)
        return mapped._replace(objects=[self._drawn(each, spans(each.key)) for each in mapped.objects])

    def _drawn(self, obj: LiveObject, values: Sequence[float | None]) -> LiveObject:
        maximum = _number(self._maximum.find(_object(obj.value))) if self._maximum is not None else None
        return obj._replace(value=replace(obj.value, trend=_history.trend(values, maximum, self._glyphs)))

    def _numbers(self, value: LiveValue) -> list[float | None]:
        found = _object(value)
        return [_number(path.find(found)) for path in self._paths]


def below(spec: LiveResourceSpec, history: LiveHistory | None, means: Means) -> tuple[Subresource, ...]:
    """The subresources that a declaration asks for."""
    asked = spec.subresources
    made = []
    if history is not None:
        made.append(_history.history(history.kept, means.clock))
    if asked.raw:
        made.append(_raw.raw(_item, means.mask))
    if asked.log:
        made.append(means.logs.subresource(spec.names.kind, _item))
    return tuple(made)


def cells_with_trend(name: str, value: LiveValue) -> tuple[Cell, ...]:
    """The cells of a kind whose last column is the trend."""
    return (name, *value.cells, value.trend)


def _item(value: LiveValue) -> Any:
    return value.item


def _object(value: LiveValue) -> dict[str, Any]:
    return {"spec": value.spec, "status": value.status}


def _plain(path: tuple[str, ...]) -> jsonpath.JsonPath:
    return jsonpath.JsonPath(tuple(jsonpath.Field(name, 0) for name in path))


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
