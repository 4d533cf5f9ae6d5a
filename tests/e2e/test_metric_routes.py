"""A real prometheus-adapter behind kubeglance: its metrics pass through, HPAs scale on them, and they go alone when it is killed."""

import json
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.clock import SystemClock
from tests.e2e import service_names
from tests.e2e.adapter.answers import are_near, read
from tests.e2e.adapter.cases import CUSTOM, EXTERNAL, custom, external
from tests.e2e.adapter.scene import CONFIG, scraping
from tests.e2e.adapter.series import MAIL, NODE, SHOP
from tests.e2e.conftest import demand
from tests.e2e.controlplane import ControlPlane, programs
from tests.e2e.controlplane.pki import KeyPair
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.kubeglance import Kubeglance
from tests.e2e.peer import PrometheusAdapter
from tests.e2e.registration import NAMESPACE, SERVICE_ACCOUNT, Registration

pytestmark = pytest.mark.e2e

RIGHTS = f"""
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: route-metrics}}
rules:
- {{apiGroups: [custom.metrics.k8s.io, external.metrics.k8s.io], resources: ["*"], verbs: [get, list]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: route-metrics}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: route-metrics}}
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
ADAPTER_SERVICE = "prometheus-adapter"
REGISTERED = ("v1beta1.custom.metrics.k8s.io", "v1beta2.custom.metrics.k8s.io", "v1beta1.external.metrics.k8s.io")
SEVERAL_SYNCS = 7.0
"""Seconds in which the HPA decides three times."""
LENGTHS = custom("pods/*", "queue_length").path
LAG, BACKLOG = external("queue_consumer_lag").path, external("total_backlog").path


@dataclass
class Routed:
    """kubeglance with three routes: two to the first adapter, one to the other. `ours` may do everything, `nobody` nothing."""

    plane: ControlPlane
    arguments: list[str]
    first: PrometheusAdapter
    first_port: int
    other: PrometheusAdapter
    kubeglance: Kubeglance
    ours: httpx.Client

    def kill_first(self) -> None:
        self.first.process.signal(signal.SIGKILL)
        self.first.process.wait(10)

    def restart_first(self) -> None:
        """Where it was before: of two flags the last one counts."""
        self.first = PrometheusAdapter(self.plane, arguments=self.arguments, flags=[f"--secure-port={self.first_port}"])

    def wait_for(self, path: str) -> dict[str, Any]:
        """Wait for a value; the answer."""
        wait_until(path, lambda: self.ours.get(path).status_code == 200, seconds=90)
        found: dict[str, Any] = self.ours.get(path).raise_for_status().json()
        return found

    def names(self, api: str) -> set[str]:
        return {each["name"] for each in self.ours.get(api).raise_for_status().json()["resources"]}

    def sources(self) -> dict[str, dict[str, Any]]:
        """The rows of `kubectl get collectors` that are about routes, by name."""
        return _routes_in(self.ours)

    def values(self, path: str) -> dict[str, str]:
        return {each["describedObject"]["name"]: each["value"] for each in self.wait_for(path)["items"]}


def _routes_in(client: httpx.Client) -> dict[str, dict[str, Any]]:
    items = client.get("/apis/live.kubeglance.io/v1alpha1/collectors").raise_for_status().json()["items"]
    return {each["metadata"]["name"]: each for each in items if each["spec"]["source"] == "adapter"}


def _reader(plane: ControlPlane) -> KeyPair:
    return plane.pki.cluster.client("routes-reader", "routes-reader", ["system:masters"])


@pytest.fixture(scope="module")
def routed(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Routed]:
    demand(programs.skip_reason(PrometheusAdapter.name))
    plane.apply(RIGHTS)
    folder = tmp_path_factory.mktemp("routes")
    (folder / "own.yaml").write_text(OWN, encoding="utf-8")
    (folder / "ca.crt").write_bytes(plane.pki.serving.certificate.read_bytes())
    with scraping(plane) as server:
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
            with Kubeglance(plane, "routes", kubelet_authority=plane.pki.kubelets.certificate, flags=flags) as kubeglance:
                first.wait_alive()
                other.wait_alive()
                with kubeglance.wait_ready().client(certificate=_reader(plane)) as client:
                    made = Routed(plane, arguments, first, first.port, other, kubeglance, client)
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
    routed.kill_first()
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


def test_how_routes_are(routed: Routed) -> None:
    """kubectl get collectors, and /metrics: by route, what came of its requests."""
    routed.wait_for(LENGTHS)
    found = routed.sources()
    assert {"route:objects", "route:lag", "route:rest"} == found.keys()
    spec, status = found["route:objects"]["spec"], found["route:objects"]["status"]
    assert ("Healthy", f"https://127.0.0.1:{routed.first_port}") == (status["state"], spec["endpoint"])
    assert {"observedAt", "nextAt", "tookMilliseconds"} <= status.keys()
    metrics = routed.ours.get("/metrics").raise_for_status().text
    for result in ("success", "dial", "deadline"):
        assert f'kubeglance_route_requests_total{{result="{result}",route="objects"}}' in metrics
    assert 'kubeglance_route_request_duration_seconds_count{route="rest"}' in metrics


@pytest.fixture
def by_service(routed: Routed, tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of a kubeglance that knows the second adapter by two Services, of which its certificate is for one."""
    demand(service_names.skip_reason())
    plane = routed.plane
    host = f"{ADAPTER_SERVICE}.{SHOP}.svc"
    pair = plane.pki.serving.server("adapter-by-service", host, dns=[host], ips=["127.0.0.1"])
    own = [f"--tls-cert-file={pair.certificate}", f"--tls-private-key-file={pair.key}"]
    (tmp_path / "ca.crt").write_bytes(plane.pki.serving.certificate.read_bytes())
    with PrometheusAdapter(plane, arguments=routed.arguments, flags=own) as adapter:
        for namespace in (SHOP, MAIL):
            service_names.make_service(plane, namespace, ADAPTER_SERVICE, adapter.port)
        hosts = tmp_path / "hosts"
        service_names.write_hosts(plane, [SHOP, MAIL], hosts)
        reference = f"name: {ADAPTER_SERVICE}, port: {adapter.port}"
        (tmp_path / "routes.yaml").write_text(
            f"""
routes:
- {{name: known, api: custom, service: {{namespace: {SHOP}, {reference}}}, ca: ca.crt}}
- {{name: stranger, api: external, service: {{namespace: {MAIL}, {reference}}}, ca: ca.crt, metrics: [total_backlog]}}
""",
            encoding="utf-8",
        )
        authority = plane.pki.kubelets.certificate
        flags = [f"--metric-routes={tmp_path / 'routes.yaml'}"]
        run_by = service_names.seeing(hosts)
        with Kubeglance(plane, "routes-by-service", kubelet_authority=authority, flags=flags, run_by=run_by) as kubeglance:
            adapter.wait_alive()
            with kubeglance.wait_ready().client(certificate=_reader(plane)) as client:
                yield client


def test_an_adapter_is_reached_by_its_service(routed: Routed, by_service: httpx.Client) -> None:
    """At NAME.NAMESPACE.svc and the Service's port, by a certificate for that name and the CA that was given; and by no other one."""
    wait_until("values", lambda: by_service.get(LENGTHS).status_code == 200, seconds=90)
    found = {each["describedObject"]["name"]: each["value"] for each in by_service.get(LENGTHS).json()["items"]}
    assert {"web-0": "1", "web-1": "2", "worker-0": "3"} == found

    answer = by_service.get(BACKLOG)
    assert 404 == answer.status_code
    assert f"certificate is not valid for '{ADAPTER_SERVICE}.{MAIL}.svc'" in answer.json()["message"]
    sources = _routes_in(by_service)
    assert ["Healthy", "Failing"] == [sources[f"route:{name}"]["status"]["state"] for name in ("known", "stranger")]
    assert sources["route:known"]["spec"]["endpoint"].startswith(f"https://{ADAPTER_SERVICE}.{SHOP}.svc:")
    assert "certificate" == sources["route:stranger"]["status"]["targets"][0]["cause"]


def _hpa(name: str, kind: str, metric: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": SHOP},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": kind, "name": name},
            "minReplicas": 1,
            "maxReplicas": 6,
            "metrics": [metric],
        },
    }


def _target(name: str, kind: str, app: str, replicas: int) -> dict[str, Any]:
    labels = {"app": app}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "kubeglance.test/none:1"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": SHOP}, "spec": spec}


def _average(value: int) -> dict[str, Any]:
    return {"type": "AverageValue", "averageValue": str(value)}


SCALED = [
    # A ReplicaSet takes the pods that are there for its own: those that the adapter has values of.
    _target("lengths", "ReplicaSet", "web", 2),
    _hpa("lengths", "ReplicaSet", {"type": "Pods", "pods": {"metric": {"name": "queue_length"}, "target": _average(1)}}),
    _target("lag", "Deployment", "lagging", 1),
    _hpa(
        "lag",
        "Deployment",
        {
            "type": "External",
            "external": {
                "metric": {"name": "queue_consumer_lag", "selector": {"matchLabels": {"name": "orders"}}},
                "target": _average(10),
            },
        },
    ),
]


class Scaling:
    """What a test sees of HPAs."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    def replicas(self, name: str, kind: str) -> int:
        found: int = self._get(kind, name)["spec"]["replicas"]
        return found

    def settles(self, name: str, kind: str, count: int) -> None:
        """Until the HPA knows a value and has set so many."""

        def look() -> bool:
            assert ("True", "ValidMetricFound", count) == (*self.active(name)[:2], self.replicas(name, kind)), self.active(name)
            return True

        wait_until(f"{count} replicas of {name}", look, seconds=150)

    def active(self, name: str) -> tuple[str, str, str]:
        """Status, reason and message of condition ScalingActive."""
        conditions = self._get("hpa", name).get("status", {}).get("conditions", [])
        found = [(each["status"], each["reason"], each["message"]) for each in conditions if each["type"] == "ScalingActive"]
        return found[0] if found else ("Unknown", "", "")

    def _get(self, kind: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._plane.kubectl("get", kind, name, "-n", SHOP, "-o", "json").stdout)
        return found


@pytest.fixture
def scaling(routed: Routed) -> Iterator[Scaling]:
    """Two HPAs, and the APIServices that lead their controller to kubeglance."""
    plane = routed.plane
    with Registration(plane, port=routed.kubeglance.port, names=REGISTERED) as registration:
        registration.wait_available()
        plane.apply(SCALED)
        try:
            yield Scaling(plane)
        finally:
            scaled = json.dumps({"apiVersion": "v1", "kind": "List", "items": SCALED})
            # The pods that were there before stay.
            plane.kubectl("delete", "-f", "-", "--cascade=orphan", text=scaled)


def test_hpas_scale_through_routes(routed: Routed, scaling: Scaling) -> None:
    """On a metric of pods, and on an external one with a selector; without the adapter they hold, and say which route has no values."""
    scaling.settles("lengths", "replicaset", 3)
    scaling.settles("lag", "deployment", 4)

    routed.kill_first()
    for name, reason in (("lengths", "FailedGetPodsMetric"), ("lag", "FailedGetExternalMetric")):
        wait_until(f"{name} to fail", lambda name=name, reason=reason: scaling.active(name)[:2] == ("False", reason), seconds=60)  # type: ignore[misc]  # mypy cannot infer a lambda with defaults
    assert "the adapter of route lag fails" in scaling.active("lag")[2]
    end = SystemClock().monotonic() + SEVERAL_SYNCS
    while SystemClock().monotonic() < end:
        assert (3, 4) == (scaling.replicas("lengths", "replicaset"), scaling.replicas("lag", "deployment"))
        time.sleep(1)

    routed.restart_first()
    scaling.settles("lengths", "replicaset", 3)
    scaling.settles("lag", "deployment", 4)
