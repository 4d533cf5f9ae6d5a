"""The servers that kubeglance takes the place of, as they are released: same cluster, same sources, asked directly and never registered."""

import ssl
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from tests.e2e.controlplane import ControlPlane, programs
from tests.e2e.controlplane.processes import Process, free_port, plain_environment
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.registration import NAMESPACE, SERVICE, SERVICE_ACCOUNT

API = "/apis/metrics.k8s.io/v1beta1"


class Peer:
    """A running one, with the rights of kubeglance's own ServiceAccount (see registration.py)."""

    name = ""
    """That of its program too."""

    kubeconfig_flag = ""
    """The flag that takes its kubeconfig."""

    def __init__(self, plane: ControlPlane, flags: Sequence[str]) -> None:
        """Start it. Does not wait: see `wait_alive`."""
        host = f"{SERVICE}.{NAMESPACE}.svc"
        self.port = free_port()
        unique = f"{self.name}-{self.port}"
        pair = plane.pki.serving.server(unique, host, dns=["localhost", host], ips=["127.0.0.1"])
        kubeconfig = plane.token_kubeconfig(NAMESPACE, SERVICE_ACCOUNT, name=unique)
        self.token = kubeconfig.with_suffix(".token").read_text(encoding="ascii")
        command: list[str | Path] = [
            programs.path(self.name),
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={pair.certificate}",
            f"--tls-private-key-file={pair.key}",
            f"--{self.kubeconfig_flag}={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            *flags,
        ]
        self.process = Process(self.name, command, plane.directory / f"{unique}.log", env=plain_environment())
        context = ssl.create_default_context(cafile=plane.pki.serving.certificate)
        context.load_cert_chain(*plane.pki.cluster.client("peer-reader", "peer-reader", ["system:masters"]))
        self._client = httpx.Client(base_url=self.url, verify=context, timeout=10, trust_env=False)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def close(self) -> None:
        """End it."""
        self._client.close()
        self.process.stop()

    def wait_alive(self) -> Self:
        """Until it answers at all."""

        def look() -> bool:
            self.process.check()
            try:
                return self.get("/livez").status_code == 200
            except httpx.TransportError as error:
                raise OSError(str(error)) from error

        wait_until(f"{self.name} alive", look, seconds=60)
        return self

    def get(self, path: str) -> httpx.Response:
        """What it answers to somebody who may do everything."""
        return self._client.get(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class MetricsServer(Peer):
    """metrics-server. It has nothing to serve before its second round."""

    name = "metrics-server"
    kubeconfig_flag = "kubeconfig"

    def __init__(self, plane: ControlPlane, *, resolution: str, flags: Sequence[str] = ()) -> None:
        """`flags` come last, so that they win."""
        authority = plane.pki.kubelets.certificate
        usual = [f"--kubelet-certificate-authority={authority}", "--kubelet-use-node-status-port"]
        usual += ["--kubelet-preferred-address-types=InternalIP", f"--metric-resolution={resolution}"]
        super().__init__(plane, [*usual, *flags])

    def items(self, path: str) -> list[dict[str, Any]]:
        """The items of a list, none while it has nothing to serve."""
        answer = self.get(f"{API}/{path}")
        found: list[dict[str, Any]] = answer.json()["items"] if answer.status_code == 200 else []
        return found


class PrometheusAdapter(Peer):
    """prometheus-adapter. It has nothing to serve before it has listed the series of each rule once."""

    name = "prometheus-adapter"
    kubeconfig_flag = "lister-kubeconfig"

    def __init__(self, plane: ControlPlane, *, arguments: Sequence[str], flags: Sequence[str] = ()) -> None:
        """`arguments` are those that name its file and its Prometheus, `flags` come last."""
        super().__init__(plane, [*arguments, *flags])
