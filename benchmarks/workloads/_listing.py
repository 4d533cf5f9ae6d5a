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
    """Requests a second for the list at `path`: on 4 connections, which decide, and on 32."""
    few = Figure(name, "requests/s", Better.HIGHER, target)
    many = Figure(f"{name}_{MANY}", "requests/s", Better.HIGHER)

    def run(stage: Loaded) -> list[Row]:
        check_both(stage, path, headers, expected(stage.cluster.plan))

        def measure(server: Server) -> Mapping[Figure, float]:
            return {
                figure: load.run(server.url, [path], {**server.headers, **headers}, connections=connections, seconds=seconds).rate
                for figure, connections, seconds in ((few, FEW, stage.scenario.seconds), (many, MANY, stage.scenario.many_seconds))
            }

        return stage.contest(measure)

    return Workload((few, many), run)


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
