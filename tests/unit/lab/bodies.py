"""What a kubelet writes and what kube-apiserver holds, made by a few words. Times are seconds after the laboratory's start.

The numbers of a container are those of one that was told of at `at`: counters in core-seconds, memory in bytes.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from app.pipeline.grid import offsets
from app.wire.timestamps import format_time

NODE = "node-a"
MIB = 1024 * 1024
START = 1_764_500_010.0 + offsets(NODE, [15.0], nodes=1)[0]
"""Unix time of second 0, so chosen that NODE is scraped at 0, 15, 30, ... (and at 5 and 10, until all its counters moved once)."""
Began = float | str | None
Number = float | str | None
"""A value as text or number; None leaves the line out."""


def unix(at: float) -> float:
    """Unix seconds of second `at`."""
    return START + at


def rfc3339(at: float) -> str:
    """Second `at` as kube-apiserver and /stats/summary write it."""
    return format_time(int(unix(at) * 1e9))


def line(family: str, value: Number, at: Number = None, **labels: str) -> str:
    """One line; `at` as a number is stamped in ms, as text stands as it is, None is no stamp."""
    if value is None:
        return ""
    pairs = ",".join(f'{name}="{text}"' for name, text in sorted(labels.items()))
    stamp = "" if at is None else f" {at if isinstance(at, str) else round(unix(at) * 1000)}"
    return f"{family}{{{pairs}}} {value}{stamp}\n" if pairs else f"{family} {value}{stamp}\n"


def used(
    at: Number,
    cpu: Number,
    memory: Number = 8 * MIB,
    *,
    name: str = "app",
    pod: str = "web",
    started: float | None = -600,
    memory_at: Number = "same",
) -> str:
    """The lines of a container in /metrics/resource."""
    labels = {"container": name, "namespace": "default", "pod": pod}
    start = None if started is None else f"{unix(started):.3f}"
    return (
        line("container_cpu_usage_seconds_total", cpu, at, **labels)
        + line("container_memory_working_set_bytes", memory, at if memory_at == "same" else memory_at, **labels)
        + line("container_start_time_seconds", start, **labels)
    )


def busy(at: float, cores: float, **details: Any) -> str:
    """The lines of a container that has always used `cores`."""
    return used(at, (1000 + at) * cores, **details)


def node_used(at: Number, cpu: Number, memory: Number = 512 * MIB) -> str:
    """The lines of the node itself."""
    return line("node_cpu_usage_seconds_total", cpu, at) + line("node_memory_working_set_bytes", memory, at)


def stats(
    at: float, cpu: float | None, *, cores: float | None = None, memory: int = 8 * MIB, name: str = "app", started: float | None = -600
) -> dict[str, Any]:
    """A container (or, without its name and start, a node) in /stats/summary; `cores` is the kubelet's own rate."""
    figures = {
        "usageNanoCores": None if cores is None else round(cores * 1e9),
        "usageCoreNanoSeconds": None if cpu is None else round(cpu * 1e9),
    }
    return {
        "name": name,
        "startTime": None if started is None else rfc3339(started),
        "cpu": {"time": rfc3339(at), **{key: value for key, value in figures.items() if value is not None}},
        "memory": {"time": rfc3339(at), "workingSetBytes": memory},
    }


def summary(
    pods: Mapping[tuple[str, str], Sequence[dict[str, Any]]] | Sequence[tuple[tuple[str, str], Sequence[dict[str, Any]]]],
    *,
    node: dict[str, Any] | None = None,
    kubelet_started: float = -3600,
) -> bytes:
    """A whole /stats/summary; pods by (name, uid)."""
    entries = pods.items() if isinstance(pods, Mapping) else pods
    system = [{"name": "kubelet", "startTime": rfc3339(kubelet_started)}]
    document = {
        "node": {"nodeName": NODE, "systemContainers": system, **(node or {})},
        "pods": [
            {"podRef": {"name": name, "namespace": "default", "uid": uid}, "containers": list(containers)}
            for (name, uid), containers in entries
        ],
    }
    return json.dumps(document).encode()


def node(name: str = NODE, *addresses: str, uid: str = "", ready: bool = True, port: int = 10250, path: str = "") -> dict[str, Any]:
    """A Node; `path` is its annotation for another path than /metrics/resource."""
    notes = {"metrics.k8s.io/resource-metrics-path": path} if path else {}
    return {
        "metadata": {"name": name, "uid": uid or f"{name}-uid", "creationTimestamp": rfc3339(-7200), "annotations": notes},
        "status": {
            "addresses": [{"type": "InternalIP", "address": address} for address in addresses or ("10.0.0.1",)],
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            "capacity": {"cpu": "4", "memory": "16Gi"},
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        },
    }


def pod(
    name: str = "web",
    *,
    uid: str = "web-uid",
    on: str = NODE,
    phase: str = "Running",
    containers: Mapping[str, Began] | None = None,
    init: Mapping[str, Began] | None = None,
    sidecars: Mapping[str, Began] | None = None,
    statuses: bool = True,
    manifest: str = "",
    cpu_limit: str = "2",
    ended: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """A Pod. Containers by name, with the second at which each began to run; text is a reason for which it does not.

    `ended` is when the instance before ended, by container. `manifest` is the hash of a static pod's manifest: then this is its mirror.
    """
    main: Mapping[str, Began] = {"app": -600.0} if containers is None else containers
    before, beside = dict(init or {}), dict(sidecars or {})
    notes = {"kubernetes.io/config.mirror": manifest, "kubernetes.io/config.hash": manifest} if manifest else {}
    status = {
        "containerStatuses": [_status(*entry, ended=(ended or {}).get(entry[0])) for entry in main.items()],
        "initContainerStatuses": [_status(*entry) for entry in (before | beside).items()],
    }
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": uid,
            "annotations": notes,
            "creationTimestamp": rfc3339(-3600),
        },
        "spec": {
            "nodeName": on,
            "containers": [{"name": each, "resources": {"limits": {"cpu": cpu_limit}}} for each in main],
            "initContainers": [{"name": each} for each in before] + [{"name": each, "restartPolicy": "Always"} for each in beside],
        },
        "status": {"phase": phase, **(status if statuses else {})},
    }


def _status(name: str, began: Began, *, ended: float | None = None) -> dict[str, Any]:
    before = {} if ended is None else {"lastState": {"terminated": {"finishedAt": rfc3339(ended)}}}
    if isinstance(began, str):
        over = began in {"Completed", "Error", "OOMKilled"}
        return {"name": name, "state": {"terminated" if over else "waiting": {"reason": began}}, **before}
    running = {} if began is None else {"startedAt": rfc3339(began)}
    return {"name": name, "state": {"running": running}, **before}
