"""The real metrics-server beside kubeglance: same cluster, same kubelets, asked directly and never registered."""

import ssl
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx

from tests.e2e.controlplane import ControlPlane, programs
from tests.e2e.controlplane.processes import Process, free_port, plain_environment
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.registration import NAMESPACE, SERVICE, SERVICE_ACCOUNT

API = "/apis/metrics.k8s.io/v1beta1"


class MetricsServer:
    """A running metrics-server with the rights of kubeglance's own ServiceAccount (see registration.py)."""

    name = "metrics-server"

    def __init__(self, plane: ControlPlane, *, resolution: str, flags: Sequence[str] = ()) -> None:
        """Start it; `flags` come last, so that they win. Does not wait: it has nothing to serve before its second round."""
        host = f"{SERVICE}.{NAMESPACE}.svc"
        pair = plane.pki.serving.server("peer", host, dns=["localhost", host], ips=["127.0.0.1"])
        self.port = free_port()
        kubeconfig = plane.token_kubeconfig(NAMESPACE, SERVICE_ACCOUNT, name="peer")
        self.token = kubeconfig.with_suffix(".token").read_text(encoding="ascii")
        command: list[str | Path] = [
            programs.path("metrics-server"),
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={pair.certificate}",
            f"--tls-private-key-file={pair.key}",
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            f"--kubelet-certificate-authority={plane.pki.kubelets.certificate}",
            "--kubelet-use-node-status-port",
            "--kubelet-preferred-address-types=InternalIP",
            f"--metric-resolution={resolution}",
            *flags,
        ]
        self.process = Process(self.name, command, plane.directory / "peer.log", env=plain_environment())
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

    def wait_alive(self) -> "MetricsServer":
        """Until it answers at all."""

        def look() -> bool:
            self.process.check()
            try:
                return self._client.get("/livez").status_code == 200
            except httpx.TransportError as error:
                raise OSError(str(error)) from error

        wait_until("metrics-server alive", look, seconds=60)
        return self

    def items(self, path: str) -> list[dict[str, Any]]:
        """The items of a list, none while it has nothing to serve."""
        answer = self._client.get(f"{API}/{path}")
        found: list[dict[str, Any]] = answer.json()["items"] if answer.status_code == 200 else []
        return found

    def __enter__(self) -> "MetricsServer":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
