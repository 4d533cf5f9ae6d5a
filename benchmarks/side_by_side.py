"""The run beside metrics-server: everything is started, every workload has its turn, everything is ended."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TypeVar

from benchmarks import load, workloads
from benchmarks.cluster import Cluster
from benchmarks.progress import say
from benchmarks.rows import Row
from benchmarks.scenarios import Scenario
from benchmarks.servers import Server, kubeglance, kubeglance_both, kubeglance_resource, metrics_server
from benchmarks.workloads._base import Alone, Idle, Loaded, Workload
from tests.e2e.controlplane import programs

NEEDED = ("etcd", "kube-apiserver", "kubectl", "metrics-server")

Given = TypeVar("Given", bound=Alone)


def missing() -> str | None:
    """One line that says what is to be installed or built first, if anything is."""
    return programs.skip_reason(*NEEDED) or load.missing()


def run(scenario: Scenario, only: frozenset[str], directory: Path) -> list[Row]:
    """The rows of all workloads, or of those that have one of these names among theirs, in the order of the table."""
    say(f"starting a control plane with {scenario.nodes} nodes and {scenario.nodes * scenario.pods} pods")
    with Cluster.up(scenario, directory) as cluster:
        return list(_rows(scenario, cluster, only))


def _rows(scenario: Scenario, cluster: Cluster, only: frozenset[str]) -> Iterator[Row]:
    alone, idle, loaded = _wanted(workloads.ALONE, only), _wanted(workloads.IDLE, only), _wanted(workloads.LOADED, only)
    for first in alone:
        yield from first.run(Alone(scenario, cluster))
    if not idle and not loaded:
        return
    with ExitStack() as stack:
        ours, both, live, peer = (
            stack.enter_context(closing(start(cluster.plane, cluster.token)))
            for start in (kubeglance_resource, kubeglance_both, kubeglance, metrics_server)
        )
        _serve(scenario, (ours, both, live, peer))
        for second in idle:
            yield from second.run(Idle(scenario, cluster, ours, both, live, peer))
        both.close()
        live.close()
        for third in loaded:
            yield from third.run(Loaded(scenario, cluster, ours, peer))


def _serve(scenario: Scenario, servers: Sequence[Server]) -> None:
    """Until all have been up for as long as the scenario says."""
    say(f"all servers are started; nothing is measured for {scenario.served} s")
    for server in servers:
        time.sleep(max(0.0, scenario.served - server.processes.age_seconds()))
        server.check()


def _wanted(every: Sequence[Workload[Given]], only: frozenset[str]) -> list[Workload[Given]]:
    return [workload for workload in every if not only or only & {figure.name for figure in workload.figures}]
