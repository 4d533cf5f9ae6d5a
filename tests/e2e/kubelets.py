"""Simulated nodes of a real kube-apiserver: their objects, and the kubelets that answer for them, kept in step."""

import ipaddress
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from app.clock import SystemClock
from app.simulation.curves import Load
from app.simulation.kubelet import answer
from app.simulation.model import ContainerSpec, Fault, SimulatedCluster
from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.pki import FiledAuthority
from tests.e2e.objects import Inventory, NodeObject, PodObject, running_status, stamp
from tests.e2e.review import Reviewer
from tests.fakes.kubelet_server import NOT_FOUND, KubeletAnswer, KubeletRequest, KubeletServer

SECOND = 10**9
LONG_AGO = 600.0
"""Seconds. Containers that began this long ago have a history: their first scrape is enough for a value."""


def load(millicores: int, mebibytes: int) -> Load:
    """A steady load, so that a test knows the exact values."""
    return Load(cpu=millicores * 1_000_000, memory=mebibytes * 2**20)


class SimulatedKubelets:
    """Nodes whose kubelets this process plays, through one HTTPS server that tells them apart by address.

    They ask kube-apiserver who may read them (webhook authentication and authorisation), so that RBAC is really tested.

    On loopback node i has address 127.30.0.i; in the routed profile each has an address of its own on the bridge.
    """

    def __init__(self, plane: ControlPlane, nodes: Sequence[str], *, authority: FiledAuthority | None = None) -> None:
        """Creates the nodes of these names. `authority` signs the kubelets' certificate, the control plane's kubelet CA by default."""
        authority = authority or plane.pki.kubelets
        self.inventory = Inventory(plane)
        self._reviewer = Reviewer(plane)
        self._lock = threading.Lock()
        self._model = SimulatedCluster(SystemClock())
        network = plane.network
        first = ipaddress.IPv4Address("127.30.0.1")
        addresses = [network.add_kubelet_address() if network else str(first + i) for i in range(len(nodes))]
        self.certificate_authority = authority.certificate
        pair = authority.server(f"kubelets-{nodes[0]}", "kubelets", dns=list(nodes), ips=addresses)
        self.server = KubeletServer(self._answer, *pair)
        self._by_address = {}
        for name, address in zip(nodes, addresses, strict=True):
            made = self.inventory.node(NodeObject(name, address, self.server.port, {"kubernetes.io/hostname": name}))
            self._by_address[address] = self._model.add_node(
                name, address=address, uid=made["metadata"]["uid"], kubelet_port=self.server.port, system=load(100, 500)
            )

    def close(self) -> None:
        """Remove all objects, then stop answering."""
        self.inventory.close()
        self.server.close()
        self._reviewer.close()

    def __enter__(self) -> "SimulatedKubelets":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def pod(
        self,
        namespace: str,
        name: str,
        node: str,
        containers: Mapping[str, Load],
        *,
        labels: Mapping[str, str] | None = None,
        age: float = LONG_AGO,
    ) -> None:
        """A running pod whose containers have had their loads for `age` seconds."""
        started = SystemClock().wall() - age
        made = self.inventory.pod(PodObject(namespace, name, node, list(containers), labels or {}), started=started)
        self._model_pod(made, node, containers, started)

    def adopt(self, namespace: str, node: str, each: Load, *, ip: str = "", ready: bool = True) -> list[str]:
        """Play scheduler and kubelet for pods that controllers made: bind and run new ones, forget those that are gone.

        Answers the names of the pods there are now. `ready` False leaves them running but not ready.
        """
        found = {pod["metadata"]["name"]: pod for pod in self.inventory.get(f"/api/v1/namespaces/{namespace}/pods")["items"]}
        with self._lock:
            known = {pod.name for pod in self._model.pods.values() if pod.namespace == namespace}
            for name in known - set(found):
                self._model.delete_pod(namespace, name)
        for name, pod in found.items():
            if name in known or pod["spec"].get("nodeName"):
                continue
            self._bind(namespace, name, node)
            started = SystemClock().wall()
            containers = [container["name"] for container in pod["spec"]["containers"]]
            status = running_status(containers, stamp(started), ip=ip, ready=ready)
            self.inventory.patch_status(f"/api/v1/namespaces/{namespace}/pods/{name}", status)
            self._model_pod(pod, node, dict.fromkeys(containers, each), started)
        return sorted(found)

    def set_load(self, namespace: str, each: Load) -> None:
        """All containers of a namespace follow another load from now on."""
        with self._lock:
            self._model.set_load(each, lambda pod: pod.namespace == namespace)

    def _bind(self, namespace: str, name: str, node: str) -> None:
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/binding"
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        self.inventory.call("POST", path, {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target})

    def _model_pod(self, made: Mapping[str, Any], node: str, containers: Mapping[str, Load], started: float) -> None:
        metadata = made["metadata"]
        specs = [ContainerSpec(name=name, load=each) for name, each in containers.items()]
        with self._lock:
            self._model.add_pod(metadata["namespace"], metadata["name"], node, specs, uid=metadata["uid"], started=int(started * SECOND))

    def _answer(self, asked: KubeletRequest) -> KubeletAnswer:
        if (node := self._by_address.get(asked.address)) is None:
            return NOT_FOUND
        status = self._reviewer.status(asked.authorization, node.name, asked.path)
        with self._lock:
            if status != 200:
                node.fault = Fault(str(status))
            said = answer(node, "GET", asked.path, asked.authorization, self._model.now())
            node.fault = Fault.NONE
        return KubeletAnswer(said.status, said.content_type, said.body)
