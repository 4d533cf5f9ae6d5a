"""From settings to an adapter that serves its file."""

from collections.abc import Callable
from pathlib import Path

from app.adapter.adapter import Adapter
from app.adapter.config import ResourceRules
from app.adapter.offline import read_config
from app.adapter.prometheus import Prometheus, Server
from app.adapter.provider import DescribedObjects
from app.adapter.resources import Client
from app.cache.reports import Reports
from app.clock import Clock
from app.declared.hosts import HostPolicy
from app.errors import KubeglanceError
from app.http1.dialing import Resolver
from app.kube import config
from app.settings import Settings, flag_name


def server(settings: Settings, clock: Clock) -> Server:
    """The Prometheus that settings describe. Raises KubeError for a kubeconfig that cannot be used."""
    connection = None
    if settings.prometheus_auth_config is not None:
        connection = config.load(settings.prometheus_auth_config, clock=clock, flag=flag_name("prometheus_auth_config"))
    elif settings.prometheus_auth_incluster:
        connection = config.in_cluster(clock=clock)
    return Server(
        url=settings.prometheus_url,
        verb=settings.prometheus_verb,
        headers=tuple((name, value) for name, _, value in (header.partition("=") for header in settings.prometheus_header)),
        token_file=settings.prometheus_token_file,
        ca_file=settings.prometheus_ca_file,
        certificate=settings.prometheus_client_tls_cert_file,
        key=settings.prometheus_client_tls_key_file,
        connection=connection,
    )


def create_prometheus(settings: Settings, clock: Clock) -> Prometheus:
    """A client of it. The operator has named the host: only metadata services are out of reach, as for all sources."""
    policy = HostPolicy(Resolver(), allowed_networks=settings.source_allowed_networks)
    return Prometheus(server(settings, clock), policy.may_reach)


def resource_rules(settings: Settings) -> ResourceRules | None:
    """The resourceRules that stand in for kubelets; None where these are asked. Raises KubeglanceError where nothing would be collected."""
    if settings.kubelet_resource or settings.kubelet_summary or settings.config is None:
        return None
    config = read_config(settings.config)
    if config.resource_rules is None:
        faults = "; ".join(str(fault) for fault in config.faults)
        raise KubeglanceError(
            f"--kubelet-resource and --kubelet-summary are both off, and {settings.config} has no resourceRules that can be used: "
            f"nothing would be collected{f' ({faults})' if faults else ''}"
        )
    return config.resource_rules


def create_adapter(
    settings: Settings,
    file: Path,
    *,
    objects: DescribedObjects,
    client: Client,
    clock: Clock,
    reports: Reports,
    changed: Callable[[], None],
) -> Adapter:
    """The adapter of --config. Raises KubeError."""
    return Adapter(
        file,
        create_prometheus(settings, clock),
        objects=objects,
        client=client,
        clock=clock,
        reports=reports,
        relist_interval=settings.metrics_relist_interval,
        max_age=settings.metrics_max_age or settings.metrics_relist_interval,
        query_interval=settings.prometheus_query_interval,
        changed=changed,
        asks_kubelets=settings.kubelet_resource or settings.kubelet_summary,
    )
