"""List and watch: keeps a store equal to what kube-apiserver has, for as long as the process lives.

The rules are those of client-go's reflector: list in pages, watch from the list's version, remember the version of each event and
bookmark, go on from there when a watch ends, and list again only when that version is too old (410).
"""

import asyncio
from collections.abc import Callable, Sequence, Set
from contextlib import aclosing
from dataclasses import dataclass
from itertools import filterfalse
from random import SystemRandom
from typing import Generic, Protocol, TypeVar

import structlog
from msgspec import Raw, Struct, field

from app.clock import Clock
from app.errors import KubeError, KubeUnavailable
from app.kube.client import KubeClient, status_error
from app.kube.deep_json import UNDECODABLE, decode
from app.kube.records import Key
from app.kube.watched import Watched

_PAGE = 500
_BACKOFF_FIRST_S = 1.0
_BACKOFF_FLOOR_S = 0.5
_BACKOFF_LAST_S = 30.0
_SHORT_WATCH_S = 1.0
_WATCH_S = (300, 600)
_RELIST_AFTER = 3
_random = SystemRandom().random
log = structlog.get_logger(__name__)


class Record(Protocol):
    """Whatever is kept of an object."""

    @property
    def key(self) -> Key: ...


R = TypeVar("R", bound=Record)
R_contra = TypeVar("R_contra", bound=Record, contravariant=True)


class Store(Protocol[R_contra]):
    """Where the records go. Upserts and deletes of one call concern different keys."""

    def apply(self, upserts: Sequence[R_contra], deletes: Sequence[Key], /) -> None: ...
    def keys(self) -> Set[Key]: ...


class _ListMeta(Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = field(default="", name="continue")


class _Page(Struct):
    metadata: _ListMeta
    kind: str = ""
    items: list[Raw] | None = None


class _Event(Struct):
    type: str
    object: Raw


class _Metadata(Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class _Meta(Struct):
    metadata: _Metadata


class _Code(Struct):
    code: int = 0


@dataclass(frozen=True)
class Trouble:
    """Why the reflector is not in step: the text and HTTP status (None without an answer) of the last error, and since when (monotonic
    seconds) there have only been errors."""

    message: str
    since: float
    status: int | None = None


class Reflector(Generic[R]):
    """Keeps `store` in step with one kind. `run` never returns.

    `synced` is set once the first list was whole, `tried` already when it failed; both stay set. `kind` is that of the objects, as the
    list tells it: its items do not, where it is one of kube-apiserver's own kinds.
    """

    def __init__(
        self,
        client: KubeClient,
        watched: Watched[R],
        store: Store[R],
        clock: Clock,
        *,
        random: Callable[[], float] = _random,
        listed: Callable[[], None] = lambda: None,
    ) -> None:
        """`random` gives [0, 1) for back-off and watch lengths; `listed` is called each time that `store` has all of a list."""
        self._client = client
        self._watched = watched
        self._store = store
        self._clock = clock
        self._random = random
        self._listed = listed
        self._version = ""
        self._failures = 0
        self._fragile = False
        self._accepted = False
        self._warned = False
        self._undecodable: set[Key] = set()
        self.synced = asyncio.Event()
        self.tried = asyncio.Event()
        self.trouble: Trouble | None = None
        self.kind = ""

    @property
    def name(self) -> str:
        """What is kept, such as "pods"."""
        return self._watched.name

    async def run(self) -> None:
        """List, then watch, for ever. Errors of kube-apiserver are kept in `trouble` and followed by another try."""
        while True:
            try:
                if not self._version:
                    await self._list()
                await self._watch()
            except KubeError as error:
                self._failed(error)
                await asyncio.sleep(self._delay())

    def _failed(self, error: KubeError) -> None:
        self._failures += 1
        self.tried.set()
        self._fragile = self._accepted
        # A server that is away or overloaded is not helped by a list: that is for one that dislikes the version we go on from.
        disliked = self._fragile or not isinstance(error, KubeUnavailable)
        if error.status == 410 or (disliked and self._failures > _RELIST_AFTER):
            self._version = ""
        if error.status == 410:
            log.info("what we know is too old to go on from; listing anew", resource=self.name, error=str(error))
            return
        message = self._explain(error)
        # One lost connection is daily business (an API server that restarts): only the second failure in a row is a warning.
        warn = self._failures > 1 or not self.synced.is_set()
        if self.trouble is None or self.trouble.message != message or (warn and not self._warned):
            write = log.warning if warn else log.info
            write("kube-apiserver does not give us what we watch", resource=self.name, error=message)
            self._warned = warn
        since = self.trouble.since if self.trouble is not None else self._clock.monotonic()
        self.trouble = Trouble(message, since, error.status)

    def _explain(self, error: KubeError) -> str:
        match error.status:
            case 401:
                return f"{error}; our credentials are not accepted: is the token or client certificate of this cluster, and not expired?"
            case 403:
                return f"{error}; {self._watched.grant}"
            case _:
                return str(error)

    def _recovered(self) -> None:
        if self.trouble is not None:
            log.info("kube-apiserver answers again", resource=self.name, after_s=round(self._clock.monotonic() - self.trouble.since, 1))
            self.trouble = None
            self._warned = False

    def _delay(self) -> float:
        """Exponential with jitter over the whole range, so that replicas and kinds do not come back in step."""
        ceiling = min(_BACKOFF_LAST_S, _BACKOFF_FIRST_S * float(1 << min(self._failures - 1, 10)))
        return _BACKOFF_FLOOR_S + self._random() * (ceiling - _BACKOFF_FLOOR_S)

    async def _list(self) -> None:
        """Pages are applied as they come; only after the last is it known what is gone. A page that fails ends it, deleting nothing."""
        seen: set[Key] = set()
        token = ""
        while True:
            params = {**self._watched.params, "limit": _PAGE}
            if token:
                params["continue"] = token
            body = await self._client.get(self._watched.path, params, accept=self._watched.accept[0])
            try:
                page = decode(body, _Page)
            except UNDECODABLE as exc:
                raise KubeError(f"list {self.name}: kube-apiserver's answer is no list: {exc}") from exc
            self.kind = page.kind.removesuffix("List")
            await self._apply_page(page.items or [], seen)
            token = page.metadata.continue_
            if not token:
                break
        gone = list(filterfalse(seen.__contains__, self._store.keys()))
        for start in range(0, len(gone), self._watched.piece):
            self._store.apply((), gone[start : start + self._watched.piece])
            await asyncio.sleep(0)
        self._undecodable &= seen
        self._version = page.metadata.resource_version
        self._listed()
        if not self.synced.is_set():
            log.info("listed", resource=self.name, objects=len(seen))
            self.synced.set()
            self.tried.set()

    async def _apply_page(self, items: list[Raw], seen: set[Key]) -> None:
        for start in range(0, len(items), self._watched.piece):
            records = []
            for raw in items[start : start + self._watched.piece]:
                record = self._decode(raw)
                if record is not None:
                    seen.add(record.key)
                    records.append(record)
                elif (meta := self._meta(raw)) is not None:
                    # It exists: what is known of it from before stays.
                    seen.add((meta.namespace, meta.name))
            self._store.apply(records, ())
            await asyncio.sleep(0)

    async def _watch(self) -> None:
        low, high = _WATCH_S
        seconds = low + int(self._random() * (high - low))
        params = {**self._watched.params, "resourceVersion": self._version, "allowWatchBookmarks": "true"}
        started = self._clock.monotonic()
        told = 0
        self._accepted = False
        path, accept = self._watched.path, self._watched.accept[1]
        async with aclosing(self._client.watch(path, params, timeout_seconds=seconds, accept=accept)) as batches:
            await anext(batches)
            self._accepted = True
            if not self._fragile:
                # A server that accepts watches and breaks them before any event has not recovered by accepting one more.
                self._recovered()
            async for lines in batches:
                for start in range(0, len(lines), self._watched.piece):
                    self._apply_events(lines[start : start + self._watched.piece])
                    await asyncio.sleep(0)
                told += len(lines)
                self._settled()
        if not told and self._clock.monotonic() - started < _SHORT_WATCH_S:
            raise KubeError(f"watch {self.name}: the watch ended at once, without an event")
        self._settled()

    def _settled(self) -> None:
        """A watch works: forget what failed before it, the back-off too."""
        self._failures = 0
        self._accepted = self._fragile = False
        self._recovered()

    def _apply_events(self, lines: list[bytes]) -> None:
        """Apply events that came together in one step: of several about one object the last counts.

        Events before an error are applied all the same, for the version that will be asked for next is theirs.
        """
        latest: dict[Key, R | None] = {}
        try:
            for line in lines:
                self._take(line, latest)
        finally:
            if latest:
                upserts = [record for record in latest.values() if record is not None]
                self._store.apply(upserts, [key for key, record in latest.items() if record is None])

    def _take(self, line: bytes, latest: dict[Key, R | None]) -> None:
        try:
            event = decode(line, _Event)
        except UNDECODABLE as exc:
            raise KubeError(f"watch {self.name}: kube-apiserver sent something that is no event: {exc}") from exc
        if event.type == "ERROR":
            raise self._stream_error(event.object)
        meta = self._meta(event.object)
        if event.type in {"ADDED", "MODIFIED"}:
            record = self._decode(event.object)
            if record is not None:
                latest[record.key] = record
        elif event.type == "DELETED" and meta is not None:
            latest[(meta.namespace, meta.name)] = None
            self._undecodable.discard((meta.namespace, meta.name))
        if meta is not None and meta.resource_version:
            self._version = meta.resource_version

    def _stream_error(self, body: Raw) -> KubeError:
        try:
            code = decode(body, _Code).code
        except UNDECODABLE:
            code = 0
        return status_error(f"watch {self.name}", code, bytes(body))

    def _decode(self, raw: Raw) -> R | None:
        """The record, None if the object cannot be read. That costs this object and one warning, nothing else."""
        try:
            return self._watched.decode(raw)
        except KubeError as error:
            meta = self._meta(raw)
            key = (meta.namespace, meta.name) if meta is not None else ("", "")
            if key not in self._undecodable:
                self._undecodable.add(key)
                log.warning("an object cannot be read and is left out", resource=self.name, namespace=key[0], name=key[1], error=str(error))
            return None

    @staticmethod
    def _meta(raw: Raw) -> _Metadata | None:
        try:
            return decode(raw, _Meta).metadata
        except UNDECODABLE:
            return None
