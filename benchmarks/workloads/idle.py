"""What it costs to know the values when nobody asks: CPU time for each scrape of a node, and memory.

All four servers run side by side and are left alone. CPU time is that of the whole process tree over windows of two intervals, divided by
how often this server asked for /metrics/resource meanwhile, as the kubelets have counted. It holds all that a server does: watches, timers,
and with kubeglance's second source the summaries too, in full with live kinds.
"""

import time
from itertools import pairwise

from benchmarks.answers import WrongAnswer
from benchmarks.progress import say
from benchmarks.rows import Better, Figure, Row
from benchmarks.scenarios import RESOLUTION
from benchmarks.workloads._base import Idle, Workload
from tests.e2e.controlplane.waiting import wait_until

CPU = Figure("cpu_per_node_scrape", "ms", Better.LOWER, 0.7)
CPU_BOTH = Figure("cpu_per_node_scrape_both", "ms", Better.LOWER, 1.2)
CPU_LIVE = Figure("cpu_per_node_scrape_live", "ms", Better.LOWER)
MEMORY = Figure("rss_idle", "MiB", Better.LOWER, 0.75, of_memory=True)
MEMORY_BOTH = Figure("rss_idle_both", "MiB", Better.LOWER, 0.75, of_memory=True)
MEMORY_LIVE = Figure("rss_idle_live", "MiB", Better.LOWER, of_memory=True)

MIB = 2**20
_SAMPLES = 5
"""Memory is read so often within one interval: it is higher right after a scrape."""


def run(stage: Idle) -> list[Row]:
    """CPU time first, and memory once enough rounds of scraping are over."""
    judges = stage.scenario.judges
    found = (((CPU, CPU_BOTH, CPU_LIVE), _cpu(stage)), ((MEMORY, MEMORY_BOTH, MEMORY_LIVE), _memory(stage)))
    return [
        Row(figure, values, peer, judged=judges(figure))
        for figures, (*widths, peer) in found
        for figure, values in zip(figures, widths, strict=True)
    ]


def _cpu(stage: Idle) -> list[list[float]]:
    """Milliseconds a node-scrape in each window, by server. A window begins where the one before it ended: nothing is left out."""
    scenario, kubelets = stage.scenario, stage.cluster.kubelets
    marks: list[list[tuple[float, int]]] = [[] for _ in stage.servers]
    for number in range(scenario.windows + 1):
        if number:
            time.sleep(scenario.window)
        stage.cluster.check()
        for server, own in zip(stage.servers, marks, strict=True):
            own.append((server.processes.cpu_seconds(), kubelets.scrapes(server.token)))
    values = [[_cost(*pair) for pair in pairwise(own)] for own in marks]
    for server, costs in zip(stage.servers, values, strict=True):
        say(f"{server.name}: CPU {', '.join(f'{cost:.3f}' for cost in costs)} ms a node-scrape")
    return values


def _cost(before: tuple[float, int], after: tuple[float, int]) -> float:
    """Milliseconds a scrape between two readings of CPU seconds and scrapes."""
    if after[1] == before[1]:
        raise WrongAnswer("a server has scraped nothing for a whole window")
    return 1000 * (after[0] - before[0]) / (after[1] - before[1])


def _memory(stage: Idle) -> list[list[float]]:
    """MiB, by server, over one interval."""
    scenario, kubelets = stage.scenario, stage.cluster.kubelets
    enough = scenario.scrapes * stage.cluster.plan.nodes
    wait_until(
        f"every server has scraped all nodes {scenario.scrapes} times",
        lambda: all(kubelets.scrapes(server.token) >= enough for server in stage.servers),
        seconds=2 * scenario.scrapes * RESOLUTION,
        every=1,
    )
    values: list[list[float]] = [[] for _ in stage.servers]
    for _ in range(_SAMPLES):
        for server, own in zip(stage.servers, values, strict=True):
            own.append(server.processes.resident_bytes() / MIB)
        time.sleep(RESOLUTION / _SAMPLES)
    for server, own in zip(stage.servers, values, strict=True):
        say(f"{server.name}: memory {', '.join(f'{value:.1f}' for value in own)} MiB")
    return values


WORKLOAD = Workload((CPU, CPU_BOTH, CPU_LIVE, MEMORY, MEMORY_BOTH, MEMORY_LIVE), run)
