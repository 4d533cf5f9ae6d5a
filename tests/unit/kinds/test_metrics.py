"""NodeMetrics and PodMetrics: their objects and cells."""

import msgspec

from app import kinds
from app.cache.usage import ContainerUsage, NodeUsage, NodeView, PodUsage, PodView
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
    assert [kind.kind for kind in kinds.load()] == ["NodeMetrics", "PodMetrics"]


def test_node_metrics() -> None:
    """Quantities are canonical, the window is a Go duration, labels are the node's."""
    projected = node_metrics.project(NodeView(NODE, NODE_USAGE))

    assert projected is not None
    expected = {"timestamp": "2025-11-30T10:53:20Z", "window": "17.913s", "usage": {"cpu": "11187091n", "memory": "12240Ki"}}
    assert msgspec.to_builtins(projected.fields) == expected
    assert (projected.labels, projected.annotations, projected.created) == (NODE.labels, (), T)


def test_pod_metrics() -> None:
    """Containers keep the order of the pod's spec; a value that is not from the light endpoint says so."""
    projected = pod_metrics.project(PodView(POD, POD_USAGE))

    assert projected is not None
    containers = [{"name": "b", "usage": {"cpu": "1500u", "memory": "1Ki"}}, {"name": "a", "usage": {"cpu": "500u", "memory": "1025"}}]
    assert msgspec.to_builtins(projected.fields) == {"timestamp": "2025-11-30T10:53:20Z", "window": "20s", "containers": containers}
    assert projected.annotations == (("kubeglance.io/source", "summary"),)


def test_no_usage_no_object() -> None:
    """What is not known is absent, never empty."""
    assert node_metrics.project(NodeView(NODE, None)) is None
    assert pod_metrics.project(PodView(POD, None)) is None


def test_cells_fit_the_columns() -> None:
    """A pod's cells are the sums of its containers, a cell a column."""
    assert node_metrics.cells("n", NODE_USAGE) == ("n", "11187091n", "12240Ki", "17.913s")
    assert pod_metrics.cells("p", POD_USAGE) == ("p", "2m", "2049", "20s")
    assert {len(kind.columns) for kind in kinds.load()} == {4}
