"""Nodes and pods of a plan as a kube-apiserver sends them, as large as real ones: managed fields, images, mounts and all.

Each is put together from a form when it is asked for, so that 150,000 of them cost no memory.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

from benchmarks.plan import Plan, PlannedPod

VERSION = "1000"
"""The resourceVersion of all that there is: nothing changes."""


def node_json(plan: Plan, number: int, kubelet_port: int) -> bytes:
    """A v1 Node that is Ready."""
    values = {"name": plan.node_name(number), "address": plan.address(number), "port": str(kubelet_port), "started": _time(plan.booted)}
    return _node_form(plan.capacity.cpu // 10**9, plan.capacity.memory // 2**20).fill(values)


def pod_json(plan: Plan, pod: PlannedPod) -> bytes:
    """A v1 Pod that runs."""
    values = {
        "name": pod.name,
        "namespace": pod.namespace,
        "uid": pod.uid,
        "node": plan.node_name(pod.node),
        "labels": _labels(tuple(pod.labels.items())),
        "deployment": pod.deployment,
        "hash": pod.labels["pod-template-hash"],
        "started": _time(pod.started),
        "ip": f"10.{pod.node // 256}.{pod.node % 256}.7",
    }
    return _pod_form(pod.containers).fill(values)


class _Form:
    """JSON text with places for "%(name)s"; "labels" and "port" stand there without quotes, for they are no strings."""

    def __init__(self, thing: dict[str, Any]) -> None:
        text = re.sub(r'"(%\((?:labels|port)\)s)"', r"\1", msgspec.json.encode(thing).decode())
        self._parts = re.split(r"%\((\w+)\)s", text)
        self._names = self._parts[1::2]

    def fill(self, values: Mapping[str, str]) -> bytes:
        """The text with the values of those names."""
        self._parts[1::2] = [values[name] for name in self._names]
        return "".join(self._parts).encode()


@lru_cache(maxsize=4096)
def _labels(labels: tuple[tuple[str, str], ...]) -> str:
    return msgspec.json.encode(dict(labels)).decode()


@lru_cache(maxsize=4096)
def _time(unix: int) -> str:
    return datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@lru_cache
def _node_form(cores: int, mebibytes: int) -> _Form:
    """A Node: the form that node_json fills."""
    room = {"cpu": str(cores), "ephemeral-storage": "98831908Ki", "memory": f"{mebibytes}Mi", "pods": "110"}
    conditions = (("MemoryPressure", "False"), ("DiskPressure", "False"), ("PIDPressure", "False"), ("Ready", "True"))
    return _Form(
        {
            "metadata": {
                "name": "%(name)s",
                "uid": "uid-%(name)s",
                "resourceVersion": VERSION,
                "creationTimestamp": "%(started)s",
                "labels": {
                    "beta.kubernetes.io/arch": "amd64",
                    "kubernetes.io/arch": "amd64",
                    "kubernetes.io/hostname": "%(name)s",
                    "kubernetes.io/os": "linux",
                    "node.kubernetes.io/instance-type": "general-16",
                    "topology.kubernetes.io/region": "here",
                    "topology.kubernetes.io/zone": "here-a",
                },
                "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
                "managedFields": [_managed("kubelet", "metadata", "status")],
            },
            "spec": {"podCIDR": "10.0.0.0/24", "providerID": "simulated://%(name)s"},
            "status": {
                "capacity": room,
                "allocatable": room,
                "conditions": [
                    {
                        "type": kind,
                        "status": status,
                        "lastHeartbeatTime": "%(started)s",
                        "lastTransitionTime": "%(started)s",
                        "reason": f"Kubelet{kind}",
                        "message": "kubelet says so",
                    }
                    for kind, status in conditions
                ],
                "addresses": [{"type": "InternalIP", "address": "%(address)s"}, {"type": "Hostname", "address": "%(name)s"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": "%(port)s"}},
                "nodeInfo": {"kubeletVersion": "v1.37.2", "operatingSystem": "linux", "architecture": "amd64", "osImage": "simulated"},
                "images": [{"names": [f"registry.example/library/image-{i}@sha256:{i:064x}"], "sizeBytes": 10**7 + i} for i in range(25)],
            },
        }
    )


@lru_cache
def _pod_form(containers: tuple[str, ...]) -> _Form:
    """A Pod: the form that pod_json fills."""
    mounts = [{"name": "kube-api-access", "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]
    image = "registry.example/team/service:1.2.3"
    conditions = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return _Form(
        {
            "metadata": {
                "name": "%(name)s",
                "generateName": "%(deployment)s-%(hash)s-",
                "namespace": "%(namespace)s",
                "uid": "%(uid)s",
                "resourceVersion": VERSION,
                "creationTimestamp": "%(started)s",
                "labels": "%(labels)s",
                "annotations": {"checksum/config": "0" * 64, "prometheus.io/scrape": "true"},
                "ownerReferences": [
                    {
                        "apiVersion": "apps/v1",
                        "kind": "ReplicaSet",
                        "name": "%(deployment)s-%(hash)s",
                        "uid": "uid-%(deployment)s-%(hash)s",
                        "controller": True,
                        "blockOwnerDeletion": True,
                    }
                ],
                "managedFields": [_managed("kube-controller-manager", "metadata", "spec"), _managed("kubelet", "status")],
            },
            "spec": {
                "volumes": [{"name": "kube-api-access", "projected": {"defaultMode": 420, "sources": [{"downwardAPI": {"items": []}}]}}],
                "containers": [
                    {
                        "name": name,
                        "image": image,
                        "env": [{"name": f"SETTING_{i}", "value": "a value of some length"} for i in range(8)],
                        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
                        "volumeMounts": mounts,
                        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10},
                        "terminationMessagePath": "/dev/termination-log",
                        "terminationMessagePolicy": "File",
                        "imagePullPolicy": "IfNotPresent",
                    }
                    for name in containers
                ],
                "restartPolicy": "Always",
                "dnsPolicy": "ClusterFirst",
                "serviceAccountName": "default",
                "nodeName": "%(node)s",
                "tolerations": [
                    {"key": f"node.kubernetes.io/{kind}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
                    for kind in ("not-ready", "unreachable")
                ],
            },
            "status": {
                "phase": "Running",
                "conditions": [
                    {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": "%(started)s"} for kind in conditions
                ],
                "hostIP": "192.0.2.1",
                "podIP": "%(ip)s",
                "podIPs": [{"ip": "%(ip)s"}],
                "startTime": "%(started)s",
                "containerStatuses": [
                    {
                        "name": name,
                        "state": {"running": {"startedAt": "%(started)s"}},
                        "lastState": {},
                        "ready": True,
                        "restartCount": 0,
                        "image": image,
                        "imageID": f"{image}@sha256:{0:064x}",
                        "containerID": f"containerd://{0:064x}",
                        "started": True,
                    }
                    for name in containers
                ],
                "qosClass": "Burstable",
            },
        }
    )


def _managed(manager: str, *parts: str) -> dict[str, Any]:
    """Who wrote which fields: a third of a real object, and of use to nobody who reads metrics."""
    fields: dict[str, Any] = {
        f"f:{part}": {".": {}, **{f"f:field-{i}": {".": {}, "f:name": {}, "f:value": {}} for i in range(12)}} for part in parts
    }
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": "%(started)s",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
