"""app/simulation/apiserver.py: what kubectl and kubeglance get from the simulated kube-apiserver."""

import asyncio
import json
import ssl
from typing import Any

import httpx
import pytest

from app.simulation.accounts import Account, Accounts
from app.simulation.aggregator import AGGREGATED_DISCOVERY, Aggregator
from app.simulation.apiserver import ApiServer
from app.simulation.curves import SECOND
from app.simulation.generate import generate
from app.simulation.model import ContainerSpec, SimulatedCluster
from tests.fakes.clock import LoopClock, ManualClock

USER = Account(token="user", name="demo", groups=("demo:viewers",))
SERVING = Account(token="serving", name="kubeglance", reads="cluster", reviews=True)
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
MAP = {"client-ca-file": "PEM"}
PODS = "/api/v1/pods"


def client(cluster: SimulatedCluster, aggregator: Aggregator | None = None, token: str = "user") -> httpx.AsyncClient:
    server = ApiServer(cluster, Accounts([USER, SERVING]), MAP, aggregator)
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.AsyncClient(transport=httpx.ASGITransport(server), base_url="https://simulated", headers=headers)


def small() -> SimulatedCluster:
    return generate(ManualClock(), nodes=2, pods=6)


def names(answer: httpx.Response) -> list[str]:
    return [item["metadata"]["name"] for item in answer.json()["items"]]


async def test_a_list_in_pages_is_the_whole_list() -> None:
    """Pages of limit and continue, put together, are the list; items carry no kind, as in a real list."""
    async with client(small()) as http:
        whole = await http.get(PODS)
        pages: list[str] = []
        token: str | None = ""
        while token is not None:
            page = await http.get(PODS, params={"limit": 5, "continue": token})
            pages += names(page)
            token = page.json()["metadata"].get("continue")

    assert names(whole) == pages
    assert len(pages) == 12
    assert all("kind" not in item for item in whole.json()["items"])


@pytest.mark.parametrize(
    ("path", "params", "count"),
    [
        pytest.param(PODS, {"fieldSelector": "spec.nodeName=worker-1"}, 6, id="node"),
        pytest.param(PODS, {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}, 12, id="phase"),
        pytest.param(PODS, {"labelSelector": "app in (kube-proxy,node-exporter)"}, 4, id="labels"),
        pytest.param("/api/v1/namespaces/monitoring/pods", {}, 2, id="namespace"),
        pytest.param("/api/v1/namespaces/kube-system/configmaps", {"fieldSelector": "metadata.name=other"}, 0, id="name"),
        pytest.param("/api/v1/nodes", {"labelSelector": "topology.kubernetes.io/zone=zone-a"}, 1, id="node labels"),
    ],
)
async def test_selectors(path: str, params: dict[str, str], count: int) -> None:
    """Namespaces, label selectors and the usual field selectors narrow a list."""
    async with client(small()) as http:
        assert count == len(names(await http.get(path, params=params)))


@pytest.mark.parametrize(
    "query",
    [
        "limit=abc",
        "limit=",
        f"limit={'9' * 5000}",
        "watch=1&timeoutSeconds=x",
        "watch=1&timeoutSeconds=nan",
        "watch=1&resourceVersion=x",
        "watch=1&resourceVersion=-1",
        "continue=%ff",
        "labelSelector=((",
        "fieldSelector=a",
    ],
)
async def test_parameters_that_cannot_be_read_are_400(query: str) -> None:
    """A Status, before anything else is sent, as from a real kube-apiserver."""
    async with client(small()) as http:
        answer = await http.get(f"{PODS}?{query}")

    assert (400, "Status", "BadRequest") == (answer.status_code, answer.json()["kind"], answer.json()["reason"])


@pytest.mark.parametrize("review", ["tokenreviews", "subjectaccessreviews", "selfsubjectaccessreviews"])
@pytest.mark.parametrize(
    "body",
    [
        pytest.param("", id="empty"),
        pytest.param("[]", id="list"),
        pytest.param('{"spec": 1}', id="number"),
        pytest.param('{"spec": {"token": 1, "groups": 5}}', id="types"),
        pytest.param('{"spec": {"token": 1, "groups": [{}]}}', id="items"),
        pytest.param('{"spec": {"token": 1, "resourceAttributes": 5}}', id="attributes"),
        pytest.param("[" * 100_000, id="deep"),
    ],
)
async def test_what_is_no_review_is_400(review: str, body: str) -> None:
    """A Status and no traceback."""
    group = "authentication" if review == "tokenreviews" else "authorization"
    async with client(small(), token="serving") as http:
        answer = await http.post(f"/apis/{group}.k8s.io/v1/{review}", content=body)

    assert (400, "Status") == (answer.status_code, answer.json()["kind"])


async def test_a_table_is_given_to_kubectl() -> None:
    """With kubectl's Accept a list is a Table with columns and rows that carry metadata."""
    async with client(small()) as http:
        table = (await http.get("/api/v1/nodes", headers={"Accept": TABLE})).json()

    assert [column["name"] for column in table["columnDefinitions"][:5]] == ["Name", "Status", "Roles", "Age", "Version"]
    assert [row["cells"][:5] for row in table["rows"]] == [[f"worker-{i}", "Ready", "<none>", "30d", "v1.37.2"] for i in range(2)]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


@pytest.mark.parametrize(
    ("token", "method", "path", "status"),
    [
        ("", "GET", PODS, 401),
        ("wrong", "GET", PODS, 401),
        ("", "GET", "/version", 200),
        ("user", "GET", "/api/v1/secrets", 404),
        ("user", "GET", "/api/v1/namespaces/shop/pods/none", 404),
        ("user", "DELETE", PODS, 405),
        ("user", "GET", "/nowhere", 404),
        ("user", "GET", f"{PODS}?fieldSelector=spec.x=1", 400),
        ("user", "GET", f"{PODS}?continue=!", 400),
        ("user", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", 403),
    ],
)
async def test_refusals_are_statuses(token: str, method: str, path: str, status: int) -> None:
    """What cannot be served is told with the code and a Status, as by a real kube-apiserver."""
    async with client(small(), token=token) as http:
        answer = await http.request(method, path)

    assert status == answer.status_code
    if status != 200:
        assert (answer.json()["kind"], answer.json()["code"]) == ("Status", status)


async def review(token: str, resource: str, spec: dict[str, Any]) -> Any:
    group = "authentication.k8s.io" if resource == "tokenreviews" else "authorization.k8s.io"
    async with client(small(), token=token) as http:
        answer = await http.post(f"/apis/{group}/v1/{resource}", json={"spec": spec})
    assert answer.status_code == 201
    return answer.json()["status"]


async def test_token_reviews_know_the_accounts() -> None:
    """A known token is its account with system:authenticated added; another is not authenticated."""
    known, unknown = [await review("serving", "tokenreviews", {"token": token}) for token in ("user", "x")]

    assert known["user"] == {"username": "demo", "uid": "", "groups": ["demo:viewers", "system:authenticated"]}
    assert (known["authenticated"], unknown["authenticated"]) == (True, False)


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        ({"user": "demo", "resourceAttributes": {"verb": "list", "group": "metrics.k8s.io", "resource": "pods"}}, True),
        ({"user": "demo", "resourceAttributes": {"verb": "delete", "group": "metrics.k8s.io", "resource": "pods"}}, False),
        ({"user": "mallory", "resourceAttributes": {"verb": "list", "group": "metrics.k8s.io", "resource": "pods"}}, False),
        ({"user": "kubeglance", "resourceAttributes": {"verb": "list", "group": "metrics.k8s.io", "resource": "pods"}}, False),
        ({"user": "x", "groups": ["system:masters"], "resourceAttributes": {"verb": "delete", "resource": "nodes"}}, True),
        ({"user": "x", "groups": ["system:authenticated"], "nonResourceAttributes": {"verb": "get", "path": "/apis/g/v"}}, True),
        ({"user": "x", "groups": ["system:authenticated"], "nonResourceAttributes": {"verb": "get", "path": "/metrics"}}, False),
        ({"user": "x", "nonResourceAttributes": {"verb": "get", "path": "/apis"}}, False),
    ],
)
async def test_access_reviews_follow_the_accounts(spec: dict[str, Any], allowed: bool) -> None:
    """Readers read, masters do all, everybody authenticated may discover; what no rule allows is denied."""
    assert allowed is (await review("serving", "subjectaccessreviews", spec))["allowed"]


async def test_everybody_may_ask_about_himself() -> None:
    """A SelfSubjectAccessReview (kubectl auth can-i) is about the caller, whatever user the spec claims."""
    spec = {"user": "demo", "resourceAttributes": {"verb": "get", "group": "metrics.k8s.io", "resource": "nodes"}}

    assert (await review("user", "selfsubjectaccessreviews", spec))["allowed"] is True
    assert (await review("serving", "selfsubjectaccessreviews", spec))["allowed"] is False


async def watched(cluster: SimulatedCluster, params: dict[str, Any], *changes: Any, path: str = PODS) -> list[dict[str, Any]]:
    """The events of one watch of 100 s (of virtual time), while one change happens every 10 s."""
    async with client(cluster) as http, asyncio.TaskGroup() as group:
        watch = group.create_task(http.get(path, params={"watch": "true", "timeoutSeconds": 100, **params}))
        for change in changes:
            await asyncio.sleep(10)
            change()
    return [json.loads(line) for line in watch.result().text.splitlines()]


@pytest.mark.looptime
async def test_a_watch_tells_what_changes() -> None:
    """From the list's version on: ADDED, MODIFIED, DELETED of what is selected, and a bookmark each minute, until timeoutSeconds."""
    cluster = generate(LoopClock(), nodes=1, pods=3)
    spec = [ContainerSpec("c")]
    events = await watched(
        cluster,
        {"resourceVersion": cluster.version, "allowWatchBookmarks": "true", "labelSelector": "app=new"},
        lambda: cluster.add_pod("default", "other", "worker-0", spec),
        lambda: cluster.add_pod("default", "new", "worker-0", spec, labels={"app": "new"}),
        lambda: cluster.restart_container("default", "new", "c"),
        lambda: cluster.delete_pod("default", "new"),
    )
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]

    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
    assert sorted(versions) == versions
    assert versions[-1] == cluster.version


@pytest.mark.looptime
async def test_a_watch_without_a_version_begins_with_what_is_there() -> None:
    """Version 0 gives ADDED for every object; with sendInitialEvents a bookmark marks the end of them."""
    cluster = generate(LoopClock(), nodes=1, pods=3)
    plain = await watched(cluster, {})
    marked = await watched(cluster, {"sendInitialEvents": "true", "allowWatchBookmarks": "true", "resourceVersionMatch": "NotOlderThan"})

    assert [event["type"] for event in plain] == ["ADDED"] * 3
    assert [event["type"] for event in marked[:4]] == ["ADDED"] * 3 + ["BOOKMARK"]
    assert marked[3]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_claims_are_objects_like_others() -> None:
    """kubeglance lists them, pods name them, and `kubectl get pvc` shows them: one that is bound, one that is not."""
    cluster = SimulatedCluster(ManualClock())
    cluster.add_node("n")
    cluster.add_claim("default", "data", 2**30, labels={"app": "db"})
    cluster.add_claim("other", "waits", 2**30, bound=False, block=True)
    cluster.add_pod("default", "db-0", "n", [ContainerSpec("c")], claims={"v": "data"})
    async with client(cluster) as http:
        data, waits = (await http.get("/api/v1/persistentvolumeclaims")).json()["items"]
        table = (
            await http.get("/api/v1/persistentvolumeclaims", headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
        ).json()
        (pod,) = (await http.get("/api/v1/namespaces/default/pods")).json()["items"]
        namespaces = names(await http.get("/api/v1/namespaces"))

    assert (data["status"]["capacity"], data["metadata"]["labels"], data["spec"]["volumeMode"]) == (
        {"storage": "1Gi"},
        {"app": "db"},
        "Filesystem",
    )
    assert (waits["status"], "volumeName" in waits["spec"], waits["spec"]["volumeMode"]) == ({"phase": "Pending"}, False, "Block")
    assert {"name": "v", "persistentVolumeClaim": {"claimName": "data"}} in pod["spec"]["volumes"]
    assert [row["cells"][:2] for row in table["rows"]] == [["data", "Bound"], ["waits", "Pending"]]
    assert {len(row["cells"]) for row in table["rows"]} == {len(table["columnDefinitions"])}
    assert "other" in namespaces


@pytest.mark.looptime
async def test_changes_of_claims_are_told() -> None:
    """A watch of claims tells of claims alone."""
    cluster = generate(LoopClock(), nodes=1, pods=1)
    events = await watched(
        cluster,
        {"resourceVersion": cluster.version},
        lambda: cluster.add_claim("default", "data", 2**30),
        lambda: cluster.add_pod("default", "p", "worker-0", [ContainerSpec("c")], claims={"v": "data"}),
        lambda: cluster.delete_claim("default", "data"),
        path="/api/v1/persistentvolumeclaims",
    )

    assert [(event["type"], event["object"]["kind"]) for event in events] == [
        ("ADDED", "PersistentVolumeClaim"),
        ("DELETED", "PersistentVolumeClaim"),
    ]


@pytest.mark.looptime
async def test_a_version_older_than_the_journal_is_expired() -> None:
    """A watch from a version that is no longer kept is told 410 in the stream."""
    (event,) = await watched(generate(LoopClock(), nodes=1, pods=3), {"resourceVersion": 1})

    assert (event["type"], event["object"]["reason"], event["object"]["code"]) == ("ERROR", "Expired", 410)


class Target:
    """An aggregated server that tells what it was asked."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, list[str]]]] = []

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        headers: dict[str, list[str]] = {}
        for name, value in request.headers.multi_items():
            headers.setdefault(name, []).append(value)
        self.seen.append((str(request.url.raw_path, "ascii"), headers))
        if request.url.path == "/apis":
            v2 = {"items": [{"metadata": {"name": "metrics.k8s.io"}, "versions": []}]}
            legacy = {"groups": [{"name": "metrics.k8s.io", "versions": []}]}
            found = v2 if "apidiscovery" in request.headers["accept"] else legacy
            return httpx.Response(200, stream=httpx.ByteStream(json.dumps(found).encode()))
        return httpx.Response(200, stream=httpx.ByteStream(b"answer"), headers={"etag": '"x"'})


def aggregated(target: Target) -> httpx.AsyncClient:
    aggregator = Aggregator("https://127.0.0.1:1", "kubeglance.kube-system.svc", ssl.create_default_context(), httpx.MockTransport(target))
    return client(small(), aggregator)


async def test_the_front_proxy_says_who_asks() -> None:
    """The user travels in X-Remote-* headers, his token and any X-Remote-* of his own do not; path and query pass as they are."""
    target = Target()
    async with aggregated(target) as http:
        answer = await http.get(
            "/apis/metrics.k8s.io/v1/pods?labelSelector=a%3Db", headers={"X-Remote-User": "root", "X-Remote-Group": "system:masters"}
        )
    ((path, headers),) = target.seen

    assert (answer.text, answer.headers["etag"], path) == ("answer", '"x"', "/apis/metrics.k8s.io/v1/pods?labelSelector=a%3Db")
    assert headers["x-remote-user"] == ["demo"]
    assert headers["x-remote-group"] == ["demo:viewers", "system:authenticated"]
    assert "authorization" not in headers


async def test_discovery_is_asked_as_the_aggregator() -> None:
    """/apis and /apis/GROUP are kube-apiserver's own documents, made of what the target tells the aggregator."""
    target = Target()
    async with aggregated(target) as http:
        v2 = await http.get("/apis", headers={"Accept": f"{AGGREGATED_DISCOVERY},application/json"})
        legacy = await http.get("/apis")
        group = await http.get("/apis/metrics.k8s.io")
        core = await http.get("/api", headers={"Accept": AGGREGATED_DISCOVERY})

    assert (v2.json()["kind"], v2.headers["content-type"]) == ("APIGroupDiscoveryList", AGGREGATED_DISCOVERY)
    assert (legacy.json()["kind"], group.json()["kind"]) == ("APIGroupList", "APIGroup")
    assert {headers["x-remote-user"][0] for _, headers in target.seen} == {"system:kube-aggregator"}
    resources = [each["resource"] for each in core.json()["items"][0]["versions"][0]["resources"]]
    assert resources == ["configmaps", "namespaces", "nodes", "persistentvolumeclaims", "pods"]


async def test_a_silent_target_is_unavailable() -> None:
    """No answer behind the front proxy is kube-apiserver's bare 503; discovery goes on without the group."""
    aggregator = Aggregator("https://127.0.0.1:1", "x", ssl.create_default_context(), httpx.MockTransport(_refuse))
    async with client(small(), aggregator) as http:
        answer, groups = await http.get("/apis/metrics.k8s.io/v1/pods"), await http.get("/apis")

    assert (answer.status_code, answer.text) == (503, "service unavailable")
    assert groups.json()["groups"] == []


def _refuse(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


async def test_a_killed_container_waits() -> None:
    """A pod whose container was killed is not ready and in CrashLoopBackOff until it is restarted."""
    clock = ManualClock()
    cluster = SimulatedCluster(clock)
    cluster.add_node("n")
    cluster.add_pod("default", "p", "n", [ContainerSpec("c")], started=cluster.now() - 60 * SECOND)
    cluster.kill_container("default", "p", "c")
    async with client(cluster) as http:
        killed = (await http.get("/api/v1/pods", headers={"Accept": TABLE})).json()["rows"][0]["cells"][1:5]
        cluster.restart_container("default", "p", "c")
        restarted = (await http.get("/api/v1/pods", headers={"Accept": TABLE})).json()["rows"][0]["cells"][1:5]

    assert killed == ["0/1", "CrashLoopBackOff", "0", "60s"]
    assert restarted == ["1/1", "Running", "1", "60s"]
