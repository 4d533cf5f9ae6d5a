"""One file, one workload: what each server is asked, why both answers are right, and what is measured."""

from benchmarks.workloads import aggregator, first_value, get_pod, idle, list_nodes, list_pods, list_pods_selector, lists_memory
from benchmarks.workloads._base import Alone, Idle, Loaded, Workload

ALONE: tuple[Workload[Alone], ...] = (first_value.WORKLOAD,)
"""Start servers themselves, one at a time."""

IDLE: tuple[Workload[Idle], ...] = (idle.WORKLOAD,)
"""Nobody asks: all three servers scrape, side by side."""

LOADED: tuple[Workload[Loaded], ...] = (
    *list_pods.WORKLOADS,
    *list_pods_selector.WORKLOADS,
    list_nodes.WORKLOAD,
    get_pod.WORKLOAD,
    aggregator.WORKLOAD,
    lists_memory.WORKLOAD,  # last: it leaves memory behind
)
"""One server at a time is asked; both go on scraping."""

FIGURES = tuple(figure for stage in (ALONE, IDLE, LOADED) for workload in stage for figure in workload.figures)
"""All rows of the table, in its order."""
