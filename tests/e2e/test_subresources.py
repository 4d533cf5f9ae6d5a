"""What is below an object, through a real kube-apiserver: /history and Trend, /raw, and /log for who may read the pods' logs."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.declared import declaring, wait_for, write
from tests.e2e.objects import Inventory, NodeObject, PodObject
from tests.e2e.registration import NAMESPACE, SERVICE_ACCOUNT
from tests.e2e.stage import Stage
from tests.fakes.kubelet_server import NOT_FOUND, KubeletAnswer, KubeletRequest, KubeletServer

pytestmark = pytest.mark.e2e

GROUP = "v1alpha1.below.example.com"
LIVE = "v1alpha1.live.kubeglance.io"
FRONTS = "below.example.com/v1alpha1/namespaces/below/fronts"
LOG = f"/apis/{FRONTS}/web/log"

_NUMBERS = {"port": {"type": "integer", "description": "Port."}, "clusterIP": {"type": "string", "description": "Address."}}
FRONT: dict[str, Any] = {
    "apiVersion": "kubeglance.io/v1alpha1",
    "kind": "LiveResource",
    "metadata": {"name": "fronts.below.example.com"},
    "spec": {
        "group": "below.example.com",
        "version": "v1alpha1",
        "scope": "Namespaced",
        "names": {"kind": "Front", "plural": "fronts"},
        "source": {"kubernetes": {"apiVersion": "v1", "resource": "services", "namespaces": ["below"]}},
        "interval": "1s",
        "timeout": "900ms",
        "items": "response.items",
        "object": {
            "name": "item.metadata.name",
            "namespace": "item.metadata.namespace",
            "status": {"port": "item.spec.ports[0].port", "clusterIP": "item.spec.clusterIP"},
        },
        "allowNamespaces": ["below"],
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"status": {"type": "object", "properties": _NUMBERS}}}},
        "subresources": {"history": {"points": 8, "trend": ".status.port"}, "raw": True, "log": True},
    },
}
_OBJECTS = f"""
apiVersion: v1
kind: Namespace
metadata: {{name: below}}
---
apiVersion: v1
kind: Service
metadata: {{name: web, namespace: below}}
spec: {{selector: {{app: web}}, ports: [{{port: 8080}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: lonely, namespace: below}}
spec: {{selector: {{app: lonely}}, ports: [{{port: 80}}]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: kubeglance-below}}
rules:
- {{apiGroups: [""], resources: [services], verbs: [list, watch]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: kubeglance-below}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kubeglance-below}}
subjects: [{{kind: ServiceAccount, name: {SERVICE_ACCOUNT}, namespace: {NAMESPACE}}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: fronts, namespace: below}}
rules:
- {{apiGroups: [below.example.com], resources: [fronts, fronts/history, fronts/log], verbs: [get, list]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: fronts, namespace: below}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: fronts}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: dev}}]
"""


def _pod_logs(name: str, kind: str, subject: str) -> str:
    """The right to read the logs of pods in namespace below."""
    return f"""
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: {name}, namespace: below}}
rules: [{{apiGroups: [""], resources: [pods/log], verbs: [get]}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: {name}, namespace: below}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: {name}}}
subjects: [{{{kind}, name: {subject}}}]
"""


def _containers_log(asked: KubeletRequest) -> KubeletAnswer:
    """A kubelet that has logs and nothing else."""
    path, _, query = asked.path.partition("?")
    if not path.startswith("/containerLogs/"):
        return NOT_FOUND
    pod, container = path.split("/")[3:5]
    return KubeletAnswer(200, "text/plain", f"{container} of {pod} says hello\nwas asked {query}\n".encode())


@pytest.fixture(scope="module")
def stage(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("below")
    write(folder / "fronts.yaml", FRONT)
    plane.apply(_OBJECTS)
    pair = plane.pki.kubelets.server("logs", "logs", dns=["logs"], ips=["127.30.1.1"])
    inventory = Inventory(plane)
    with (
        KubeletServer(_containers_log, *pair) as kubelet,
        declaring(plane, "below", f"--declarations={folder}", groups=[GROUP, LIVE]) as made,
    ):
        inventory.node(NodeObject("127.30.1.1", "127.30.1.1", kubelet.port))
        for name in ("web-1", "web-2"):
            inventory.pod(PodObject("below", name, "127.30.1.1", ["main"], {"app": "web"}), started=1_700_000_000.0)
        wait_for(made, FRONTS, 2)
        yield made
        inventory.close()


def test_kubectl_prints_the_history(stage: Stage) -> None:
    """A row a point, a column a number; as JSON with what was asked for."""
    plane = stage.plane

    def lines() -> list[str]:
        return plane.kubectl("get", "fronts", "web", "-n", "below", "--subresource=history").stdout.splitlines()

    wait_until("three points of history", lambda: len(lines()) > 3, seconds=30)
    heading, *points = lines()
    told = json.loads(plane.kubectl("get", "--raw", f"/apis/{FRONTS}/web/history?since=1h&step=1h").stdout)

    assert heading.split() == ["TIME", "PORT"]
    assert {point.split()[1] for point in points} == {"8080"}
    assert (told["kind"], told["step"], told["metadata"]["name"]) == ("ObjectHistory", "1h0m0s", "web")
    assert {point["values"]["status.port"] for point in told["points"]} == {8080}
    refused = plane.kubectl("get", "--raw", f"/apis/{FRONTS}/web/history?since=yesterday", check=False)
    assert 'since: Invalid value: "yesterday"' in refused.stderr


def test_the_trend_is_the_last_wide_column(stage: Stage) -> None:
    """Eight glyphs, of which the last is of now."""
    heading, *rows = stage.plane.kubectl("get", "fronts", "-n", "below", "-o", "wide").stdout.splitlines()

    assert heading.split()[-1] == "TREND"
    assert {(len(row.split()[-1]), row.split()[-1][-1]) for row in rows} == {(8, "█")}
    assert "TREND" not in stage.plane.kubectl("get", "fronts", "-n", "below").stdout


def test_raw_has_rights_of_its_own(stage: Stage) -> None:
    """The item is the Service itself; who may read the objects may not read that yet."""
    plane = stage.plane
    item = json.loads(plane.kubectl("get", "--raw", f"/apis/{FRONTS}/web/raw").stdout)["item"]
    refused = plane.kubectl("get", "--raw", f"/apis/{FRONTS}/web/raw", user="alice", check=False)

    assert (item["metadata"]["name"], item["spec"]["selector"]) == ("web", {"app": "web"})
    assert "Forbidden" in refused.stderr
    assert plane.kubectl("get", "--raw", f"/apis/{FRONTS}/web/history", user="alice").stdout


def test_discovery_lists_them(stage: Stage) -> None:
    listed = json.loads(stage.plane.kubectl("get", "--raw", "/apis/below.example.com/v1alpha1").stdout)["resources"]

    assert [resource["name"] for resource in listed] == ["fronts", "fronts/history", "fronts/log", "fronts/raw"]


def test_exec_is_refused_with_the_reason(stage: Stage) -> None:
    done = stage.plane.kubectl("get", "--raw", f"/apis/{FRONTS}/web/exec", check=False)

    assert "this API is read-only" in done.stderr


def test_logs_need_the_rights_of_both(stage: Stage) -> None:
    """First kubeglance may not read logs, then the caller may not, then both may; who has fronts/log and no pods/log has none."""
    plane = stage.plane
    without = plane.kubectl("get", "--raw", LOG, check=False)
    assert "kubeglance may not read logs" in without.stderr

    plane.apply(_pod_logs("kubeglance-logs", "kind: ServiceAccount, namespace: " + NAMESPACE, SERVICE_ACCOUNT))
    wait_until("kubeglance may read logs", lambda: plane.kubectl("get", "--raw", LOG, check=False).returncode == 0, seconds=30)
    refused = plane.kubectl("get", "--raw", LOG, user="alice", check=False)
    assert 'cannot get resource "pods/log"' in refused.stderr
    assert "web-1" not in refused.stderr

    plane.apply(_pod_logs("dev-logs", "apiGroup: rbac.authorization.k8s.io, kind: Group", "dev"))
    wait_until("alice may read logs", lambda: plane.kubectl("get", "--raw", LOG, user="alice", check=False).returncode == 0, seconds=30)
    told = plane.kubectl("get", "--raw", f"{LOG}?tailLines=7&container=main", user="alice").stdout
    assert "[pod/web-1/main] main of web-1 says hello\n" in told
    assert "[pod/web-2/main] main of web-2 says hello\n" in told
    assert "tailLines=7" in told
    assert "Forbidden" in plane.kubectl("get", "--raw", LOG, user="bob", check=False).stderr


def test_an_object_without_pods(stage: Stage) -> None:
    done = stage.plane.kubectl("get", "--raw", f"/apis/{FRONTS}/lonely/log", check=False)

    assert "no pods belong to it" in done.stderr
