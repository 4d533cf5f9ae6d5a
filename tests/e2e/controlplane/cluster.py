"""One throw-away Kubernetes control plane: etcd, kube-apiserver with its aggregator, kube-controller-manager."""

import ssl
import subprocess
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import yaml

from tests.e2e.controlplane import programs
from tests.e2e.controlplane.network import Network
from tests.e2e.controlplane.pki import KeyPair, Pki
from tests.e2e.controlplane.processes import Process, free_port, plain_environment
from tests.e2e.controlplane.waiting import wait_until

NEEDED = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")


class Profile(Enum):
    """How the aggregator finds an aggregated server.

    LOOPBACK: through a Service of type ExternalName, "localhost". ROUTED: through the EndpointSlices of a Service of type ClusterIP
    (--enable-aggregator-routing), as in clusters with several replicas; only here missing endpoints make an APIService unavailable.
    """

    LOOPBACK = "loopback"
    ROUTED = "routed"


class ControlPlane:
    """A running control plane. Users: admin (system:masters), alice (group dev), bob (no group); `add_user` makes more."""

    def __init__(self, directory: Path, profile: Profile) -> None:
        """Makes certificates and starts nothing; use `ControlPlane.start`."""
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory.resolve()
        self.profile = profile
        self.network = Network() if profile is Profile.ROUTED else None
        self.address = self.network.address if self.network else "127.0.0.1"
        self.pki = Pki(self.directory / "pki")
        self.port = free_port(self.address)
        self.server = f"https://{self.address}:{self.port}"
        self._apiserver: Process | None = None
        self._others: list[Process] = []
        ips = sorted({"127.0.0.1", "10.96.0.1", self.address})
        names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        self._serving = self.pki.cluster.server("kube-apiserver", "kube-apiserver", dns=names, ips=ips)
        self._proxy = self.pki.front_proxy.client("front-proxy", "front-proxy-client")
        self._users: dict[str, KeyPair] = {}
        self.add_user("admin", groups=["system:masters"])
        self.add_user("controllers", common_name="system:kube-controller-manager")
        self.add_user("alice", groups=["dev"])
        self.add_user("bob")

    @classmethod
    def start(cls, directory: Path, *, profile: Profile = Profile.LOOPBACK, controllers: bool = True) -> "ControlPlane":
        """Start all three programs in `directory` and wait until kube-apiserver is ready and its controllers have begun.

        Without `controllers` there is no kube-controller-manager: nothing then follows up on what is made.
        Raises FileNotFoundError if a program is missing, ProcessDied if one ends at once, WaitedInVain.
        """
        plane = cls(directory, profile)
        try:
            plane._start_etcd()
            plane.start_apiserver()
            if controllers:
                plane._start_controllers()
        except BaseException:
            plane.stop()
            raise
        return plane

    def stop(self) -> None:
        """Stop controllers, kube-apiserver, etcd, in this order: a kube-apiserver whose etcd is gone takes long to stop."""
        for process in [*reversed(self._others[1:]), *([self._apiserver] if self._apiserver else []), *self._others[:1]]:
            process.stop()
        self._others.clear()
        self._apiserver = None
        if self.network:
            self.network.remove()

    def __enter__(self) -> "ControlPlane":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    # Users and clients

    def add_user(self, name: str, *, groups: Sequence[str] = (), common_name: str = "") -> Path:
        """A user with a client certificate; answers their kubeconfig."""
        pair = self._users[name] = self.pki.cluster.client(f"user-{name}", common_name or name, groups)
        return self._write_kubeconfig(name, {"client-certificate": str(pair.certificate), "client-key": str(pair.key)})

    def kubeconfig(self, user: str = "admin") -> Path:
        """The file for a user (or a service account whose file was made before)."""
        return self.directory / f"{user}.kubeconfig"

    def token(self, namespace: str, service_account: str, *, duration: str = "2h") -> str:
        """A fresh token of a ServiceAccount."""
        return self.kubectl("create", "token", service_account, "-n", namespace, "--duration", duration).stdout.strip()

    def token_kubeconfig(self, namespace: str, service_account: str, *, name: str = "") -> Path:
        """A kubeconfig with a token file of its own, as a pod has its token in a file that the kubelet renews.

        `name` (namespace-serviceaccount if not given) is then a user of `kubectl`.
        """
        name = name or f"{namespace}-{service_account}"
        file = self.directory / f"{name}.token"
        file.write_text(self.token(namespace, service_account), encoding="ascii")
        file.chmod(0o600)
        return self._write_kubeconfig(name, {"tokenFile": str(file)})

    def client(self, user: str = "admin") -> httpx.Client:
        """An HTTP client of kube-apiserver under a user's certificate; the caller closes it."""
        return httpx.Client(base_url=self.server, verify=self.tls(user), timeout=30, trust_env=False)

    def tls(self, user: str = "admin") -> ssl.SSLContext:
        """What a client of kube-apiserver needs: trust in its certificate, and that of a user."""
        context = ssl.create_default_context(cafile=self.pki.cluster.certificate)
        context.load_cert_chain(*self._users[user])
        return context

    def kubectl(
        self, *args: str, user: str = "admin", text: str | None = None, check: bool = True, seconds: float = 120
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as a user, `text` being its standard input. A failure raises AssertionError with its words unless check is False.

        Every user has a discovery cache in this control plane's directory, never that of the home directory.
        """
        command = [
            str(programs.path("kubectl")),
            f"--kubeconfig={self.kubeconfig(user)}",
            f"--cache-dir={self.directory}/cache-{user}",
            *args,
        ]
        environment = plain_environment(HOME=str(self.directory))
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=seconds, env=environment)
        if check and done.returncode:
            words = done.stderr.strip() or done.stdout.strip()
            raise AssertionError(f"kubectl {' '.join(args)} as {user} ended with {done.returncode}: {words}")
        return done

    def apply(self, objects: str | Sequence[dict[str, Any]]) -> None:
        """`kubectl apply` of YAML text or of a list of objects."""
        self.kubectl("apply", "-f", "-", text=objects if isinstance(objects, str) else yaml.safe_dump_all(objects))

    # kube-apiserver comes and goes

    def start_apiserver(self) -> None:
        """Start kube-apiserver, again on the same port, and wait until it is ready."""
        etcd = self._etcd_url
        pki = self.pki
        flags = [
            f"--etcd-servers={etcd}",
            f"--secure-port={self.port}",
            f"--bind-address={self.address}",
            f"--advertise-address={self.address}",
            f"--tls-cert-file={self._serving.certificate}",
            f"--tls-private-key-file={self._serving.key}",
            f"--client-ca-file={pki.cluster.certificate}",
            f"--service-account-key-file={pki.token_public_key}",
            f"--service-account-signing-key-file={pki.token_key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--authorization-mode=Node,RBAC",
            # Nothing keeps the endpoints of the Service "kubernetes": no pod uses it here.
            "--endpoint-reconciler-type=none",
            # The aggregator's own identity. Its authority is not that of clients: else any client could pose as the aggregator.
            f"--requestheader-client-ca-file={pki.front_proxy.certificate}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-uid-headers=X-Remote-Uid",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={self._proxy.certificate}",
            f"--proxy-client-key-file={self._proxy.key}",
            # Pods are made with no ServiceAccount: a test need not wait until a namespace has its default one.
            "--disable-admission-plugins=ServiceAccount",
        ]
        if self.profile is Profile.ROUTED:
            flags.append("--enable-aggregator-routing=true")
        self._apiserver = Process(
            "kube-apiserver",
            [programs.path("kube-apiserver"), *flags],
            self.directory / "kube-apiserver.log",
            env=plain_environment(),
        )
        with self.client() as client:
            wait_until("kube-apiserver ready", lambda: self._is_ready(client), seconds=120)

    def stop_apiserver(self) -> None:
        """Take kube-apiserver away; etcd keeps its data, controllers keep trying."""
        if self._apiserver:
            # With watches open it would wait a minute for them to end; an outage does not wait either.
            self._apiserver.stop(3)
            self._apiserver = None

    def check(self) -> None:
        """Raise ProcessDied if one of the programs ended by itself."""
        for process in [*self._others, *([self._apiserver] if self._apiserver else [])]:
            process.check()

    # Private parts

    def _is_ready(self, client: httpx.Client) -> bool:
        self.check()
        try:
            return client.get("/readyz").status_code == 200
        except httpx.TransportError as error:
            raise OSError(str(error)) from error

    def _start_etcd(self) -> None:
        ports = free_port(), free_port()
        self._etcd_url, peers = (f"http://127.0.0.1:{port}" for port in ports)
        argv: list[str | Path] = [
            programs.path("etcd"),
            f"--data-dir={self.directory}/etcd",
            f"--listen-client-urls={self._etcd_url}",
            f"--advertise-client-urls={self._etcd_url}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--unsafe-no-fsync",  # nothing here must survive a power cut
        ]
        self._others.append(Process("etcd", argv, self.directory / "etcd.log", env=plain_environment()))

    def _start_controllers(self) -> None:
        own = self.kubeconfig("controllers")
        port = free_port()
        argv: list[str | Path] = [
            programs.path("kube-controller-manager"),
            f"--kubeconfig={own}",
            f"--authentication-kubeconfig={own}",
            f"--authorization-kubeconfig={own}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={self.directory}/kube-controller-manager",
            "--leader-elect=false",
            # Each controller under its own ServiceAccount, so that the HPA goes through its real RBAC role.
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={self.pki.token_key}",
            f"--root-ca-file={self.pki.cluster.certificate}",
            # Simulated nodes send no heartbeat: these two would call them dead and evict their pods.
            "--controllers=*,-node-lifecycle-controller,-taint-eviction-controller",
            "--horizontal-pod-autoscaler-sync-period=2s",
            "--horizontal-pod-autoscaler-initial-readiness-delay=1s",
            "--horizontal-pod-autoscaler-cpu-initialization-period=2s",
            "--horizontal-pod-autoscaler-downscale-stabilization=5s",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
        ]
        process = Process("kube-controller-manager", argv, self.directory / "kube-controller-manager.log", env=plain_environment())
        self._others.append(process)

        def begun() -> bool:
            self.check()
            # The ServiceAccount controller's work shows that controllers run.
            return self.kubectl("get", "serviceaccount", "default", "-n", "default", check=False).returncode == 0

        wait_until("kube-controller-manager at work", begun, seconds=120)

    def _write_kubeconfig(self, name: str, user: dict[str, str]) -> Path:
        file = self.kubeconfig(name)
        cluster = {"server": self.server, "certificate-authority": str(self.pki.cluster.certificate)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "kubeglance-test",
            "clusters": [{"name": "kubeglance-test", "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": "kubeglance-test", "context": {"cluster": "kubeglance-test", "user": name}}],
        }
        file.write_text(yaml.safe_dump(config), encoding="utf-8")
        file.chmod(0o600)
        return file
