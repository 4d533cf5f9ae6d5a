"""The real metrics-server before the goldens' cluster: a real control plane, kubelets that this process plays, and who may ask."""

import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from tests.e2e.controlplane import NEEDED, ControlPlane, programs
from tests.e2e.controlplane.processes import Process, free_port, plain_environment
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.objects import Inventory
from tests.fakes.kubelet_server import NOT_FOUND, KubeletAnswer, KubeletRequest, KubeletServer
from tests.goldens import bodies, cluster
from tests.goldens.answer import Answer
from tests.goldens.requests import ANONYMOUS, NODES, READER, STRANGER, WRONG, Request

PROGRAMS = (*NEEDED, "metrics-server")
NAMESPACE = "goldens"
_FIRST_ADDRESS = 1

_CALLERS = f"""
apiVersion: v1
kind: Namespace
metadata: {{name: {NAMESPACE}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: {READER}, namespace: {NAMESPACE}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: {STRANGER}, namespace: {NAMESPACE}}}
---
# All verbs, so that a write is answered by metrics-server itself and not by RBAC.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: goldens-reader}}
rules:
- {{apiGroups: [metrics.k8s.io], resources: ["*"], verbs: ["*"]}}
- {{nonResourceURLs: ["*"], verbs: ["*"]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: goldens-reader}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: goldens-reader}}
subjects: [{{kind: ServiceAccount, name: {READER}, namespace: {NAMESPACE}}}]
"""


class Kubelets:
    """All kubelets of the goldens' cluster: each gives its first body once, and the second ever after."""

    def __init__(self, plane: ControlPlane) -> None:
        self.addresses = {node.name: f"127.40.0.{i + _FIRST_ADDRESS}" for i, node in enumerate(cluster.NODES)}
        self.asked = dict.fromkeys(self.addresses, 0)
        self._names = {address: name for name, address in self.addresses.items()}
        pair = plane.pki.kubelets.server("goldens-kubelets", "kubelets", ips=list(self._names))
        self._server = KubeletServer(self._answer, *pair)
        self.port = self._server.port

    def close(self) -> None:
        """Stop answering."""
        self._server.close()

    def _answer(self, asked: KubeletRequest) -> KubeletAnswer:
        node = bodies.kubelet_of(self._names[asked.address])
        if not node.serves:
            return NOT_FOUND
        self.asked[node.name] += 1
        return KubeletAnswer(200, bodies.CONTENT_TYPE, bodies.body(node, min(1, self.asked[node.name] - 1)))


def fill(plane: ControlPlane, inventory: Inventory, kubelets: Kubelets) -> None:
    """Make all objects of the cluster."""
    for name in cluster.NAMESPACES:
        inventory.namespace(name)
    for node in cluster.NODES:
        inventory.post("/api/v1/nodes", cluster.node_object(node))
        inventory.patch_status(f"/api/v1/nodes/{node.name}", cluster.node_status(kubelets.addresses[node.name], kubelets.port))
    for pod in cluster.PODS:
        path = f"/api/v1/namespaces/{pod.namespace}/pods"
        inventory.post(path, cluster.pod_object(pod))
        inventory.patch_status(f"{path}/{pod.name}", cluster.pod_status(pod))
    plane.apply(_CALLERS)


class MetricsServer:
    """A running metrics-server v0.9.0 with the flags of its released manifest, but for files, addresses and ports."""

    def __init__(self, plane: ControlPlane) -> None:
        manifest = programs.released_manifest().read_text(encoding="utf-8")
        plane.apply(manifest)  # its ServiceAccount and roles; its Deployment has no node to run on here
        port = free_port()
        pair = plane.pki.serving.server("metrics-server", "metrics-server.kube-system.svc", dns=["localhost"], ips=["127.0.0.1"])
        kubeconfig = plane.token_kubeconfig("kube-system", "metrics-server")
        self.flags = [
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--tls-cert-file={pair.certificate}",
            f"--tls-private-key-file={pair.key}",
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            f"--kubelet-certificate-authority={plane.pki.kubelets.certificate}",
            "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
            "--kubelet-use-node-status-port",
            "--metric-resolution=15s",
        ]
        self.url = f"https://127.0.0.1:{port}"
        command: list[str | Path] = [programs.path("metrics-server"), *self.flags]
        self._process = Process("metrics-server", command, plane.directory / "metrics-server.log", env=plain_environment())
        self._context = ssl.create_default_context(cafile=plane.pki.serving.certificate)
        tokens = {who: plane.token(NAMESPACE, who) for who in (READER, STRANGER)}
        self._tokens = {**tokens, WRONG: "of-nobody", ANONYMOUS: ""}

    def close(self) -> None:
        """End it."""
        self._process.stop()

    def wait_full(self, kubelets: Kubelets) -> None:
        """Until it has both bodies of all kubelets: nodes are listed only then, for it stores the answers of all nodes at once."""
        with self.client() as client:
            wait_until("metrics-server has both answers of all kubelets", lambda: self._is_full(client, kubelets), seconds=120)

    def client(self) -> httpx.Client:
        """A client without credentials and headers of its own; the caller closes it."""
        client = httpx.Client(base_url=self.url, verify=self._context, timeout=30, trust_env=False)
        client.headers.clear()
        return client

    def ask(self, client: httpx.Client, request: Request) -> Answer:
        """The normalised answer to a request."""
        return Answer.of(client.send(build(client, request, self._tokens[request.who]))).of_metrics_server()

    def _is_full(self, client: httpx.Client, kubelets: Kubelets) -> bool:
        self._process.check()
        counts = [kubelets.asked[node.name] for node in cluster.NODES if node.serves]
        try:
            nodes = self.ask(client, Request("", NODES))
        except httpx.TransportError:
            return False
        return nodes.status == 200 and len(nodes.body["items"]) > 0 and min(counts) >= 2


def build(client: httpx.Client, request: Request, token: str) -> httpx.Request:
    """The HTTP request; nothing is in it that `request` does not say."""
    headers = {"host": client.base_url.netloc.decode(), **request.headers}
    if request.accept is not None:
        headers["accept"] = request.accept
    if token:
        headers["authorization"] = f"Bearer {token}"
    return client.build_request(request.method, request.path, headers=headers, content=request.content or None)


@contextmanager
def recording(directory: Path) -> Iterator[tuple[MetricsServer, httpx.Client]]:
    """A metrics-server that has seen all of the goldens' cluster, and a client of it. Takes half a minute to come up."""
    with ExitStack() as stack:
        plane = stack.enter_context(ControlPlane.start(directory))
        kubelets = Kubelets(plane)
        stack.callback(kubelets.close)
        inventory = Inventory(plane)
        stack.callback(inventory.close)
        fill(plane, inventory, kubelets)
        server = MetricsServer(plane)
        stack.callback(server.close)
        server.wait_full(kubelets)
        client = stack.enter_context(server.client())
        yield server, client
