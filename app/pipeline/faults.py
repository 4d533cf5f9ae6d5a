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
    """Why a target fails, and since when (monotonic seconds)."""

    cause: Cause
    message: str
    remedy: str
    since: float


class Faults:
    """The state of every (node, collector) that fails."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._current: dict[tuple[str, str], Fault] = {}
        self._counts: Counter[tuple[str, Cause]] = Counter()

    def current(self) -> dict[tuple[str, str], Fault]:
        """All faults of now, by (node, collector)."""
        return dict(self._current)

    def counts(self) -> dict[tuple[str, Cause], int]:
        """How many targets fail now, by (collector, cause)."""
        return {key: count for key, count in self._counts.items() if count}

    def failed(self, node: str, collector: str, error: CollectError, *, at: float, ready: bool, note: str = "") -> None:
        """A scrape failed at monotonic time `at`. Nodes that are not `ready` are expected to fail: they log at debug."""
        self._metrics.failure(collector, error.cause)
        before = self._current.get((node, collector))
        since = at if before is None else before.since
        self._current[node, collector] = Fault(error.cause, error.message, error.remedy, since)
        if before is not None:
            if before.cause == error.cause:
                return
            self._count(collector, before.cause, -1)
        self._count(collector, error.cause, +1)
        write = log.warning if ready and not self._told(collector, error.cause) else log.debug
        details = {key: text for key, text in (("remedy", error.remedy), ("note", note)) if text}
        write("a node cannot be scraped", node=node, collector=collector, cause=str(error.cause), error=error.message, **details)

    def _told(self, collector: str, cause: Cause) -> bool:
        return cause in _CLUSTER_WIDE and self._counts[collector, cause] > 1

    def succeeded(self, node: str, collector: str, *, at: float) -> None:
        """A scrape gave samples."""
        fault = self._current.pop((node, collector), None)
        if fault is None:
            return
        self._count(collector, fault.cause, -1)
        quiet = fault.cause in _CLUSTER_WIDE and self._counts[collector, fault.cause] > 0
        write = log.debug if quiet else log.info
        write("a node can be scraped again", node=node, collector=collector, cause=str(fault.cause), after_s=round(at - fault.since, 1))

    def forget(self, node: str, collector: str) -> None:
        """The target is gone, and its fault with it."""
        fault = self._current.pop((node, collector), None)
        if fault is not None:
            self._count(collector, fault.cause, -1)

    def _count(self, collector: str, cause: Cause, step: int) -> None:
        self._counts[collector, cause] += step
        self._metrics.failing(collector, cause, self._counts[collector, cause])
