"""Nodes and pods that exist only in kube-apiserver: real objects, with the status that a kubelet would have written."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from app.clock import SystemClock
from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import wait_until

IMAGE = "kubeglance.test/none:1"


@dataclass(frozen=True)
class NodeObject:
    """A Ready node. `port` is where its kubelet says it listens (status.daemonEndpoints)."""

    name: str
    address: str
    port: int
    labels: Mapping[str, str] = field(default_factory=dict)

    def as_object(self) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name, "labels": dict(self.labels)}, "spec": {}}

    def as_status(self, now: str) -> dict[str, Any]:
        room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        return {
            "addresses": [{"type": "InternalIP", "address": self.address}, {"type": "Hostname", "address": self.name}],
            "capacity": room,
            "allocatable": room,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.port}},
            "conditions": [
                {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now, "lastTransitionTime": now}
            ],
        }


@dataclass(frozen=True)
class PodObject:
    """A pod bound to a node. Each container asks for `cpu_request`, which is what an HPA's utilisation is a part of."""

    namespace: str
    name: str
    node: str
    containers: Sequence[str] = ("main",)
    labels: Mapping[str, str] = field(default_factory=dict)
    cpu_request: str = "100m"

    def as_object(self) -> dict[str, Any]:
        resources = {"requests": {"cpu": self.cpu_request, "memory": "32Mi"}}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.name, "namespace": self.namespace, "labels": dict(self.labels)},
            "spec": {
                "nodeName": self.node,
                "containers": [{"name": name, "image": IMAGE, "resources": resources} for name in self.containers],
                "terminationGracePeriodSeconds": 0,
            },
        }


def running_status(containers: Sequence[str], started: str, *, ip: str = "", ready: bool = True) -> dict[str, Any]:
    """The status of a pod all of whose containers run since `started` (RFC 3339)."""
    conditions = [
        {"type": kind, "status": "True" if ready or kind in {"PodScheduled", "Initialized"} else "False", "lastTransitionTime": started}
        for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    ]
    addresses = {"podIP": ip, "podIPs": [{"ip": ip}]} if ip else {}
    statuses = [
        {
            "name": name,
            "image": IMAGE,
            "imageID": "",
            "ready": ready,
            "started": True,
            "restartCount": 0,
            "containerID": f"test://{name}",
            "state": {"running": {"startedAt": started}},
        }
        for name in containers
    ]
    return {"phase": "Running", "startTime": started, "conditions": conditions, "containerStatuses": statuses, **addresses}


def stamp(unix: float) -> str:
    """RFC 3339 in UTC, whole seconds, as Kubernetes writes times."""
    return datetime.datetime.fromtimestamp(unix, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Inventory:
    """Makes nodes, namespaces and pods, and removes at the end what it made."""

    def __init__(self, plane: ControlPlane) -> None:
        self._client = plane.client()
        self._made: list[str] = []

    def close(self) -> None:
        """Remove all. Namespaces are only asked to go: to wait for that is a matter of the tests that look at it."""
        for path in reversed(self._made):
            # A simulated node has no kubelet to confirm that a pod is gone: hence no grace period.
            self._client.request("DELETE", path, params={"gracePeriodSeconds": 0})
        self._client.close()

    def namespace(self, name: str) -> None:
        """Make it; one that another test has just left may still be on its way out."""
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        wait_until(f"namespace {name} can be made", lambda: self._post("/api/v1/namespaces", manifest), seconds=60)

    def node(self, node: NodeObject) -> dict[str, Any]:
        made = self._post("/api/v1/nodes", node.as_object())
        self.patch_status(f"/api/v1/nodes/{node.name}", node.as_status(stamp(SystemClock().wall())))
        return made

    def pod(self, pod: PodObject, *, started: float | None = None) -> dict[str, Any]:
        """A running pod; `started` is a Unix time, now if not given."""
        made = self._post(f"/api/v1/namespaces/{pod.namespace}/pods", pod.as_object())
        at = stamp(SystemClock().wall() if started is None else started)
        self.patch_status(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}", running_status(pod.containers, at))
        return made

    def patch_status(self, path: str, status: Mapping[str, Any]) -> None:
        """Write the status subresource of an object, as its kubelet would."""
        headers = {"Content-Type": "application/merge-patch+json"}
        self._check(self._client.patch(f"{path}/status", json={"status": status}, headers=headers))

    def get(self, path: str, **params: str) -> dict[str, Any]:
        """Any object or list."""
        found: dict[str, Any] = self._check(self._client.get(path, params=params)).json()
        return found

    def post(self, path: str, thing: Mapping[str, Any]) -> dict[str, Any]:
        """Make any object; it is removed at the end."""
        return self._post(path, thing)

    def call(self, method: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Any other call, with nothing to remove afterwards."""
        answer: dict[str, Any] = self._check(self._client.request(method, path, json=body)).json()
        return answer

    def delete(self, path: str) -> None:
        """Remove an object now, if it is there."""
        self._client.request("DELETE", path, params={"gracePeriodSeconds": 0})
        if path in self._made:
            self._made.remove(path)

    def _post(self, path: str, thing: Mapping[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = self._check(self._client.post(path, json=thing)).json()
        self._made.append(f"{path}/{made['metadata']['name']}")
        return made

    @staticmethod
    def _check(answer: httpx.Response) -> httpx.Response:
        if answer.is_error:
            raise AssertionError(f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text[:500]}")
        return answer
