"""Logs and kubeglance's own metrics.

Metrics live in one class on a registry that is handed in: no global state, so that tests and two servers in one process do not mix.
metrics-server's six names are kept, for its dashboards and alerts work on; what it has no name for begins with kubeglance_.
"""

import logging
import sys
from typing import TextIO

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_TICK = (*_SECONDS, 12.5, 15, 22.5, 30)
_TRACEBACKS = structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False))
"""Without the values of variables: passwords of sources may be among them."""

_FRESHNESS = tuple(round(1.364**power, 3) for power in range(20))


def configure_logging(form: str = "text", verbosity: int = 0, stream: TextIO | None = None) -> None:
    """Send structlog's and the standard library's records to `stream` (stderr), one a line.

    `form` is "text" or "json". Verbosity 0 shows info and above, 4 and above debug too, as metrics-server's -v does; libraries
    speak from 6 on.
    """
    target = sys.stderr if stream is None else stream
    colours = form == "text" and target.isatty()
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    ending: list[structlog.typing.Processor] = (
        [_TRACEBACKS, structlog.processors.JSONRenderer()]
        if form == "json"
        else [structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=structlog.dev.plain_traceback)]
    )
    level = logging.DEBUG if verbosity >= 4 else logging.INFO
    structlog.configure(
        processors=[*shared, *ending],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(target),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *ending]
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.DEBUG if verbosity >= 6 else logging.WARNING)
    # uvicorn warns of each malformed request, and the event loop of each write to a connection that a client has cut: anyone could fill the
    # log. Who sent the former has been told; the latter has left.
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING if verbosity >= 4 else logging.ERROR)


class Metrics:
    """All self-metrics. Each is described in docs/metrics.md; a test compares the two."""

    def __init__(self, registry: CollectorRegistry) -> None:
        # A *_created series beside each counter and histogram would make a scrape of us half as dear again.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # prometheus_client has no types here
        self.registry = registry
        self._request_duration = Histogram(
            "metrics_server_kubelet_request_duration_seconds",
            "Duration of one scrape of a kubelet, by node.",
            ["node"],
            buckets=_SECONDS,
            registry=registry,
        )
        requests = Counter(
            "metrics_server_kubelet_request_total", "Scrapes of kubelets, by whether they gave samples.", ["success"], registry=registry
        )
        self._last_request = Gauge(
            "metrics_server_kubelet_last_request_time_seconds",
            "Unix time of the last scrape of a node's kubelet.",
            ["node"],
            registry=registry,
        )
        self._tick = Histogram(
            "metrics_server_manager_tick_duration_seconds",
            "From the start of one node's scrape until its samples were published (kubeglance publishes node by node).",
            buckets=_TICK,
            registry=registry,
        )
        self._points = Gauge(
            "metrics_server_storage_points", "Nodes and containers whose usage can be served.", ["type"], registry=registry
        )
        self._freshness = Histogram(
            "metrics_server_api_metric_freshness_seconds",
            "Age of the metrics served, one observation an answer.",
            buckets=_FRESHNESS,
            registry=registry,
        )
        self._failures = Counter(
            "kubeglance_scrape_failures_total", "Failed scrapes, by collector and cause.", ["collector", "cause"], registry=registry
        )
        self._failing = Gauge(
            "kubeglance_failing_targets",
            "Targets whose last scrape failed, by collector and cause.",
            ["collector", "cause"],
            registry=registry,
        )
        self._dropped = Counter(
            "kubeglance_dropped_samples_total", "Lines or entries of scrapes that could not be used.", ["collector"], registry=registry
        )
        self._collections = Counter(
            "kubeglance_collections_total",
            "Collections of declared kinds, by what came of them: success, or the cause of the failure.",
            ["declaration", "result"],
            registry=registry,
        )
        self._collection_duration = Gauge(
            "kubeglance_collection_duration_seconds", "How long the last collection took.", ["declaration"], registry=registry
        )
        self._collection_success = Gauge(
            "kubeglance_collection_last_success_timestamp_seconds",
            "Unix time of the last collection that gave values.",
            ["declaration"],
            registry=registry,
        )
        self._collection_objects = Gauge(
            "kubeglance_collection_objects", "Objects that the last good collection gave.", ["declaration"], registry=registry
        )
        self._dropped_items = Counter(
            "kubeglance_dropped_items_total", "Items of collections that became no object.", ["declaration"], registry=registry
        )
        self._route_requests = Counter(
            "kubeglance_route_requests_total",
            "Requests to other adapters, by what came of them: success, or the cause of the failure.",
            ["route", "result"],
            registry=registry,
        )
        self._route_duration = Histogram(
            "kubeglance_route_request_duration_seconds",
            "Duration of one request to another adapter.",
            ["route"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._of_routes: dict[str, set[str]] = {}
        """Results that were counted, by route."""
        self._reload = Gauge(
            "kubeglance_config_last_reload_successful",
            "Whether every declaration that was found last could be taken; 1 where none is declared.",
            registry=registry,
        )
        self._reload.set(1)
        self._reload_success = Gauge(
            "kubeglance_config_last_reload_success_timestamp_seconds",
            "Unix time at which the declarations were last taken without a fault; 0 if never.",
            registry=registry,
        )
        self._of_declarations: dict[str, set[str]] = {}
        """Results that were counted, by declaration."""
        self._requests = {True: requests.labels("true"), False: requests.labels("false")}
        self._of_nodes: dict[str, tuple[Histogram, Gauge]] = {}
        """Request duration and last request by node: to find a child by its labels costs as much as to count."""

    def scraped(self, node: str, *, seconds: float, at: float, success: bool) -> None:
        """A scrape of `node` ended at Unix time `at`."""
        children = self._of_nodes.get(node)
        if children is None:
            children = self._of_nodes[node] = (self._request_duration.labels(node), self._last_request.labels(node))
        duration, last = children
        duration.observe(seconds)
        last.set(at)
        self._requests[success].inc()

    def published(self, collector: str, *, seconds: float, dropped: int) -> None:
        """Samples were published `seconds` after their scrape began; `dropped` lines were of no use."""
        self._tick.observe(seconds)
        if dropped:
            self._dropped.labels(collector).inc(dropped)

    def failure(self, collector: str, cause: str) -> None:
        """A scrape failed."""
        self._failures.labels(collector, cause).inc()

    def failing(self, collector: str, cause: str, targets: int) -> None:
        """So many targets of `collector` fail for `cause` now."""
        self._failing.labels(collector, cause).set(targets)

    def points(self, *, nodes: int, containers: int) -> None:
        """What can be served now."""
        self._points.labels("node").set(nodes)
        self._points.labels("container").set(containers)

    def served(self, age: float) -> None:
        """An answer was given; one of its items, any one, was measured `age` seconds ago."""
        self._freshness.observe(age)

    def forget_node(self, node: str) -> None:
        """Drop the series of a node that is gone; else they would pile up in a cluster that scales."""
        if self._of_nodes.pop(node, None) is not None:
            self._request_duration.remove(node)
            self._last_request.remove(node)

    def collected(
        self, declaration: str, result: str, *, seconds: float, at: float | None = None, objects: int = 0, dropped: int = 0
    ) -> None:
        """A collection ended. `at` is the Unix time of one that gave values, None of one that failed."""
        self._of_declarations.setdefault(declaration, set()).add(result)
        self._collections.labels(declaration, result).inc()
        self._collection_duration.labels(declaration).set(seconds)
        if at is not None:
            self._collection_success.labels(declaration).set(at)
            self._collection_objects.labels(declaration).set(objects)
            self._dropped_items.labels(declaration).inc(dropped)

    def forget_declaration(self, declaration: str) -> None:
        """Drop the series of a declaration that is gone."""
        results = self._of_declarations.pop(declaration, set())
        for result in results:
            self._collections.remove(declaration, result)
        if results:
            self._collection_duration.remove(declaration)
        if "success" in results:
            for series in (self._collection_success, self._collection_objects, self._dropped_items):
                series.remove(declaration)

    def routed(self, route: str, result: str, *, seconds: float) -> None:
        """A request to the adapter of a route ended."""
        self._of_routes.setdefault(route, set()).add(result)
        self._route_requests.labels(route, result).inc()
        self._route_duration.labels(route).observe(seconds)

    def forget_route(self, route: str) -> None:
        """Drop the series of a route that is gone."""
        results = self._of_routes.pop(route, set())
        for result in results:
            self._route_requests.remove(route, result)
        if results:
            self._route_duration.remove(route)

    def reloaded(self, *, success: bool, at: float) -> None:
        """Declarations were loaded at Unix time `at`; whether all of them could be taken."""
        self._reload.set(success)
        if success:
            self._reload_success.set(at)
