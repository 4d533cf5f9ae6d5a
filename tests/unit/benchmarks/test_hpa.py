"""The hpa suite: what autoscalers ask and when, what Prometheus is told, and that no wrong answer is measured."""

import asyncio
import json
from typing import cast

import httpx
import pytest

from benchmarks.answers import WrongAnswer
from benchmarks.growth.pace import Server, Unanswered
from benchmarks.hpa import suite
from benchmarks.hpa.autoscalers import PERIOD_S, Autoscalers
from benchmarks.hpa.metrics import METRICS, Told, pace, selected
from benchmarks.plan import Plan
from benchmarks.rows import Better
from tests.fakes.clock import ManualClock

PLAN = Plan(nodes=20, pods=70, containers=2, since=1_796_000_000)


class SlowConnection:
    """Takes a second for an answer, twenty where the path is "slow", and refuses "refused"."""

    def __init__(self, asked: list[tuple[float, str]]) -> None:
        self.closed = False
        self._asked = asked

    async def get(self, path: str) -> int:
        self._asked.append((asyncio.get_running_loop().time(), path))
        await asyncio.sleep(20 if path == "slow" else 1)
        if path == "refused":
            raise Unanswered("500")
        return 1

    def close(self) -> None:
        self.closed = True


class SlowServer:
    def __init__(self) -> None:
        self.connections: list[SlowConnection] = []
        self.asked: list[tuple[float, str]] = []

    async def connect(self) -> SlowConnection:
        self.connections.append(SlowConnection(self.asked))
        return self.connections[-1]


@pytest.mark.looptime
async def test_each_autoscaler_asks_once_a_period_at_a_moment_of_its_own() -> None:
    """Five are spread over the 15 s; answers come before the next is due, so that one connection serves all."""
    server = SlowServer()
    autoscalers = Autoscalers(cast("Server", server), [f"m{number}" for number in range(5)])
    begin = asyncio.get_running_loop().time()
    await autoscalers.run(3 * PERIOD_S)
    assert [round(at - begin, 3) for at, path in server.asked if path == "m2"] == [6, 21, 36]
    assert (len(autoscalers.latencies), autoscalers.failed) == (15, 0)
    assert [1.0] * 15 == pytest.approx(autoscalers.latencies)
    assert [each.closed for each in server.connections] == [True]


@pytest.mark.looptime
async def test_one_that_waits_for_longer_than_its_period_asks_at_once_and_what_was_refused_is_told() -> None:
    """Nothing is asked twice at a time by one autoscaler."""
    server = SlowServer()
    autoscalers = Autoscalers(cast("Server", server), ["slow", "refused"])
    begin = asyncio.get_running_loop().time()
    await autoscalers.run(65)
    assert [round(at - begin, 3) for at, path in server.asked if path == "slow"] == [0, 20, 40, 60]
    assert (len(autoscalers.latencies), autoscalers.failed) == (3, 4)
    assert all(each.closed for each in server.connections)


def test_an_exporter_tells_every_pod_and_metric_and_counters_that_grow_at_their_pace() -> None:
    """So that the answers can be checked."""
    clock = ManualClock()
    told = Told(PLAN, clock)
    clock.advance(10)
    lines = told().splitlines()
    pod = next(PLAN.all_pods())
    assert len(lines) == len(METRICS) * 1400
    rate = pace(METRICS[0], pod.namespace, pod.name)
    assert lines[0] == f'{METRICS[0]}_total{{namespace="{pod.namespace}",pod="{pod.name}"}} {10 * rate:.3f}'


def answer(values: dict[str, str], status: int = 200) -> httpx.Response:
    items = [{"describedObject": {"name": name}, "value": value} for name, value in values.items()]
    return httpx.Response(status, content=json.dumps({"items": items}), request=httpx.Request("GET", "https://server/"))


def test_only_a_whole_and_right_answer_passes() -> None:
    """Prometheus extrapolates: five percent are within a rate."""
    suite.check("us", {"a": 10, "b": 20}, answer({"a": "10400m", "b": "20"}))
    for wrong, words in (
        (answer({"a": "10"}), "1 pods are missing"),
        (answer({"a": "10", "b": "20", "c": "1"}), "such as c"),
        (answer({"a": "10", "b": "25"}), "b has 20 requests a second, the answer says 25"),
        (answer({}, 404), "was answered 404"),
    ):
        with pytest.raises(WrongAnswer, match=words):
            suite.check("us", {"a": 10, "b": 20}, wrong)


def test_the_request_is_about_400_of_700_pods() -> None:
    """As the HPA asks for those of one Deployment."""
    assert len(selected(PLAN, "team-0", METRICS[0])) == 400
    assert len(PLAN.namespaces) == 2


def test_targets_are_those_that_were_set() -> None:
    """They are against the adapter without its limit; names are unique."""
    targets = {figure.name: (figure.better, figure.target) for figure in suite.FIGURES if figure.target is not None}
    assert targets == {
        "hpa_requests": (Better.HIGHER, 10),
        "hpa_request_alone_p50": (Better.LOWER, 0.05),
        "hpa_autoscalers_queries": (Better.LOWER, 0.1),
    }
    assert len(suite.FIGURES) == len({figure.name for figure in suite.FIGURES})
