"""The cluster of the goldens: three nodes that answer, one that does not, and pods for every case. All is fixed, times included.

Each case is one pod that looks at one rule alone: quantities at every magnitude, windows, and what makes a value be absent. Pods for which
kubeglance has another value than metrics-server are in a namespace of their own, "differing".
"""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

START = 1_767_225_600
"""2026-01-01 00:00:00 UTC, Unix seconds: about when the kubelets' first answers were measured."""
LONG_AGO = START - 86_400
NAMESPACES = ("apps", "differing", "magnitudes", "void")
IMAGE = "kubeglance.test/none:1"


def rfc3339(unix: float) -> str:
    """Whole seconds in UTC, as Kubernetes writes times."""
    return datetime.datetime.fromtimestamp(unix, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Series:
    """What a kubelet says of a container or node, twice: cumulative CPU (s), working set (bytes), when measured (ms after START).

    `memory_at` is given where memory was measured at another time than CPU, `swap` (bytes) where a kubelet tells it. A measurement that is
    None is not in the body.
    """

    cpu: tuple[float | None, float | None]
    memory: tuple[float | None, float | None]
    at: tuple[int, int] = (0, 15_000)
    memory_at: tuple[int, int] | None = None
    swap: float | None = None
    started: tuple[float, float] = (LONG_AGO, LONG_AGO)


def steady(nanocores: int, memory: float, *, window: int = 15_000, at: int = 0) -> Series:
    """CPU that burns at a rate over a window of so many ms.

    The counter begins at some seconds from which both of its values are whole nanoseconds also after a kubelet's float and back.
    """
    burnt, rest = divmod(nanocores * window, 1000)
    if rest:
        raise ValueError(f"{nanocores} nanocores for {window} ms are no whole nanoseconds")
    begins = (start * 10**9 for start in range(1, 1000))
    begin = next(begin for begin in begins if all(int(ns / 1e9 * 1e9) == ns for ns in (begin, begin + burnt)))
    return Series((begin / 1e9, (begin + burnt) / 1e9), (memory, memory), (at, at + window))


@dataclass(frozen=True)
class Container:
    """`series` None: the kubelet knows nothing of it. `init`: an init container that has ended; `sidecar`: one that runs on."""

    name: str
    series: Series | None
    init: bool = False
    sidecar: bool = False


@dataclass(frozen=True)
class Pod:
    """A pod of the cluster. `phase` Running means that all its containers but the ended ones run."""

    namespace: str
    name: str
    containers: Sequence[Container]
    labels: Mapping[str, str] = field(default_factory=dict)
    node: str = "node-a"
    phase: str = "Running"


@dataclass(frozen=True)
class Node:
    """A node. `series` None: its kubelet says nothing of the node itself; without `serves` it answers 404. `extra` is one more line."""

    name: str
    series: Series | None
    labels: Mapping[str, str] = field(default_factory=dict)
    extra: str = ""
    serves: bool = True


NODES = (
    Node("node-a", steady(1_234_567_891, 6_442_450_944, at=120), {"zone": "one", "kubernetes.io/os": "linux"}),
    Node("node-b", steady(100_000_000_000, 1_099_511_627_777, window=17_913, at=3), {"zone": "two", "kubernetes.io/os": "linux"}),
    Node("node-bad-line", None, extra='container_start_time_seconds{container="x",namespace="y",pod="z"} 1 2 3\n'),
    Node("node-silent", None, {"zone": "two"}, serves=False),
)

_RATES = (
    0, 1, 9, 10, 999, 1_000, 1_500, 999_999, 1_000_000, 1_500_000, 11_187_091, 25_000_000, 250_000_000, 999_999_999, 1_000_000_000,
    1_500_000_000, 12_000_000_000, 99_999_999_999, 100_000_000_000,
)  # fmt: skip
"""Nanocores: from nothing to 100 cores."""

_SIZES = (
    1, 2, 999, 1000, 1001, 1023, 1024, 1025, 1536, 10**6, 2**20, 5 * 2**20, 12_533_760, 12_533_761, 10**9, 2**30, 2**30 + 1,
    1_616_273_408, 10**12, 2**40, 2**50, 10**15, 2**53 - 1, 10**18, 2**60, 2**61 + 2**50, 2**62, 2**62 + 1024, 6 * 10**18, 2**63 - 1024,
)  # fmt: skip
"""Bytes: from one to the largest int64 that a kubelet's float can say."""

BEYOND = (2**63, 10**19, 2**64 - 2048)
"""Bytes that no int64 holds; a uint64 does."""

_WINDOWS = (1_000, 1_500, 9_999, 10_000, 17_913, 60_000, 61_001)
"""Milliseconds."""

_USUAL = steady(50_000_000, 52_428_800)


def _magnitudes() -> Iterator[Pod]:
    for rate in _RATES:
        yield Pod("magnitudes", f"cpu-{rate}n", [Container("main", steady(rate, 2**20))], {"of": "cpu"}, "node-b")
    for size in _SIZES:
        yield Pod("magnitudes", f"memory-{size}", [Container("main", steady(10**6, size))], {"of": "memory"}, "node-b")
    for window in _WINDOWS:
        yield Pod("magnitudes", f"window-{window}", [Container("main", steady(10**6, 2**20, window=window))], {"of": "window"}, "node-b")


_APPS = (
    Pod(
        "apps",
        "web-0",
        # The order of the spec is not that of the alphabet, and the two were measured 5 s apart.
        [Container("web", steady(120_000_000, 73_400_320, at=5_250)), Container("cache", steady(3_000_000, 9_437_185, at=250))],
        {"app": "web", "tier": "front", "app.kubernetes.io/name": "web"},
    ),
    Pod("apps", "web-1", [Container("web", steady(80_000_000, 70_000_000))], {"app": "web", "tier": "front"}, "node-b"),
    Pod("apps", "db-0", [Container("db", steady(1_100_000_000, 3_221_225_472))], {"app": "db", "tier": "back"}),
    Pod("apps", "plain", [Container("main", _USUAL)]),
    Pod("apps", "sidecar", [Container("proxy", steady(1_000_000, 10_485_760), sidecar=True), Container("main", _USUAL)]),
    Pod("apps", "restarted", [Container("main", Series((900.0, 1.1), (4096, 8192), started=(LONG_AGO, START + 4)))]),
    # Absent by both.
    Pod("apps", "pending", [Container("main", _USUAL)], phase="Pending"),
    Pod("apps", "ended", [Container("main", _USUAL)], phase="Succeeded"),
    Pod("apps", "silent", [Container("main", None)]),
    Pod("apps", "on-silent-node", [Container("main", None)], node="node-silent"),
    Pod("apps", "once", [Container("main", Series((None, 5.0), (None, 4096)))]),
    Pod("apps", "fresh", [Container("main", Series((None, 2.4), (None, 4096), started=(START + 3, START + 3)))]),
)

_DIFFERING = (
    Pod("differing", "on-bad-line-node", [Container("main", _USUAL)], {"case": "bad-line"}, "node-bad-line"),
    Pod("differing", "young", [Container("main", Series((None, 5.0), (None, 4096), started=(START - 15, START - 15)))], {"case": "young"}),
    Pod("differing", "half", [Container("main", _USUAL), Container("quiet", None)], {"case": "half"}),
    Pod("differing", "backwards", [Container("main", Series((20.0, 10.0), (4096, 4096)))], {"case": "backwards"}),
    Pod(
        "differing",
        "init-zeros",
        [Container("setup", Series((0.0, 0.0), (0, 0)), init=True), Container("main", _USUAL)],
        {"case": "init-zeros"},
    ),
    Pod("differing", "memoryless", [Container("main", steady(50_000_000, 0))], {"case": "memoryless"}),
    # Measured an hour apart, if it were for the kubelet's clock, and seconds apart in truth.
    Pod("differing", "leap", [Container("main", steady(10**6, 2**20, window=3_661_001))], {"case": "leap"}),
    Pod("differing", "swapping", [Container("main", replace(_USUAL, swap=1_536))], {"case": "swapping"}),
    Pod("differing", "near", [Container("main", steady(40_000_000, 4096, window=500))], {"case": "near"}),
    Pod(
        "differing",
        "two-clocks",
        [Container("main", Series((1.0, 4.0), (4096, 8192), (0, 15_000), memory_at=(1_000, 21_000)))],
        {"case": "two-clocks"},
    ),
    # A counter whose nanoseconds fall just short of whole ones in floating point: 1.019e-06 * 1e9 is 1018.9999999999999.
    Pod("differing", "nanoseconds", [Container("main", Series((1e-06, 1.019e-06), (4096, 4096), (0, 1000)))], {"case": "nanoseconds"}),
    *(Pod("differing", f"beyond-{size}", [Container("main", steady(10**6, size))], {"case": "beyond"}) for size in BEYOND),
)

PODS = (*_APPS, *_DIFFERING, *_magnitudes())


def node_object(node: Node) -> dict[str, Any]:
    """The Node as it is created, without status."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name, "labels": dict(node.labels)}, "spec": {}}


def node_status(address: str, port: int) -> dict[str, Any]:
    """The status of a node whose kubelet listens there."""
    return {
        "addresses": [{"type": "InternalIP", "address": address}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        "nodeInfo": {},
    }


def pod_object(pod: Pod) -> dict[str, Any]:
    """The Pod as it is created, bound already, without status."""
    spec: dict[str, Any] = {"nodeName": pod.node, "terminationGracePeriodSeconds": 0, "containers": []}
    for container in pod.containers:
        made: dict[str, Any] = {"name": container.name, "image": IMAGE}
        if container.sidecar:
            made["restartPolicy"] = "Always"
        spec.setdefault("initContainers" if container.init or container.sidecar else "containers", []).append(made)
    metadata = {"name": pod.name, "namespace": pod.namespace, "labels": dict(pod.labels)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def pod_status(pod: Pod) -> dict[str, Any]:
    """What the kubelet says of its containers' states."""
    if pod.phase == "Pending":
        return {"phase": pod.phase}
    statuses: dict[str, list[dict[str, Any]]] = {"containerStatuses": [], "initContainerStatuses": []}
    for container in pod.containers:
        over = container.init or pod.phase == "Succeeded"
        started = rfc3339(container.series.started[1] if container.series else LONG_AGO)
        ended = {"terminated": {"exitCode": 0, "startedAt": rfc3339(LONG_AGO), "finishedAt": rfc3339(LONG_AGO + 60)}}
        statuses["initContainerStatuses" if container.init or container.sidecar else "containerStatuses"].append(
            {
                "name": container.name,
                "image": IMAGE,
                "imageID": "",
                "ready": not over,
                "restartCount": 0,
                "state": ended if over else {"running": {"startedAt": started}},
            }
        )
    return {"phase": pod.phase, "startTime": rfc3339(LONG_AGO), **{name: found for name, found in statuses.items() if found}}
