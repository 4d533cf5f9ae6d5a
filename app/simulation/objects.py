"""Nodes, pods, claims and namespaces of the simulated cluster as the JSON objects that a kube-apiserver serves."""

import hashlib
from datetime import UTC, datetime
from typing import Any

from app.simulation.curves import SECOND
from app.simulation.model import ContainerSpec, SimulatedClaim, SimulatedContainer, SimulatedNode, SimulatedPod
from app.wire.quantity import format_bytes, format_cpu

KUBERNETES_VERSION = "v1.37.2"
_IMAGE = "registry.example/simulated:1"

Object = dict[str, Any]


def rfc3339(t: int) -> str:
    """Unix ns as meta/v1 Time: whole seconds, UTC."""
    return datetime.fromtimestamp(t // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def node_object(node: SimulatedNode) -> Object:
    """A v1 Node that is Ready."""
    conditions = (("MemoryPressure", "False"), ("DiskPressure", "False"), ("PIDPressure", "False"), ("Ready", "True"))
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {
            "name": node.name,
            "uid": node.uid,
            "resourceVersion": str(node.version),
            "creationTimestamp": rfc3339(node.created),
            "labels": dict(sorted(node.labels.items())),
        },
        "spec": {},
        "status": {
            "capacity": _resources(node.cpu_capacity, node.memory_capacity),
            "allocatable": _resources(node.cpu_allocatable, node.memory_allocatable),
            "conditions": [
                {
                    "type": name,
                    "status": status,
                    "lastHeartbeatTime": rfc3339(node.created),
                    "lastTransitionTime": rfc3339(node.created),
                    "reason": "KubeletReady" if name == "Ready" else f"KubeletHasNo{name}",
                    "message": "simulated",
                }
                for name, status in conditions
            ],
            "addresses": [{"type": "InternalIP", "address": node.address}, {"type": "Hostname", "address": node.name}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": node.kubelet_port}},
            "nodeInfo": {
                "machineID": node.uid,
                "systemUUID": node.uid,
                "bootID": node.uid,
                "kernelVersion": "6.12.0",
                "osImage": "simulated",
                "containerRuntimeVersion": "containerd://2.1.0",
                "kubeletVersion": KUBERNETES_VERSION,
                "kubeProxyVersion": "",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
        },
    }


def pod_object(pod: SimulatedPod) -> Object:
    """A v1 Pod that runs; a container that was killed waits in CrashLoopBackOff."""
    main = [run for run in pod.containers.values() if not run.spec.sidecar]
    sidecars = [run for run in pod.containers.values() if run.spec.sidecar]
    ready = all(run.ended is None for run in pod.containers.values())
    metadata: Object = {
        "name": pod.name,
        "namespace": pod.namespace,
        "uid": pod.uid,
        "resourceVersion": str(pod.version),
        "creationTimestamp": rfc3339(pod.created),
        "labels": dict(sorted(pod.labels.items())),
    }
    if pod.owner[0]:
        owner = {"apiVersion": "apps/v1", "kind": pod.owner[0], "name": pod.owner[1], "uid": _uid_of(pod), "controller": True}
        metadata["ownerReferences"] = [owner]
    spec: Object = {"containers": [_container(run.spec) for run in main], "nodeName": pod.node, "restartPolicy": "Always"}
    if sidecars:
        spec["initContainers"] = [{**_container(run.spec), "restartPolicy": "Always"} for run in sidecars]
    if pod.host_network:
        spec["hostNetwork"] = True
    mounted = [{"name": volume, "persistentVolumeClaim": {"claimName": claim.name}} for volume, claim in pod.claims.items()]
    spec["volumes"] = [{"name": "scratch", "emptyDir": {}}, *mounted]
    conditions = (("PodScheduled", True), ("Initialized", True), ("ContainersReady", ready), ("Ready", ready))
    status: Object = {
        "phase": "Running",
        "conditions": [
            {"type": name, "status": str(value), "lastProbeTime": None, "lastTransitionTime": rfc3339(pod.created)}
            for name, value in conditions
        ],
        "startTime": rfc3339(pod.created),
        "containerStatuses": [_status(run) for run in main],
        "qosClass": "Burstable",
    }
    if sidecars:
        status["initContainerStatuses"] = [_status(run) for run in sidecars]
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec, "status": status}


def claim_object(claim: SimulatedClaim) -> Object:
    """A v1 PersistentVolumeClaim: Bound, or Pending."""
    size = {"storage": format_bytes(claim.requested)}
    spec: Object = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": size},
        "storageClassName": claim.storage_class,
        "volumeMode": "Block" if claim.block else "Filesystem",
    }
    status: Object = {"phase": "Pending"}
    if claim.bound:
        spec["volumeName"] = f"pvc-{claim.uid}"
        status = {"phase": "Bound", "accessModes": spec["accessModes"], "capacity": size}
    return {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "metadata": {
            "name": claim.name,
            "namespace": claim.namespace,
            "uid": claim.uid,
            "resourceVersion": str(claim.version),
            "creationTimestamp": rfc3339(claim.created),
            "labels": dict(sorted(claim.labels.items())),
            "annotations": {"volume.kubernetes.io/storage-provisioner": f"{claim.storage_class}.csi.example.com"},
        },
        "spec": spec,
        "status": status,
    }


def namespace_object(name: str, version: int, created: int) -> Object:
    """A v1 Namespace that is Active."""
    metadata = {
        "name": name,
        "resourceVersion": str(version),
        "creationTimestamp": rfc3339(created),
        "labels": {"kubernetes.io/metadata.name": name},
    }
    return {"kind": "Namespace", "apiVersion": "v1", "metadata": metadata, "spec": {}, "status": {"phase": "Active"}}


def config_map_object(namespace: str, name: str, version: int, created: int, data: dict[str, str]) -> Object:
    """A v1 ConfigMap."""
    metadata = {"name": name, "namespace": namespace, "resourceVersion": str(version), "creationTimestamp": rfc3339(created)}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": data}


def _resources(cpu: int, memory: int) -> dict[str, str]:
    return {"cpu": format_cpu(cpu), "memory": format_bytes(memory), "pods": "110"}


def _container(spec: ContainerSpec) -> Object:
    requests = _quantities(spec.cpu_request, spec.memory_request)
    limits = _quantities(spec.cpu_limit, spec.memory_limit)
    resources = {**({"requests": requests} if requests else {}), **({"limits": limits} if limits else {})}
    return {"name": spec.name, "image": _IMAGE, "resources": resources}


def _quantities(cpu: int | None, memory: int | None) -> dict[str, str]:
    return {
        **({"cpu": format_cpu(cpu)} if cpu is not None else {}),
        **({"memory": format_bytes(memory)} if memory is not None else {}),
    }


def _status(run: SimulatedContainer) -> Object:
    running = run.ended is None
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "simulated"}}
    return {
        "name": run.name,
        "image": _IMAGE,
        "imageID": "",
        "ready": running,
        "started": running,
        "restartCount": run.restarts,
        "state": {"running": {"startedAt": rfc3339(run.started)}} if running else waiting,
        "lastState": {},
    }


def _uid_of(pod: SimulatedPod) -> str:
    digest = hashlib.blake2b(f"{pod.namespace}/{pod.owner}".encode(), digest_size=16).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:]}"
