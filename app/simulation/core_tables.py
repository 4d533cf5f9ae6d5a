"""Tables of nodes, pods, namespaces and config maps, as a kube-apiserver prints them for `kubectl get`."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

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


_CELLS: dict[str, Callable[[Object, int], Cells]] = {"nodes": _node, "pods": _pod, "namespaces": _namespace, "configmaps": _config_map}


def age(found: Object, now: int) -> str:
    """The age of an object at Unix second `now` in the words of duration.HumanDuration: 42s, 5m12s, 3h4m, 2d3h, 12d."""
    seconds = max(0, now - int(datetime.fromisoformat(found["metadata"]["creationTimestamp"]).timestamp()))
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86_400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    return _two(days, "d", hours % 24, "h") if days < 8 else f"{days}d"


def _two(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"
