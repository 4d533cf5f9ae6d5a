"""What a workload is, and what it is given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from benchmarks.cluster import Cluster
from benchmarks.contest import contest
from benchmarks.progress import say
from benchmarks.rows import Figure, Row
from benchmarks.scenarios import Scenario
from benchmarks.servers import Server


@dataclass(frozen=True)
class Alone:
    """The cluster, and no server."""

    scenario: Scenario
    cluster: Cluster


@dataclass(frozen=True)
class Idle(Alone):
    """All servers: `both` is kubeglance with its second source, `live` is the same with live kinds too."""

    ours: Server
    both: Server
    live: Server
    peer: Server

    @property
    def servers(self) -> tuple[Server, Server, Server, Server]:
        return self.ours, self.both, self.live, self.peer


@dataclass(frozen=True)
class Loaded(Alone):
    """The two servers that are compared."""

    ours: Server
    peer: Server

    def contest(self, measure: Callable[[Server], Mapping[Figure, float]]) -> list[Row]:
        """Measure both in turn, for as many rounds as the scenario has."""

        def measured(server: Server) -> Mapping[Figure, float]:
            self.cluster.check()
            values = measure(server)
            say(f"{server.name}: " + ", ".join(f"{figure.name} {value:.5g} {figure.unit}" for figure, value in values.items()))
            return values

        return contest(self.ours, self.peer, self.scenario.rounds, measured, judges=self.scenario.judges)


Given = TypeVar("Given", bound=Alone)


@dataclass(frozen=True)
class Workload(Generic[Given]):
    """`run` measures all `figures` and answers a row for each. Raises WrongAnswer where a server is not right, LoadFailed, ProcessDied."""

    figures: tuple[Figure, ...]
    run: Callable[[Given], list[Row]]
