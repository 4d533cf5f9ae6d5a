"""GET of one pod in JSON: one caller with one token asks for 100 pods in turn, those of as many nodes as there are.

Loads of 5 s follow each other until they fill a whole scrape interval: metrics-server asks all nodes at its beginning, kubeglance one
after the other all through it. Thus the requests of each round have met all scrapes of that server, and the 99th percentile is over all
of them. Both are asked as fast as they answer on 4 connections (a closed loop): the faster server has more to do while it scrapes.
"""

from collections.abc import Mapping

from benchmarks import answers, load
from benchmarks.answers import WrongAnswer
from benchmarks.load import Load
from benchmarks.plan import Plan, PlannedPod
from benchmarks.rows import Better, Figure, Row
from benchmarks.scenarios import FEW, MANY
from benchmarks.servers import API, Server
from benchmarks.workloads._base import Loaded, Workload
from benchmarks.workloads.list_pods import JSON

PODS = 100
HEADERS = {"Accept": JSON, "Accept-Encoding": "identity"}

RATE = Figure("get_pod", "requests/s", Better.HIGHER, 1.2)
RATE_MANY = Figure(f"get_pod_{MANY}", "requests/s", Better.HIGHER)
P99 = Figure("get_pod_p99_while_scraping", "ms", Better.LOWER, 1.0)


def asked(plan: Plan) -> list[PlannedPod]:
    """The pods, spread over the nodes."""
    every = list(plan.all_pods())
    return every[:: max(1, len(every) // PODS)][:PODS]


def run(stage: Loaded) -> list[Row]:
    """Check each pod, then measure."""
    pods = asked(stage.cluster.plan)
    paths = [f"{API}/namespaces/{pod.namespace}/pods/{pod.name}" for pod in pods]
    expected = {(pod.namespace, pod.name): {name: pod.load(name) for name in pod.containers} for pod in pods}
    for server in (stage.ours, stage.peer):
        with server.client() as client:
            seen = {key: usage for path in paths for key, usage in answers.read(client.get(path, headers=HEADERS)).items()}
        answers.check(server.name, expected, seen)

    def load_of(server: Server, connections: int, seconds: int) -> Load:
        return load.run(server.url, paths, {**server.headers, **HEADERS}, connections=connections, seconds=seconds)

    def measure(server: Server) -> Mapping[Figure, float]:
        before = stage.cluster.kubelets.scrapes(server.token)
        few = Load.merged([load_of(server, FEW, stage.scenario.span_seconds) for _ in range(stage.scenario.spans)])
        scraped = stage.cluster.kubelets.scrapes(server.token) - before
        if scraped < stage.cluster.plan.nodes:
            raise WrongAnswer(f"{server.name} scraped {scraped} nodes while it was measured, not all {stage.cluster.plan.nodes}")
        many = load_of(server, MANY, stage.scenario.many_seconds)
        return {RATE: few.rate, P99: few.percentile(0.99), RATE_MANY: many.rate}

    return stage.contest(measure)


WORKLOAD = Workload((RATE, RATE_MANY, P99), run)
