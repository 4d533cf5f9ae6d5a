"""The loop of one collector on one node: wait for the tick, scrape within the deadline, hand on what came of it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from msgspec import Struct

from app.clock import Clock
from app.errors import KubeError
from app.pipeline.faults import Faults
from app.pipeline.grid import Schedule
from app.pipeline.sink import Sink
from app.pipeline.turns import Turn, Turns
from app.telemetry import Metrics
from collectors._base import Batch, Cause, Client, CollectError, Collector, Target

REST_S = 600.0
_LASTING = {("kubelet_resource", Cause.NOT_FOUND), ("kubelet_summary", Cause.NOT_FOUND), ("kubelet_summary", Cause.FORBIDDEN)}
"""What no second try mends soon: the endpoint does not exist there, or RBAC does not grant it. The other endpoint serves the node."""

_NEXT_ADDRESS = {Cause.DNS, Cause.DIAL}
log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Job:
    """A collector with its settings: interval and deadline in seconds."""

    collector: Collector
    interval: float
    deadline: float


@dataclass(frozen=True)
class Surroundings:
    """What all loops share. First scrapes, which take turns as a whole, ask through `client`, later ones through `paced`, which hands out
    bodies in turns (app/lumps.py). `pods_tried` is set once pods were listed, or could not be."""

    client: Client
    paced: Client
    sink: Sink
    pods_tried: asyncio.Event
    clock: Clock
    faults: Faults
    metrics: Metrics
    turns: Turns


class Good(Struct, frozen=True, gc=False):
    """What a good scrape gave: when it ended (Unix seconds), how long it took, its pods and node, and what of it could not be used."""

    at: float
    took: float
    items: int
    dropped: int


class Scraper:
    """Scrapes one node for ever. Nothing but cancellation ends `run`: whatever happens becomes a CollectError for the sink."""

    def __init__(
        self,
        job: Job,
        targets: tuple[Target, ...],
        schedule: Schedule,
        around: Surroundings,
        *,
        stand_in: bool = False,
        ready: Callable[[], bool] = lambda: True,
        begins: Callable[[], None] = lambda: None,
        answered: Callable[[], None] = lambda: None,
    ) -> None:
        """`targets` are the addresses of one node, best first.

        `stand_in` tells whether another collector serves the node too: then what no second try mends soon is asked again seldom only.
        `ready` tells whether the node is Ready now; `begins` is called before and `answered` after every scrape, whatever its outcome.
        """
        self._job = job
        self._targets = targets
        self._node = targets[0].name
        self._schedule = schedule
        self._around = around
        self._stand_in = stand_in
        self._ready = ready
        self._begins = begins
        self._answered = answered
        self._confused = False
        self._layout: object = None
        """That of the last scrape, if it gave a batch; always of the first target."""
        self.good: Good | None = None
        """The last good scrape."""

    async def run(self) -> None:
        """Scrape on the schedule, for ever."""
        await self._due()
        await self._first()
        while True:
            await self._due()
            await self.once()

    async def _first(self) -> None:
        async with self._around.turns.turn() as turn:
            await self.once(turn)

    async def _due(self) -> None:
        clock = self._around.clock
        await asyncio.sleep(self._schedule.wait(clock.wall(), clock.monotonic()))

    async def once(self, first: Turn | None = None) -> None:
        """One scrape and its outcome. `first` is the turn of the first one."""
        around, name = self._around, self._job.collector.name
        began = around.clock.monotonic()
        self._schedule.begins(began)
        self._begins()
        try:
            batch = await self._collect(around.paced if first is None else around.client)
            took = around.clock.monotonic() - began
            if first is not None:
                # What a batch says of unknown pods is lost. Others that would scrape for the first time wait behind this one.
                first.stay()
                await around.pods_tried.wait()
            settled = around.sink.publish(self._node, name, batch)
        except CollectError as error:
            self._failed(error, began)
        except KubeError as error:
            self._failed(CollectError(Cause.UNAUTHORIZED, f"no credentials to send: {error}", "check the ServiceAccount's token"), began)
        except Exception as exc:
            if not self._confused:
                self._confused = True
                log.exception("unexpected error in a scrape; please report it", node=self._node, collector=name)
            what = f"unexpected error: {type(exc).__name__}: {exc}"
            self._failed(CollectError(Cause.PAYLOAD, what, "please report it, with the log's traceback"), began)
        else:
            now, wall = around.clock.monotonic(), around.clock.wall()
            around.metrics.scraped(self._node, seconds=took, at=wall, success=True)
            self.good = Good(wall, took, len(batch.pods) + (batch.node is not None), batch.dropped)
            self._schedule.succeeded(settled=settled)
            around.metrics.published(name, seconds=now - began, dropped=batch.dropped)
            around.faults.succeeded(self._node, name, at=now)
        self._answered()

    def _failed(self, error: CollectError, began: float) -> None:
        around, name = self._around, self._job.collector.name
        now = around.clock.monotonic()
        around.metrics.scraped(self._node, seconds=now - began, at=around.clock.wall(), success=False)
        note = ""
        if self._stand_in and (name, error.cause) in _LASTING:
            self._schedule.rest(now, REST_S)
            note = f"asked again in {REST_S / 60:.0f} minutes; until then the node is served from its other endpoint"
        around.faults.failed(self._node, name, error, at=now, ready=self._ready(), note=note)
        around.sink.failed(self._node, name, error)

    async def _collect(self, client: Client) -> Batch:
        """One batch within the deadline, from the first address that can be reached; that one is tried first from then on."""
        deadline = self._job.deadline
        try:
            async with asyncio.timeout(deadline):
                return await self._from_any_address(client)
        except TimeoutError as exc:
            raise CollectError(
                Cause.DEADLINE,
                f"node {self._node}: no whole answer from {self._targets[0].url} within {deadline:g} s",
                "the kubelet is slow, hangs or cannot be reached; see its log, or raise the time-out",
            ) from exc

    async def _from_any_address(self, client: Client) -> Batch:
        failures: list[CollectError] = []
        for target in self._targets:
            layout, self._layout = self._layout, None
            try:
                batch = await self._job.collector.collect(target, client, received=self._around.clock.wall(), layout=layout)
            except CollectError as error:
                if error.cause not in _NEXT_ADDRESS:
                    self._prefer(target)
                    raise
                failures.append(error)
            else:
                self._prefer(target)
                self._layout = batch.layout
                return batch
        if len(failures) == 1:
            raise failures[0]
        raise CollectError(failures[0].cause, "; ".join(error.message for error in failures), failures[0].remedy) from failures[0]

    def _prefer(self, target: Target) -> None:
        """An address that answers, even with an error, is the right one."""
        if target != self._targets[0]:
            self._targets = (target, *(other for other in self._targets if other != target))
