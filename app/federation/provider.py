"""The metrics of other adapters, as a Provider: lists from memory, values asked when they are asked for, and never an old one.

One task reads the file of routes when it changes, and has each adapter list its metrics on an interval. An adapter that is down or slow
costs its own metrics only: they stay listed as they were last, and each question says why there is no value.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import structlog

from app.cache.reports import Report, Reports
from app.clock import Clock
from app.errors import KubeglanceError
from app.federation.answers import BackendError, Listed
from app.federation.backend import Backend
from app.federation.config import Route, read_routes
from app.federation.health import TURN_S, Health, report_name
from app.http1.channel import Dialer
from app.kube.credentials import Credentials
from app.served_metrics.providers import first_answer
from app.served_metrics.values import Absent, Answer, Entry, Question, Resource, State
from app.telemetry import Metrics
from collectors._base import Cause

PLACEHOLDER = "externalmetrics"
"""Listed where an adapter lists nothing that a route names by patterns, for an API without metrics is none. KEDA lists the same."""

_MOST_TOLD = 4096

_log = structlog.get_logger(__name__)


class Routed:
    """One route and its adapter, as it is now."""

    def __init__(self, route: Route, backend: Backend, clock: Clock) -> None:
        self.route = route
        self.health = Health(route, clock)
        self._backend = backend
        self._listed: dict[tuple[Resource | None, str], Listed] = {}
        self._listed_once = False
        self._told: dict[tuple[Resource | None, str], tuple[int, str]] = {}
        """The newest sample (Unix ns) and the last error of metrics that were asked for."""
        self.entries: tuple[Entry, ...] = ()
        self._put(())

    async def aclose(self) -> None:
        """Close all connections."""
        await self._backend.aclose()

    async def relist(self) -> bool:
        """Ask what the adapter has; whether that is something else. What it had stays where it does not say."""
        self.health.begin()
        try:
            listed = await self._backend.listed()
        except BackendError as exc:
            self.health.failed("list", exc)
            return False
        self.health.listed()
        self._listed_once = True
        return self._put(listed)

    def state(self, entry: Entry) -> State:
        """See Provider."""
        last, error = self._told.get((entry.resource, entry.metric), (0, ""))
        return State(None, last, self.health.why() if self.health.fails else error)

    async def answer(self, question: Question) -> Answer | Absent | None:
        """See Provider. The adapter is asked for what the file names, listed or not, else for what it lists."""
        if not self.route.takes(question):
            return None
        look = (question.resource, question.metric)
        listed = self._listed.get(look)
        if listed is None and not self.route.metrics:
            return None if self._listed_once else Absent(self.health.why(), known=False)
        if not self._backend.admitted:
            return Absent(self.health.why())
        try:
            series = await self._backend.series(question, namespaced=listed is None or listed.namespaced)
        except BackendError as exc:
            if not exc.answered:
                self.health.failed("ask", exc)
                return Absent(self.health.why())
            self.health.answered()
            known = exc.cause != Cause.NOT_FOUND
            if known:
                self._tell(look, self._told.get(look, (0, ""))[0], str(exc))
            return Absent(f"route {self.route.name}: {exc}", known=known)
        self.health.answered()
        if not series:
            return Absent(f"route {self.route.name}: the adapter has no values")
        self._tell(look, max(each.time for each in series), "")
        return Answer(series)

    def _put(self, listed: Sequence[Listed]) -> bool:
        """Take what the adapter lists, and what the file names in full; whether that is something else."""
        route = self.route
        found = [each for each in listed if not route.metrics or route.names(each.metric)]
        if route.api == "external":
            known = {each.metric for each in found}
            found += [Listed(None, metric, namespaced=True) for metric in route.literal if metric not in known]
            if route.metrics and not found:
                found = [Listed(None, PLACEHOLDER, namespaced=True)]
        self._listed = {(each.resource, each.metric): each for each in found}
        before = self.entries
        provider = f"route {route.name}"
        self.entries = tuple(Entry(route.api, each.metric, each.resource, each.namespaced, provider, "adapter") for each in found)
        return self.entries != before

    def _tell(self, look: tuple[Resource | None, str], last: int, error: str) -> None:
        if len(self._told) >= _MOST_TOLD:
            self._told.clear()
        self._told[look] = (last, error)


class Routes:
    """All routes of a file, in its order. Implements Provider: the first route that knows a metric answers."""

    name = "routes to other adapters"

    def __init__(
        self,
        file: Path,
        credentials: Credentials,
        clock: Clock,
        *,
        reports: Reports,
        metrics: Metrics,
        changed: Callable[[], None],
        dialer: Callable[[], Dialer | None] = lambda: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`credentials` are those of our own ServiceAccount, `changed` is called when what is listed is something else. How routes are is
        told in `reports` and `metrics`.

        Raises RoutesError for a file that cannot be used.
        """
        self._file = file
        self._credentials = credentials
        self._clock = clock
        self._reports = reports
        self._metrics = metrics
        self._changed = changed
        self._dialer = dialer
        self._sleep = sleep
        self._fault = ""
        self._routed: list[Routed] = []
        self._routed = [self._start(route) for route in read_routes(file)]
        self._seen = self._signature()
        reports.askers.append(self.reports)

    async def aclose(self) -> None:
        """Close all connections."""
        for routed in self._routed:
            await routed.aclose()

    async def run(self) -> None:
        """Look at the file, and have adapters list what they have, again and again."""
        while True:
            await self.turn()
            await self._sleep(TURN_S)

    async def turn(self) -> None:
        """Do what is due."""
        await self._reread()
        await asyncio.gather(*(self._relist(routed) for routed in self._routed if routed.health.is_due()))

    def entries(self) -> Sequence[Entry]:
        """See Provider. Of two routes that list a metric, each for namespaces of its own, the first is told of."""
        found: dict[str, Entry] = {}
        for routed in self._routed:
            for entry in routed.entries:
                found.setdefault(f"{entry.api} {entry.discovery_name}", entry)
        return list(found.values())

    def state(self, entry: Entry) -> State:
        """See Provider."""
        return next((routed.state(entry) for routed in self._routed if entry in routed.entries), State(None, 0, ""))

    async def answer(self, question: Question) -> Answer | Absent | None:
        """See Provider. It waits for the adapter, but not for long."""
        return await first_answer(self._routed, question)

    def reports(self) -> list[Report]:
        """How each route is now."""
        return [each.health.report(items=len(each.entries), file=self._file, invalid=self._fault) for each in self._routed]

    async def _relist(self, routed: Routed) -> None:
        if await routed.relist():
            self._changed()

    def _start(self, route: Route) -> Routed:
        return Routed(route, Backend(route, self._credentials, self._clock, self._metrics, dialer=self._dialer()), self._clock)

    async def _reread(self) -> None:
        """Read the file if it, or a CA that it names, is another. A file that cannot be used leaves the routes as they are.

        It is read again each time, for what is wrong with it may be a CA that is in no route yet.
        """
        signature = self._signature()
        if signature == self._seen and not self._fault:
            return
        self._seen = signature
        try:
            routes = await asyncio.to_thread(read_routes, self._file)
            known = {routed.route: routed for routed in self._routed}
            after = [known[route] if route in known else self._start(route) for route in routes]
        except KubeglanceError as exc:
            if str(exc) != self._fault:
                _log.error("the file of routes cannot be used, and the routes stay as they are", error=str(exc))
            self._fault = str(exc)
            return
        self._fault = ""
        self._routed = after
        self._seen = self._signature()
        for route in known.keys() - set(routes):
            await known[route].aclose()
        for name in {route.name for route in known} - {route.name for route in routes}:
            self._reports.forget(report_name(name))
            self._metrics.forget_route(name)
        _log.info("the routes to other adapters are new", routes=[route.name for route in routes])
        self._changed()

    def _signature(self) -> tuple[tuple[int, ...] | None, ...]:
        """Of the file and of the CAs what changes when they do."""
        return tuple(map(_stat, (self._file, *(routed.route.ca_file for routed in self._routed))))


def _stat(file: Path) -> tuple[int, ...] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
