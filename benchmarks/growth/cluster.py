"""One size: the kubelets, a kube-apiserver and kubeglance, each a process of its own, with TLS and tokens between them."""

import json
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import yaml

from app.clock import SystemClock
from benchmarks import released
from benchmarks.growth.pace import Server
from benchmarks.plan import Plan, plan_arguments
from benchmarks.processes import ProcessTree
from benchmarks.scenarios import RESOLUTION
from tests.e2e.controlplane.pki import FiledAuthority
from tests.e2e.controlplane.processes import Process, free_port, plain_environment
from tests.e2e.controlplane.programs import ROOT
from tests.e2e.controlplane.waiting import wait_until

API = "/apis/metrics.k8s.io/v1beta1"
TOKEN = "a-token-of-the-simulated-cluster"
LATE_S = 1.05 * RESOLUTION
_SCRAPED = "/metrics/resource"
_YOUNGEST_S = 600
_STARTED_WITHIN_S = 120


@dataclass(frozen=True)
class Counts:
    """How often all kubelets together were asked for /metrics/resource, and how often later than LATE_S after the time before."""

    scrapes: int
    late: int


class Grown:
    """All of one size. `kubeglance` is what is measured."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        """Starts everything; kubelets and kube-apiserver are up when it is made, kubeglance has just been started."""
        self.plan = plan
        self._folder = folder
        self._authority = FiledAuthority("authority", folder)
        self._processes: list[Process] = []
        kubelet_port, self._control_port = free_port(), free_port()
        try:
            self._start_kubelets(kubelet_port)
            kubeconfig = self._start_apiserver(kubelet_port)
            self.port = free_port()
            self._start_kubeglance(kubeconfig)
        except BaseException:
            self.close()
            raise

    def server(self) -> Server:
        """How to ask kubeglance."""
        headers = f"Host: 127.0.0.1\r\nAccept: application/json\r\nAuthorization: Bearer {TOKEN}"
        return Server(self.port, self._trusting(), headers)

    def client(self) -> httpx.Client:
        """An ordinary client of kubeglance; the caller closes it."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        url = f"https://127.0.0.1:{self.port}"
        return httpx.Client(base_url=url, verify=self._trusting(), headers=headers, timeout=60, trust_env=False)

    @property
    def kubeglance(self) -> ProcessTree:
        """Its processes. Raises ProcessDied if any program has ended."""
        for process in self._processes:
            process.check()
        return ProcessTree(self._processes[-1].pid)

    @property
    def log(self) -> str:
        """All that kubeglance has logged."""
        return self._processes[-1].text()

    def counts(self) -> Counts:
        """What the kubelets have been asked until now."""
        found = httpx.get(f"http://127.0.0.1:{self._control_port}/", trust_env=False).json()
        scrapes = sum(row["answers"] for row in found["answered"] if row["path"] == _SCRAPED)
        late = sum(times for row in found["gaps"] if row["path"] == _SCRAPED for gap, times in row["gaps"] if gap > LATE_S)
        return Counts(scrapes, late)

    def close(self) -> None:
        """End all of it, kubeglance first."""
        for process in reversed(self._processes):
            process.stop()
        self._processes.clear()

    def _run(self, name: str, *command: str, python: str = sys.executable) -> Process:
        log = self._folder / f"{name}.log"
        process = Process(name, [python, "-m", *command], log, env=plain_environment(HOME=str(self._folder)), cwd=ROOT)
        self._processes.append(process)
        return process

    def _start_kubelets(self, port: int) -> None:
        files = [f"--ca-certificate={self._authority.certificate}", f"--ca-key={self._authority.certificate.with_suffix('.key')}"]
        ports = [f"--port={port}", f"--control-port={self._control_port}"]
        self._await_listening(self._run("kubelets", "benchmarks.kubelets", *plan_arguments(self.plan), *ports, *files))

    def _start_apiserver(self, kubelet_port: int) -> Path:
        """Starts it; answers a kubeconfig for it."""
        port = free_port()
        pair = self._authority.server("apiserver", "kube-apiserver", dns=["localhost"], ips=["127.0.0.1"])
        pem = self._authority.pem.decode()
        trust = self._folder / "trust.json"
        front_proxy = FiledAuthority("front-proxy", self._folder).pem.decode()
        names = {"requestheader-allowed-names": '["front-proxy-client"]', "requestheader-username-headers": '["X-Remote-User"]'}
        trust.write_text(json.dumps({"client-ca-file": pem, "requestheader-client-ca-file": front_proxy, **names}), encoding="utf-8")
        files = [f"--certificate={pair.certificate}", f"--key={pair.key}", f"--trust={trust}"]
        ports = [f"--port={port}", f"--kubelet-port={kubelet_port}"]
        self._await_listening(self._run("apiserver", "benchmarks.apiserver", *plan_arguments(self.plan), *ports, *files))
        kubeconfig = self._folder / "kubeconfig"
        cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority": str(self._authority.certificate)}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "growth",
            "clusters": [{"name": "growth", "cluster": cluster}],
            "contexts": [{"name": "growth", "context": {"cluster": "growth", "user": "kubeglance"}}],
            "users": [{"name": "kubeglance", "user": {"token": TOKEN}}],
        }
        kubeconfig.write_text(yaml.safe_dump(document), encoding="utf-8")
        return kubeconfig

    def _start_kubeglance(self, kubeconfig: Path) -> None:
        """With both collectors and the intervals that are its defaults, for metrics.k8s.io only."""
        pair = self._authority.server("kubeglance", "kubeglance", dns=["localhost"], ips=["127.0.0.1"])
        self._run(
            "kubeglance",
            "app",
            "serve",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={pair.certificate}",
            f"--tls-private-key-file={pair.key}",
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            f"--kubelet-certificate-authority={self._authority.certificate}",
            "--kubelet-use-node-status-port",
            "--kubelet-preferred-address-types=InternalIP",
            f"--metric-resolution={RESOLUTION}s",
            "--live-kinds=false",
            "--shutdown-delay-duration=0s",
            python=str(released.PYTHON),
        )

    def _await_listening(self, process: Process) -> None:
        def look() -> bool:
            process.check()
            return "listening" in process.text()

        wait_until(f"{process.name} listens", look, seconds=_STARTED_WITHIN_S, every=0.1)

    def _trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._authority.certificate)


@contextmanager
def grown(nodes: int, pods: int, containers: int, folder: Path) -> Iterator[Grown]:
    """A cluster of that size, ended at the end. Raises ProcessDied, WaitedInVain."""
    folder.mkdir()
    cluster = Grown(Plan(nodes, pods, containers, since=int(SystemClock().wall()) - _YOUNGEST_S), folder)
    try:
        yield cluster
    finally:
        cluster.close()
