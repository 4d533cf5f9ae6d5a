"""What is served of a declared kind, also while its declaration changes."""

from collections.abc import Callable
from typing import Any
from weakref import WeakMethod

from app.cache.reports import Reports
from app.cache.versions import Versions
from app.clock import Clock
from app.declared.declaration import Declaration
from app.declared.live_kind import LiveKind
from app.declared.objects import Mapped
from app.kinds._catalog import Served
from app.kube.records import Key
from app.pipeline.apart import Apart
from app.pipeline.shown import Shown
from app.served_metrics.resource_metrics import KindMetrics
from app.served_metrics.values import Resource
from app.wire.timestamps import format_time


class LiveObjects:
    """Implements Product for a LiveResource. `served` is what is shown now; `on_shown` hears when that becomes another.

    What the declaration before it served stays until this one has objects of its own, or until its time is over: one that was changed
    does not leave a gap. What is shown knows who tells why an object is missing, but does not hold it: what is replaced is freed at once.
    """

    def __init__(
        self,
        declaration: Declaration,
        live: LiveKind,
        *,
        source: str,
        versions: Versions,
        reports: Reports,
        clock: Clock,
        before: "LiveObjects | None" = None,
        on_shown: Callable[[], None] = lambda: None,
    ) -> None:
        """`source` is the type of its source."""
        self._name = declaration.name
        self._source = source
        self._ttl = declaration.resource.spec.time_to_live
        self._reports = reports
        self._clock = clock
        self._on_shown = on_shown
        self._own = Shown(declaration, live, versions, self._teller())
        self._shown = self._own
        if before is not None:
            self._follow(before.leave(), declaration, live)

    def _follow(self, before: Shown, declaration: Declaration, live: LiveKind) -> None:
        live.follow(before.live)
        if before.adopt(declaration, live, self._teller()):
            self._own = self._shown = before
        elif len(before):
            before.collection.why = self._teller()
            self._shown = before

    def leave(self) -> Shown:
        """What is shown, for the one that takes its place."""
        return self._shown

    @property
    def served(self) -> Served:
        """The kind as it is shown now, with its objects."""
        return Served(self._shown.live.kind, self._shown.collection)

    @property
    def metrics(self) -> KindMetrics | None:
        """The metrics of what is shown now, None if there are none."""
        live = self._shown.live
        if not live.metrics:
            return None
        resource, namespaced = Resource(live.kind.group, live.kind.resource), live.kind.namespaced
        return KindMetrics(self._name, self._source, resource, namespaced, live.metrics, self._shown.collection, live.namespaces)

    @property
    def expires(self) -> float | None:
        """See Product."""
        return self._shown.expires

    def map(self, response: Any, observed: int, deadline: Callable[[], bool]) -> Mapped:
        """See Product."""
        live = self._own.live
        return live.take(live.map(response, observed, deadline), observed)

    def publish(self, mapped: Mapped) -> None:
        """See Product. One step: what is read before it is whole, and what is read after it too."""
        self._own.publish(mapped.objects, self._clock.monotonic() + self._ttl)
        self._show_own()

    async def age(self, apart: Apart) -> None:
        """See Product."""
        await self._shown.age(apart)

    def expire(self) -> bool:
        """See Product."""
        gone = self._shown.expire()
        self._show_own()
        return gone

    def _show_own(self) -> None:
        if self._shown is not self._own:
            self._own.step_over(self._shown)
            self._shown = self._own
            self._on_shown()

    def _teller(self) -> Callable[[Key], str | None]:
        told = WeakMethod(self._why)

        def why(key: Key) -> str | None:
            method = told()
            return method(key) if method is not None else None

        return why

    def _why(self, _key: Key) -> str | None:
        """Why there is no such object, as far as the source is to blame."""
        report = self._reports.get(self._name)
        if report is None:
            return None
        if report.failing and not len(self._shown):
            last = f"; its last good collection was at {format_time(report.last)}" if report.last else ""
            # Which hosts are asked, and what they say, is for those who may read collectors.
            return f"the source of {self._name} gives no values ({report.failing[0].cause}){last}"
        return None if report.last else f"the source of {self._name} was not asked yet"
