"""Answers of the metrics APIs that the HPA asks: from a path and selectors to a question, and from series to a list of values.

Order of checks, as for kinds: who may (the gate), what exists (404), which method (405), what form (406), selectors (400), and then the
metric itself (404 with its cause). What was made of series is kept until they change: HPAs ask more often than sources tell.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec
from cachetools import LRUCache
from msgspec import Struct

from app.auth.identity import Gate
from app.clock import Clock
from app.duration import human_duration
from app.errors import Problem
from app.kinds._base import Column
from app.routes.access import attributes_of
from app.routes.documents import indent
from app.routes.rendering import PARTIAL, TABLE, Form, form_of
from app.routes.respond import Answer, Scope, header, joined_header, query_of
from app.served_metrics.objects import Unavailable
from app.served_metrics.providers import Registry
from app.served_metrics.values import Absent, Api, Question, Resource, Series
from app.wire.accept import JSON, META_VERSIONS, PROTOBUF, Negotiated, Target, negotiate, wants_pretty
from app.wire.metric_values import NO_METADATA, Measured
from app.wire.protobuf import delimited, enclose
from app.wire.quantity import format_decimal
from app.wire.query import boolean, parse_query
from app.wire.request_info import RequestInfo, is_path_segment, split_request
from app.wire.status import method_not_allowed, unknown_path
from app.wire.table import NONE, OBJECT, encode_cells, encode_columns, head, row

KEPT_BYTES = 8 * 1024 * 1024
"""Room for bodies that were made, and for the series that they were made of."""

_KEPT_BESIDE = 512
_BYTES_OF_A_SERIES = 300
AT_ONCE = 512
"""Values that are encoded before other requests get their turn: one to two milliseconds."""

_LONGEST_KEPT_ACCEPT = 1024
_ALLOW = "GET, HEAD"
_ITEMS = 2
_encode = msgspec.json.Encoder().encode


class Place(NamedTuple):
    """What a path names. `resource` is None for an external metric, `namespace` "" for the root, `name` None for all objects."""

    metric: str
    resource: Resource | None = None
    namespace: str = ""
    name: str | None = None


class Values(Protocol):
    """Makes the values of one answer."""

    def json(self, series: Series, measured: Measured) -> bytes: ...

    def protobuf(self, series: Series, measured: Measured) -> bytes: ...

    def cells(self, series: Series) -> tuple[str, ...]:
        """The cells before value, age and labels."""
        ...

    def named(self, series: Series) -> Mapping[str, str]:
        """Name and namespace of what a row is about."""
        ...


class MetricsApi(Protocol):
    """One of the APIs: custom.metrics.k8s.io or external.metrics.k8s.io."""

    @property
    def api(self) -> Api: ...

    @property
    def group(self) -> str: ...

    @property
    def versions(self) -> Sequence[str]: ...

    @property
    def list_kind(self) -> str: ...

    @property
    def columns(self) -> Sequence[Column]:
        """Those before value, age and labels."""
        ...

    def place(self, version: str, parts: Sequence[str]) -> Place | None:
        """What the path behind the version names, None if it is none. Raises Problem 400 where it can be told what was meant."""
        ...

    def question(self, place: Place, query: Mapping[str, str]) -> Question:
        """Raises Problem 400 for a selector that cannot be read."""
        ...

    async def values(self, version: str, question: Question) -> Values | Unavailable:
        """What makes the values of an answer, or why that cannot be."""
        ...

    def missing(self, place: Place, query: Mapping[str, str]) -> str:
        """What could not be found, in upstream's words."""
        ...


VALUE_COLUMNS = (
    Column("Value", description="The value, as a Kubernetes quantity."),
    Column("Age", "date", description="How long ago the value was measured."),
    Column("Labels", description="The labels of the series, besides those that tell the object."),
)


class _Kept(Struct, frozen=True):
    """A body, and the series that it was made of."""

    series: Sequence[Series]
    body: bytes

    @property
    def size(self) -> int:
        """About the bytes that it takes."""
        return len(self.body) + _BYTES_OF_A_SERIES * len(self.series) + _KEPT_BESIDE


class MetricAnswers:
    """Answers requests for the metrics of one API."""

    def __init__(self, api: MetricsApi, registry: Registry, *, gate: Gate, clock: Clock, kept_bytes: int = KEPT_BYTES) -> None:
        self._api = api
        self._registry = registry
        self._gate = gate
        self._clock = clock
        self._columns = encode_columns([column_definition(column) for column in (*api.columns, *VALUE_COLUMNS)])
        self._agreed: LRUCache[str, Negotiated] = LRUCache(64)
        self._most_kept = kept_bytes // 4
        self._kept: LRUCache[tuple[str, bytes, Form], _Kept] = LRUCache(kept_bytes, getsizeof=lambda kept: kept.size)
        registry.listeners.append(self._take)
        self._take()

    def _take(self) -> None:
        """The API is there while there are metrics."""
        self._served = any(entry.api == self._api.api for entry in self._registry.entries())

    async def answer(self, scope: Scope) -> Answer:
        """The answer to a request below /apis/GROUP/. Raises Problem."""
        raw, method, path = query_of(scope), scope["method"], scope["path"]
        query = parse_query(raw) if raw else {}
        info = split_request(method, path)
        watches = bool(query) and boolean(query, "watch") is True
        await self._gate.admit(scope, attributes_of(info, "watch" if watches and info.verb == "list" else info.verb))
        place = self._place(info)
        if place is None:
            raise unknown_path()
        if method not in {"GET", "HEAD"} or watches:
            resource = place.metric if place.resource is None else f"{place.resource}/{place.metric}"
            raise method_not_allowed(self._api.group, resource, "watch" if watches else info.verb or method.lower(), allow=_ALLOW)
        negotiated = self._negotiate(joined_header(scope, b"accept"))
        pretty = negotiated.media == JSON and (negotiated.pretty or wants_pretty(query, header(scope, b"user-agent")))
        form = form_of(negotiated, query, pretty=pretty)
        question = self._api.question(place, query)
        found = await self._registry.answer(question)
        if isinstance(found, Absent):
            raise self._absent(place, query, found.reason)
        known = self._kept.get((path, raw, form))
        if known is not None and known.series == found.series:  # of the same objects, as a rule: each is looked at and no more
            return Answer(200, known.body, form.media)
        values = await self._api.values(info.version, question)
        if isinstance(values, Unavailable):
            raise self._absent(place, query, values.reason)
        body = await self._body(values, info.version, found.series, form)
        if form.target != TABLE:
            self._keep((path, raw, form), _Kept(found.series, body))
        return Answer(200, body, form.media)

    def _place(self, info: RequestInfo) -> Place | None:
        if not self._served or info.by_path or info.version not in self._api.versions:
            return None
        parts = info.path.strip("/").split("/")[3:]
        # As in kube-apiserver, .. is no name: what is asked of others by a path must not lead elsewhere.
        return self._api.place(info.version, parts) if all(part and is_path_segment(part) for part in parts) else None

    def _absent(self, place: Place, query: Mapping[str, str], reason: str) -> Problem:
        """404 in upstream's words, and then with the cause."""
        text = f"the server could not find the metric {self._api.missing(place, query)}"
        return Problem(404, "NotFound", f"{text}: {reason}")

    def _negotiate(self, accept: str) -> Negotiated:
        """The form that was agreed on. Few Accept headers are in use, so that each is read once."""
        known = self._agreed.get(accept)
        if known is None:
            known = negotiate(accept, allows=_allows, media_types=(JSON, PROTOBUF))
            if len(accept) <= _LONGEST_KEPT_ACCEPT:
                self._agreed[accept] = known
        return known

    def _keep(self, look: tuple[str, bytes, Form], kept: _Kept) -> None:
        path, raw, _ = look
        if len(path) + len(raw) <= _KEPT_BESIDE and kept.size <= self._most_kept:
            self._kept[look] = kept

    async def _body(self, values: Values, version: str, series: Sequence[Series], form: Form) -> bytes:
        encode = self._encoder(values, form)
        items: list[bytes] = []
        for start in range(0, len(series), AT_ONCE):
            if start:
                await asyncio.sleep(0)
            items += [encode(each, measured_of(each)) for each in series[start : start + AT_ONCE]]
        group_version, kind = f"{self._api.group}/{version}", self._api.list_kind
        if form.media == PROTOBUF:
            return enclose(group_version, kind, NO_METADATA + b"".join(items))
        if form.target == TABLE:
            start_of_body = head(TABLE, f"meta.k8s.io/{form.version}") + b'"metadata":{},"columnDefinitions":%b,"rows":[' % self._columns
        else:
            start_of_body = head(kind, group_version) + b'"metadata":{},"items":['
        body = b"%b%b]}\n" % (start_of_body, b",".join(items))
        return indent(body) if form.pretty else body

    def _encoder(self, values: Values, form: Form) -> Callable[[Series, Measured], bytes]:
        if form.media == PROTOBUF:
            return lambda series, measured: delimited(_ITEMS, values.protobuf(series, measured))
        if form.target != TABLE:
            return values.json
        now = int(self._clock.wall() * 1e9)

        def table_row(series: Series, measured: Measured) -> bytes:
            cells = (*values.cells(series), measured.quantity, human_duration(now - measured.time), _shown(series))
            if form.include == NONE:
                return row(encode_cells(cells), b"null")
            if form.include == OBJECT:
                return row(encode_cells(cells), values.json(series, measured))
            metadata = _encode(values.named(series))
            return row(encode_cells(cells), b'%b"metadata":%b}' % (head(PARTIAL, f"meta.k8s.io/{form.version}"), metadata))

        return table_row


def measured_of(series: Series) -> Measured:
    """The value of a series, as it is written."""
    return Measured(format_decimal(series.value), series.time, series.window)


def column_definition(column: Column) -> dict[str, str | int]:
    """A column as a Table has it."""
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _shown(series: Series) -> str:
    return ",".join([f"{key}={value}" for key, value in series.labels]) or "<none>"


def _allows(media: str, target: Target | None) -> bool:
    """Values have no metadata: there are they themselves, and in JSON a Table of them."""
    return target is None or (media == JSON and (target.kind, target.group) == (TABLE, "meta.k8s.io") and target.version in META_VERSIONS)
