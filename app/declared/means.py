"""What sources of declarations are given to work with (collectors._source.Means), each within what its declaration may do."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from app.clock import Clock
from app.declared.declaration import AnyDeclaration
from app.declared.hosts import HostPolicy
from app.declared.http_client import open_client
from app.declared.mask import Mask
from app.declared.secrets import Secrets
from app.declared.tenants import Tenant
from app.http1.dialing import Resolver
from collectors._base import Cause, CollectError
from collectors._http_client import HttpClient, Trust
from collectors._prometheus_servers import Servers, ServerSpec
from collectors._source import Cluster, Evaluate, Limits, Means

_SERVER_TIMEOUT_S = 10.0
"""For connections to named servers, whose queries have the deadlines of who asks them."""


class Provider:
    """Makes the Means of declarations. Look-ups of all of them share the resolver's few threads."""

    def __init__(
        self,
        secrets: Secrets,
        mask: Mask,
        clock: Clock,
        *,
        resolver: Resolver | None = None,
        allowed_networks: Sequence[str] = (),
        folder: Path | None = None,
        servers: Mapping[str, ServerSpec] | None = None,
    ) -> None:
        """`allowed_networks` are those of --source-allowed-networks, `folder` is --source-dir, `servers` --prometheus-servers by name."""
        self.mask = mask
        self._secrets = secrets
        self._clock = clock
        self._resolver = resolver or Resolver()
        self._allowed_networks = allowed_networks
        self._folder = folder
        own = self._means("", None, Limits(), _SERVER_TIMEOUT_S)
        self._servers = Servers(servers or {}, own)

    def means(self, declaration: AnyDeclaration, tenant: Tenant | None = None, *, cluster: Cluster | None = None) -> Means:
        """For `declaration`. `tenant` is what its namespace may do, None where it is kubeglance's own; `cluster` is as it may see it."""
        spec, namespace = declaration.resource.spec, declaration.namespace
        limits = Limits(
            items=spec.limits.items, body_bytes=spec.limits.body_bytes, pages=spec.limits.pages, concurrency=spec.limits.concurrency
        )
        given = self._means(namespace, tenant, limits, spec.timeout)
        return replace(
            given,
            interval=spec.interval,
            cluster=cluster,
            prometheus=partial(self._servers.query, tenant=namespace if tenant is not None else ""),
        )

    def _means(self, namespace: str, tenant: Tenant | None, limits: Limits, timeout: float) -> Means:
        """For whoever reads Values of `namespace`, "" for kubeglance's own."""
        hosts = tenant.hosts if tenant is not None else None
        policy = HostPolicy(self._resolver, allowed_networks=self._allowed_networks, tenant_hosts=hosts)

        def http(trust: Trust) -> HttpClient:
            return open_client(trust, policy.may_reach, timeout)

        return Means(
            secret=lambda value: self._secrets.read(value, namespace),
            may_reach=policy.may_reach,
            compile_cel=compiled,
            limits=limits,
            timeout=timeout,
            wall=self._clock.wall,
            folder=self._folder if tenant is None else None,
            http=http,
            refused=lambda value: self._secrets.refused(value, namespace),
            conceal=self.mask.conceal,
        )

    async def aclose(self) -> None:
        """Close the connections to named servers, and end the look-ups."""
        await self._servers.aclose()
        self._resolver.close()


def compiled(text: str, variables: Sequence[str]) -> Evaluate:
    """See Means.compile_cel."""
    from app.declared.cel import CelError, compile_cel  # noqa: PLC0415 -- only sources with CEL of their own pay for its runtime

    def evaluate(program: Any, values: Mapping[str, Any]) -> Any:
        try:
            return program(values)
        except CelError as exc:
            raise CollectError(Cause.MAPPING, f"{text}: {exc.message}", "does the response look as the expression expects?") from exc

    try:
        return partial(evaluate, compile_cel(text, dict.fromkeys(variables)))
    except CelError as exc:
        raise CollectError(Cause.MAPPING, f"{text}: {exc.message}", "mend the expression: kubeglance check tells more") from exc
