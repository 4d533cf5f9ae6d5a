"""From a declaration to the kind that it declares: pure, made once, safe to use from several threads."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID, uuid5

import msgspec

from app.declared.below import LiveHistory, Means, below, cells_with_trend
from app.declared.columns import NAME
from app.declared.declaration import Declaration
from app.declared.fresh import Freshness
from app.declared.mapping import PARTS, Mapper
from app.declared.objects import LiveObject, LiveValue, Mapped, annotations, cells, created, observed
from app.kinds._base import Kind
from app.kube.records import Key
from app.served_metrics.values import Api

_UIDS = UUID("0d6f1c1e-3f0a-5b0c-9d7e-6b1f5f3a7c52")
"""The namespace of UUIDs of objects (RFC 9562 section 5.5): made once, and never to change, or all uids would."""

_encode = msgspec.json.Encoder().encode


class LiveKind:
    """A declared kind. `numbers` are the paths of the integer and number fields of its objects, such as ("status", "ready"); `metrics` the
    names and APIs of its metrics; `namespaces` those that its objects may be in, None where they are in none."""

    def __init__(
        self,
        kind: Kind,
        mapper: Mapper,
        numbers: tuple[tuple[str, ...], ...],
        history: LiveHistory | None = None,
        metrics: tuple[tuple[str, frozenset[Api]], ...] = (),
        *,
        namespaces: frozenset[str] | None = None,
    ) -> None:
        self.kind = kind
        self.namespaces = namespaces
        self.metrics = metrics
        self.numbers = numbers
        self._mapper = mapper
        self.history = history

    def map(self, response: Any, observed: int, deadline: Callable[[], bool]) -> Mapped:
        """The objects of a response seen at `observed` (Unix ns), until `deadline()` is true. Raises CollectError; takes a while."""
        return self._mapper.map(response, observed, deadline)

    def take(self, mapped: Mapped, observed: int) -> Mapped:
        """What was mapped, in the history of the kind from now on, with the trend that it draws. By one thread at a time."""
        return mapped if self.history is None else self.history.take(mapped, observed)

    def follow(self, other: "LiveKind") -> None:
        """Go on from the history of an earlier version of the kind."""
        if self.history is not None and other.history is not None:
            self.history.kept.follow(other.history.kept)

    def aged(self, objects: Sequence[LiveObject]) -> list[LiveObject]:
        """The same objects after a later collection failed: they are no longer fresh."""
        return self._mapper.aged(objects)


def compile_kind(declaration: Declaration, means: Means | None = None) -> LiveKind:
    """The kind of a declaration that was checked; without `means` nothing can be asked of what is below its objects.

    Raises CelError and JsonPathError for a declaration that was not checked.
    """
    resource = declaration.resource
    spec, names = resource.spec, resource.spec.names
    mapper = Mapper(resource)
    schema = mapper.freshness.schema(spec.schema_.openapi_v3_schema)
    numbers = tuple(_numbers(schema))
    model = spec.subresources.history
    history = LiveHistory(model, numbers, spec.interval) if model is not None else None
    trend = history.columns if history is not None else ()
    kind = Kind(
        group=spec.group,
        versions=(spec.version,),
        kind=names.kind,
        resource=names.plural,
        singular=names.singular or names.kind.lower(),
        namespaced=spec.scope == "Namespaced",
        columns=(NAME, *mapper.columns.columns, *trend),
        schema=_of_parts(schema),
        created=created,
        measured=observed,
        annotations=annotations,
        uid=_uids(spec.group, names.kind),
        json=_json(mapper.freshness),
        cells=cells_with_trend if trend else cells,
        subresources=below(spec, history, means) if means is not None else (),
        short_names=tuple(names.short_names),
        categories=tuple(names.categories),
        edit=f"{resource.metadata.name} is declared by {declaration.place.file}: edit that",
    )
    metrics = tuple((metric.name, frozenset[Api](metric.apis)) for metric in spec.metrics)
    return LiveKind(kind, mapper, numbers, history, metrics, namespaces=frozenset(spec.allow_namespaces) if kind.namespaced else None)


def _of_parts(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What of an object's schema stands behind metadata: kubeglance says itself what is before."""
    return {
        **{key: value for key, value in schema.items() if key in {"description", "title", "externalDocs"}},
        "properties": {name: part for name, part in schema["properties"].items() if name in PARTS},
        "required": [name for name in schema.get("required", ()) if name in PARTS],
    }


def _numbers(schema: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, part in schema.get("properties", {}).items():
        if not path and name not in PARTS:
            continue
        if part.get("type") in {"integer", "number"}:
            yield (*path, name)
        else:
            yield from _numbers(part, (*path, name))


def _uids(group: str, kind: str) -> Callable[[Key, LiveValue], str]:
    """The uid of an object, always the same for its kind, namespace and name. A version of the kind is not in it."""

    def uid(key: Key, _value: LiveValue) -> str:
        return str(uuid5(_UIDS, "/".join((group, kind, *key))))

    return uid


def _json(freshness: Freshness) -> Callable[[LiveValue], bytes]:
    def json(value: LiveValue) -> bytes:
        fields = {} if value.spec is None else {"spec": value.spec}
        fields["status"] = freshness.status(value.status, value.observed, fresh=value.fresh)
        return _encode(fields)

    return json
