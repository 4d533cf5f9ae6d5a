"""Tables of nodes, pods, claims, namespaces and config maps, as a kube-apiserver prints them for `kubectl get`."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from app.duration import human_duration
from app.simulation.objects import Object

Cells = list[Any]

_NAME = {"name": "Name", "type": "string", "format": "name", "description": "Name must be unique within a namespace.", "priority": 0}


def _column(name: str, kind: str = "string", priority: int = 0) -> dict[str, Any]:
    return {"name": name, "type": kind, "format": "", "description": f"{name}, as kube-apiserver shows it.", "priority": priority}


COLUMNS: dict[str, list[dict[str, Any]]] = {
    "nodes": [
        _NAME,
        _column("Status"),
        _column("Roles"),
        _column("Age"),
        _column("Version"),
        _column("Internal-IP", priority=1),
        _column("OS-Image", priority=1),
        _column("Container-Runtime", priority=1),
    ],
    "pods": [
        _NAME,
        _column("Ready"),
        _column("Status"),
        _column("Restarts"),
        _column("Age"),
        _column("IP", priority=1),
        _column("Node", priority=1),
    ],
    "namespaces": [_NAME, _column("Status"), _column("Age")],
    "configmaps": [_NAME, _column("Data", "integer"), _column("Age")],
    "persistentvolumeclaims": [
        _NAME,
        _column("Status"),
        _column("Volume"),
        _column("Capacity"),
        _column("Access Modes"),
        _column("StorageClass"),
        _column("Age"),
        _column("VolumeMode", priority=1),
    ],
}


def table(resource: str, objects: Sequence[Object], metadata: Object, now: int, include: str, *, columns: bool = True) -> Object:
    """A meta/v1 Table. `include` is Metadata, Object or None; `columns` is false for all but the first event of a watch."""
    rows = [{"cells": _CELLS[resource](found, now), "object": _included(found, include)} for found in objects]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": COLUMNS[resource] if columns else [],
        "rows": rows,
    }


def _included(found: Object, include: str) -> Object | None:
    if include == "None":
        return None
    if include == "Object":
        return found
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": found["metadata"]}


def _node(found: Object, now: int) -> Cells:
    info = found["status"]["nodeInfo"]
    return [
        found["metadata"]["name"],
        "Ready",
        "<none>",
        age(found, now),
        info["kubeletVersion"],
        found["status"]["addresses"][0]["address"],
        info["osImage"],
        info["containerRuntimeVersion"],
    ]


def _pod(found: Object, now: int) -> Cells:
    statuses = [*found["status"].get("initContainerStatuses", []), *found["status"]["containerStatuses"]]
    waiting = [status["state"]["waiting"]["reason"] for status in statuses if "waiting" in status["state"]]
    return [
        found["metadata"]["name"],
        f"{sum(status['ready'] for status in statuses)}/{len(statuses)}",
        waiting[0] if waiting else "Running",
        str(sum(status["restartCount"] for status in statuses)),
        age(found, now),
        "<none>",
        found["spec"]["nodeName"],
    ]


def _namespace(found: Object, now: int) -> Cells:
    return [found["metadata"]["name"], found["status"]["phase"], age(found, now)]


def _config_map(found: Object, now: int) -> Cells:
    return [found["metadata"]["name"], len(found["data"]), age(found, now)]


def _claim(found: Object, now: int) -> Cells:
    spec, status = found["spec"], found["status"]
    return [
        found["metadata"]["name"],
        status["phase"],
        spec.get("volumeName", ""),
        status.get("capacity", {}).get("storage", ""),
        "RWO" if spec.get("volumeName") else "",
        spec["storageClassName"],
        age(found, now),
        spec["volumeMode"],
    ]


_CELLS: dict[str, Callable[[Object, int], Cells]] = {
    "nodes": _node,
    "pods": _pod,
    "namespaces": _namespace,
    "configmaps": _config_map,
    "persistentvolumeclaims": _claim,
}


def age(found: Object, now: int) -> str:
    """The age of an object at Unix second `now`."""
    seconds = max(0, now - int(datetime.fromisoformat(found["metadata"]["creationTimestamp"]).timestamp()))
    return human_duration(seconds * 10**9)
