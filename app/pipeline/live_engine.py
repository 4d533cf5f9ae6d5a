"""From texts to served kinds: loads them, beside what the cluster serves, and hands on what is in force.

Imported when something is declared, and not before: with it come models, checks, and CEL.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

import structlog

from app.auth.access import AccessReviewer
from app.cache.reports import Reports
from app.cache.versions import Versions
from app.clock import Clock
from app.declared.below import Means
from app.declared.declaration import AnyDeclaration
from app.declared.loader import Loader
from app.declared.mask import Mask
from app.declared.means import Provider
from app.declared.pod_logs import PodLogs
from app.declared.secrets import Secrets
from app.declared.served_names import ServedNames, served_names
from app.declared.tenants import Tenant
from app.declared.texts import Text
from app.errors import KubeError
from app.kinds._catalog import Catalog
from app.kube.client import KubeClient
from app.kube.objects import ClusterWatches
from app.pipeline.apart import Apart
from app.pipeline.live_kinds import LiveKinds, MetricSinks, compiled
from app.pipeline.live_loop import Opener, Surroundings
from app.pipeline.supervise import Children
from app.settings import Settings
from app.telemetry import Metrics
from collectors import sources
from collectors._prometheus_servers import ServerSpec

log = structlog.get_logger(__name__)


class LiveEngine:
    """See declarations.Engine. `apply` is not called again before it has ended."""

    def __init__(
        self,
        loader: Loader,
        live_kinds: LiveKinds,
        client: KubeClient,
        apart: Apart,
        *,
        namespace: str,
        service: str,
        close: Callable[[], Awaitable[None]],
    ) -> None:
        """`namespace` and `service` are kubeglance's own: APIServices that lead there are ours. `close` gives back what sources share."""
        self._loader = loader
        self._live_kinds = live_kinds
        self._client = client
        self._apart = apart
        self._namespace = namespace
        self._service = service
        self._close = close
        self._told = ""
        self._taken: tuple[Sequence[Text], dict[str, Tenant]] | None = None

    async def apply(self, texts: Sequence[Text], tenants: dict[str, Tenant]) -> bool:
        """Serve what is good of `texts`. False if nobody could tell what the cluster serves: then clashes with that are not seen yet."""
        cluster = await self._cluster()
        if cluster is None and self._taken == (texts, tenants):
            return False
        loaded = await self._apart(lambda: self._loader.load(texts, tenants, cluster))
        await self._live_kinds.apply(loaded, tenants)
        self._taken = (texts, tenants)
        return cluster is not None

    async def aclose(self) -> None:
        """Call it when nothing is collected any more."""
        await self._close()

    async def _cluster(self) -> ServedNames | None:
        try:
            served = await served_names(self._client, namespace=self._namespace, service=self._service)
        except KubeError as exc:
            if str(exc) != self._told:
                log.warning(
                    "cannot find out which groups and names the cluster serves; declarations are not compared with them", error=str(exc)
                )
            self._told = str(exc)
            return None
        self._told = ""
        return served


def create_engine(
    settings: Settings,
    *,
    namespace: str,
    client: KubeClient,
    clock: Clock,
    versions: Versions,
    catalog: Catalog,
    access: AccessReviewer,
    reports: Reports,
    metrics: Metrics,
    served_metrics: MetricSinks,
    servers: Mapping[str, ServerSpec],
    apart: Apart,
    loops: Children,
    watches: Children,
) -> LiveEngine:
    """All that makes served kinds and metrics of texts. `loops` run declarations, `watches` the objects of the cluster that they are made
    of; `served_metrics` takes metrics. `servers` are those of --prometheus-servers."""
    mask = Mask()
    secrets = Secrets(
        client,
        own_namespace=namespace,
        mask=mask,
        clock=clock,
        directory=settings.secret_dir,
        env_prefix=settings.secret_env_prefix,
    )
    provider = Provider(
        secrets, mask, clock, allowed_networks=settings.source_allowed_networks, folder=settings.source_dir, servers=servers
    )
    live_kinds = LiveKinds(
        catalog,
        Surroundings(clock, versions, reports, metrics, apart, mask),
        loops,
        open_=partial(_opener, provider=provider, client=client, clock=clock, watches=watches),
        compile_=partial(compiled, means=Means(clock, mask, PodLogs(client, access))),
        metrics=served_metrics,
    )
    return LiveEngine(
        Loader(own=namespace, servers=servers),
        live_kinds,
        client,
        apart,
        namespace=namespace,
        service=settings.service,
        close=provider.aclose,
    )


def _opener(
    declaration: AnyDeclaration, tenant: Tenant | None, *, provider: Provider, client: KubeClient, clock: Clock, watches: Children
) -> Opener:
    """How the source of a declaration is opened, within what a tenant may do."""
    ((name, said),) = declaration.resource.spec.source.items()
    source = sources()[name]
    spec = source.spec.model_validate(said)
    cluster = ClusterWatches(client, clock, watches, declaration=declaration.name, namespace=declaration.namespace)
    return Opener(name, source.endpoint(spec), lambda: source.open(spec, provider.means(declaration, tenant, cluster=cluster)))
