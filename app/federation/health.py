"""How the adapter of a route is: what is wrong, since when, how old its last answer is; as a reason, in the log, and as a report."""

from pathlib import Path
from typing import Literal

import structlog

from app.cache.reports import Report, TargetReport
from app.clock import Clock
from app.federation.answers import BackendError
from app.federation.config import Route

TURN_S = 5.0
"""How often an adapter that failed is tried again."""

LIST_S = 30.0
"""How often an adapter is asked what it has."""

Doing = Literal["list", "ask"]

_log = structlog.get_logger(__name__)


class Health:
    """Of one route. Asking for lists, and asking for values, fail apart from each other: the adapter is well where neither does."""

    def __init__(self, route: Route, clock: Clock) -> None:
        self._route = route
        self._clock = clock
        self._troubles: dict[Doing, BackendError] = {}
        self._failures = 0
        self._since = 0.0
        self._answered: float | None = None
        self._tried: float | None = None
        self._listed = 0.0
        self._took = 0.0

    @property
    def fails(self) -> bool:
        """Whether anything is wrong."""
        return bool(self._troubles)

    def is_due(self) -> bool:
        """Whether it is time to ask what the adapter has."""
        return self._tried is None or self._clock.monotonic() - self._tried >= self._patience()

    def begin(self) -> None:
        """A list is asked for."""
        self._tried = self._clock.monotonic()

    def listed(self) -> None:
        """The list that was asked for is here, and so the adapter is well."""
        self._answered = self._clock.monotonic()
        self._took = 0.0 if self._tried is None else self._answered - self._tried
        self._listed = self._clock.wall()
        self._settle({})

    def answered(self) -> None:
        """It answered a question, whatever it said."""
        self._answered = self._clock.monotonic()
        self._settle({what: trouble for what, trouble in self._troubles.items() if what != "ask"})

    def failed(self, doing: Doing, error: BackendError) -> None:
        """It did not do it."""
        if error.answered:
            self._answered = self._clock.monotonic()
        self._failures += 1
        self._settle({**self._troubles, doing: error})

    def why(self) -> str:
        """Why the adapter does not answer, and how old its last answer is."""
        trouble = self._trouble()
        words = "it was not asked yet" if trouble is None else str(trouble)
        if self._answered is None:
            return f"the adapter of route {self._route.name} never answered: {words}"
        age = self._clock.monotonic() - self._answered
        return f"the adapter of route {self._route.name} fails (its last answer is {age:.0f} s old): {words}"

    def report(self, *, items: int, file: Path, invalid: str) -> Report:
        """For `kubectl get collectors`. `items` metrics are listed, `invalid` is what is wrong with the file as it is now."""
        trouble = self._trouble()
        failing: tuple[TargetReport, ...] = ()
        if trouble is not None:
            failing = (TargetReport(self._route.name, trouble.cause, str(trouble), round(self._since * 1e9), self._failures),)
        waits = 0.0 if self._tried is None else max(self._tried + self._patience() - self._clock.monotonic(), 0.0)
        return Report(
            name=report_name(self._route.name),
            source="adapter",
            targets=1,
            healthy=int(trouble is None and self._listed > 0),
            pending=int(trouble is None and not self._listed),
            items=items,
            dropped=0,
            interval=LIST_S,
            ttl=0.0,
            last=round(self._listed * 1e9),
            took=self._took,
            next=round((self._clock.wall() + waits) * 1e9),
            failures=self._failures,
            endpoint=self._route.url,
            file=str(file),
            error="" if trouble is None else str(trouble),
            invalid=invalid,
            failing=failing,
        )

    def _patience(self) -> float:
        return TURN_S if self._troubles else LIST_S

    def _trouble(self) -> BackendError | None:
        return self._troubles.get("ask") or self._troubles.get("list")

    def _settle(self, troubles: dict[Doing, BackendError]) -> None:
        """Remember what is wrong now; and log once when an adapter fails, and when it is well again."""
        before, self._troubles = bool(self._troubles), troubles
        if not troubles:
            self._failures = 0
        if bool(troubles) == before:
            return
        about = {"route": self._route.name, "url": self._route.url}
        if before:
            _log.info("the adapter of a route answers again", **about)
        else:
            self._since = self._clock.wall()
            _log.warning("the adapter of a route fails, and its metrics have no values", error=str(next(iter(troubles.values()))), **about)


def report_name(route: str) -> str:
    """What the report of a route is found by: with a colon, which no name of a declaration has."""
    return f"route:{route}"
