"""The HPA's request through kube-apiserver's aggregation layer, as a cluster's clients send it: the median time of an answer.

One APIService, v1beta1.metrics.k8s.io, is pointed at each server in turn, always verified by a caBundle. A round is measured once
kube-apiserver calls it Available and a list shows whose it is: kubeglance gives lists a resourceVersion, metrics-server does not.
"""

import ssl
from collections.abc import Mapping

import httpx

from benchmarks import answers, load
from benchmarks.answers import WrongAnswer
from benchmarks.rows import Better, Figure, Row
from benchmarks.scenarios import FEW
from benchmarks.servers import Server
from benchmarks.workloads._base import Loaded, Workload
from benchmarks.workloads._listing import check_both
from benchmarks.workloads.list_pods import JSON
from benchmarks.workloads.list_pods_selector import HEADERS, PATH, selected
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.registration import Registration

P50 = Figure("through_aggregator_list_selector", "ms", Better.LOWER, 1.0)
P50_FEW = Figure(f"through_aggregator_list_selector_{FEW}", "ms", Better.LOWER)
PATIENCE = 90


def run(stage: Loaded) -> list[Row]:
    """On one connection, which decides, and on four."""
    plane, seconds = stage.cluster.plane, stage.scenario.seconds
    expected = selected(stage.cluster.plan)
    check_both(stage, PATH, HEADERS, expected)
    marked = {}
    for server in (stage.ours, stage.peer):
        with server.client() as client:
            marked[server] = _is_marked(client)
    if marked[stage.ours] == marked[stage.peer]:
        raise WrongAnswer("the lists of both servers look alike: nothing tells which of them the aggregator asks")

    trust = ssl.create_default_context(cafile=plane.pki.cluster.certificate)
    with httpx.Client(base_url=plane.server, verify=trust, headers=stage.ours.headers, timeout=30, trust_env=False) as client:

        def measure(server: Server) -> Mapping[Figure, float]:
            registration.point_at(server.port)
            wait_until(f"the aggregator asks {server.name}", lambda: _is_marked(client) is marked[server], seconds=PATIENCE, every=0.1)
            registration.wait_available(seconds=PATIENCE)
            answers.check(f"{server.name} through kube-apiserver", expected, answers.read(client.get(PATH, headers=HEADERS)))
            headers = {**server.headers, **HEADERS}
            one, few = (load.run(plane.server, [PATH], headers, connections=number, seconds=seconds) for number in (1, FEW))
            return {P50: one.percentile(0.5), P50_FEW: few.percentile(0.5)}

        with Registration(plane, port=stage.ours.port, names=["v1beta1.metrics.k8s.io"]) as registration:
            return stage.contest(measure)


def _is_marked(client: httpx.Client) -> bool:
    answer = client.get(PATH, headers={"Accept": JSON})
    if answer.status_code != 200:
        raise AssertionError(f"status {answer.status_code}")
    return "resourceVersion" in answer.json()["metadata"]


WORKLOAD = Workload((P50, P50_FEW), run)
