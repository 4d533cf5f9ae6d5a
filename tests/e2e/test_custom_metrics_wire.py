"""The metrics APIs through a real kube-apiserver: paths, discovery, rights of a Role, and an HPA of type External."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.declared import declaring, write
from tests.e2e.objects import Inventory, NodeObject, PodObject
from tests.e2e.registration import NAMESPACE, SERVICE_ACCOUNT
from tests.e2e.stage import Stage

pytestmark = pytest.mark.e2e

NODE = "metrics-0"
GROUPS = ["v1beta1.custom.metrics.k8s.io", "v1beta2.custom.metrics.k8s.io", "v1beta1.external.metrics.k8s.io"]
CUSTOM, BETA1 = "/apis/custom.metrics.k8s.io/v1beta2", "/apis/custom.metrics.k8s.io/v1beta1"
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1"


def _metric(name: str, metric: str, items: list[dict[str, Any]], **spec: Any) -> dict[str, Any]:
    """A LiveMetric with the value `v` of each item, and its label `l` as code."""
    sample: dict[str, Any] = {"value": "item.v"}
    if "describes" in spec:
        sample["object"] = {"name": "item.name", **({"namespace": "item.ns"} if "ns" in items[0] else {})}
    if "l" in items[0]:
        sample["labels"] = {"code": "item.l"}
    return {
        "apiVersion": "kubeglance.io/v1alpha1",
        "kind": "LiveMetric",
        "metadata": {"name": name},
        "spec": {
            "name": metric,
            "source": {"static": {"items": items}},
            "interval": "1s",
            "timeout": "900ms",
            "items": "response.items",
            "sample": sample,
            **spec,
        },
    }


_PODS = {"api": "custom", "describes": {"resource": "pods"}}
METRICS = [
    _metric(
        "hits",
        "hits",
        [{"name": f"web-{number}", "ns": "wired", "v": number + 0.5, "l": code} for number in (1, 2) for code in ("200", "500")],
        **_PODS,
    ),
    _metric("secret-hits", "secret_hits", [{"name": "web-1", "ns": "wired", "v": 1}], **_PODS),
    _metric("load", "load", [{"name": NODE, "v": "12345678901234567890.5"}], api="custom", describes={"resource": "nodes"}),
    _metric("orders", "orders", [{"name": "wired", "v": 7}], api="custom", describes={"resource": "namespaces"}),
    _metric("queue-depth", "queue_depth", [{"v": 15, "l": "a"}, {"v": 25, "l": "b"}], api="external", namespaces="any"),
]
OBJECTS = f"""
apiVersion: v1
kind: Namespace
metadata: {{name: wired}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: kubeglance-wired}}
rules:
- {{apiGroups: [""], resources: [namespaces], verbs: [list, watch]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: kubeglance-wired}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kubeglance-wired}}
subjects: [{{kind: ServiceAccount, name: {SERVICE_ACCOUNT}, namespace: {NAMESPACE}}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: metrics, namespace: wired}}
rules:
- {{apiGroups: [custom.metrics.k8s.io], resources: [pods/hits], verbs: [get]}}
- {{apiGroups: [custom.metrics.k8s.io], resources: [metrics], resourceNames: [orders], verbs: [get]}}
- {{apiGroups: [external.metrics.k8s.io], resources: [queue_depth], verbs: [list]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: metrics, namespace: wired}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: metrics}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: dev}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: workers, namespace: wired}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: workers}}}}
  template:
    metadata: {{labels: {{app: workers}}}}
    spec: {{containers: [{{name: main, image: "kubeglance.test/none:1"}}]}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: workers, namespace: wired}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: workers}}
  minReplicas: 1
  maxReplicas: 9
  metrics:
  - {{type: External, external: {{metric: {{name: queue_depth}}, target: {{type: AverageValue, averageValue: "10"}}}}}}
"""


@pytest.fixture(scope="module")
def stage(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("wired")
    for metric in METRICS:
        write(folder / f"{metric['metadata']['name']}.yaml", metric)
    plane.apply(OBJECTS)
    inventory = Inventory(plane)
    inventory.node(NodeObject(NODE, "127.30.1.2", 10250))
    for number in (1, 2):
        inventory.pod(PodObject("wired", f"web-{number}", NODE, ["main"], {"app": "web", "number": str(number)}), started=1_700_000_000.0)
    paths = (
        f"{EXTERNAL}/namespaces/wired/queue_depth",
        f"{CUSTOM}/namespaces/wired/pods/*/hits",
        f"{CUSTOM}/namespaces/wired/metrics/orders",
    )
    try:
        with declaring(plane, "wired", f"--declarations={folder}", groups=GROUPS) as made:
            wait_until("values", lambda: all(_is_served(plane, path) for path in paths), seconds=60)
            yield made
    finally:
        inventory.close()
        plane.kubectl("delete", "-f", "-", text=OBJECTS)


def _is_served(plane: ControlPlane, path: str) -> bool:
    return plane.kubectl("get", "--raw", path, check=False).returncode == 0


def _values(stage: Stage, path: str, *, user: str = "admin") -> list[str]:
    body = json.loads(stage.plane.kubectl("get", "--raw", path, user=user).stdout)
    return [item["value"] for item in body["items"]]


def _refusal(stage: Stage, path: str, *, user: str = "admin") -> str:
    done = stage.plane.kubectl("get", "--raw", path, user=user, check=False)
    assert done.returncode, done.stdout
    return done.stderr


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("namespaces/wired/pods/*/hits", ["1500m", "1500m", "2500m", "2500m"]),
        ("namespaces/wired/pods/%2A/hits?labelSelector=number%3D2&metricLabelSelector=code%3E300", ["2500m"]),
        ("namespaces/wired/pods/web-1/hits?metricLabelSelector=code%3D200", ["1500m"]),
        ("pods/*/hits?labelSelector=number%3D1", ["1500m", "1500m"]),
        (f"nodes/{NODE}/load", ["12345678901234567890500m"]),
        (f"namespaces/wired/nodes/{NODE}/load", ["12345678901234567890500m"]),
        ("namespaces/wired/metrics/orders", ["7"]),
    ],
)
@pytest.mark.parametrize("base", [CUSTOM, BETA1])
def test_paths(stage: Stage, base: str, path: str, values: list[str]) -> None:
    """Each shape, in both versions, through the aggregator."""
    assert values == _values(stage, f"{base}/{path}")


def test_external(stage: Stage) -> None:
    """All series, and those that a selector takes."""
    assert ["15", "25"] == _values(stage, f"{EXTERNAL}/namespaces/wired/queue_depth")
    assert ["25"] == _values(stage, f"{EXTERNAL}/namespaces/wired/queue_depth?labelSelector=code%20notin%20(a)")


def test_what_is_missing_tells_why(stage: Stage) -> None:
    """kubectl prints the text of the Status, which has the cause."""
    assert "could not find the metric hits for pods gone: there is no gone among the pods in namespace wired" in _refusal(
        stage, f"{CUSTOM}/namespaces/wired/pods/gone/hits"
    )
    assert "could not find the metric none in namespace wired: nothing serves none" in _refusal(stage, f"{EXTERNAL}/namespaces/wired/none")
    assert f"{CUSTOM}/namespaces/wired/metrics/orders" in _refusal(stage, f"{CUSTOM}/namespaces/wired/orders")


def test_discovery_through_the_aggregator(stage: Stage) -> None:
    """The version that the HPA takes, names for people, and a group version's OpenAPI."""
    plane = stage.plane

    def listed(path: str) -> Any:
        return json.loads(plane.kubectl("get", "--raw", path).stdout)

    wait_until("the group", lambda: _is_served(plane, "/apis/custom.metrics.k8s.io"), seconds=30)
    assert "v1beta2" == listed("/apis/custom.metrics.k8s.io")["preferredVersion"]["version"]
    names = {resource["name"]: resource["namespaced"] for resource in listed(CUSTOM)["resources"]}
    assert {"pods/hits": True, "nodes/load": False, "namespaces/orders": False}.items() <= names.items()
    wait_until(
        "kubectl lists the external metric",
        lambda: "queue_depth" in plane.kubectl("api-resources", "--api-group=external.metrics.k8s.io", check=False).stdout,
        seconds=150,
    )
    document = listed("/openapi/v3/apis/custom.metrics.k8s.io/v1beta2")
    assert f"{CUSTOM}/namespaces/{{namespace}}/{{resource}}/{{name}}/{{metric}}" in document["paths"]


def test_a_role_gives_what_it_names(stage: Stage) -> None:
    """A metric of pods, one of the Namespace by its name, an external one; nothing beside them."""
    assert 4 == len(_values(stage, f"{CUSTOM}/namespaces/wired/pods/*/hits", user="alice"))
    assert ["7"] == _values(stage, f"{CUSTOM}/namespaces/wired/metrics/orders", user="alice")
    assert ["15", "25"] == _values(stage, f"{EXTERNAL}/namespaces/wired/queue_depth", user="alice")
    forbidden = [
        (f"{CUSTOM}/namespaces/wired/pods/*/secret_hits", 'cannot get resource "pods/secret_hits" in API group "custom.metrics.k8s.io"'),
        (f"{CUSTOM}/pods/*/hits", 'cannot get resource "pods/hits"'),
        (f"{CUSTOM}/nodes/{NODE}/load", 'cannot get resource "nodes/load"'),
        (f"{EXTERNAL}/namespaces/default/queue_depth", 'cannot list resource "queue_depth" in API group "external.metrics.k8s.io"'),
    ]
    for path, text in forbidden:
        assert text in _refusal(stage, path, user="alice")


def test_an_hpa_reads_an_external_metric(stage: Stage) -> None:
    """The sum of its series, 40, at 10 a replica is four; the HPA reads with the role that Kubernetes gives it."""

    def look() -> bool:
        hpa = json.loads(stage.plane.kubectl("get", "hpa", "workers", "-n", "wired", "-o", "json").stdout)["status"]
        assert 4 == hpa.get("desiredReplicas"), [condition.get("message") for condition in hpa.get("conditions", [])]
        return True

    wait_until("four replicas", look, seconds=120, every=1)
