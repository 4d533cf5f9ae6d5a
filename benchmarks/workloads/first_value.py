"""From the start of the process until every running pod has a correct value: how long `kubectl top` and the HPA are blind after a restart.

Each server runs alone, with its default flags. A client asks for the list of all pods ten times a second, from the first moment; once it is
as long as it must be, its values are compared with what is true. The list of the moment in which all are right ends the round.
"""

import time
from collections.abc import Mapping
from contextlib import closing

import httpx

from app.clock import SystemClock
from benchmarks import answers
from benchmarks.answers import WrongAnswer
from benchmarks.contest import contest
from benchmarks.progress import say
from benchmarks.rows import Better, Figure, Row
from benchmarks.servers import Start, kubeglance, metrics_server
from benchmarks.workloads._base import Alone, Workload
from benchmarks.workloads.list_pods import JSON, PATH

HEADERS = {"Accept": JSON, "Accept-Encoding": "identity"}
TIME = Figure("first_value_after_start", "s", Better.LOWER, 0.2)
PERIOD = 0.1
PATIENCE = 180
"""Seconds after which something must be wrong."""


def run(stage: Alone) -> list[Row]:
    """Start, wait, end; in turn."""
    expected = answers.pods(stage.cluster.plan)

    def measure(start: Start) -> Mapping[Figure, float]:
        stage.cluster.check()
        with closing(start(stage.cluster.plane, stage.cluster.token)) as server, server.client() as client:
            while True:
                look = SystemClock().monotonic()
                answer = _ask(client)
                age = server.processes.age_seconds()  # before the answer is looked at: that takes time of ours
                problem = _problem(answer, expected)
                if not problem:
                    say(f"{server.name}: all values {age:.2f} s after its start")
                    return {TIME: age}
                if age > PATIENCE:
                    raise WrongAnswer(f"{server.name} has not all values {PATIENCE} s after its start: {problem}")
                time.sleep(max(0.0, look + PERIOD - SystemClock().monotonic()))

    return contest(kubeglance, metrics_server, stage.scenario.starts, measure, judges=stage.scenario.judges)


def _ask(client: httpx.Client) -> httpx.Response | None:
    """None while nobody listens."""
    try:
        return client.get(PATH, headers=HEADERS)
    except httpx.TransportError:
        return None


def _problem(answer: httpx.Response | None, expected: answers.Usages) -> str:
    """What is still wrong with the list; "" once all is right. Values are only read of a list that is long enough."""
    if answer is None or answer.status_code != 200:
        return "no answer" if answer is None else f"status {answer.status_code}"
    if (items := answer.content.count(b'"timestamp"')) != len(expected):
        return f"{items} pods of {len(expected)}"
    try:
        answers.check("the list", expected, answers.read(answer))
    except WrongAnswer as error:
        return str(error)
    return ""


WORKLOAD = Workload((TIME,), run)
