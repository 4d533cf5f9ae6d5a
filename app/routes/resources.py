"""Get and list of every kind, and get of what is below an object: one ASGI endpoint, called by the dispatcher and registered as FastAPI
routes alike.

Order of checks, as in the real API server: who may (the gate), what exists (404), which method (405), what form (406), options (400, 422).
"""

import asyncio
import sys
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from random import randrange
from typing import Any, NamedTuple

from cachetools import LRUCache, TTLCache
from msgspec.structs import replace

from app.auth.identity import Attributes, Gate, User
from app.cache.collection import Item, Part, Snapshot
from app.clock import Clock
from app.errors import Problem
from app.kinds._base import Asked, Kind, Subject, Subresource
from app.kinds._catalog import Catalog, Objects
from app.kube.records import Key
from app.lumps import Lumps
from app.routes import subresources
from app.routes.access import attributes_of
from app.routes.lists import MOST_KEPT, SHORT, Page, measure, stream, whole
from app.routes.live import LiveAnswers
from app.routes.problems import Endpoint
from app.routes.protobuf_rendering import ProtobufRenderer
from app.routes.rendered import Look, Rendered, RenderedLists, Where
from app.routes.rendering import TABLE, Form, Renderer, form_of
from app.routes.respond import Answer, Scope, header, joined_header, query_of
from app.routes.versions import Versions, check_version
from app.wire.accept import JSON, PROTOBUF, Negotiated, Target, is_meta, negotiate, wants_pretty
from app.wire.continuation import encode_continue
from app.wire.field_selectors import ANY, FIELDS, FieldSelector, parse_field_selector
from app.wire.label_selectors import EVERYTHING, LabelSelector, parse_label_selector
from app.wire.list_options import ListOptions, parse_list_options, parse_version
from app.wire.query import boolean, parse_query
from app.wire.request_info import RequestInfo, is_path_segment, split_request
from app.wire.status import method_not_allowed, not_found, unknown_path

RENDERED_BYTES = 16 * 1024 * 1024
"""Room for lists that were rendered, of the current version only: whole ones, and short ones of a selector."""

PINNED_LISTS = 16
PINNED_OBJECTS = 300_000
PINNED_SECONDS = 60.0
"""How many lists that have further pages are held as they were, how many objects these have together, and for how long."""

FILTERED_AT_ONCE = 128
"""Objects that are held against selectors before other requests get their turn: up to 4 milliseconds where each has to be worked out."""

LABELLED_AT_ONCE = 8192
"""Label sets that are held against a selector in one step, and objects that are found so: a millisecond or two."""

MOST_REVIEWED = 100
"""Requirements and values of a selector that go into a SubjectAccessReview; a larger selector stays out of it. Reviews are asked for
callers who may not list all, and so for anyone: what they send must not become a large request to kube-apiserver."""

_ALLOW = "GET, HEAD"
_READ_ONLY = "this API is read-only"
_CONNECTED = frozenset({"attach", "exec", "portforward", "proxy"})
"""Subresources that upstream serves by GET too, and that do something."""

_LONGEST_KEPT_ACCEPT = 1024
_WHOLE_LIST = ListOptions()
_SUBJECT_RESOURCES = {Subject.NODE: "nodes", Subject.POD: "pods"}


Observe = Callable[[int], None]


def create_resources(
    catalog: Catalog,
    *,
    gate: Gate,
    clock: Clock,
    versions: Versions,
    observe: Observe = lambda _created: None,
    live: LiveAnswers | None = None,
    lumps: Lumps | None = None,
    rendered_bytes: int = RENDERED_BYTES,
) -> Endpoint:
    """The endpoint of all paths below /apis/GROUP/VERSION/.

    `live` bounds answers that go on; who has it can end them. `lumps` is the queue for large pieces of work. `observe` hears, for each
    answer with objects, when one of them was measured (Unix ns): the one, or any one of a list.
    """
    resources = Resources(
        catalog,
        gate=gate,
        versions=versions,
        clock=clock,
        observe=observe,
        live=LiveAnswers() if live is None else live,
        lumps=Lumps(clock.monotonic) if lumps is None else lumps,
        rendered_bytes=rendered_bytes,
    )
    return Endpoint(resources.answer, resources.at_once)


class _Bound(NamedTuple):
    """One kind in one version, with what its requests need."""

    where: Where
    kind: Kind
    collection: Objects
    measured: Callable[[Any], int]
    selectable: tuple[str, ...]
    subresources: Mapping[str, Subresource]
    renderers: Mapping[str, Renderer | ProtobufRenderer]


def _bind(kind: Kind, collection: Objects, version: str, clock: Clock) -> _Bound:
    return _Bound(
        (kind.group, version, kind.resource),
        kind,
        collection,
        kind.measured or kind.created,
        (*FIELDS, *kind.fields),
        {subresource.name: subresource for subresource in kind.subresources},
        {JSON: Renderer(kind, version, clock), PROTOBUF: ProtobufRenderer(kind, version)},
    )


class Resources:
    """Answers requests for objects. Reads references and version in one synchronous step, so that a list is of one moment."""

    def __init__(
        self,
        catalog: Catalog,
        *,
        gate: Gate,
        versions: Versions,
        clock: Clock,
        observe: Observe,
        live: LiveAnswers,
        lumps: Lumps,
        rendered_bytes: int,
    ) -> None:
        self._catalog = catalog
        self._gate = gate
        self._clock = clock
        self._observe = observe
        self._live = live
        self._lumps = lumps
        self._most_rendered = rendered_bytes // 2
        self._versions = versions
        self._bound: dict[Where, _Bound] = {}
        self._rendered = RenderedLists(rendered_bytes, self._current)
        # Snapshots of lists that have further pages, so that those pages are of the first one's moment.
        self._pinned: TTLCache[tuple[Where, str | None, int], Sequence[Item]] = TTLCache(
            PINNED_OBJECTS,
            PINNED_SECONDS,
            timer=clock.monotonic,
            getsizeof=lambda snapshot: max(len(snapshot), PINNED_OBJECTS // PINNED_LISTS),
        )
        self._letting_go: asyncio.TimerHandle | None = None
        self._agreed: LRUCache[tuple[str, bool], Negotiated] = LRUCache(64)
        catalog.listeners.append(self._take_catalog)
        self._take_catalog()

    def _take_catalog(self) -> None:
        """Serve what the catalog has now. What stayed keeps all that is known of it; lists of what went or changed are dropped."""
        before, self._bound = self._bound, {}
        for kind, collection in self._catalog:
            for version in kind.versions:
                bound = before.get((kind.group, version, kind.resource))
                if bound is None or bound.kind is not kind or bound.collection is not collection:
                    bound = _bind(kind, collection, version, self._clock)
                self._bound[bound.where] = bound
        gone = {where for where, bound in before.items() if self._bound.get(where) is not bound}
        self._rendered.forget(gone)
        for pin in [pin for pin in self._pinned if pin[0] in gone]:
            self._pinned.pop(pin, None)

    async def answer(self, scope: Scope) -> Answer:
        """The answer to a request. Raises Problem."""
        raw = query_of(scope)
        query = parse_query(raw) if raw else {}
        info = split_request(scope["method"], scope["path"])
        verb = "watch" if info.verb == "list" and boolean(query, "watch") else info.verb
        asked = attributes_of(info, verb)
        where = (info.group, info.version, info.resource)
        known = self._bound.get(where)
        selectable = FIELDS if known is None else known.selectable
        caller = await self._gate.admit(scope, asked, partial(_narrowed, asked, query, selectable) if _selects(info, verb, query) else None)
        bound = self._bound.get(where)  # anew: kinds come and go while a verdict is waited for
        if bound is None or info.deeper or not _fits(bound.kind, info):
            raise unknown_path()
        if info.subresource:
            return await self._subresource(scope, bound, info, query, caller)
        if scope["method"] not in {"GET", "HEAD"} or (info.by_path and verb != "watch"):
            raise _not_allowed(bound.kind, verb or scope["method"].lower())
        if info.name and not info.by_path:
            return self._one(scope, bound, info, query)
        negotiated, pretty = self._agree(scope, bound.kind, query)
        options = parse_list_options(query, watch=info.by_path, selectable=bound.selectable) if query or info.by_path else _WHOLE_LIST
        if options.watch:
            raise _not_allowed(bound.kind, "watch")
        form = form_of(negotiated, query, pretty=pretty)
        namespace = info.namespace if info.namespace or not bound.kind.namespaced else None
        selectors = (query.get("labelSelector", ""), query.get("fieldSelector", ""))
        return await self._list(bound, namespace, options, selectors, form, in_chunks=scope.get("http_version") != "1.0")

    def at_once(self, scope: Scope) -> Answer | None:
        """The answer to a plain get of an object, by a caller of whom all is known. None, or what `answer` raises, for all else."""
        if scope["method"] != "GET" or query_of(scope):
            return None
        info = split_request("GET", scope["path"])
        bound = self._bound.get((info.group, info.version, info.resource))
        if bound is None or not info.name or info.subresource or info.deeper or info.by_path or not _fits(bound.kind, info):
            return None
        if self._gate.known(scope, attributes_of(info, info.verb)) is None:
            return None
        return self._one(scope, bound, info, {})

    def _one(self, scope: Scope, bound: _Bound, info: RequestInfo, query: dict[str, str]) -> Answer:
        """One object."""
        negotiated, pretty = self._agree(scope, bound.kind, query)
        form = form_of(negotiated, query, pretty=pretty)
        return Answer(200, self._get(bound, (info.namespace, info.name), form, query), negotiated.media)

    def _agree(self, scope: Scope, kind: Kind, query: dict[str, str]) -> tuple[Negotiated, bool]:
        """The form that was agreed on, and whether it is to be indented. Raises Problem 406."""
        negotiated = self._negotiate(joined_header(scope, b"accept"), kind)
        return negotiated, negotiated.media == JSON and (negotiated.pretty or wants_pretty(query, header(scope, b"user-agent")))

    def _negotiate(self, accept: str, kind: Kind) -> Negotiated:
        """The form that was agreed on. Few Accept headers are in use, so that each is read once."""
        cache_key = (accept, kind.protobuf is not None)
        known = self._agreed.get(cache_key)
        if known is None:
            allows = is_meta if kind.protobuf is not None else _allows_without_message
            known = negotiate(accept, allows=allows, media_types=(JSON, PROTOBUF))
            if len(accept) <= _LONGEST_KEPT_ACCEPT:
                self._agreed[cache_key] = known
        return known

    def _get(self, bound: _Bound, key: tuple[str, str], form: Form, query: dict[str, str]) -> bytes:
        if "resourceVersion" in query:
            check_version(self._versions, parse_version(query["resourceVersion"]), "", bound.collection.version)
        item = _present(bound, key)
        measured = bound.measured(item.value)
        if measured:
            self._observe(measured)
        return bound.renderers[form.media].one(item, form)

    async def _list(
        self, bound: _Bound, namespace: str | None, options: ListOptions, selectors: tuple[str, str], form: Form, *, in_chunks: bool
    ) -> Answer:
        """`selectors` are the texts of both. What is too large to be made whole goes in chunks if the client knows them."""
        collection = bound.collection
        check_version(self._versions, options.version, options.match, collection.version)
        self._pinned.expire()
        look = None if options.limit or options.continuation is not None else Look(bound.where, namespace, selectors, form)
        if look is not None and (rendered := self._rendered.find(look, collection.version)) is not None:
            if rendered.measured:
                self._observe(rendered.measured)
            return Answer(200, rendered.body, form.media)
        items, page = await self._page(bound, namespace, options)
        measured = bound.measured(items[randrange(len(items))].value) if items else 0  # noqa: S311  a sample for a histogram
        if measured:
            self._observe(measured)
        list_form = bound.renderers[form.media].many(form)
        if len(items) <= SHORT or (look is not None and not any(selectors) and len(items) <= MOST_KEPT):
            body = await whole(list_form, items, page, self._lumps, most=self._most_rendered)
            if body is not None:
                if look is not None and page.version == collection.version and self._keeps(bound, form):
                    self._rendered.keep(look, Rendered(page.version, body, measured))
                return Answer(200, body, form.media)
        if not list_form.measured and in_chunks:
            return Answer(200, content_type=form.media, stream=stream(list_form, items, page, None, self._lumps))
        if not _is_fixed(bound.kind, items, form):
            return Answer(200, await whole(list_form, items, page, self._lumps, most=sys.maxsize) or b"", form.media)
        length, total = await measure(list_form, items, page, self._lumps)
        return Answer(200, content_type=form.media, stream=stream(list_form, items, page, length, self._lumps), length=total)

    def _current(self, where: Where) -> int | None:
        """The version of a kind's objects now."""
        bound = self._bound.get(where)
        return None if bound is None else bound.collection.version

    def _keeps(self, bound: _Bound, form: Form) -> bool:
        """Whether a list may be kept: not while its ages go on, nor when the kind went while it was made."""
        return not (form.target == TABLE and bound.kind.has_ages) and self._bound.get(bound.where) is bound

    async def _subresource(self, scope: Scope, bound: _Bound, info: RequestInfo, query: Mapping[str, str], caller: User) -> Answer:
        """What is below one object: get is all there is, whatever the name."""
        kind, subresource = bound.kind, bound.subresources.get(info.subresource)
        if scope["method"] not in {"GET", "HEAD"} or info.by_path or (subresource is None and info.subresource in _CONNECTED):
            raise _not_allowed(kind, info.verb or scope["method"].lower(), info.subresource)
        if subresource is None:
            raise unknown_path()
        item = _present(bound, (info.namespace, info.name))
        return await subresources.answer(
            scope, kind, info.version, subresource, Asked(item, query, caller), clock=self._clock, live=self._live
        )

    async def _page(self, bound: _Bound, namespace: str | None, options: ListOptions) -> tuple[Sequence[Item], Page]:
        """The items of a list or of one page of it, and what its metadata tells."""
        fields, labels, limit = options.fields, options.labels, options.limit
        if not limit and options.continuation is None:
            version = bound.collection.version
            return await self._all(bound, namespace, options), Page(version)
        snapshot, start, version = self._snapshot(bound, namespace, options)
        items: Sequence[Item]
        if fields.empty and labels.empty:
            items = _part(snapshot, start, start + limit if limit else len(snapshot))
            remaining = len(snapshot) - start - len(items)
            if not remaining:
                return items, Page(version)
            return items, Page(version, encode_continue(version, items[-1].key, namespace), remaining)
        items = await _filtered(bound.kind, snapshot, fields, labels, self._lumps, start=start)
        if not limit or len(items) <= limit:
            return items, Page(version)
        return items[:limit], Page(version, encode_continue(version, items[limit - 1].key, namespace))

    async def _all(self, bound: _Bound, namespace: str | None, options: ListOptions) -> Sequence[Item]:
        """The items that the selectors take, as they are now."""
        fields, labels, collection = options.fields, options.labels, bound.collection
        where = _where(bound.kind, namespace, fields)
        if not labels.empty:
            labelled = collection.labelled(labels.matches, where, most=LABELLED_AT_ONCE)
            if labelled is not None:
                return await _filtered(bound.kind, labelled, fields, EVERYTHING, self._lumps)
        return await _filtered(bound.kind, collection.snapshot(where), fields, labels, self._lumps)

    def _snapshot(self, bound: _Bound, namespace: str | None, options: ListOptions) -> tuple[Sequence[Item], int, int]:
        """What a list with pages is made of, where in it this page begins, and the version that the page bears.

        A further page bears the first page's version. If its snapshot is gone (or lies on another replica), it is made from the
        current state: values of a metric have no history, and a watch from that version brings what changed between.
        """
        collection, kind = bound.collection, bound.kind
        continuation = options.continuation
        version = collection.version if continuation is None else continuation.version
        pin = (bound.where, namespace, version)
        snapshot = self._pinned.get(pin) if continuation is not None else None
        if snapshot is None:
            snapshot = collection.snapshot(_where(kind, namespace, ANY))
        if options.limit and len(snapshot) > options.limit and version == collection.version:
            with suppress(ValueError):  # it alone has more objects than all that are held may have
                self._pinned[pin] = snapshot
                self._letting_go = self._letting_go or asyncio.get_running_loop().call_later(PINNED_SECONDS, self._let_go)
        start = 0 if continuation is None else bisect_left(snapshot, continuation.after(namespace), key=lambda item: item.key)
        return snapshot, start, version

    def _let_go(self) -> None:
        """Let go of snapshots whose time has ended, though nobody asks for lists any more: while one is held publishing costs more."""
        self._pinned.expire()
        self._letting_go = asyncio.get_running_loop().call_later(PINNED_SECONDS, self._let_go) if self._pinned else None


def _is_fixed(kind: Kind, items: Sequence[Item], form: Form) -> bool:
    """Whether a list has the same bytes when it is measured and when it is sent: not where ages go on, nor where objects are joined only
    when they are read (app/cache/joined.py)."""
    return isinstance(items, list | Snapshot | Part) and not (form.target == TABLE and kind.has_ages)


def _part(snapshot: Sequence[Item], start: int, stop: int) -> Sequence[Item]:
    """Items of a snapshot. Those that are worked out when they are read are left for that: a page may have any number."""
    return Part(snapshot, start, stop) if isinstance(snapshot, Snapshot) else snapshot[start:stop]


def _where(kind: Kind, namespace: str | None, fields: FieldSelector) -> str | None:
    """The namespace that all items of a list are in, None if they may be in any. `namespace` is that of the request."""
    if not kind.namespaced:
        return None
    return fields.namespace if namespace is None else namespace


async def _filtered(
    kind: Kind, items: Sequence[Item], fields: FieldSelector, labels: LabelSelector, lumps: Lumps, *, start: int = 0
) -> Sequence[Item]:
    """The items that the selectors take, from `start` on."""
    if fields.empty and labels.empty:
        return items
    taken: list[Item] = []
    for at in range(start, len(items), FILTERED_AT_ONCE):
        await lumps.piece(short=len(items) <= SHORT)
        part = items[at : at + FILTERED_AT_ONCE]
        if not fields.empty:
            part = [item for item in part if fields.matches(item.key)]
        if not fields.by_key:
            part = [item for item in part if fields.matches_fields(partial(_field, kind, item))]
        if not labels.empty:
            part = [item for item in part if labels.matches(item.labels)]
        taken += part
    return taken


def _field(kind: Kind, item: Item, field: str) -> str:
    return kind.fields[field](item.key, item.value)


def _selects(info: RequestInfo, verb: str, query: dict[str, str]) -> bool:
    """Whether the question has a narrower form."""
    return bool(query and info.resource and not info.by_path and verb in {"list", "watch", "deletecollection"})


def _narrowed(asked: Attributes, query: dict[str, str], selectable: Sequence[str]) -> Attributes:
    """The question with selectors. Those that are large or cannot be parsed are left out: they only narrow, and the latter fail later."""
    labels, fields, name = EVERYTHING, ANY, asked.name
    text = query.get("labelSelector", "")
    if text.count(",") < MOST_REVIEWED:
        with suppress(Problem):
            labels = parse_label_selector(text)
    with suppress(Problem):
        fields = parse_field_selector(query.get("fieldSelector", ""), selectable)
    only = fields.name
    if only and is_path_segment(only):
        name = only
    return replace(
        asked,
        name=name,
        label_selector=labels.for_review(),
        field_selector=fields.for_review() if len(fields.terms) <= MOST_REVIEWED else (),
    )


def _allows_without_message(media: str, target: Target | None) -> bool:
    """What a kind without a protobuf message is served as: its metadata still has one."""
    return is_meta(media, target) and (media == JSON or target is not None)


def _fits(kind: Kind, info: RequestInfo) -> bool:
    """Whether the path has a namespace where the kind has one: always for one object, never for a cluster-scoped kind."""
    if kind.namespaced:
        return bool(info.namespace) or not info.name
    return not info.namespace


def _not_allowed(kind: Kind, verb: str, subresource: str = "") -> Problem:
    """405, with what to change instead where the kind says so."""
    resource = f"{kind.resource}/{subresource}" if subresource else kind.resource
    instead = [text for text in (_READ_ONLY if subresource else "", kind.edit) if text]
    return method_not_allowed(kind.group, resource, verb, allow=_ALLOW, instead=": ".join(instead))


def _present(bound: _Bound, key: Key) -> Item:
    """The object. Raises Problem 404: of the subject where the cluster has none, of the kind's own name, with the reason if there is one,
    where it has one without values, and of a kind without a subject."""
    item = bound.collection.get(key)
    if item is not None:
        return item
    kind, (namespace, name) = bound.kind, key
    reason = bound.collection.why(key)
    if reason is None and kind.subject is not None:
        raise not_found("", _SUBJECT_RESOURCES[kind.subject], name)
    full = f"{namespace}/{name}" if namespace and kind.about else name
    raise not_found(kind.group, kind.about or kind.resource, full, reason or "")
