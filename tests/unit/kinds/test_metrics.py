"""NodeMetrics and PodMetrics: their objects and cells."""

import msgspec

from app import kinds
from app.cache.values import ContainerUsage, NodeUsage, PodUsage
from app.kinds import node_metrics, pod_metrics
from app.kube.records import NodeRecord, PodRecord, Resources

SECOND = 10**9
T = 1_764_500_000 * SECOND
NODE = NodeRecord("n", "u", (("zone", "a"),), T, True, (), 0, "", Resources(), Resources())
POD = PodRecord("ns", "p", "u", "u", "n", (("app", "web"),), "Running", True, T, ("", ""), False, ())
NODE_USAGE = NodeUsage(cpu=11_187_091, memory=12_533_760, time=T, window=17_913_000_000, source="kubelet_resource")
POD_USAGE = PodUsage(
    containers=(ContainerUsage("b", 1_500_000, 1024), ContainerUsage("a", 500_000, 1025)),
    time=T,
    window=20 * SECOND,
    source="kubelet_summary",
)


def test_every_module_is_a_kind() -> None:
    """A new kind is a new file: nothing lists them by hand."""
    loaded = {kind.kind for kind in kinds.load()}

    assert loaded >= {kind.kind for kind in kinds.published()} == {"NodeMetrics", "PodMetrics"}
    assert loaded >= {"NodeStats", "PodStats", "ContainerStats", "VolumeStats", "Collector"}


def test_node_metrics() -> None:
    """Quantities are canonical, the window is a Go duration."""
    assert node_metrics.project(NODE, NODE_USAGE) is NODE_USAGE
    expected = {"timestamp": "2025-11-30T10:53:20Z", "window": "17.913s", "usage": {"cpu": "11187091n", "memory": "12240Ki"}}
    assert msgspec.json.decode(node_metrics.json(NODE_USAGE)) == expected
    assert (node_metrics.KIND.annotations(NODE_USAGE), node_metrics.KIND.created(NODE_USAGE)) == ((), T)


def test_pod_metrics() -> None:
    """Containers keep the order of the pod's spec; a value that is not from the light endpoint says so."""
    assert pod_metrics.project(POD, POD_USAGE) is POD_USAGE
    containers = [{"name": "b", "usage": {"cpu": "1500u", "memory": "1Ki"}}, {"name": "a", "usage": {"cpu": "500u", "memory": "1025"}}]
    told = msgspec.json.decode(pod_metrics.json(POD_USAGE))
    assert told == {"timestamp": "2025-11-30T10:53:20Z", "window": "20s", "containers": containers}
    assert pod_metrics.KIND.annotations(POD_USAGE) == (("kubeglance.io/source", "summary"),)


def test_swap_stands_where_it_is_known() -> None:
    """kubectl top --show-swap reads it; a kubelet that tells none is not one without swap."""
    with_swap = PodUsage(containers=(ContainerUsage("a", 1, 1, 4096), ContainerUsage("b", 1, 1)), time=T, window=20 * SECOND, source="x")
    usages = [container["usage"] for container in msgspec.json.decode(pod_metrics.json(with_swap))["containers"]]
    assert usages == [{"cpu": "1n", "memory": "1", "swap": "4Ki"}, {"cpu": "1n", "memory": "1"}]
    assert b"swap\x12\x05\n\x034Ki" in pod_metrics.protobuf(with_swap)
    assert pod_metrics.protobuf(with_swap).count(b"swap") == 1


def test_no_usage_no_object() -> None:
    """What is not known is absent, never empty."""
    assert node_metrics.project(NODE, None) is None
    assert pod_metrics.project(POD, None) is None


def test_cells_fit_the_columns() -> None:
    """A pod's cells are the sums of its containers, a cell a column."""
    assert node_metrics.cells("n", NODE_USAGE) == ("n", "11187091n", "12240Ki", "17.913s")
    assert pod_metrics.cells("p", POD_USAGE) == ("p", "2m", "2049", "20s")
    assert {len(kind.columns) for kind in kinds.published()} == {4}


def test_node_metrics_in_protobuf() -> None:
    """The fields behind metadata, as k8s.io/metrics v0.37 writes them: 2 timestamp, 3 window in ns, 4 usage as a map of quantities."""
    assert node_metrics.protobuf(NODE_USAGE) == (
        b"\x12\x08\x08\xa0\xc4\xb0\xc9\x06\x10\x00" + b"\x1a\x06\x08\xc0\xe0\xca\xdd\x42"
        + b"\x22\x12\x0a\x03cpu\x12\x0b\x0a\x0911187091n" + b"\x22\x13\x0a\x06memory\x12\x09\x0a\x0712240Ki"
    )  # fmt: skip


def test_pod_metrics_in_protobuf() -> None:
    """As a node's, but 4 is a container: 1 name, 2 usage."""
    assert pod_metrics.protobuf(POD_USAGE) == (
        b"\x12\x08\x08\xa0\xc4\xb0\xc9\x06\x10\x00" + b"\x1a\x06\x08\x80\x90\xdf\xc0\x4a"
        + b"\x22\x24\x0a\x01b" + b"\x12\x0e\x0a\x03cpu\x12\x07\x0a\x051500u" + b"\x12\x0f\x0a\x06memory\x12\x05\x0a\x031Ki"
        + b"\x22\x24\x0a\x01a" + b"\x12\x0d\x0a\x03cpu\x12\x06\x0a\x04500u" + b"\x12\x10\x0a\x06memory\x12\x06\x0a\x041025"
    )  # fmt: skip
