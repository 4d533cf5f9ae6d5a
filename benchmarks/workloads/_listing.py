"""What all workloads have in common that ask for one list again and again."""

from collections.abc import Callable, Mapping

from benchmarks import answers, load
from benchmarks.answers import Usages
from benchmarks.plan import Plan
from benchmarks.rows import Better, Figure, Row
from benchmarks.scenarios import FEW, MANY
from benchmarks.servers import Server
from benchmarks.workloads._base import Loaded, Workload


def listing(
    name: str, path: str, headers: Mapping[str, str], expected: Callable[[Plan], Usages], *, target: float | None
) -> Workload[Loaded]:
    """Requests a second for the list at `path`: on 4 connections, and, where these decide over a target, on 32 as well."""
    few = Figure(name, "requests/s", Better.HIGHER, target)
    many = Figure(f"{name}_{MANY}", "requests/s", Better.HIGHER)
    figures = (few,) if target is None else (few, many)

    def run(stage: Loaded) -> list[Row]:
        check_both(stage, path, headers, expected(stage.cluster.plan))
        loads = {few: (FEW, stage.scenario.seconds), many: (MANY, stage.scenario.many_seconds)}

        def measure(server: Server) -> Mapping[Figure, float]:
            every = {**server.headers, **headers}
            return {
                figure: load.run(server.url, [path], every, connections=connections, seconds=seconds).rate
                for figure in figures
                for connections, seconds in [loads[figure]]
            }

        return stage.contest(measure)

    return Workload(figures, run)


def check_both(stage: Loaded, path: str, headers: Mapping[str, str], expected: Usages) -> None:
    """Each server has all of `expected` and nothing else, and both agree. Raises WrongAnswer."""
    ours, peer = (ask(server, path, headers) for server in (stage.ours, stage.peer))
    if any("" in usage for usage in ours.values()):
        expected = answers.summed(expected)
    answers.check(stage.ours.name, expected, ours)
    answers.check(stage.peer.name, expected, peer)
    answers.check(f"{stage.ours.name} beside {stage.peer.name}", peer, ours)


def ask(server: Server, path: str, headers: Mapping[str, str]) -> Usages:
    """One answer, read."""
    with server.client() as client:
        return answers.read(client.get(path, headers=headers))
