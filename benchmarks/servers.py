"""The servers that are measured: peers as they are released, and kubeglance in three widths: one source, both, all that is on by default.

All have TLS with certificates of one authority, tokens of one ServiceAccount with the same RBAC, the same kubelets, the same resolution.
"""

import itertools
import signal
import ssl
from collections.abc import Callable
from dataclasses import dataclass

import httpx

from benchmarks import released
from benchmarks.processes import ProcessTree
from benchmarks.scenarios import RESOLUTION
from tests.e2e.controlplane import ControlPlane
from tests.e2e.kubeglance import Kubeglance
from tests.e2e.peer import MetricsServer, Peer

API = "/apis/metrics.k8s.io/v1beta1"

_serial = itertools.count()


@dataclass(frozen=True)
class Server:
    """One that runs. `reader` is the token of a client that may read everything."""

    name: str
    program: Kubeglance | Peer
    plane: ControlPlane
    reader: str

    @property
    def headers(self) -> dict[str, str]:
        """What that client sends with each request."""
        return {"Authorization": f"Bearer {self.reader}"}

    @property
    def url(self) -> str:
        return self.program.url

    @property
    def port(self) -> int:
        return self.program.port

    @property
    def token(self) -> str:
        """What it shows to kubelets."""
        return self.program.token

    @property
    def processes(self) -> ProcessTree:
        """Its processes. Raises ProcessDied if it ended by itself."""
        self.check()
        return ProcessTree(self.program.process.pid)

    def check(self) -> None:
        """Raise ProcessDied if it ended by itself."""
        self.program.process.check()

    def client(self) -> httpx.Client:
        """Asks it directly, verifies its certificate; the caller closes it."""
        context = ssl.create_default_context(cafile=self.plane.pki.serving.certificate)
        return httpx.Client(base_url=self.url, verify=context, headers=self.headers, timeout=30, trust_env=False)

    def close(self) -> None:
        """End it at once: nobody waits for its goodbye."""
        self.program.process.signal(signal.SIGKILL)
        self.program.close()


Start = Callable[[ControlPlane, str], Server]
"""Starts a server; the token is that of the reader."""


def metrics_server(plane: ControlPlane, reader: str) -> Server:
    """metrics-server with the flags of its released manifest, but for files, addresses and ports."""
    return Server(MetricsServer.name, MetricsServer(plane, resolution=f"{RESOLUTION}s"), plane, reader)


def kubeglance(plane: ControlPlane, reader: str) -> Server:
    """kubeglance as it is by default: /metrics/resource every 15 s, the full /stats/summary every 30 s, live kinds."""
    return start_kubeglance("kubeglance-live", plane, reader)


def kubeglance_both(plane: ControlPlane, reader: str) -> Server:
    """kubeglance that serves metrics.k8s.io only, from both sources: /stats/summary is asked in short."""
    return start_kubeglance("kubeglance-both", plane, reader, "--live-kinds=false")


def kubeglance_resource(plane: ControlPlane, reader: str) -> Server:
    """kubeglance that serves what metrics-server serves, and asks what that asks: /metrics/resource."""
    return start_kubeglance("kubeglance", plane, reader, "--live-kinds=false", "--kubelet-summary=false")


def start_kubeglance(name: str, plane: ControlPlane, reader: str, *flags: str) -> Server:
    """kubeglance with these flags beside the usual ones."""
    made = Kubeglance(
        plane,
        f"{name}-{next(_serial)}",
        kubelet_authority=plane.pki.kubelets.certificate,
        flags=[f"--metric-resolution={RESOLUTION}s", *flags],
        # As its image has it, it is read from bytecode; the first start writes what is missing.
        environment={"PYTHONDONTWRITEBYTECODE": ""},
        python=str(released.PYTHON),
    )
    return Server(name, made, plane, reader)
