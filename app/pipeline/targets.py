"""From a node and the settings to the URLs of its kubelet. Pure.

Both addresses and the path annotation are written by whoever may patch a Node, and our bearer token goes where they point: so what is
no address or no path is refused here, before it can turn into another host or another request.
"""

import re
from ipaddress import ip_address
from urllib.parse import quote

from app.kube.records import NodeRecord
from app.settings import Settings
from collectors._base import Cause, CollectError, Target

RESOURCE = "kubelet_resource"
"""The collector that the path annotation metrics.k8s.io/resource-metrics-path speaks of."""

_DNS_NAME = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9]([-A-Za-z0-9_]*[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9_]*[A-Za-z0-9])?)*\.?", re.ASCII)
_PATH_SAFE = "/%:@!$&'()*+,;=-._~"


def targets(node: NodeRecord, collector: str, settings: Settings) -> tuple[Target, ...]:
    """Where `collector` may scrape `node`: one target for each usable address, in order of preferred types, then of the node.

    Raises CollectError (ADDRESS) where there is none.
    """
    port = node.kubelet_port if settings.kubelet_use_node_status_port and 0 < node.kubelet_port < 65536 else settings.kubelet_port
    hosts: dict[str, None] = {}
    for wanted in settings.kubelet_preferred_address_types:
        for kind, address in node.addresses:
            host = _host(address) if kind == wanted else None
            if host is not None:
                hosts[host] = None
    if not hosts:
        has = ", ".join(f"{kind}={address[:64]}" for kind, address in node.addresses) or "none"
        raise CollectError(
            Cause.ADDRESS,
            f"node {node.name} has no usable address of the types {', '.join(settings.kubelet_preferred_address_types)} (it has: {has})",
            "see --kubelet-preferred-address-types, and the node's status.addresses",
        )
    path = _path(node.metrics_path) if collector == RESOURCE else ""
    return tuple(Target(name=node.name, url=f"https://{host}:{port}", path=path) for host in hosts)


def _host(address: str) -> str | None:
    """The address as the host of a URL, None if it is neither an IP nor a DNS name."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address if _DNS_NAME.fullmatch(address) else None
    if ip.version == 4:
        return str(ip)
    return None if "%" in address else f"[{ip}]"


def _path(annotation: str) -> str:
    """The annotation as a path that stays one: it begins with a slash and holds neither query, fragment nor line end."""
    if not annotation:
        return ""
    return "/" + quote(annotation.lstrip("/"), safe=_PATH_SAFE)
