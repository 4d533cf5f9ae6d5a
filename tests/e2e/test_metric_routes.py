"""A real prometheus-adapter behind kubeglance: its metrics pass through, and go alone when it is stopped or killed."""

import signal
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.clock import SystemClock
from tests.e2e.adapter import series
from tests.e2e.adapter.answers import are_near, read
from tests.e2e.adapter.cases import CUSTOM, EXTERNAL, custom, external
from tests.e2e.adapter.series import MAIL, NODE, SHOP
from tests.e2e.conftest import demand
from tests.e2e.controlplane import ControlPlane, programs
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.kubeglance import Kubeglance
from tests.e2e.objects import Inventory
from tests.e2e.peer import PrometheusAdapter
from tests.e2e.registration import NAMESPACE, SERVICE_ACCOUNT, grant_access
from tests.e2e.sources import prometheus
from tests.e2e.sources.exporter import Exporter
from tests.e2e.sources.prometheus import PrometheusServer

pytestmark = pytest.mark.e2e

CONFIG = Path(__file__).parent / "adapter" / "config.yaml"
RIGHTS = f"""
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: route-objects}}
rules:
- {{apiGroups: ["", apps, batch, networking.k8s.io], resources: ["*"], verbs: [get, list, watch]}}
- {{apiGroups: [custom.metrics.k8s.io, external.metrics.k8s.io], resources: ["*"], verbs: [get, list]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: route-objects}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: route-objects}}
subjects: [{{kind: ServiceAccount, name: {SERVICE_ACCOUNT}, namespace: {NAMESPACE}}}]
"""
OWN = f"""
apiVersion: kubeglance.io/v1alpha1
kind: LiveMetric
metadata: {{name: own}}
spec:
  api: external
  name: own
  namespaces: [{SHOP}]
  source: {{static: {{items: [{{value: 5}}]}}}}
  interval: 10s
  items: response.items
  sample: {{value: item.value}}
"""
LENGTHS = custom("pods/*", "queue_length").path
LAG, BACKLOG = external("queue_consumer_lag").path, external("total_backlog").path


@dataclass
class Routed:
    """kubeglance with three routes: two to the first adapter, one to the other. `ours` may do everything, `nobody` nothing."""

    plane: ControlPlane
    arguments: list[str]
    first: PrometheusAdapter
    other: PrometheusAdapter
    kubeglance: Kubeglance
    ours: httpx.Client

    def restart_first(self) -> None:
        """Where it was before: of two flags the last one counts."""
        port = self.first.port
        self.first = PrometheusAdapter(self.plane, arguments=self.arguments, flags=[f"--secure-port={port}"])

    def wait_for(self, path: str) -> dict[str, Any]:
        """Wait for a value; the answer."""
        wait_until(path, lambda: self.ours.get(path).status_code == 200, seconds=90)
        found: dict[str, Any] = self.ours.get(path).raise_for_status().json()
        return found

    def names(self, api: str) -> set[str]:
        return {each["name"] for each in self.ours.get(api).raise_for_status().json()["resources"]}

    def values(self, path: str) -> dict[str, str]:
        return {each["describedObject"]["name"]: each["value"] for each in self.wait_for(path)["items"]}


@pytest.fixture(scope="module")
def routed(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Routed]:
    demand(prometheus.skip_reason() or programs.skip_reason(PrometheusAdapter.name))
    grant_access(plane)
    plane.apply(RIGHTS)
    folder = tmp_path_factory.mktemp("routes")
    (folder / "own.yaml").write_text(OWN, encoding="utf-8")
    (folder / "ca.crt").write_bytes(plane.pki.serving.certificate.read_bytes())
    inventory = Inventory(plane)
    with closing(inventory), Exporter(series.Told(SystemClock())) as exporter, PrometheusServer([exporter.target]) as server:
        server.start()
        series.make_objects(inventory)
        arguments = [f"--config={CONFIG}", f"--prometheus-url={server.url}/", "--metrics-relist-interval=5s"]
        with PrometheusAdapter(plane, arguments=arguments) as first, PrometheusAdapter(plane, arguments=arguments) as other:
            (folder / "routes.yaml").write_text(
                f"""
routes:
- {{name: objects, api: custom, url: {first.url}, ca: ca.crt, namespaces: [{SHOP}]}}
- {{name: lag, api: external, url: {first.url}, ca: ca.crt, metrics: [queue_consumer_lag]}}
- {{name: rest, api: external, url: {other.url}, ca: ca.crt}}
""",
                encoding="utf-8",
            )
            flags = [f"--metric-routes={folder / 'routes.yaml'}", f"--declarations={folder / 'own.yaml'}"]
            reader = plane.pki.cluster.client("routes-reader", "routes-reader", ["system:masters"])
            with Kubeglance(plane, "routes", kubelet_authority=plane.pki.kubelets.certificate, flags=flags) as kubeglance:
                first.wait_alive()
                other.wait_alive()
                with kubeglance.wait_ready().client(certificate=reader) as client:
                    made = Routed(plane, arguments, first, other, kubeglance, client)
                    yield made
                    made.first.close()


def test_values_pass_through(routed: Routed) -> None:
    """Custom and external ones, with selectors, as the adapter says them; objects without a namespace on the path of the HPA."""
    assert {"web-0": "1", "web-1": "2", "worker-0": "3"} == routed.values(LENGTHS)
    assert {"web-0": "1", "web-1": "2"} == routed.values(custom("pods/*", "queue_length", objects="app in (web,other)").path)
    assert {NODE: "1500m"} == routed.values(custom(f"nodes/{NODE}", "node_load1").path)
    for path in (LAG, external("queue_consumer_lag", series="name=orders").path, BACKLOG):
        routed.wait_for(path)
        assert are_near(read(routed.first.get(path)), read(routed.ours.get(path)), 0)
    assert {"pods/queue_length", "nodes/node_load1"} <= routed.names(CUSTOM)
    assert {"own", "queue_consumer_lag", "total_backlog"} <= routed.names(EXTERNAL)


def test_what_no_route_takes(routed: Routed) -> None:
    """Of another namespace; of no metric; and nothing without the right to it."""
    answer = routed.ours.get(custom("pods/*", "queue_length", namespace=MAIL).path)
    assert (404, True) == (answer.status_code, "nothing serves queue_length of pods" in answer.text), answer.text
    assert 404 == routed.ours.get(external("nothing").path).status_code
    assert 403 == routed.kubeglance.get(LENGTHS).status_code


def test_an_adapter_that_is_killed_costs_its_own_metrics(routed: Routed) -> None:
    """They stay listed, and say why there is no value; all others answer. Then it is back, and so are they."""
    routed.wait_for(LENGTHS)
    routed.first.process.signal(signal.SIGKILL)
    routed.first.process.wait(10)
    for path, route in ((LENGTHS, "objects"), (LAG, "lag")):
        answer = routed.ours.get(path)
        assert 404 == answer.status_code
        assert f"the adapter of route {route} fails (its last answer is " in answer.json()["message"]
        assert "cannot talk to https://127.0.0.1:" in answer.json()["message"]
    assert "pods/queue_length" in routed.names(CUSTOM)
    assert {"own", "queue_consumer_lag", "total_backlog"} <= routed.names(EXTERNAL)
    assert "5" == routed.wait_for(external("own").path)["items"][0]["value"]
    routed.wait_for(BACKLOG)
    routed.restart_first()
    assert {"web-0": "1", "web-1": "2", "worker-0": "3"} == routed.values(LENGTHS)
    routed.wait_for(LAG)
    log = routed.kubeglance.log
    assert 2 == log.count("the adapter of a route fails") == log.count("the adapter of a route answers again"), log


def test_an_adapter_that_hangs_costs_its_own_metrics(routed: Routed) -> None:
    """Its metrics are a 404 within seconds, and never an old value."""
    routed.wait_for(LENGTHS)
    routed.first.process.signal(signal.SIGSTOP)
    try:
        answer = routed.ours.get(LENGTHS)
        assert (404, True) == (answer.status_code, "did not answer within 5 s" in answer.text), answer.text
        assert 200 == routed.ours.get(BACKLOG).status_code
        assert 200 == routed.ours.get(external("own").path).status_code
    finally:
        routed.first.process.signal(signal.SIGCONT)
    routed.wait_for(LENGTHS)


def test_the_catalogue_names_routes(routed: Routed) -> None:
    """kubectl get servedmetrics."""
    routed.wait_for(LENGTHS)
    rows = routed.ours.get("/apis/live.kubeglance.io/v1alpha1/servedmetrics").raise_for_status().json()["items"]
    providers = {(row["spec"]["metric"], row["spec"]["provider"]) for row in rows}
    assert {("queue_length", "route objects"), ("queue_consumer_lag", "route lag"), ("total_backlog", "route rest")} <= providers
