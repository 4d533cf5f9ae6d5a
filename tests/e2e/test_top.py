"""`kubectl top` and everything else that reads metrics.k8s.io, through a real kube-apiserver."""

import base64
import json
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from app.simulation.curves import Load
from app.wire.accept import PROTOBUF
from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.kubeglance import Kubeglance
from tests.e2e.kubelets import SimulatedKubelets, load
from tests.e2e.registration import API_SERVICES
from tests.e2e.stage import API, Stage, on_stage
from tests.fakes.protobuf import decode

pytestmark = pytest.mark.e2e

NODES = ("top-0", "top-1")
# namespace, pod, node, containers, label app
PODS = (
    ("bank", "ledger-0", "top-1", {"main": load(250, 64)}, "ledger"),
    ("shop", "cart-0", "top-0", {"main": load(50, 52), "sidecar": load(5, 10)}, "cart"),
    ("shop", "cart-1", "top-1", {"main": load(75, 60), "sidecar": load(5, 10)}, "cart"),
    ("shop", "search-0", "top-0", {"main": load(100, 128)}, "search"),
)
READER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: metrics-reader, namespace: shop}
rules: [{apiGroups: [metrics.k8s.io], resources: [pods], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: metrics-reader, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: metrics-reader}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: dev}
- {kind: ServiceAccount, name: reader, namespace: shop}
"""


@pytest.fixture(scope="module")
def kubelets(plane: ControlPlane) -> Iterator[SimulatedKubelets]:
    with SimulatedKubelets(plane, NODES) as made:
        for namespace in ("bank", "shop"):
            made.inventory.namespace(namespace)
        for namespace, name, node, containers, app in PODS:
            made.pod(namespace, name, node, containers, labels={"app": app})
        yield made


@pytest.fixture(scope="module")
def stage(plane: ControlPlane, kubelets: SimulatedKubelets) -> Iterator[Stage]:
    with on_stage(plane, "top", kubelets.certificate_authority) as made:
        made.wait_for_pods("shop", 3)
        made.wait_for_pods("bank", 1)
        yield made


def rows(text: str) -> list[list[str]]:
    """The lines of kubectl's table, split into cells, the header first."""
    return [re.split(r"\s{2,}", line.strip()) for line in text.strip().splitlines()]


def millicores(containers: dict[str, Load]) -> int:
    return sum(each.cpu for each in containers.values()) // 1_000_000


def mebibytes(containers: dict[str, Load]) -> int:
    return sum(each.memory for each in containers.values()) // 2**20


def test_the_api_services_are_available_and_verified(stage: Stage) -> None:
    """All of them are Available because their certificate is verified, not because nobody looks."""
    for name in API_SERVICES:
        service = stage.registration.api_service(name)
        assert stage.registration.availability(name) == ("True", "Passed")
        assert stage.plane.pki.serving.pem == base64.b64decode(service["spec"]["caBundle"])
        assert "insecureSkipTLSVerify" not in service["spec"]


def test_values_are_those_of_the_kubelets(stage: Stage) -> None:
    """Every container has exactly the load that its kubelet was told to play, over a true window, stamped in the past."""
    found = {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in stage.items("pods")}
    assert {(namespace, name) for namespace, name, *_ in PODS} == set(found)
    for namespace, name, _, containers, app in PODS:
        item = found[namespace, name]
        assert list(containers) == [container["name"] for container in item["containers"]]
        assert app == item["metadata"]["labels"]["app"]
        for container in item["containers"]:
            expected = containers[container["name"]]
            assert expected.cpu == pytest.approx(nanocores(container["usage"]["cpu"]), rel=0.01)
            assert f"{expected.memory // 2**20}Mi" == container["usage"]["memory"]
        assert 0 < seconds(item["window"]) <= 60


def nanocores(quantity: str) -> int:
    """A CPU quantity in nanocores."""
    number, unit = re.fullmatch(r"(\d+)([num]?)", quantity).groups()  # type: ignore[union-attr]  # no match is a failure of the test
    return int(number) * {"n": 1, "u": 1_000, "m": 1_000_000, "": 1_000_000_000}[unit]


def seconds(duration: str) -> float:
    """A Go duration of seconds and, at most, minutes."""
    minutes, rest = re.fullmatch(r"(?:(\d+)m)?([\d.]+)s", duration).groups()  # type: ignore[union-attr]  # as above
    return int(minutes or 0) * 60 + float(rest)


def test_top_pods_prints_the_sum_of_the_containers(stage: Stage) -> None:
    """`kubectl top pods -A` lists all pods by namespace and name."""
    printed = rows(stage.plane.kubectl("top", "pods", "-A").stdout)
    assert ["NAMESPACE", "NAME", "CPU(cores)", "MEMORY(bytes)"] == printed[0]
    assert [[ns, name, f"{mebibytes(c)}Mi"] for ns, name, _, c, _ in PODS] == [[row[0], row[1], row[3]] for row in printed[1:]]
    for (_, _, _, containers, _), row in zip(PODS, printed[1:], strict=True):
        # kubectl rounds up, and a kubelet stamps in whole milliseconds: each container may show one more.
        assert 0 <= int(row[2].removesuffix("m")) - millicores(containers) <= len(containers)


@pytest.mark.parametrize("plural", ["pods", "nodes"])
def test_top_is_answered_in_protobuf(stage: Stage, plural: str) -> None:
    """`kubectl top` asks for protobuf and gets it: what the tests here see printed went through Go's decoder."""
    said = stage.plane.kubectl("top", plural, *(("-A",) if plural == "pods" else ()), "-v=8").stderr
    exchange = re.split(rf"/apis/metrics\.k8s\.io/v1\S*/{plural}", said)[-1]
    assert re.search(r"Accept: application/vnd\.kubernetes\.protobuf", exchange)
    assert re.search(r"Content-Type: application/vnd\.kubernetes\.protobuf", exchange)


@pytest.mark.parametrize("path", ["pods", "nodes", "namespaces/shop/pods/cart-0", "namespaces/shop/pods/nobody", "pods?limit=1"])
def test_protobuf_says_what_json_says(stage: Stage, path: str) -> None:
    """Objects, lists and failures come whole through the aggregator, in the form that was asked for."""
    with stage.plane.client() as client:

        def same() -> bool:
            read = client.get(f"{API}/{path}", headers={"Accept": f"{PROTOBUF}, */*"})
            told = client.get(f"{API}/{path}", headers={"Accept": "application/json"})
            assert [PROTOBUF, "application/json"] == [response.headers["content-type"] for response in (read, told)]
            return bool(told.json() == decode(read.content))

        wait_until("both forms at one version", same, seconds=30, every=0.5)  # a publish may fall between the two


def test_metadata_in_protobuf(stage: Stage) -> None:
    """What metadata informers ask for first."""
    accept = f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
    with stage.plane.client() as client:
        read = decode(client.get(f"{API}/pods", headers={"Accept": accept}).content)
    assert ("PartialObjectMetadataList", "meta.k8s.io/v1") == (read["kind"], read["apiVersion"])
    assert [(namespace, name) for namespace, name, *_ in PODS] == [
        (item["metadata"]["namespace"], item["metadata"]["name"]) for item in read["items"]
    ]


def test_top_pods_containers_prints_each_container(stage: Stage) -> None:
    """`kubectl top pods --containers` has a line for each container."""
    printed = rows(stage.plane.kubectl("top", "pods", "-n", "shop", "--containers").stdout)
    assert printed[0] == ["POD", "NAME", "CPU(cores)", "MEMORY(bytes)"]
    assert [[name, container] for ns, name, _, c, _ in PODS if ns == "shop" for container in c] == [row[:2] for row in printed[1:]]


def test_top_pods_takes_selectors_and_names(stage: Stage) -> None:
    """-l, --field-selector and a name each pick their pods."""
    top = stage.plane.kubectl
    assert [row[0] for row in rows(top("top", "pods", "-n", "shop", "-l", "app=cart", "--no-headers").stdout)] == ["cart-0", "cart-1"]
    assert [row[0] for row in rows(top("top", "pods", "ledger-0", "-n", "bank", "--no-headers").stdout)] == ["ledger-0"]
    by_field = top("top", "pods", "-A", "--field-selector", "metadata.name=search-0", "--no-headers").stdout
    assert [row[:2] for row in rows(by_field)] == [["shop", "search-0"]]


def test_top_nodes_prints_usage_and_share(stage: Stage) -> None:
    """`kubectl top nodes` knows every node's usage: that of its pods and of the machine (100m, 500Mi)."""

    def look() -> bool:
        printed = {row[0]: row for row in rows(stage.plane.kubectl("top", "nodes", "--no-headers").stdout)}
        assert set(NODES) == set(printed)
        for node in NODES:
            cpu = 100 + sum(millicores(c) for _, _, on, c, _ in PODS if on == node)
            assert cpu == pytest.approx(int(printed[node][1].removesuffix("m")), abs=2)
        return True

    wait_until("kubectl top nodes prints the loads", look, seconds=90, every=2)


@pytest.mark.parametrize("plural", ["podmetrics", "nodemetrics"])
@pytest.mark.parametrize("output", [(), ("-o", "wide")], ids=["default", "wide"])
def test_get_prints_a_table(stage: Stage, plural: str, output: tuple[str, ...]) -> None:
    """`kubectl get podmetrics` and nodemetrics print the server's columns."""
    scope = ("-A",) if plural == "podmetrics" else ()
    printed = rows(stage.plane.kubectl("get", plural, *scope, *output).stdout)
    assert printed[0][-4:] == ["NAME", "CPU", "MEMORY", "WINDOW"]
    names = [name for _, name, *_ in PODS] if plural == "podmetrics" else list(NODES)
    assert names == [row[-4] for row in printed[1:]]


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_get_json_has_the_kinds_of_its_version(stage: Stage, version: str) -> None:
    """-o json of one object names the version that was asked for."""
    path = f"/apis/metrics.k8s.io/{version}/namespaces/shop/pods/cart-0"
    found = json.loads(stage.plane.kubectl("get", "--raw", path).stdout)
    assert ("PodMetrics", f"metrics.k8s.io/{version}") == (found["kind"], found["apiVersion"])
    listed = json.loads(stage.plane.kubectl("get", f"podmetrics.{version}.metrics.k8s.io", "-n", "shop", "-o", "json").stdout)
    assert [item["metadata"]["name"] for item in listed["items"]] == ["cart-0", "cart-1", "search-0"]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        pytest.param(("-n", "shop", "-l", "app in (cart)"), ["cart-0", "cart-1"], id="labels"),
        pytest.param(("-n", "shop", "-l", "app!=cart"), ["search-0"], id="labels-not"),
        pytest.param(("-A", "--field-selector", "metadata.namespace=bank"), ["ledger-0"], id="fields"),
        pytest.param(("-A", "--chunk-size", "1"), ["ledger-0", "cart-0", "cart-1", "search-0"], id="pages-of-one"),
    ],
)
def test_get_lists_what_is_asked_for(stage: Stage, arguments: tuple[str, ...], names: list[str]) -> None:
    """Selectors narrow a list, pages put together are the list."""
    printed = stage.plane.kubectl("get", "podmetrics", *arguments, "--no-headers", "-o", "custom-columns=:metadata.name").stdout
    assert names == printed.split()


def test_an_unknown_field_selector_is_refused_in_words(stage: Stage) -> None:
    """Only name and namespace select by field."""
    failed = stage.plane.kubectl("get", "podmetrics", "-A", "--field-selector", "spec.nodeName=top-0", check=False)
    assert failed.returncode == 1
    assert '"spec.nodeName" is not a known field selector' in failed.stderr


def test_a_missing_pod_is_not_found(stage: Stage) -> None:
    """The text is that which people search the web for."""
    failed = stage.plane.kubectl("get", "podmetrics", "nobody", "-n", "shop", check=False)
    assert failed.stderr.strip() == 'Error from server (NotFound): pods "nobody" not found'


def test_writes_and_watches_are_refused(stage: Stage) -> None:
    """There is nothing to write, and no watch yet; both are told so, not left hanging."""
    deleted = stage.plane.kubectl("delete", "podmetrics", "cart-0", "-n", "shop", check=False)
    assert "MethodNotAllowed" in deleted.stderr
    watched = stage.plane.kubectl("get", "--raw", f"{API}/namespaces/shop/pods?watch=true", check=False)
    assert watched.returncode == 1
    assert "watch" in watched.stderr.lower() or "MethodNotAllowed" in watched.stderr


def test_explain_knows_the_fields(stage: Stage) -> None:
    """`kubectl explain` reads our OpenAPI through the aggregator."""

    def look() -> bool:
        said = stage.plane.kubectl("explain", "podmetrics").stdout
        assert re.search(r"KIND:\s+PodMetrics", said)
        return all(field in said for field in ("containers", "timestamp", "window"))

    wait_until("kubectl explain podmetrics", look, seconds=150, every=2)  # the aggregator asks for OpenAPI once a minute
    assert "usage" in stage.plane.kubectl("explain", "podmetrics.containers").stdout
    assert re.search(r"KIND:\s+NodeMetrics", stage.plane.kubectl("explain", "nodemetrics").stdout)


def test_api_resources_lists_both_kinds(stage: Stage) -> None:
    """Discovery names kind, scope and verbs: get and list, nothing that would wake garbage collection or quota."""
    printed = rows(stage.plane.kubectl("api-resources", "--api-group=metrics.k8s.io", "-o", "wide", "--no-headers").stdout)
    assert [row[:4] for row in printed] == [
        ["nodes", "metrics.k8s.io/v1", "false", "NodeMetrics"],
        ["pods", "metrics.k8s.io/v1", "true", "PodMetrics"],
    ]
    assert [row[4] for row in printed] == ["get,list"] * 2


def test_discovery_of_the_whole_cluster_stays_clean(stage: Stage) -> None:
    """No client sees an error because of us, and every group has a preferred version (a conformance rule)."""
    every = stage.plane.kubectl("api-resources")
    assert every.stderr == ""
    assert stage.plane.kubectl("api-versions").stderr == ""
    groups = json.loads(stage.plane.kubectl("get", "--raw", "/apis").stdout)["groups"]
    assert "metrics.k8s.io" in [group["name"] for group in groups]
    for group in groups:
        assert group["preferredVersion"] in group["versions"]


def test_without_a_role_403_and_with_it_200(stage: Stage) -> None:
    """alice may read nothing, then the pods of shop, and then still nothing else."""
    refused = stage.plane.kubectl("top", "pods", "-n", "shop", user="alice", check=False)
    assert refused.returncode == 1
    assert 'User "alice" cannot list resource "pods" in API group "metrics.k8s.io" in the namespace "shop"' in refused.stderr
    try:
        stage.plane.apply(READER)
        # A refusal may be remembered for ten seconds.
        wait_until("alice may read", lambda: stage.items("namespaces/shop/pods", user="alice"), seconds=60, every=1)
        assert stage.plane.kubectl("get", "podmetrics", "cart-0", "-n", "shop", user="alice").returncode == 0
        for elsewhere in (("pods", "-n", "bank"), ("pods", "-A"), ("nodes",)):
            assert "Forbidden" in stage.plane.kubectl("top", *elsewhere, user="alice", check=False).stderr
        assert "Forbidden" in stage.plane.kubectl("top", "pods", "-n", "shop", user="bob", check=False).stderr
    finally:
        stage.plane.kubectl("delete", "-f", "-", text=READER)


def test_a_service_account_may_come_directly(stage: Stage) -> None:
    """A bearer token is reviewed and its rights are asked for, with no aggregator in between; no token, no data."""
    stage.plane.kubectl("create", "serviceaccount", "reader", "-n", "shop")
    token = stage.plane.token("shop", "reader")
    replica = stage.replicas[0]
    path = f"{API}/namespaces/shop/pods"
    assert replica.get(path, token=token).status_code == 403
    try:
        stage.plane.apply(READER)
        wait_until("reader may read", lambda: replica.get(path, token=token).status_code == 200, seconds=60, every=1)
        listed = replica.get(path, token=token).json()
        assert [item["metadata"]["name"] for item in listed["items"]] == ["cart-0", "cart-1", "search-0"]
        assert replica.get(f"{API}/nodes", token=token).status_code == 403
        assert replica.get(path, token=f"{token}x").status_code == 401
        assert replica.get(path).status_code in {401, 403}
    finally:
        stage.plane.kubectl("delete", "-f", "-", text=READER)


def test_headers_of_the_aggregator_mean_nothing_from_others(stage: Stage) -> None:
    """X-Remote-User counts only on the front proxy's own certificate: a client certificate of the cluster is not enough."""
    smuggled = {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}
    path = f"{API}/nodes"
    assert stage.replicas[0].get(path, headers=smuggled).status_code in {401, 403}
    alice = stage.plane.pki.cluster.client("alice-direct", "alice", ["dev"])
    with stage.replicas[0].client(certificate=alice) as client:
        answer = client.get(path, headers=smuggled)
        assert answer.status_code == 403
        assert 'User \\"alice\\"' in answer.text


def test_kubelets_are_asked_with_our_own_token(stage: Stage, kubelets: SimulatedKubelets) -> None:
    """Both endpoints of each kubelet are asked under the ServiceAccount's token."""
    asked = {(request.address, request.path.partition("?")[0]) for request in kubelets.server.asked}
    assert {"/metrics/resource", "/stats/summary"} == {path for _, path in asked}
    assert all(request.authorization.startswith("Bearer ey") for request in kubelets.server.asked)


def test_one_scrape_is_enough(stage: Stage, kubelets: SimulatedKubelets) -> None:
    """From the start of the process to the first complete list each kubelet's summary is asked once, not twice."""
    masters = stage.plane.pki.cluster.client("first-admin", "first-admin", ["system:masters"])
    with Kubeglance(stage.plane, "top-first", kubelet_authority=kubelets.certificate_authority) as first:
        first.wait_ready()
        with first.client(certificate=masters) as client:

            def complete() -> bool:
                return len(client.get(f"{API}/pods").json()["items"]) == len(PODS)

            wait_until("the first complete list", complete, seconds=30, every=0.1)
        asked = [request for request in list(kubelets.server.asked) if request.authorization == f"Bearer {first.token}"]
    summaries = Counter(request.address for request in asked if request.path.startswith("/stats/summary"))
    assert [1] * len(NODES) == list(summaries.values())
