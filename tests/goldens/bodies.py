"""The two answers of each kubelet of the goldens' cluster, in the form of /metrics/resource."""

from app.simulation.exposition import CONTENT_TYPE, go_float
from tests.goldens.cluster import NODES, PODS, START, Node, Series

__all__ = ["CONTENT_TYPE", "body"]

_START_MS = START * 1000
_CPU, _MEMORY, _STARTED, _SWAP = "cpu_usage_seconds_total", "memory_working_set_bytes", "start_time_seconds", "swap_usage_bytes"


def body(node: Node, moment: int) -> bytes:
    """What the kubelet of `node` answers at first (moment 0) and ever after (moment 1). Lines are sorted, as a kubelet's are."""
    lines: list[str] = []
    for pod in PODS:
        if pod.node != node.name:
            continue
        for container in pod.containers:
            labels = f'{{container="{container.name}",namespace="{pod.namespace}",pod="{pod.name}"}}'
            if container.series is not None:
                lines.extend(_lines("container", labels, container.series, moment))
                if container.series.cpu[moment] is not None:
                    lines.append(f"container_{_STARTED}{labels} {go_float(container.series.started[moment])}")
    if node.series is not None:
        lines.extend(_lines("node", "", node.series, moment))
    return (node.extra + "".join(f"{line}\n" for line in sorted(lines))).encode()


def kubelet_of(name: str) -> Node:
    """The node of this name. Raises StopIteration."""
    return next(node for node in NODES if node.name == name)


def _lines(of: str, labels: str, series: Series, moment: int) -> list[str]:
    cpu, memory = series.cpu[moment], series.memory[moment]
    stamp = _START_MS + series.at[moment]
    memory_stamp = stamp if series.memory_at is None else _START_MS + series.memory_at[moment]
    cpu_lines = [f"{of}_{_CPU}{labels} {go_float(cpu)} {stamp}"] if cpu is not None else []
    memory_lines = [f"{of}_{_MEMORY}{labels} {go_float(memory)} {memory_stamp}"] if memory is not None else []
    swap_lines = [f"{of}_{_SWAP}{labels} {go_float(series.swap)} {stamp}"] if series.swap is not None else []
    return cpu_lines + memory_lines + swap_lines
