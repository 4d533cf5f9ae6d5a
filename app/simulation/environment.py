"""The whole simulated world around a kubeglance: kubelets, kube-apiserver, a message broker, authorities, accounts, and the files that
lead to them."""

import asyncio
import secrets
import ssl
from pathlib import Path

import msgspec
import yaml

from app.certs import Authority, write_key
from app.clock import Clock
from app.simulation import declarations, queues
from app.simulation.accounts import Account, Accounts
from app.simulation.aggregator import Aggregator
from app.simulation.apiserver import ApiServer
from app.simulation.https import HttpsServer
from app.simulation.kubelet_server import KubeletServer, KubeletServerError
from app.simulation.model import SimulatedCluster

SERVICE_NAME = "kubeglance.kube-system.svc"
_FRONT_PROXY = "front-proxy-client"
_CLOSED_WITHIN = 3.0
_TRUST = {
    "requestheader-allowed-names": [_FRONT_PROXY],
    "requestheader-username-headers": ["X-Remote-User"],
    "requestheader-uid-headers": ["X-Remote-Uid"],
    "requestheader-group-headers": ["X-Remote-Group"],
    "requestheader-extra-headers-prefix": ["X-Remote-Extra-"],
}


class Environment:
    """Everything but kubeglance. `folder` takes kubeconfigs and certificates; it must be private to the user.

    `start` needs a TaskGroup for the kube-apiserver's server; `close` ends everything that `start` began.
    """

    def __init__(self, cluster: SimulatedCluster, clock: Clock, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.cluster_ca = Authority.create("simulated-cluster-ca", clock, days=30)
        self.front_proxy_ca = Authority.create("simulated-front-proxy-ca", clock, days=30)
        self.user = Account(token=secrets.token_urlsafe(24), name="demo", groups=("demo:viewers",), uid="demo")
        self.serving = Account(
            token=secrets.token_urlsafe(24),
            name="system:serviceaccount:kube-system:kubeglance",
            groups=("system:serviceaccounts", "system:serviceaccounts:kube-system"),
            reads="cluster",
            reviews=True,
        )
        self.kubelets = KubeletServer(cluster, self.cluster_ca, token=self.serving.token)
        self.api = ApiServer(cluster, Accounts([self.user, self.serving]), self._authentication())
        self.port = 0
        self.declarations = folder / "declarations"
        """Kinds that are declared. `start` writes two; whoever likes puts more there."""
        self._serving: set[asyncio.Task[None]] = set()
        self._https = HttpsServer(self.api, self.cluster_ca, ("kubernetes.default.svc",))
        self._broker = HttpsServer(queues.Queues(clock), self.cluster_ca)

    async def start(self, group: asyncio.TaskGroup, port: int = 0) -> None:
        """Kubelets, broker and kube-apiserver begin to answer; the last one on 127.0.0.1:`port`, 0 for any free port."""
        try:
            await self.kubelets.start()
        except KubeletServerError:
            # Some systems have 127.0.0.1 and no other loopback address: then the nodes differ by port.
            await self.kubelets.start_on_one_address()
        self.port = self._https.bind(port)
        (self.folder / "cluster-ca.crt").write_bytes(self.cluster_ca.certificate_pem)
        broker = f"https://127.0.0.1:{self._broker.bind()}{queues.PATH}"
        declarations.write(self.declarations, queues=broker, authority=self.cluster_ca.certificate_pem.decode())
        self._serving = {
            group.create_task(self._https.serve(), name="simulated-apiserver"),
            group.create_task(self._broker.serve(), name="simulated-broker"),
        }

    async def aggregate(self, port: int) -> None:
        """From now on /apis/ leads to the server on 127.0.0.1:`port`, over the front proxy."""
        certificate, key = self.front_proxy_ca.issue(_FRONT_PROXY, client=True, days=30)
        files = (self.folder / "front-proxy.crt", self.folder / "front-proxy.key")
        files[0].write_bytes(certificate)
        write_key(files[1], key)
        context = ssl.create_default_context(cadata=self.cluster_ca.certificate_pem.decode())
        context.load_cert_chain(*files)
        self.api.aggregator = Aggregator(f"https://127.0.0.1:{port}", SERVICE_NAME, context)

    async def close(self) -> None:
        """End watches, connections and listeners. May be called again, and before all was started."""
        self.api.end_watches()
        self._https.stop()
        self._broker.stop()
        if self._serving:
            await asyncio.wait(self._serving, timeout=_CLOSED_WITHIN)
        await self.kubelets.close()
        if self.api.aggregator is not None:
            await self.api.aggregator.close()

    def write_kubeconfig(self, account: Account, path: Path) -> None:
        """A kubeconfig of that account, complete in one file; it holds a token and is readable by its owner only."""
        authority = msgspec.json.decode(msgspec.json.encode(self.cluster_ca.certificate_pem))
        name = "kubeglance-demo"
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [{"name": name, "cluster": {"server": f"https://127.0.0.1:{self.port}", "certificate-authority-data": authority}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": account.name, "namespace": "default"}}],
            "users": [{"name": account.name, "user": {"token": account.token}}],
        }
        write_key(path, yaml.safe_dump(document, sort_keys=False).encode())

    def write_serving_certificate(self) -> tuple[Path, Path]:
        """The certificate and key files for kubeglance itself."""
        certificate, key = self.cluster_ca.issue(SERVICE_NAME, dns=[SERVICE_NAME, "localhost"], ips=["127.0.0.1"], server=True)
        files = (self.folder / "kubeglance.crt", self.folder / "kubeglance.key")
        files[0].write_bytes(certificate)
        write_key(files[1], key)
        return files

    def serve_arguments(self, port: int) -> list[str]:
        """Arguments of `kubeglance serve` on 127.0.0.1:`port` in this world. Writes the files that they name."""
        kubeconfig = self.folder / "kubeglance.kubeconfig"
        self.write_kubeconfig(self.serving, kubeconfig)
        certificate, key = self.write_serving_certificate()
        return [
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            f"--kubelet-certificate-authority={self.folder / 'cluster-ca.crt'}",
            "--kubelet-preferred-address-types=InternalIP",
            "--kubelet-use-node-status-port",
            "--metric-resolution=15s",
            f"--declarations={self.declarations}",
            "--shutdown-delay-duration=0s",
        ]

    def _authentication(self) -> dict[str, str]:
        """The data of ConfigMap kube-system/extension-apiserver-authentication."""
        return {
            "client-ca-file": self.cluster_ca.certificate_pem.decode(),
            "requestheader-client-ca-file": self.front_proxy_ca.certificate_pem.decode(),
            **{name: msgspec.json.encode(value).decode() for name, value in _TRUST.items()},
        }
