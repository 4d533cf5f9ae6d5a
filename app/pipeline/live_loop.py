"""The loop of one declaration: ask its source on a grid, map the response in a thread, publish what became of it.

A collection that fails changes no value: the last good ones stay, no longer fresh, until their time is over. Each declaration has a loop
of its own, so that a source that hangs or fails delays no other.
"""

import asyncio
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import structlog
from msgspec.structs import replace

from app.cache.reports import Report, Reports, TargetReport
from app.cache.versions import Versions
from app.clock import Clock
from app.declared.declaration import AnyDeclaration
from app.declared.objects import Dropped
from app.pipeline.apart import Apart
from app.pipeline.grid import Grid, shift
from app.telemetry import Metrics
from collectors._base import Cause, CollectError
from collectors._source import Response, Source

MAPPING_S = 10.0
"""How long the items of one response may be mapped. Meanwhile the process has one processor less for everything else."""

NEWS_S = 1.0
"""News come in bunches: so long after the first of them they are collected together."""

_NEWS_SHARE = 5
"""News that come without end are collected so often that it takes up one part of so many of the time."""

_CLOSE_S = 2.0
log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Surroundings:
    """What all loops share. `mask` takes secrets out of a text that people will read."""

    clock: Clock
    versions: Versions
    reports: Reports
    metrics: Metrics
    apart: Apart
    mask: Callable[[str], str] = lambda text: text


@dataclass(frozen=True)
class Opener:
    """The source of a declaration: its type, where it asks in people's words, and how it is opened."""

    type: str
    endpoint: str
    open: Callable[[], Source]


class Outcome(Protocol):
    """What became of one response: what is served of it, what of it could not be used, and which cells are blank for an error."""

    @property
    def objects(self) -> Sequence[Any]: ...
    @property
    def dropped(self) -> Sequence[Dropped]: ...
    @property
    def blank(self) -> Sequence[Dropped]: ...


M = TypeVar("M", bound=Outcome)


class Product(Protocol[M]):
    """What is made of the collections of a declaration. All but `map` is called in the event loop."""

    @property
    def expires(self) -> float | None:
        """When the time of what is served is over (monotonic seconds), None if nothing is, or nothing has to be done then."""
        ...

    def map(self, response: Any, observed: int, deadline: Callable[[], bool]) -> M:
        """What a response that was seen at `observed` (Unix ns) becomes, until `deadline()` is true. Raises CollectError; takes a while."""
        ...

    def publish(self, mapped: M) -> None:
        """Serve this, and nothing else."""
        ...

    async def age(self, apart: Apart) -> None:
        """A later collection failed. What takes a while is done `apart`."""
        ...

    def expire(self) -> bool:
        """The time of what is served is over. Whether there was any."""
        ...


class LiveLoop(Generic[M]):
    """Has one declaration collected, and what it becomes served."""

    def __init__(
        self,
        declaration: AnyDeclaration,
        product: Product[M],
        opener: Opener,
        around: Surroundings,
        *,
        before: Report | None = None,
        first: float = 0.0,
    ) -> None:
        """`before` is the last report of the loop that this one takes the place of. `first` is the wait before the first collection (s)."""
        self._declaration = declaration
        self._opener = opener
        self._around = around
        self._first = first
        self._product = product
        self._spec = spec = declaration.resource.spec
        self._grid = Grid(spec.interval, lambda: shift(declaration.name, spec.interval))
        self._source: Source | None = None
        self._began = 0.0
        self._took = 0.0
        self._failures = 0
        self._since = 0
        self._error: CollectError | None = None
        self._confused = False
        self._stopped = False
        self._timer: asyncio.TimerHandle | None = None
        self._report = Report(
            declaration.name, opener.type, 1, 0, 0, 0, spec.interval, spec.time_to_live, endpoint=opener.endpoint, file=_file(declaration)
        )
        if before is not None:
            self._report = replace(
                self._report, items=before.items, dropped=before.dropped, last=before.last, took=before.took, size=before.size
            )
        around.reports.put(self._report)

    def leave(self) -> Report:
        """What it told last. It was stopped, and changes nothing any more."""
        self._stopped = True
        self._stop_timer()
        return self._report

    def invalid(self, fault: str) -> None:
        """A newer version of the declaration cannot be taken, for this fault; "" once there is none."""
        self._tell(invalid=fault)

    def moved(self, declaration: AnyDeclaration) -> None:
        """The same declaration stands elsewhere now."""
        self._declaration = declaration
        self._tell(file=_file(declaration))

    async def run(self) -> None:
        """Collect, for ever."""
        self._set_timer()
        try:
            await asyncio.sleep(self._first)
            while True:
                await self.once()
                await self._due()
        finally:
            self._stopped = True
            self._stop_timer()
            await self._close()

    async def _due(self) -> None:
        """Wait for the next tick, or for news of the source."""
        clock = self._around.clock
        wait = self._grid.wait(clock.wall(), clock.monotonic() - self._began)
        news = self._source.changed if self._source is not None else None
        if news is None:
            await asyncio.sleep(wait)
            return
        try:
            async with asyncio.timeout(wait):
                await news.wait()
                await asyncio.sleep(max(NEWS_S, _NEWS_SHARE * self._took))
        except TimeoutError:
            pass
        news.clear()

    async def once(self) -> None:
        """One collection and its outcome."""
        clock, name = self._around.clock, self._declaration.name
        self._began = clock.monotonic()
        observed = int(clock.wall() * 1e9)
        try:
            response = await self._collect()
            observed -= round(response.age * 1e9)
            mapped = await self._map(response, observed)
        except CollectError as error:
            await self._failed(error)
        except Exception as exc:  # noqa: BLE001 -- it is told, in words without secrets
            if not self._confused:
                self._confused = True
                trace = self._around.mask(traceback.format_exc())
                log.error("unexpected error in a collection; please report it", declaration=name, traceback=trace)  # noqa: TRY400 -- see trace
            what = f"unexpected error: {type(exc).__name__}: {exc}"
            await self._failed(CollectError(Cause.PAYLOAD, what, "please report it, with the log's traceback"))
        else:
            self._took = clock.monotonic() - self._began
            self._product.publish(mapped)
            self._set_timer()
            self._succeeded(response, mapped, observed)

    async def _collect(self) -> Response:
        """One response within the deadline."""
        if self._source is None:
            self._source = self._opener.open()
        deadline = self._spec.timeout
        try:
            async with asyncio.timeout(deadline):
                return await self._source.collect()
        except TimeoutError as exc:
            what = f"no whole answer from {self._opener.endpoint or self._opener.type} within {deadline:g} s"
            raise CollectError(Cause.DEADLINE, what, "the source is slow, hangs or cannot be reached; or raise spec.timeout") from exc

    async def _map(self, response: Response, observed: int) -> M:
        """What becomes of a response."""
        clock, product = self._around.clock, self._product

        def work() -> M:
            until = clock.monotonic() + MAPPING_S
            return product.map(response.value, observed, lambda: self._stopped or clock.monotonic() > until)

        return await self._around.apart(work)

    def _succeeded(self, response: Response, mapped: M, observed: int) -> None:
        if self._error is not None:
            log.info("a source answers again", declaration=self._declaration.name, cause=str(self._error.cause), failures=self._failures)
        self._failures, self._error = 0, None
        dropped = [*(Dropped(each.index, each.name, each.reason) for each in response.unusable), *mapped.dropped]
        self._around.metrics.collected(
            self._declaration.name, "success", seconds=self._took, at=observed / 1e9, objects=len(mapped.objects), dropped=len(dropped)
        )
        self._tell(
            healthy=1,
            items=len(mapped.objects),
            dropped=len(dropped),
            last=observed,
            took=self._took,
            size=response.size,
            failures=0,
            error=self._around.mask(_remark(len(mapped.objects), dropped, mapped.blank, response.warnings)),
            failing=(),
        )

    async def _failed(self, error: CollectError) -> None:
        """Values stay as they are, but for that they are no longer fresh."""
        clock, name = self._around.clock, self._declaration.name
        message = self._around.mask(error.message)
        self._took = clock.monotonic() - self._began
        if not self._failures:
            self._since = int(clock.wall() * 1e9)
        if self._error is None or self._error.cause != error.cause:
            details = {"remedy": error.remedy} if error.remedy else {}
            log.warning("a source gives no values", declaration=name, cause=str(error.cause), error=message, **details)
        self._failures += 1
        self._error = CollectError(error.cause, message, error.remedy)
        self._around.metrics.collected(name, str(error.cause), seconds=self._took)
        await self._product.age(self._around.apart)
        target = TargetReport(self._opener.endpoint or self._opener.type, str(error.cause), message, self._since, self._failures)
        self._tell(healthy=0, failures=self._failures, error=message, failing=(target,))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set_timer(self) -> None:
        self._stop_timer()
        expires = self._product.expires
        if expires is not None:
            wait = max(0.0, expires - self._around.clock.monotonic())
            self._timer = asyncio.get_running_loop().call_later(wait, self._expire)

    def _expire(self) -> None:
        """The time of what is served is over."""
        self._timer = None
        if self._product.expire():
            log.warning("the values of a declaration outlived their time and are gone", declaration=self._declaration.name)

    def _tell(self, **news: object) -> None:
        """Report with what is new."""
        clock = self._around.clock
        wait = self._grid.wait(clock.wall(), clock.monotonic() - self._began)
        self._report = replace(self._report, next=int((clock.wall() + wait) * 1e9), **news)
        self._around.reports.put(self._report)

    async def _close(self) -> None:
        source, self._source = self._source, None
        if source is None:
            return
        try:
            async with asyncio.timeout(_CLOSE_S):
                await source.aclose()
        except Exception as exc:  # noqa: BLE001 -- whatever a source that is left does costs nobody else anything
            log.warning("a source could not be closed in order", declaration=self._declaration.name, error=self._around.mask(str(exc)))


def _remark(objects: int, dropped: Sequence[Dropped], blank: Sequence[Dropped], warnings: Sequence[str]) -> str:
    """What is to be said of a good collection, "" for nothing: what was lost first, then what is empty, then what the source says."""
    if dropped:
        return f"{len(dropped)} of {len(dropped) + objects} items are no objects; {_item(dropped[0])}"
    if blank:
        return f"{len(blank)} cells are empty; {_item(blank[0])}"
    return warnings[0] if warnings else ""


def _item(each: Dropped) -> str:
    named = f' "{each.name}"' if each.name else ""
    return f"item {each.index}{named}: {each.reason}"


def _file(declaration: AnyDeclaration) -> str:
    return f"{declaration.place.file}:{declaration.place.line}"
