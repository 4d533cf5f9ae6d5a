"""The one client of all kubelets: one connection a node, kept alive between scrapes, shared by both collectors."""

import resource

import structlog

from app.http1.channel import Dialer
from app.kube.config import Connection, client_context
from app.kube.credentials import FixedCredentials
from app.kubelet.client import KubeletClient
from app.kubelet.tls_socket import TlsDialer
from app.settings import Settings

_KEEPALIVE_CAP_S = 80.0
"""Go's HTTP servers, a kubelet among them, close idle connections after 90 s or more; being first avoids the race."""

_CONNECT_S = 4.0
_SPARE_FILES = 64
log = structlog.get_logger(__name__)


def kubelet_client(settings: Settings, connection: Connection, *, dialer: Dialer | None = None) -> KubeletClient:
    """The client that collectors get. Close it at the end. Raises KubeError for certificate files that cannot be used.

    The whole scrape has a deadline of the loop; here only the connection attempt has one, short enough that the next address of a node
    still gets its chance. Without a client certificate for kubelets we are to them who we are to kube-apiserver, by token or by
    certificate; with one the token is not sent.
    """
    if dialer is None:
        context = client_context(
            settings.kubelet_certificate_authority or connection.ca_file,
            certificate=settings.kubelet_client_certificate or connection.certificate,
            key=settings.kubelet_client_key if settings.kubelet_client_certificate else connection.key,
            verify=not settings.kubelet_insecure_tls,
        )
        dialer = TlsDialer(context)
    interval = max(
        settings.metric_resolution if settings.kubelet_resource else 0.0,
        settings.kubelet_summary_interval if settings.kubelet_summary else 0.0,
    )
    return KubeletClient(
        dialer,
        connection.credentials if settings.kubelet_client_certificate is None else FixedCredentials(),
        keepalive=min(2.5 * interval, _KEEPALIVE_CAP_S),
        connect_timeout=min(_CONNECT_S, settings.kubelet_request_timeout / 2),
    )


def raise_file_limit(nodes: int = 0) -> int:
    """Raise the soft limit of open files to the hard one; the limit that now holds. Warns if `nodes` connections do not fit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard and (hard == resource.RLIM_INFINITY or soft < hard):
        wanted = 1_048_576 if hard == resource.RLIM_INFINITY else hard
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (OSError, ValueError) as exc:
            log.warning("cannot raise the limit of open files", limit=soft, error=str(exc))
    if 0 <= soft < nodes + _SPARE_FILES:
        log.warning(
            "too few open files are allowed: each node needs one; raise the container's limit (RLIMIT_NOFILE)", limit=soft, nodes=nodes
        )
    return soft
