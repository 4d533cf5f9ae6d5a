"""The simulated bodies against those of a real kubelet v1.37.2: the same families, lines, keys and order."""

import json
import re
from pathlib import Path
from typing import Any

from app.simulation.curves import SECOND
from app.simulation.exposition import resource_metrics
from app.simulation.model import ContainerSpec, SimulatedCluster, SimulatedNode
from app.simulation.summary import summary
from tests.fakes.clock import EPOCH, ManualClock

RECORDED = Path(__file__).parents[2] / "recordings" / "kubelet-v1.37.2"
NOW = int(EPOCH) * SECOND


def node() -> SimulatedNode:
    """The recorded node's pods: one with a limited and an unlimited container on the host's network, one with a sidecar."""
    cluster = SimulatedCluster(ManualClock())
    made = cluster.add_node("real-0")
    limit = 128 * 2**20
    started = NOW - 600 * SECOND
    cluster.add_pod(
        "default", "burnh", "real-0", [ContainerSpec("a", memory_limit=limit), ContainerSpec("b")], started=started, host_network=True
    )
    containers = [ContainerSpec("init", sidecar=True), ContainerSpec("app", memory_limit=limit)]
    cluster.add_pod("default", "web-0", "real-0", containers, started=started)
    return made


def shape(line: str) -> str:
    """A line without its numbers."""
    return re.sub(r" [0-9.e+]+( \d{13})?$", lambda found: " VALUE" + (" STAMP" if found[1] else ""), line)


def keys(value: Any) -> Any:
    """The keys of a document in their order, lists by their last entry."""
    if isinstance(value, dict):
        return [(key, keys(inner)) for key, inner in value.items()]
    return keys(value[-1]) if isinstance(value, list) and value else None


def by_name(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if name in {entry.get("name"), entry.get("podRef", {}).get("name")})


def test_resource_metrics_has_the_recorded_lines() -> None:
    """HELP, TYPE, families, labels, their order, and which lines have a stamp: all as recorded."""
    recorded = [shape(line) for line in (RECORDED / "02.resource.txt").read_text().splitlines()]

    assert recorded == [shape(line) for line in resource_metrics(node(), NOW).splitlines()]


def test_a_summary_has_the_recorded_keys() -> None:
    """Node, pods, containers with and without a limit: the same keys in the same order, down to the last."""
    recorded, ours = json.loads((RECORDED / "02.summary.json").read_text()), json.loads(summary(node(), NOW))

    assert keys(recorded["node"]) == keys(ours["node"])
    for pod, container in (("web-0", "app"), ("web-0", "init"), ("burnh", "a"), ("burnh", "b")):
        theirs, mine = by_name(recorded["pods"], pod), by_name(ours["pods"], pod)
        assert keys(by_name(theirs["containers"], container)) == keys(by_name(mine["containers"], container))
    assert keys(by_name(recorded["pods"], "web-0")) == keys(by_name(ours["pods"], "web-0"))
