"""The real program, `python -m app serve`, as a child process that talks to a real kube-apiserver under a ServiceAccount's token."""

import signal
import ssl
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import httpx

from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.pki import KeyPair
from tests.e2e.controlplane.processes import Process, free_port, plain_environment
from tests.e2e.controlplane.programs import ROOT
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.registration import NAMESPACE, SERVICE, SERVICE_ACCOUNT

READY_SECONDS = 90.0


class Kubeglance:
    """One running kubeglance. In the routed profile it lives in a network namespace of its own, as in a pod."""

    def __init__(
        self,
        plane: ControlPlane,
        name: str,
        *,
        kubelet_authority: Path,
        flags: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        run_by: Sequence[str] = (),
        python: str = sys.executable,
    ) -> None:
        """Start it; `flags` come last, so that they win. `run_by` is a command that runs the one behind it, `python` the interpreter.

        Does not wait: see `wait_ready`.
        """
        self.plane = plane
        self.name = name
        self.netns: str | None = None
        self.address = "127.0.0.1"
        if plane.network:
            self.netns, self.address = plane.network.add_namespace()
        self.port = free_port()
        self.certificate = self._certificate()
        kubeconfig = plane.token_kubeconfig(NAMESPACE, SERVICE_ACCOUNT, name=name)
        self.token = kubeconfig.with_suffix(".token").read_text(encoding="ascii")
        self._command = [
            *run_by,
            python,
            "-m",
            "app",
            "serve",
            f"--bind-address={self.address}",
            f"--secure-port={self.port}",
            f"--tls-cert-file={self.certificate.certificate}",
            f"--tls-private-key-file={self.certificate.key}",
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            f"--kubelet-certificate-authority={kubelet_authority}",
            "--kubelet-use-node-status-port",
            "--kubelet-preferred-address-types=InternalIP",
            *flags,
        ]
        self._environment = plain_environment(HOME=str(plane.directory), PYTHONUNBUFFERED="1", **(environment or {}))
        self.process = self._start()

    @property
    def url(self) -> str:
        return f"https://{self.address}:{self.port}"

    @property
    def log(self) -> str:
        """All that it has logged."""
        return self.process.text()

    def client(self, *, token: str = "", certificate: KeyPair | None = None) -> httpx.Client:
        """A client that calls it directly, not through the aggregator; the caller closes it."""
        context = ssl.create_default_context(cafile=self.plane.pki.serving.certificate)
        if certificate:
            context.load_cert_chain(*certificate)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, verify=context, headers=headers, timeout=30, trust_env=False)

    def get(self, path: str, *, token: str = "", headers: Mapping[str, str] | None = None) -> httpx.Response:
        """One direct GET on a connection of its own."""
        with self.client(token=token) as client:
            return client.get(path, headers=headers)

    def is_ready(self) -> bool:
        """What a readiness probe would see: False also if there is no answer."""
        try:
            return self.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def wait_ready(self) -> "Kubeglance":
        """Wait for /readyz. Raises ProcessDied with the end of its log if it ended."""

        def look() -> bool:
            self.process.check()
            return self.is_ready()

        wait_until(f"{self.name} ready", look, seconds=READY_SECONDS)
        return self

    def drain(self) -> None:
        """SIGTERM, as when its pod is deleted; does not wait."""
        self.process.signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL: it can say no goodbye."""
        self.process.signal(signal.SIGKILL)
        self.process.wait(10)

    def restart(self) -> None:
        """Start it again with the same command in the same place."""
        self.process.stop()
        self.process = self._start()

    def close(self) -> None:
        """End it."""
        self.process.stop(30)

    def __enter__(self) -> "Kubeglance":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
        if kind is not None:
            end = "\n".join(self.log.splitlines()[-40:])
            print(f"the end of the log of {self.name}:\n{end}", flush=True)

    def _start(self) -> Process:
        log = self.plane.directory / f"{self.name}.log"
        return Process(self.name, self._command, log, env=self._environment, cwd=ROOT, netns=self.netns)

    def _certificate(self) -> KeyPair:
        host = f"{SERVICE}.{NAMESPACE}"
        names = ["localhost", SERVICE, host, f"{host}.svc", f"{host}.svc.cluster.local"]
        return self.plane.pki.serving.server(self.name, f"{host}.svc", dns=names, ips=[self.address])
