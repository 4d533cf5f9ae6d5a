"""The composition root: what `kubeglance serve` is made of, and in which order it lives and ends."""

import asyncio
import secrets
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from http import HTTPStatus
from pathlib import Path
from ssl import TLSVersion
from typing import TYPE_CHECKING, Any

import structlog
import uvloop
from prometheus_client import CollectorRegistry

from app import __version__, kinds, memory
from app.auth.access import AccessReviewer
from app.auth.extension import NAME, NAMESPACE, ExtensionAuthentication
from app.auth.gate import DelegatingGate
from app.auth.token import TokenAuthenticator
from app.auth.trust import Trust
from app.cache.claims import Claims
from app.cache.cluster import Nodes, Pods
from app.cache.collection import Collection
from app.cache.projection import Projection, Subject
from app.cache.readiness import Heartbeat, Readiness
from app.cache.reports import ReportObjects, Reports
from app.cache.samples import Samples, Source, time_to_live
from app.cache.sources import source
from app.cache.stats import Stats
from app.cache.store import Store
from app.cache.versions import Versions
from app.clock import Clock, SystemClock
from app.errors import KubeglanceError
from app.http1.channel import Dialer
from app.kinds import collectors, servedmetrics
from app.kinds._base import Kind
from app.kinds._catalog import Catalog, Served
from app.kube import config, watched
from app.kube.client import KubeClient
from app.kube.config import Connection
from app.kube.credentials import Credentials
from app.kube.records import Key
from app.kube.reflector import Reflector
from app.lumps import Lumps
from app.pipeline.connections import kubelet_client, raise_file_limit
from app.pipeline.faults import Faults
from app.pipeline.paced import PacedClient
from app.pipeline.pool import Pool
from app.pipeline.scraper import Job, Surroundings
from app.pipeline.sink import StatsSink
from app.pipeline.supervise import Run, Supervisor
from app.pipeline.turns import Turns
from app.routes.app import create_app
from app.routes.by_group import ByGroup
from app.routes.descriptions import Together
from app.routes.health import Check, HealthChecks, always_ok
from app.routes.kind_descriptions import KindDescriptions
from app.routes.live import LiveAnswers
from app.routes.metric_descriptions import MetricDescriptions
from app.routes.metrics_apis import create_metrics_apis
from app.routes.resources import create_resources
from app.routes.version import version_info
from app.served_metrics.catalogue import ServedMetricObjects
from app.served_metrics.declared import DeclaredMetrics
from app.served_metrics.objects import Objects
from app.served_metrics.providers import Registry
from app.served_metrics.resource_metrics import ResourceMetrics
from app.served_metrics.values import Resource
from app.serving.dispatch import Dispatcher
from app.serving.server import Server, server_config
from app.serving.tls import Offer, ServerTLS
from app.serving_certificate import serving_files
from app.settings import Settings, flag_name
from app.telemetry import Metrics, configure_logging
from app.tls_suites import openssl_names
from collectors.kubelet_resource import KubeletResource
from collectors.kubelet_summary import KubeletSummary

if TYPE_CHECKING:
    from app.adapter.adapter import Adapter
    from app.cozystack.follower import Follower
    from app.pipeline.declarations import Declarations, Engine
    from app.served_metrics.pod_summary import PodSummary
    from collectors._prometheus_servers import ServerSpec

_PULSE_S = 2.0
_CERTIFICATE_S = 5.0
_GIVE_BACK_S = 20.0
_THREADS = 4
"""For what declarations need to be done beside the event loop."""

_log = structlog.get_logger(__name__)


def _jobs(settings: Settings) -> list[Job]:
    """The collectors that are switched on, in order of preference for a value."""
    resource = Job(KubeletResource(), settings.metric_resolution, settings.kubelet_request_timeout)
    summary = Job(KubeletSummary(full=settings.live_kinds), settings.kubelet_summary_interval, settings.kubelet_summary_timeout)
    return [job for job, on in ((resource, settings.kubelet_resource), (summary, settings.kubelet_summary)) if on]


class Kubeglance:
    """One whole kubeglance without its listener: `app` serves requests, `start` sets everything going that keeps the cache fresh.

    Clock and dialers are handed in, so that a test can run the whole of it in virtual time against kubelets and a kube-apiserver that
    are functions.
    """

    def __init__(
        self,
        settings: Settings,
        connection: Connection,
        *,
        clock: Clock,
        registry: CollectorRegistry,
        kube_dialer: Dialer | None = None,
        kubelet_dialer: Dialer | None = None,
    ) -> None:
        """`connection` leads to kube-apiserver; TokenReviews and SubjectAccessReviews may be asked elsewhere (settings)."""
        self._settings = settings
        self._clock = clock
        self._client = KubeClient(connection, dialer=kube_dialer)
        self._lumps = Lumps(clock.monotonic)
        self._kubelets = kubelet_client(settings, connection, dialer=kubelet_dialer)
        self._closing = [self._client.aclose, self._kubelets.aclose]
        self.trust = Trust()
        self.nodes, self.pods = Nodes(), Pods()
        pods = Reflector(self._client, watched.PODS, self.pods, clock)
        self._pods_tried = pods.tried
        self._reflectors: tuple[Reflector[Any], ...] = (
            Reflector(self._client, watched.NODES, self.nodes, clock),
            pods,
            Reflector(self._client, watched.one_config_map(NAMESPACE, NAME), ExtensionAuthentication(self.trust), clock),
        )
        self._beside: list[tuple[str, Run]] = []
        """Tasks that nobody waits for: where a watch among them fails, what it is for says so."""
        self._jobs = _jobs(settings)
        self._pool: Pool | None = None
        self.declarations: Declarations | None = None
        self.applications: Follower | None = None
        self.adapter: Adapter | None = None
        self.reports = Reports()
        self._metrics = Metrics(registry)
        self._versions = versions = Versions(clock, instance=secrets.randbits(10))
        published = self._published(versions)
        self.stats: Stats | None = None
        self._built_in_metrics: list[PodSummary] = []
        self.catalog = Catalog(
            [
                *(Served(kind, projection.collection) for kind, projection in published),
                *self._live_kinds(published, versions),
                *self._collectors(versions),
            ]
        )
        self.described = Objects(
            nodes=self.nodes, pods=self.pods, catalog=self.catalog, client=self._client, clock=clock, listed=self._is_listed
        )
        self.served_metrics = Registry(self.described.name)
        self._declared_metrics = DeclaredMetrics(self.described, self.reports, clock, changed=self.served_metrics.changed)
        if settings.serves_live:
            self.catalog.put({"served metrics": [Served(servedmetrics.KIND, ServedMetricObjects(self.served_metrics, versions))]})
        self._resource_metrics = ResourceMetrics(self.reports, changed=self.served_metrics.changed)
        self.served_metrics.add(self._declared_metrics)
        self.served_metrics.add(self._resource_metrics)
        for provider in self._built_in_metrics:
            self.served_metrics.add(provider)
        self._stand_ins: list[Source] = []
        self._add_configured_metrics(connection.credentials)
        self.store = Store(
            nodes=self.nodes,
            pods=self.pods,
            samples=Samples(clock.monotonic),
            sources=[*(source(job.collector.name, job.interval) for job in self._jobs), *self._stand_ins],
            projections=[projection for _, projection in published],
            versions=versions,
            clock=clock,
        )
        interval = min((job.interval for job in self._jobs), default=settings.metric_resolution)
        self.readiness = Readiness(not_synced=self._not_synced, first_round=self._first_round, interval=interval, clock=clock)
        self._heartbeat = Heartbeat(clock, late_after=1.5 * interval)
        self._access = AccessReviewer(self._reviews("authorization_kubeconfig"), clock)
        gate = DelegatingGate(
            self.trust,
            TokenAuthenticator(self._reviews("authentication_kubeconfig"), clock),
            self._access,
            clock,
        )
        self._live = LiveAnswers()
        kinds_answers = create_resources(
            self.catalog, gate=gate, clock=clock, versions=versions, observe=self._observe, live=self._live, lumps=self._lumps
        )
        metrics_apis = create_metrics_apis(self.served_metrics, self.described.kind, gate=gate, clock=clock)
        resources = ByGroup(kinds_answers, metrics_apis)
        app = create_app(
            Together([KindDescriptions(self.catalog), MetricDescriptions(self.served_metrics)]),
            resources,
            gate=gate,
            checks=self._checks(),
            registry=registry,
            clock=clock,
            version=version_info(__version__),
        )
        self.app = Dispatcher(app, resources, max_in_flight=settings.max_requests_inflight, at_once=kinds_answers.at_once)

    def start(self, supervisor: Supervisor) -> None:
        """Set everything going that runs beside requests."""
        faults = Faults(self._metrics)
        sink = self.store if self.stats is None else StatsSink(self.store, self.stats)
        paced = PacedClient(self._kubelets, self._lumps)
        around = Surroundings(self._kubelets, paced, sink, self._pods_tried, self._clock, faults, self._metrics, Turns())
        self._pool = Pool(self._jobs, self._settings, around, supervisor.children("scrape"))
        self.nodes.listeners.append(self._pool.nodes_changed)
        self.reports.askers.append(self._pool.reports)
        self.described.tasks = supervisor.children("watch")
        for reflector in self._reflectors:
            supervisor.guard(f"watch {reflector.name}", reflector.run)
        for name, run in self._beside:
            supervisor.guard(name, run)
        supervisor.guard("pulse", self._pulse)
        if self._settings.declarations or self._settings.declaration_config_maps:
            self._declare(supervisor)
        if self._settings.cozystack:
            self._follow_cozystack(supervisor)
        if self.adapter is not None:
            self.adapter.queries.tasks = supervisor.children("query")
            supervisor.guard("adapter", self.adapter.run)

    def _add_configured_metrics(self, credentials: Credentials) -> None:
        """Have those metrics served too that files name: they come after all others."""
        if self._settings.config is not None:
            self._adapt(self._settings.config)
        if self._settings.metric_routes is not None:
            self._route(self._settings.metric_routes, credentials)

    def _adapt(self, file: Path) -> None:
        """Have the rules of prometheus-adapter's file served. Others do not pay for what that takes."""
        from app.adapter.serving import create_adapter, resource_rules  # noqa: PLC0415

        self.adapter = create_adapter(
            self._settings,
            file,
            objects=self.described,
            client=self._client,
            clock=self._clock,
            reports=self.reports,
            changed=self.served_metrics.changed,
        )
        self._closing.append(self.adapter.aclose)
        self.served_metrics.add(self.adapter.metrics)
        rules = resource_rules(self._settings)
        if rules is not None:
            from app.adapter.resource_rules import ResourceUsage, source_of  # noqa: PLC0415

            interval = self._settings.metric_resolution
            self._stand_ins.append(source_of(rules, interval))
            usage = ResourceUsage(
                rules,
                self.adapter.prometheus,
                self.adapter.resources.find,
                nodes=self.nodes,
                pods=self.pods,
                sink=lambda: self.store,
                interval=interval,
            )
            self._beside.append(("resourceRules", usage.run))

    def _route(self, file: Path, credentials: Credentials) -> None:
        """Have the metrics of other adapters served. Others do not pay for what that takes."""
        from app.federation.provider import Routes  # noqa: PLC0415

        routes = Routes(file, credentials, self._clock, reports=self.reports, metrics=self._metrics, changed=self.served_metrics.changed)
        self._closing.append(routes.aclose)
        self.served_metrics.add(routes)
        self._beside.append(("routes to other adapters", routes.run))

    def _follow_cozystack(self, supervisor: Supervisor) -> None:
        """Have the applications of Cozystack served. Others do not pay for what that takes."""
        from app.cozystack.follower import OWNER, Follower  # noqa: PLC0415
        from app.declared.pod_logs import PodLogs  # noqa: PLC0415
        from app.kube.objects import ClusterWatches  # noqa: PLC0415

        watches = ClusterWatches(self._client, self._clock, supervisor.children("watch"), declaration=OWNER)
        self.applications = Follower(
            watches,
            self.catalog.put,
            group=self._settings.cozystack_group,
            logs=PodLogs(self._client, self._access),
            versions=self._versions,
            reports=self.reports,
            clock=self._clock,
        )
        supervisor.guard("applications of Cozystack", self.applications.run)

    def _declare(self, supervisor: Supervisor) -> None:
        """Have declared kinds served. All that it takes is imported here, and when the first one is found: others do not pay for it."""
        from app.pipeline.apart import Threads  # noqa: PLC0415
        from app.pipeline.declarations import Declarations, Places  # noqa: PLC0415

        settings = self._settings
        namespace = settings.namespace or config.own_namespace()
        if settings.declaration_config_maps and not namespace:
            raise KubeglanceError(
                "--declaration-config-maps: it is not known which namespace is ours, for this is no pod; give --namespace"
            )
        servers = self._prometheus_servers()
        apart = Threads("declared", _THREADS)
        self._closing.append(apart.aclose)
        loops, watches = supervisor.children("declaration"), supervisor.children("watch")

        def engine() -> "Engine":
            with memory.loading():
                from app.pipeline.live_engine import create_engine  # noqa: PLC0415
                from app.pipeline.live_kinds import MetricSinks  # noqa: PLC0415

            made = create_engine(
                settings,
                namespace=namespace,
                client=self._client,
                clock=self._clock,
                versions=self._versions,
                catalog=self.catalog,
                access=self._access,
                reports=self.reports,
                metrics=self._metrics,
                served_metrics=MetricSinks(self._declared_metrics.put, self._resource_metrics.put),
                servers=servers,
                apart=apart,
                loops=loops,
                watches=watches,
            )
            self._closing.append(made.aclose)
            return made

        places = Places(settings.declarations, settings.tenants, namespace if settings.declaration_config_maps else "")
        self.declarations = Declarations(
            places, self._client, self._clock, apart=apart, children=supervisor.children("watch declarations in"), engine=engine
        )
        supervisor.guard("declarations", self.declarations.run)

    def _prometheus_servers(self) -> "Mapping[str, ServerSpec]":
        """The servers that have a name. Raises KubeglanceError, with all that is wrong in the file."""
        if self._settings.prometheus_servers is None:
            return {}
        from app.declared.prometheus_servers import read_servers  # noqa: PLC0415

        return read_servers(self._settings.prometheus_servers)

    async def _pulse(self) -> None:
        """What is due every other second, in one task: each time that an idle process wakes costs a tenth of a millisecond."""
        while True:
            self._heartbeat.beat()
            some_left = self.store.expire()
            if self.stats is not None:
                self.stats.expire()
            self.described.expire()
            if self.adapter is not None:
                self.adapter.queries.expire()
            nodes, containers = self.store.points()
            self._metrics.points(nodes=nodes, containers=containers)
            await asyncio.sleep(0 if some_left else _PULSE_S)

    def drain(self) -> None:
        """Begin to leave: be ready no more, and end answers that would go on for long."""
        self.readiness.drain()
        self._live.stop()

    async def aclose(self) -> None:
        """Close all connections."""
        for close in self._closing:
            await close()

    def _reviews(self, field: str) -> KubeClient:
        """The client for reviews: the common one, unless the setting `field` gives a kubeconfig of its own."""
        kubeconfig: Path | None = getattr(self._settings, field)
        if kubeconfig is None or kubeconfig == self._settings.kubeconfig:
            return self._client
        client = KubeClient(config.load(kubeconfig, clock=self._clock, flag=flag_name(field)))
        self._closing.append(client.aclose)
        return client

    def _published(self, versions: Versions) -> list[tuple[Kind, Projection]]:
        """The kinds that the store publishes, one object for each node or pod."""
        published = []
        for kind in kinds.published():
            if kind.subject is not None and kind.project is not None:
                collection = Collection(why=partial(self._why, kind.subject), version=versions.current)
                published.append((kind, Projection(kind.subject, kind.project, collection)))
        return published

    def _live_kinds(self, published: Sequence[tuple[Kind, Projection]], versions: Versions) -> list[Served]:
        """The built-in live kinds, if they are on: what is published of usage, joined with what full summaries tell besides."""
        if not self._settings.live_kinds:
            return []
        from app.built_in import Usages, VolumeKind  # noqa: PLC0415 -- who does not serve them does not pay for them
        from app.served_metrics.pod_summary import PodSummary  # noqa: PLC0415

        ttl = time_to_live(self._settings.kubelet_summary_interval)
        self.stats = Stats(nodes=self.nodes, pods=self.pods, versions=versions, clock=self._clock, ttl=ttl)
        usages = {projection.subject: projection.collection for _, projection in published}
        joined = Usages(
            nodes=self.nodes,
            pods=self.pods,
            stats=self.stats,
            node_usages=usages[Subject.NODE],
            pod_usages=usages[Subject.POD],
            why=self._why,
            versions=versions,
            clock=self._clock,
        )
        claims = Claims(self.pods, versions)
        watch = Reflector(self._client, watched.CLAIMS, claims, self._clock, listed=claims.listed)
        volumes = VolumeKind(claims=claims, pods=self.pods, stats=self.stats, forbidden=lambda: _is_forbidden(watch), clock=self._clock)
        self._built_in_metrics.append(PodSummary(joined.pods, self.stats))
        self._beside += joined.runs
        self._beside += [(f"watch {watch.name}", watch.run), ("trends of volumes", volumes.run)]
        return [*joined.served, volumes.served]

    def _collectors(self, versions: Versions) -> list[Served]:
        """The kind that tells how sources are, where anything live is served."""
        return [Served(collectors.KIND, ReportObjects(self.reports, versions))] if self._settings.serves_live else []

    def _why(self, subject: Subject, key: Key) -> str | None:
        return self.store.why(subject, key)

    def _not_synced(self) -> str:
        missing = [reflector.name for reflector in self._reflectors if not reflector.synced.is_set()]
        if self.declarations is not None and not self.declarations.read_once.is_set():
            missing.append("declarations")
        if self.applications is not None and not self.applications.tried.is_set():
            missing.append("applications of Cozystack")
        return f"not listed yet: {', '.join(missing)}" if missing else ""

    def _is_listed(self, resource: Resource) -> bool:
        """Whether the first list of nodes or pods is whole."""
        return any(reflector.name == resource.name and reflector.synced.is_set() for reflector in self._reflectors)

    def _observe(self, created: int) -> None:
        self._metrics.served(self._clock.wall() - created / 1e9)

    def _first_round(self) -> bool:
        return self._pool is not None and self._pool.first_round_ended

    def _checks(self) -> HealthChecks:
        """The checks of metrics-server, by their names and in their order, for what reads them.

        livez holds only what a restart would mend: the loop's own pulse. The watches of a live process mend themselves.
        """
        common = (
            Check("ping", always_ok),
            Check("log", always_ok),
            Check("poststarthook/max-in-flight-filter", always_ok),
            Check("poststarthook/storage-object-count-tracker-hook", always_ok),
        )
        timely = Check("metric-collection-timely", self._heartbeat.late)
        informers = Check("metadata-informer-sync", self.readiness.informers)
        return HealthChecks(
            healthz=(*common, informers),
            livez=(*common, timely, Check("metadata-informer-sync", always_ok)),
            readyz=(
                *common,
                Check("metric-storage-ready", self.readiness.storage),
                Check("metric-informer-sync", self.readiness.informers),
                informers,
                Check("shutdown", self.readiness.shutdown),
            ),
        )


def _is_forbidden(watch: Reflector[Any]) -> bool:
    return watch.trouble is not None and watch.trouble.status == HTTPStatus.FORBIDDEN


def serve(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT; the exit code. Raises KubeglanceError for what keeps it from starting."""
    configure_logging(settings.logging_format, settings.v)
    try:
        uvloop.run(_serve(settings, SystemClock()))
    except* KubeglanceError as group:
        raise group.exceptions[0] from None
    return 0


async def _serve(settings: Settings, clock: Clock) -> None:
    raise_file_limit()
    files = serving_files(settings, clock)
    minimum = TLSVersion.TLSv1_3 if settings.tls_min_version == "VersionTLS13" else TLSVersion.TLSv1_2
    tls = ServerTLS(files.certificate, files.key, offer=Offer(openssl_names(settings.tls_cipher_suites), minimum))
    connection = config.load(settings.kubeconfig, clock=clock)
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(_listen(settings.bind_address, settings.secure_port))
        kubeglance = Kubeglance(settings, connection, clock=clock, registry=CollectorRegistry())
        stack.push_async_callback(kubeglance.aclose)
        kubeglance.trust.on_change(tls.use_bundle)
        server = Server(
            server_config(kubeglance.app, host=settings.bind_address, port=settings.secure_port, ssl_context=tls.context, lifespan=False),
            shutdown_delay=settings.shutdown_delay_duration,
            on_drain=kubeglance.drain,
        )
        supervisor = await stack.enter_async_context(Supervisor())
        kubeglance.start(supervisor)
        if kubeglance.declarations is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, kubeglance.declarations.reload)
        supervisor.guard("serving certificate", _every(_CERTIFICATE_S, tls.reload_if_changed))
        supervisor.guard("memory", partial(_tend_memory, kubeglance.readiness))
        _log.info("serving", address=settings.bind_address, port=settings.secure_port, kube_apiserver=connection.server)
        await server.serve(sockets=[listener])


async def _tend_memory(readiness: Readiness) -> None:
    while readiness.storage():
        await asyncio.sleep(_GIVE_BACK_S)
        memory.give_back()
    memory.settle()
    while True:
        await asyncio.sleep(_GIVE_BACK_S)
        memory.give_back()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, dualstack_ipv6=host == "::" and socket.has_dualstack_ipv6(), backlog=2048)
    except OSError as exc:
        raise KubeglanceError(f"cannot listen on {host} port {port}: {exc.strerror}; see --bind-address and --secure-port") from exc


def _every(seconds: float, act: Callable[[], object]) -> Callable[[], Awaitable[None]]:
    """A task that acts again and again."""

    async def run() -> None:
        while True:
            act()
            await asyncio.sleep(seconds)

    return run
