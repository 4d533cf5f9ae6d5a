"""What a burst of lists leaves behind: 200 lists of all pods in JSON on 8 connections, then the memory of the whole process tree."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from benchmarks import answers
from benchmarks.answers import WrongAnswer
from benchmarks.rows import Better, Figure, Row
from benchmarks.servers import Server
from benchmarks.workloads._base import Loaded, Workload
from benchmarks.workloads._listing import check_both
from benchmarks.workloads.list_pods import JSON, PATH

LISTS, CONNECTIONS = 200, 8
HEADERS = {"Accept": JSON, "Accept-Encoding": "identity"}
MIB = 2**20

MEMORY = Figure("rss_after_lists", "MiB", Better.LOWER, 0.5, of_memory=True)


def run(stage: Loaded) -> list[Row]:
    """No rate is measured here, so that the client may be an ordinary one."""
    check_both(stage, PATH, HEADERS, answers.pods(stage.cluster.plan))

    def measure(server: Server) -> Mapping[Figure, float]:
        with server.client() as client, ThreadPoolExecutor(CONNECTIONS) as pool:
            statuses = list(pool.map(lambda _: client.get(PATH, headers=HEADERS).status_code, range(LISTS)))
        if set(statuses) != {200}:
            raise WrongAnswer(f"{server.name} answered {sorted(set(statuses))} to {LISTS} lists")
        return {MEMORY: server.processes.resident_bytes() / MIB}

    return stage.contest(measure)


WORKLOAD = Workload((MEMORY,), run)
