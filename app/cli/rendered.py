"""Declared objects and series as the server would answer with them: mapped and rendered by what `serve` uses, without a source."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from app.cache.collection import Item
from app.clock import Clock
from app.declared.declaration import AnyDeclaration, Declaration, MetricDeclaration, is_metric
from app.declared.live_kind import compile_kind
from app.declared.live_metric import MappedSeries, compile_metric
from app.declared.objects import Mapped
from app.kinds._base import Kind
from app.routes.lists import Page
from app.routes.rendering import KUBECTL_TABLE, PLAIN, Renderer
from app.wire.timestamps import format_time
from collectors._base import Cause, CollectError
from collectors._http_body import decode_body

_VERSION = 1  # resourceVersion of all: nothing changes here
_FORMS: Mapping[str, Any] = {".json": "json", ".prom": "prometheus", ".txt": "prometheus"}
_MOST_BYTES = 64 << 20


class Rendered(NamedTuple):
    """What becomes of a response: `mapped` says what of it could not be used, `objects` are the objects, whole and by namespace and name.

    `table` is the Table (meta/v1) that `kubectl get` asks for. A metric has no kind, and its objects are its series:
    {"object", "labels", "value", "timestamp"}, with the number as text.
    """

    kind: Kind | None
    mapped: Mapped | MappedSeries
    objects: Sequence[Mapping[str, Any]]
    table: Mapping[str, Any]

    @property
    def namespaced(self) -> bool:
        """Whether rows have a namespace of their own."""
        return self.kind is not None and self.kind.namespaced


def rendered(declaration: AnyDeclaration, response: Any, clock: Clock) -> Rendered:
    """What is served of a response that is seen now. Raises CollectError where it gives no items."""
    return _series(declaration, response, clock) if is_metric(declaration) else _objects(cast("Declaration", declaration), response, clock)


def _series(declaration: MetricDeclaration, response: Any, clock: Clock) -> Rendered:
    mapped = compile_metric(declaration).map(response, int(clock.wall() * 1e9), lambda: False)
    found = sorted(mapped.objects, key=lambda each: (each.object or ("", ""), each.labels))
    objects = [
        {
            "object": "/".join(filter(None, each.object)) if each.object is not None else None,
            "labels": dict(each.labels),
            "value": f"{each.value:f}",
            "timestamp": format_time(each.time),
        }
        for each in found
    ]
    definitions = [{"name": name, "priority": 0} for name in ("Object", "Labels", "Value", "Timestamp")]
    rows = [{"cells": [each["object"], _labels(each["labels"]), each["value"], each["timestamp"]]} for each in objects]
    return Rendered(None, mapped, objects, {"columnDefinitions": definitions, "rows": rows})


def _labels(labels: Any) -> str:
    return ",".join(f"{key}={text}" for key, text in labels.items())


def _objects(declaration: Declaration, response: Any, clock: Clock) -> Rendered:
    live = compile_kind(declaration)
    observed = int(clock.wall() * 1e9)
    mapped = live.take(live.map(response, observed, lambda: False), observed)
    items = [Item(key, labels, _VERSION, value) for key, labels, value in sorted(mapped.objects, key=lambda each: each.key)]
    renderer = Renderer(live.kind, live.kind.versions[0], clock)
    form = renderer.many(KUBECTL_TABLE)
    start, end = form.frame(Page(_VERSION), None)
    table = json.loads(start + form.separator.join(map(form.encode, items)) + end)
    return Rendered(live.kind, mapped, [json.loads(renderer.one(item, PLAIN)) for item in items], table)


def read_response(path: Path) -> Any:
    """A response of a source from a file: JSON (*.json), Prometheus text (*.prom, *.txt), else YAML. Raises CollectError."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as err:
        raise CollectError(Cause.PAYLOAD, f"{path}: cannot be read: {err.strerror}") from err
    if len(content) > _MOST_BYTES:
        raise CollectError(Cause.TOO_LARGE, f"{path}: is larger than {_MOST_BYTES >> 20} MiB")
    return decode_body(content, _FORMS.get(path.suffix, "yaml"), str(path)).value
