"""The growth suite: each size has its turn, alone on the machine; what differs between sizes is what a node and a pod cost.

First nobody asks anything: CPU time, memory, and whether scrapes keep their interval. Then clients ask at a steady pace while another one
lists everything now and then.
"""

import asyncio
import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from statistics import quantiles

import httpx
import uvloop

from benchmarks.growth import chart
from benchmarks.growth.cluster import API, Grown, grown
from benchmarks.growth.pace import Pace
from benchmarks.plan import SELECTED_APP, Plan
from benchmarks.progress import say
from benchmarks.results import LATEST
from benchmarks.rows import Better, Figure, Row
from benchmarks.scenarios import RESOLUTION, Scenario
from tests.e2e.controlplane.waiting import wait_until

CHART = LATEST.with_name("growth.png")
PODS, CONTAINERS = 30, 2
STEP_S = 0.005
"""A request every 5 ms: what stalls the event loop for longer than that is seen."""

_LIST_EVERY = 20
"""Of so many requests one is the HPA's, a list by label; the others get one pod."""

_CONNECTIONS = 16
_ALL_S = 5.0
_SETTLED_S = 22
"""After the first values: until then second scrapes come early. One interval later the last node has come from there to its place on the
grid, which is half to one and a half intervals away."""

_GIVEN_BACK_S = 62
"""The age at which memory is read: kubeglance has given back once what its start has left."""

_WINDOW_S = 2 * RESOLUTION
"""A summary is due once in it, and the light endpoint twice."""

_LOAD_S = 10
_ROTATED = 1000
_VALUES_WITHIN_S = 300


@dataclass(frozen=True)
class Measured:
    """What one size has shown. Seconds and bytes.

    `cpu_per_scrape` is the CPU time for one node and interval, `kept` the part of the scrapes that came within 5 % of the interval after
    the one before, the time of the load included. Latencies of each kind of request count from when it was due.
    """

    nodes: int
    first_values: float
    cpu_per_scrape: float
    kept: float
    resident: int
    resident_loaded: int
    latencies: Mapping[str, Sequence[float]]
    lists: Sequence[float]
    list_bytes: int

    @property
    def pods(self) -> int:
        return self.nodes * PODS

    def p99(self, kind: str) -> float:
        """Seconds."""
        return quantiles(self.latencies[kind], n=100)[-1]

    @property
    def longest(self) -> float:
        """How long any single request waited: no stall of the event loop was longer than this and a step."""
        return max(max(found) for found in self.latencies.values())


def run(scenario: Scenario, chosen: frozenset[str], directory: Path) -> list[Row]:
    """The rows of all sizes, and the chart. Nothing if only other rows are wanted."""
    if chosen:
        return []
    found = []
    for nodes in scenario.growth:
        say(f"growth: {nodes} nodes with {nodes * PODS} pods")
        with grown(nodes, PODS, CONTAINERS, directory / f"growth-{nodes}") as cluster:
            found.append(measure(cluster))
        say(summary(found[-1]))
    made = list(rows(found))
    if scenario.is_full:
        CHART.parent.mkdir(exist_ok=True)
        chart.draw([row.as_json() for row in made], CHART)
    return made


def measure(cluster: Grown) -> Measured:
    """All of one size. Raises ProcessDied, WaitedInVain, Unanswered."""
    first_values = _first_values(cluster)
    time.sleep(_SETTLED_S)
    begin, cpu = cluster.counts(), cluster.kubeglance.cpu_seconds()
    time.sleep(RESOLUTION)
    regular = cluster.counts()
    time.sleep(_WINDOW_S - RESOLUTION)
    end, cpu = cluster.counts(), cluster.kubeglance.cpu_seconds() - cpu
    time.sleep(max(0.0, _GIVEN_BACK_S - cluster.kubeglance.age_seconds()))
    resident = cluster.kubeglance.resident_bytes()
    pace, lists, size = uvloop.run(_load(cluster))
    last = cluster.counts()
    return Measured(
        nodes=cluster.plan.nodes,
        first_values=first_values,
        cpu_per_scrape=cpu / (end.scrapes - begin.scrapes),
        kept=1 - (last.late - regular.late) / (last.scrapes - regular.scrapes),
        resident=resident,
        resident_loaded=cluster.kubeglance.resident_bytes(),
        latencies=pace.latencies,
        lists=lists,
        list_bytes=size,
    )


def rows(found: Sequence[Measured]) -> Iterator[Row]:
    """A row a figure and size; what a pod needs is told by two sizes."""

    def row(name: str, unit: str, value: float, better: Better = Better.LOWER) -> Row:
        return Row(Figure(name, unit, better), [value])

    for each in found:
        yield row(f"growth_cpu_per_node_scrape_{each.nodes}", "ms", each.cpu_per_scrape * 1000)
        yield row(f"growth_interval_kept_{each.nodes}", "%", 100 * each.kept, Better.HIGHER)
        yield row(f"growth_rss_{each.nodes}", "MiB", each.resident / 2**20)
        yield row(f"growth_get_pod_p99_{each.nodes}", "ms", each.p99("get") * 1000)
        yield row(f"growth_list_selector_p99_{each.nodes}", "ms", each.p99("list") * 1000)
        yield row(f"growth_longest_wait_{each.nodes}", "ms", each.longest * 1000)
        yield row(f"growth_first_values_{each.nodes}", "s", each.first_values)
    for small, large in pairwise(found):
        per_pod = (large.resident - small.resident) / (large.pods - small.pods)
        yield row(f"growth_rss_per_pod_{small.nodes}_to_{large.nodes}", "KB", per_pod / 1000)


def summary(each: Measured) -> str:
    """One line for whoever waits."""
    return (
        f"{each.nodes} nodes: {each.cpu_per_scrape * 1000:.2f} ms CPU a node and interval, {100 * each.kept:.1f} % of scrapes in time, "
        f"{each.resident / 2**20:.0f} MiB ({each.resident_loaded / 2**20:.0f} after lists), "
        f"p99 {each.p99('get') * 1000:.1f} ms (get) and {each.p99('list') * 1000:.1f} ms (list), longest {each.longest * 1000:.0f} ms, "
        f"all pods in {max(each.lists, default=0):.2f} s and {each.list_bytes / 1e6:.1f} MB, values after {each.first_values:.1f} s"
    )


def _first_values(cluster: Grown) -> float:
    """Seconds since kubeglance was started until all nodes and pods have values. Nodes are asked for first: their list is short."""
    with cluster.client() as client:
        for path, wanted in (("nodes", cluster.plan.nodes), ("pods", cluster.plan.nodes * cluster.plan.pods)):
            wait_until(f"values of all {path}", _all_listed(cluster, client, path, wanted), seconds=_VALUES_WITHIN_S, every=0.25)
    return cluster.kubeglance.age_seconds()


def _all_listed(cluster: Grown, client: httpx.Client, path: str, wanted: int) -> Callable[[], bool]:
    def look() -> bool:
        _ = cluster.kubeglance
        try:
            answer = client.get(f"{API}/{path}")
        except httpx.TransportError as error:
            raise OSError(str(error)) from error
        return answer.status_code == 200 and answer.content.count(b'"timestamp"') == wanted

    return look


async def _load(cluster: Grown) -> tuple[Pace, list[float], int]:
    """The paced requests, the durations of full lists beside them, and how large one is."""
    server = cluster.server()
    pace = Pace(server, _targets(cluster.plan), STEP_S)
    lists: list[float] = []
    size = 0
    loop = asyncio.get_running_loop()

    async def list_all() -> None:
        nonlocal size
        connection = await server.connect()
        while True:
            start = loop.time()
            size = await connection.get(f"{API}/pods")
            lists.append(loop.time() - start)
            await asyncio.sleep(max(0.0, start + _ALL_S - loop.time()))

    gc.disable()  # its pauses would look like the server's
    lister = loop.create_task(list_all())
    try:
        await pace.keep(_LOAD_S, _CONNECTIONS)
    finally:
        gc.enable()
        lister.cancel()
    return pace, lists, size


def _targets(plan: Plan) -> Callable[[int], tuple[str, str]]:
    pods = list(islice(plan.all_pods(), 0, None, max(1, plan.nodes * plan.pods // _ROTATED)))
    gets = [f"{API}/namespaces/{pod.namespace}/pods/{pod.name}" for pod in pods]
    lists = [f"{API}/namespaces/{name}/pods?labelSelector=app%3D{SELECTED_APP}" for name in plan.namespaces]

    def target(number: int) -> tuple[str, str]:
        turn, place = divmod(number, _LIST_EVERY)
        return ("get", gets[number % len(gets)]) if place else ("list", lists[turn % len(lists)])

    return target
