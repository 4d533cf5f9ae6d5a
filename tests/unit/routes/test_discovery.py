"""Discovery tells what is declared, in the old forms and the aggregated one."""

import pytest

from app.errors import Problem
from tests.unit.routes.server import Server

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def test_groups() -> None:
    """/apis works without Accept, and prefers the first declared version."""
    response = await Server().get("/apis")

    v1 = {"groupVersion": "metrics.k8s.io/v1", "version": "v1"}
    beta = {"groupVersion": "metrics.k8s.io/v1beta1", "version": "v1beta1"}
    group = {"name": "metrics.k8s.io", "versions": [v1, beta], "preferredVersion": v1}
    assert {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]} == response.json()


async def test_group() -> None:
    """/apis/GROUP is one APIGroup; an unknown group is 404."""
    server = Server()

    group = (await server.get("/apis/metrics.k8s.io")).json()
    assert ("APIGroup", "metrics.k8s.io") == (group["kind"], group["name"])
    assert 404 == (await server.get("/apis/other.k8s.io")).status_code


@pytest.mark.parametrize("path", ["/apis/metrics.k8s.io/v1beta1", "/apis/metrics.k8s.io/v1beta1/"])
async def test_resources(path: str) -> None:
    """The resources are those that metrics-server lists, with singularName "" (kubectl get podmetrics depends on it)."""
    body = (await Server().get(path)).json()

    assert ("APIResourceList", "v1", "metrics.k8s.io/v1beta1") == (body["kind"], body["apiVersion"], body["groupVersion"])
    pods = {"name": "pods", "singularName": "", "namespaced": True, "kind": "PodMetrics", "verbs": ["get", "list"]}
    nodes = {"name": "nodes", "singularName": "", "namespaced": False, "kind": "NodeMetrics", "verbs": ["get", "list"]}
    assert [{**nodes, "shortNames": ["nm"], "categories": ["live"]}, pods] == body["resources"]


async def test_unknown_version() -> None:
    """An unknown version is 404."""
    assert 404 == (await Server().get("/apis/metrics.k8s.io/v9")).status_code


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
async def test_aggregated(version: str) -> None:
    """The aggregated form has its Content-Type, a quoted ETag, and everything in one document."""
    accept = AGGREGATED.replace("v=v2", f"v={version}")
    response = await Server().get("/apis", accept=f"{accept},application/json")

    assert accept == response.headers["content-type"]
    assert ("Accept", "public") == (response.headers["vary"], response.headers["cache-control"])
    assert response.headers["etag"].startswith('"')
    body = response.json()
    assert ("APIGroupDiscoveryList", f"apidiscovery.k8s.io/{version}", {}) == (body["kind"], body["apiVersion"], body["metadata"])
    served = body["items"][0]["versions"]
    assert [("v1", "Current"), ("v1beta1", "Current")] == [(item["version"], item["freshness"]) for item in served]
    pods = {
        "resource": "pods",
        "responseKind": {"group": "metrics.k8s.io", "version": "v1", "kind": "PodMetrics"},
        "scope": "Namespaced",
        "singularResource": "",
        "verbs": ["get", "list"],
    }
    assert pods == served[0]["resources"][1]


async def test_aggregated_not_modified() -> None:
    """Who has the document gets 304 without body; the tag is the same on every server with the same kinds."""
    first = await Server().get("/apis", accept=AGGREGATED)
    second = await Server().get("/apis", accept=AGGREGATED, if_none_match=first.headers["etag"])

    assert (304, b"", first.headers["etag"]) == (second.status_code, second.content, second.headers["etag"])
    assert "content-length" not in second.headers


@pytest.mark.parametrize(
    ("accept", "status", "kind"),
    [
        (f"{AGGREGATED};profile=nopeer,{AGGREGATED},application/json", 200, "APIGroupDiscoveryList"),
        ("application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList,application/json", 200, "APIGroupList"),
        ("application/vnd.kubernetes.protobuf, */*", 200, "APIGroupList"),
        ("application/xml", 406, "Status"),
    ],
)
async def test_negotiation(accept: str, status: int, kind: str) -> None:
    """Unknown parameters do not disqualify, an unknown version falls back, what cannot be served is 406."""
    response = await Server().get("/apis", accept=accept)

    assert (status, kind) == (response.status_code, response.json()["kind"])


@pytest.mark.parametrize("path", ["/apis", "/apis/metrics.k8s.io", "/apis/metrics.k8s.io/v1"])
async def test_behind_the_gate(path: str) -> None:
    """Discovery is asked for as a path with the method in lower case, and refused as the gate says."""
    server = Server()
    server.gate.refusal = Problem(401, "Unauthorized", "Unauthorized")
    response = await server.get(path)

    assert (401, "Unauthorized") == (response.status_code, response.json()["reason"])
    assert ("get", path, "") == (server.gate.asked[0].verb, server.gate.asked[0].path, server.gate.asked[0].resource)


@pytest.mark.parametrize("path", ["/apis", "/apis/", "/apis/metrics.k8s.io", "/apis/metrics.k8s.io/v1", "/version"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
async def test_documents_are_only_read(path: str, method: str) -> None:
    """Any method but GET and HEAD is 405, with a Status and the methods that there are."""
    response = await Server().request(method, path)

    assert (405, "GET, HEAD", "MethodNotAllowed") == (response.status_code, response.headers["allow"], response.json()["reason"])
