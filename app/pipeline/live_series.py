"""What is served of a declared metric."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from app.clock import Clock
from app.declared.declaration import MetricDeclaration
from app.declared.live_metric import LiveMetricMapper, resource_of
from app.declared.metric_model import LiveMetricSpec, served_in
from app.declared.objects import Dropped
from app.pipeline.apart import Apart
from app.served_metrics.declared import DeclaredMetric
from app.served_metrics.kept import Arranged, Kept
from app.served_metrics.missing import Missing
from app.served_metrics.numbers import exact
from app.served_metrics.values import Series


class ArrangedSeries(NamedTuple):
    """What became of one response (see Outcome), ready to be served."""

    objects: Sequence[Series]
    dropped: Sequence[Dropped]
    blank: Sequence[Dropped]
    arranged: Arranged


class LiveSeries:
    """Implements Product for a LiveMetric. `metric` is what is served of it: what the declaration before it had collected stays, if it was
    of the same metric, until there is something newer or its time is over."""

    expires = None
    """Nothing has to be done then: who reads looks at the time."""

    def __init__(
        self, declaration: MetricDeclaration, mapper: LiveMetricMapper, *, source: str, clock: Clock, before: "LiveSeries | None" = None
    ) -> None:
        """`source` is the type of its source."""
        spec = declaration.resource.spec
        self._mapper = mapper
        self._clock = clock
        self.metric = DeclaredMetric(
            declaration.name,
            spec.api,
            spec.name,
            resource_of(declaration.resource),
            namespaced=spec.sample.object is None or spec.sample.object.namespace is not None,
            namespaces=served_in(declaration.resource, declaration.namespace),
            source=source,
            kept=Kept(ttl=spec.time_to_live, missing=_missing(spec), most_held=spec.limits.items),
            since=clock.monotonic(),
        )
        if before is not None and _same(before.metric, self.metric):
            self.metric.kept.follow(before.metric.kept)

    def map(self, response: Any, observed: int, deadline: Callable[[], bool]) -> ArrangedSeries:
        """See Product."""
        mapped = self._mapper.map(response, observed, deadline)
        arranged = self.metric.kept.arranged(mapped.objects, now=self._clock.monotonic(), wall=int(self._clock.wall() * 1e9))
        return ArrangedSeries(mapped.objects, mapped.dropped, mapped.blank, arranged)

    def publish(self, mapped: ArrangedSeries) -> None:
        """See Product."""
        self.metric.kept.take(mapped.arranged)

    async def age(self, apart: Apart) -> None:
        """See Product. Values say themselves how old they are."""

    def expire(self) -> bool:
        """See Product."""
        return False


def _same(before: DeclaredMetric, now: DeclaredMetric) -> bool:
    """Whether the series of the one are series of the other."""
    return (before.api, before.name, before.resource, before.namespaces) == (now.api, now.name, now.resource, now.namespaces)


def _missing(spec: LiveMetricSpec) -> Missing:
    said = spec.missing
    constant: Decimal | None = exact(said.value) if said.policy == "Constant" else None
    return Missing(hold=said.for_ or 0.0, constant=constant)
