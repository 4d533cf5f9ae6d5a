"""What fails now, and the log lines about it: one when it starts, one when its cause changes, one when it ends. Nothing in between."""

from collections import Counter

import structlog
from msgspec import Struct

from app.telemetry import Metrics
from collectors._base import Cause, CollectError

_CLUSTER_WIDE = {Cause.FORBIDDEN}
"""Causes that have one remedy for all nodes (RBAC): the first node's warning stands for all."""

log = structlog.get_logger(__name__)


class Fault(Struct, frozen=True):
    """Why a target fails, since when (monotonic seconds), and how often in a row. `told` is whether a warning was due: the node was Ready
    meanwhile.
    """

    cause: Cause
    message: str
    remedy: str
    since: float
    told: bool
    failures: int = 1


class Faults:
    """The state of every (node, collector) that fails."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._current: dict[tuple[str, str], Fault] = {}
        self._counts: Counter[tuple[str, Cause]] = Counter()
        self._warned: set[tuple[str, Cause]] = set()
        """Causes that are cluster-wide, of which some warning stands now."""

    def current(self) -> dict[tuple[str, str], Fault]:
        """All faults of now, by (node, collector)."""
        return dict(self._current)

    def counts(self) -> dict[tuple[str, Cause], int]:
        """How many targets fail now, by (collector, cause)."""
        return {key: count for key, count in self._counts.items() if count}

    def failed(self, node: str, collector: str, error: CollectError, *, at: float, ready: bool, note: str = "") -> None:
        """A scrape failed at monotonic time `at`. Nodes that are not `ready` are expected to fail: they log at debug until they are."""
        self._metrics.failure(collector, error.cause)
        before = self._current.get((node, collector))
        same = before is not None and before.cause == error.cause
        told = ready or (same and before is not None and before.told)
        since, failures = (at, 1) if before is None else (before.since, before.failures + 1)
        self._current[node, collector] = Fault(error.cause, error.message, error.remedy, since, told, failures)
        if not same:
            if before is not None:
                self._count(collector, before.cause, -1)
            self._count(collector, error.cause, +1)
        elif before is not None and before.told == told:
            return
        write = log.warning if ready and self._is_first(collector, error.cause) else log.debug
        details = {key: text for key, text in (("remedy", error.remedy), ("note", note)) if text}
        write("a node cannot be scraped", node=node, collector=collector, cause=str(error.cause), error=error.message, **details)

    def _is_first(self, collector: str, cause: Cause) -> bool:
        """Whether a warning is news, and from now on it is none."""
        if cause not in _CLUSTER_WIDE:
            return True
        first = (collector, cause) not in self._warned
        self._warned.add((collector, cause))
        return first

    def succeeded(self, node: str, collector: str, *, at: float) -> None:
        """A scrape gave samples. What was not told to begin is not told to end."""
        fault = self._current.pop((node, collector), None)
        if fault is None:
            return
        self._count(collector, fault.cause, -1)
        quiet = not fault.told or (fault.cause in _CLUSTER_WIDE and self._counts[collector, fault.cause] > 0)
        write = log.debug if quiet else log.info
        write("a node can be scraped again", node=node, collector=collector, cause=str(fault.cause), after_s=round(at - fault.since, 1))

    def forget(self, node: str, collector: str) -> None:
        """The target is gone, and its fault with it."""
        fault = self._current.pop((node, collector), None)
        if fault is not None:
            self._count(collector, fault.cause, -1)

    def _count(self, collector: str, cause: Cause, step: int) -> None:
        self._counts[collector, cause] += step
        if not self._counts[collector, cause]:
            self._warned.discard((collector, cause))
        self._metrics.failing(collector, cause, self._counts[collector, cause])
