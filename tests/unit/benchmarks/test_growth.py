"""The arithmetic of the growth suite, and that its pace hides no stall."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import cast

import pytest

from benchmarks.growth import chart, suite
from benchmarks.growth.pace import Pace, Server
from benchmarks.growth.suite import Measured
from benchmarks.plan import Plan


class SlowConnection:
    """Takes 1 ms for an answer, but for one that takes `stall` seconds."""

    def __init__(self, stall: float) -> None:
        self.closed = False
        self._stall = stall

    async def get(self, target: str) -> int:
        await asyncio.sleep(self._stall if target == "stall" else 0.001)
        return 1

    def close(self) -> None:
        self.closed = True


class SlowServer:
    def __init__(self, stall: float) -> None:
        self.connections: list[SlowConnection] = []
        self._stall = stall

    async def connect(self) -> SlowConnection:
        self.connections.append(SlowConnection(self._stall))
        return self.connections[-1]

    def close_all(self) -> None:
        for connection in self.connections:
            connection.close()


@pytest.mark.looptime
async def test_requests_that_are_due_during_a_stall_wait_and_their_wait_counts() -> None:
    server = SlowServer(stall=0.1)
    pace = Pace(cast("Server", server), lambda number: ("get", "stall" if number == 10 else "x"), step=0.01)
    await pace.keep(seconds=1, connections=1)
    waited = sorted(pace.latencies["get"], reverse=True)
    assert len(waited) == 100
    # The one that stalls waits 100 ms; those that were due after 10, 20, ... 90 ms of it wait for the rest and for one another.
    assert [0.1, 0.091, 0.082, 0.073] == pytest.approx(waited[:4])
    assert waited[-1] == pytest.approx(0.001)
    assert all(connection.closed for connection in server.connections)


@pytest.mark.looptime
async def test_a_connection_that_the_server_has_closed_meanwhile_is_opened_anew() -> None:
    server = SlowServer(stall=0)
    pace = Pace(cast("Server", server), lambda _: ("get", "x"), step=0.01)
    asyncio.get_running_loop().call_later(0.505, server.close_all)
    await pace.keep(seconds=1, connections=1)
    assert (len(server.connections), len(pace.latencies["get"])) == (2, 100)


def measured(nodes: int, resident: int) -> Measured:
    return Measured(
        nodes=nodes,
        first_values=4.0,
        cpu_per_scrape=0.0015,
        kept=0.99,
        resident=resident,
        resident_loaded=resident,
        latencies={"get": [0.001] * 99 + [0.02], "list": [0.002] * 100},
        lists=[0.5],
        list_bytes=10,
    )


def test_rows_tell_each_size_and_what_lies_between() -> None:
    found = {row.figure.name: row.ours for row in suite.rows([measured(10, 80_000_000), measured(110, 98_000_000)])}
    assert found["growth_cpu_per_node_scrape_10"] == pytest.approx([1.5])
    assert found["growth_interval_kept_110"] == pytest.approx([99])
    assert found["growth_longest_wait_10"] == [20]
    assert found["growth_rss_per_pod_10_to_110"] == [6]
    assert all(row.met is None and row.ratio is None for row in suite.rows([measured(10, 1)]))


def test_the_chart_finds_its_figures_in_the_rows(tmp_path: Path) -> None:
    rows = [row.as_json() for row in suite.rows([measured(10, 80_000_000), measured(110, 98_000_000)])]
    assert chart.series(rows, "cpu_per_node_scrape") == pytest.approx({10: 1.5, 110: 1.5})
    assert list(chart.series(rows, "rss")) == [10, 110]


def test_one_request_of_twenty_is_a_list_and_the_others_go_round_the_cluster() -> None:
    plan = Plan(nodes=100, pods=30, containers=2, since=1_796_000_000)
    target = suite._targets(plan)
    asked = [target(number) for number in range(3000)]
    assert Counter(kind for kind, _ in asked) == {"get": 2850, "list": 150}
    assert len({path for kind, path in asked if kind == "get"}) > 900
    assert {path.split("/")[5] for kind, path in asked if kind == "list"} == set(plan.namespaces)
