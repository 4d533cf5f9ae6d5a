"""What is declared becomes what is served: kinds and metrics that come, change and go, each with a loop of its own."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, cast

import structlog

from app.cache.reports import Report
from app.declared.below import Means
from app.declared.declaration import AnyDeclaration, Declaration, is_metric
from app.declared.faults import Fault
from app.declared.live_kind import LiveKind, compile_kind
from app.declared.live_metric import LiveMetricMapper, compile_metric
from app.declared.loader import Loaded, Rejected
from app.declared.tenants import Tenant
from app.kinds._catalog import Catalog
from app.pipeline.grid import shift
from app.pipeline.live_loop import LiveLoop, Opener, Surroundings
from app.pipeline.live_objects import LiveObjects
from app.pipeline.live_series import LiveSeries
from app.pipeline.supervise import Children
from app.served_metrics.declared import DeclaredMetric
from app.served_metrics.resource_metrics import KindMetrics
from app.wire.object_names import object_name

SPREAD_S = 2.0
PER_DECLARATION_S = 0.01
"""First collections of declarations that come together are spread by so much for each, over SPREAD_S at most."""

SHOW_S = 0.1
"""What is shown anew within this time is told as one change: each has discovery and OpenAPI made anew."""

MOST_REPORTED = 100
"""Documents that cannot be taken and have a report of their own. What a namespace writes must not fill the list of collectors."""

Open = Callable[[AnyDeclaration, Tenant | None], Opener]
Compiled = LiveKind | LiveMetricMapper
Compile = Callable[[AnyDeclaration], Compiled]


class MetricSinks(NamedTuple):
    """What takes the metrics of LiveMetrics, and those of declared kinds, by declaration; None of those that are gone."""

    declared: Callable[[Mapping[str, DeclaredMetric | None]], None]
    of_kinds: Callable[[Mapping[str, KindMetrics | None]], None]


log = structlog.get_logger(__name__)


class _Identity(NamedTuple):
    """What makes a declaration the one that runs. Its file is part of that, for users are told to edit it; its line is not."""

    digest: str
    namespace: str
    file: str
    tenant: Tenant | None


@dataclass(frozen=True)
class _Running:
    identity: _Identity
    loop: LiveLoop[Any]
    product: LiveObjects | LiveSeries


def owner(name: str) -> str:
    """Who owns the kind of a declaration in the catalog."""
    return f"declaration {name}"


def compiled(declaration: AnyDeclaration, means: Means | None = None) -> Compiled:
    """What maps the responses of a declaration that was checked; see compile_kind of `means`."""
    return compile_metric(declaration) if is_metric(declaration) else compile_kind(cast("Declaration", declaration), means)


class LiveKinds:
    """Keeps loops, catalog, metrics and reports equal to what is declared."""

    def __init__(
        self,
        catalog: Catalog,
        around: Surroundings,
        children: Children,
        *,
        open_: Open,
        compile_: Compile = compiled,
        metrics: MetricSinks,
    ) -> None:
        """`children` run the loops. `open_` gives the source of a declaration, of a tenant's within its rights."""
        self._catalog = catalog
        self._metrics = metrics
        self._around = around
        self._children = children
        self._open = open_
        self._compile = compile_
        self._running: dict[str, _Running] = {}
        self._rejected: set[str] = set()
        self._told: set[str] = set()
        self._changed: dict[str, LiveLoop[Any]] = {}

    def __len__(self) -> int:
        return len(self._running)

    async def apply(self, loaded: Loaded, tenants: Mapping[str, Tenant]) -> None:
        """Make what is served what was loaded. What did not change goes on as it is; what is gone goes first, and at once."""
        wanted = {
            name: _Identity(each.digest, each.namespace, each.place.file, tenants.get(each.namespace) if each.namespace else None)
            for name, each in loaded.declarations.items()
        }
        self._remove([name for name in self._running if name not in wanted])
        fresh = [name for name, identity in wanted.items() if name not in self._running or self._running[name].identity != identity]
        for name in wanted.keys() - set(fresh):
            self._running[name].loop.moved(loaded.declarations[name])
        rejected = list(loaded.rejected)
        spread = min(SPREAD_S, len(fresh) * PER_DECLARATION_S)
        started = []
        for name in fresh:
            declaration = loaded.declarations[name]
            try:
                live = await self._around.apart(partial(self._compile, declaration))
                opener = self._open(declaration, wanted[name].tenant)
            except Exception as exc:
                log.exception("a declaration that was checked cannot be compiled; please report it", declaration=name)
                fault = Fault(declaration.place, "", f"cannot be compiled: {type(exc).__name__}: {exc}")
                rejected.append(Rejected(name, declaration.namespace, declaration.place, (fault,), served=name in self._running))
                continue
            started.append((declaration, wanted[name], live, opener))
        for declaration, identity, live, opener in started:
            self._start(declaration, identity, live, opener, shift(declaration.name, spread) if spread else 0.0)
        self._put([each.name for each, *_ in started])
        self._report(loaded._replace(rejected=rejected))

    def _start(self, declaration: AnyDeclaration, identity: _Identity, live: Compiled, opener: Opener, first: float) -> None:
        name, around = declaration.name, self._around
        before = self._running.get(name)
        self._children.stop(name)
        product = self._product(declaration, live, opener, before.product if before is not None else None)
        loop: LiveLoop[Any] = LiveLoop(
            declaration,
            product,
            opener,
            around,
            before=before.loop.leave() if before is not None else None,
            first=first if before is None else 0.0,
        )
        self._running[name] = _Running(identity, loop, product)
        self._children.start(name, loop.run)
        log.info(
            "a declaration is taken" if before is None else "a declaration was changed", declaration=name, place=str(declaration.place)
        )

    def _product(
        self, declaration: AnyDeclaration, live: Compiled, opener: Opener, before: LiveObjects | LiveSeries | None
    ) -> LiveObjects | LiveSeries:
        name, around = declaration.name, self._around
        if is_metric(declaration):
            mapper = cast("LiveMetricMapper", live)
            earlier = before if isinstance(before, LiveSeries) else None
            return LiveSeries(declaration, mapper, source=opener.type, clock=around.clock, before=earlier)
        return LiveObjects(
            cast("Declaration", declaration),
            cast("LiveKind", live),
            source=opener.type,
            versions=around.versions,
            reports=around.reports,
            clock=around.clock,
            before=before if isinstance(before, LiveObjects) else None,
            on_shown=lambda: self._shown(name),
        )

    def _put(self, names: Sequence[str]) -> None:
        """Have discovery, catalog and metrics know what runs under these names now: one change for all of them."""
        products = {name: self._running[name].product for name in names}
        kinds = {name: product for name, product in products.items() if isinstance(product, LiveObjects)}
        if kinds:
            self._catalog.put({owner(name): (product.served,) for name, product in kinds.items()})
            self._metrics.of_kinds({name: product.metrics for name, product in kinds.items()})
        metrics = {name: product.metric for name, product in products.items() if isinstance(product, LiveSeries)}
        if metrics:
            self._metrics.declared(metrics)

    def _shown(self, name: str) -> None:
        """The loop of a declaration shows another kind or other objects now."""
        if not self._changed:
            asyncio.get_running_loop().call_later(SHOW_S, self._show)
        self._changed[name] = self._running[name].loop

    def _show(self) -> None:
        changed, self._changed = self._changed, {}
        self._put([name for name, loop in changed.items() if name in self._running and self._running[name].loop is loop])

    def _remove(self, names: Sequence[str]) -> None:
        metrics = [name for name in names if isinstance(self._running[name].product, LiveSeries)]
        kinds = [name for name in names if name not in metrics]
        if kinds:
            self._catalog.put({owner(name): () for name in kinds})
            self._metrics.of_kinds(dict.fromkeys(kinds))
        if metrics:
            self._metrics.declared(dict.fromkeys(metrics))
        for name in names:
            del self._running[name]
            self._children.stop(name)
            self._around.reports.forget(name)
            self._around.metrics.forget_declaration(name)
            log.info("a declaration is gone, and what it served with it", declaration=name)

    def _report(self, loaded: Loaded) -> None:
        """Tell what could not be taken: in the reports of what goes on being served, or in reports of their own; and once in the log."""
        spoiled: dict[str, Rejected] = {}
        others: dict[str, Rejected] = {}
        for each in loaded.rejected:
            if each.served and each.name in self._running:
                spoiled.setdefault(each.name, each)
            else:
                others.setdefault(object_name(f"{each.place.file} {each.name}".strip()), each)
        for name, running in self._running.items():
            running.loop.invalid(_words(spoiled[name]) if name in spoiled else "")
        reports = [_own_report(name, each) for name, each in islice(others.items(), MOST_REPORTED)]
        for name in self._rejected - {report.name for report in reports}:
            self._around.reports.forget(name)
        for report in reports:
            self._around.reports.put(report)
        self._rejected = {report.name for report in reports}
        self._log_faults(loaded)
        self._around.metrics.reloaded(success=not loaded.rejected, at=self._around.clock.wall())

    def _log_faults(self, loaded: Loaded) -> None:
        faults = {str(fault): each.served for each in loaded.rejected for fault in each.faults}
        warnings = [str(fault) for fault in loaded.warnings]
        for fault, served in islice(faults.items(), MOST_REPORTED):
            if fault not in self._told:
                log.warning("a declaration cannot be taken", fault=fault, last_good_version_is_served=served)
        for fault in warnings[:MOST_REPORTED]:
            if fault not in self._told:
                log.warning("a declaration is odd", fault=fault)
        self._told = {*faults, *warnings}


def _words(rejected: Rejected) -> str:
    """Its first fault, and how many there are."""
    first, *others = rejected.faults
    return f"{first} (and {len(others)} more)" if others else str(first)


def _own_report(name: str, rejected: Rejected) -> Report:
    """The report of a document that nothing is served of."""
    return Report(
        name,
        source="",
        targets=0,
        healthy=0,
        items=0,
        dropped=0,
        interval=0.0,
        ttl=0.0,
        file=f"{rejected.place.file}:{rejected.place.line}",
        invalid=_words(rejected),
    )
