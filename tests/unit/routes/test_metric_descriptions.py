"""Discovery and OpenAPI of the metrics APIs: what providers list, and nothing where they list nothing."""

from typing import Any

import pytest

from tests.fakes.served_metrics import INGRESS, NAMESPACE, POD, FakeProvider
from tests.unit.routes.server import Server

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
CUSTOM, EXTERNAL = "custom.metrics.k8s.io", "external.metrics.k8s.io"


def provider() -> FakeProvider:
    made = FakeProvider()
    made.serve("custom", "http_requests", POD, [])
    made.serve("custom", "errors", POD, [])
    made.serve("custom", "http_requests", NAMESPACE, [])
    made.serve("custom", "hits", INGRESS, [])
    return made.serve("external", "queue_depth", None, [])


@pytest.fixture
def server() -> Server:
    return Server(metrics=[provider()])


async def _items(server: Server) -> dict[str, Any]:
    body = (await server.get("/apis", accept=AGGREGATED)).json()
    return {item["metadata"]["name"]: item["versions"] for item in body["items"]}


async def test_groups(server: Server) -> None:
    """Both groups stand beside the kinds'; HPAs are told to use v1beta2."""
    groups = {group["name"]: group for group in (await server.get("/apis")).json()["groups"]}

    assert [CUSTOM, EXTERNAL, "metrics.k8s.io"] == list(groups)
    assert ["v1beta2", "v1beta1"] == [version["version"] for version in groups[CUSTOM]["versions"]]
    assert "v1beta2" == groups[CUSTOM]["preferredVersion"]["version"]


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
async def test_custom_resources(server: Server, version: str) -> None:
    """A metric is named by what it describes and its own name, and is namespaced as that is."""
    body = (await server.get(f"/apis/{CUSTOM}/{version}")).json()

    assert f"{CUSTOM}/{version}" == body["groupVersion"]
    assert [
        ("ingresses.networking.k8s.io/hits", True),
        ("namespaces/http_requests", False),
        ("pods/errors", True),
        ("pods/http_requests", True),
    ] == [(resource["name"], resource["namespaced"]) for resource in body["resources"]]
    assert {("MetricValueList", "", ("get",))} == {(each["kind"], each["singularName"], tuple(each["verbs"])) for each in body["resources"]}


async def test_external_resources(server: Server) -> None:
    """A metric is a resource."""
    assert [{"name": "queue_depth", "singularName": "", "namespaced": True, "kind": "ExternalMetricValueList", "verbs": ["get"]}] == (
        await server.get(f"/apis/{EXTERNAL}/v1beta1")
    ).json()["resources"]


async def test_aggregated(server: Server) -> None:
    """Metrics of objects stand below what they describe, which is itself no resource of this API; responseKind is never null."""
    items = await _items(server)

    pods = items[CUSTOM][0]["resources"][2]
    of_pods = {"group": CUSTOM, "version": "v1beta2", "kind": "MetricValueList"}
    assert {
        "resource": "pods",
        "responseKind": {"group": "", "version": "", "kind": ""},
        "scope": "Namespaced",
        "singularResource": "",
        "verbs": [],
        "subresources": [{"subresource": name, "responseKind": of_pods, "verbs": ["get"]} for name in ("errors", "http_requests")],
    } == pods
    assert {
        "resource": "queue_depth",
        "responseKind": {"group": EXTERNAL, "version": "v1beta1", "kind": "ExternalMetricValueList"},
        "scope": "Namespaced",
        "singularResource": "",
        "verbs": ["get"],
    } == items[EXTERNAL][0]["resources"][0]


@pytest.mark.parametrize(("kept", "gone"), [("custom", EXTERNAL), ("external", CUSTOM)])
async def test_an_api_without_metrics_is_not_served(kept: str, gone: str) -> None:
    """Neither in discovery nor in OpenAPI nor in the index, from one moment to the next."""
    served = provider()
    server = Server(metrics=[served])
    paths = set((await server.get("/openapi/v3")).json()["paths"])
    served.served = {entry: series for entry, series in served.served.items() if entry.api == kept}
    server.served_metrics.changed()

    assert gone not in await _items(server)
    assert 404 == (await server.get(f"/apis/{gone}")).status_code
    after = set((await server.get("/openapi/v3")).json()["paths"])
    assert {path for path in paths if path.startswith(f"apis/{gone}/")} == paths - after != set()
    assert not any(gone in path for path in (await server.get("/")).json()["paths"])


async def test_a_metric_comes() -> None:
    """It is in discovery at once; documents of groups that stayed keep their bytes."""
    served = provider()
    server = Server(metrics=[served])
    before = [(await server.get(f"/apis/{group}")).content for group in (EXTERNAL, "metrics.k8s.io")]
    served.serve("custom", "new", POD, [])
    server.served_metrics.changed()

    names = [resource["name"] for resource in (await server.get(f"/apis/{CUSTOM}/v1beta1")).json()["resources"]]
    assert "pods/new" in names
    assert before == [(await server.get(f"/apis/{group}")).content for group in (EXTERNAL, "metrics.k8s.io")]


@pytest.mark.parametrize(("group", "version"), [(CUSTOM, "v1beta2"), (CUSTOM, "v1beta1"), (EXTERNAL, "v1beta1")])
async def test_openapi(server: Server, group: str, version: str) -> None:
    """Every reference resolves, each path has its parameters, and the list tells its kind."""
    document = (await server.get(f"/openapi/v3/apis/{group}/{version}")).json()
    models = document["components"]["schemas"]
    references = {value.rpartition("/")[2] for value in _references(document)}
    assert references <= set(models)
    for path, item in document["paths"].items():
        named = {parameter["name"] for parameter in item["get"]["parameters"] if parameter["in"] == "path"}
        assert named == {part[1:-1] for part in path.split("/") if part.startswith("{")}
    lists = [model for name, model in models.items() if name.endswith("ValueList")]
    assert [version] == [each["version"] for model in lists for each in model["x-kubernetes-group-version-kind"]]


async def test_openapi_does_not_grow_with_metrics() -> None:
    """It is as large with a thousand metrics as with one: which there are stands in discovery, and in the kind ServedMetric."""
    one, many = FakeProvider().serve("custom", "m0", POD, []), FakeProvider()
    for number in range(1000):
        many.serve("custom", f"m{number}", POD, [])
    sizes = [len((await Server(metrics=[each]).get("/openapi/v2")).content) for each in (one, many)]

    assert sizes[0] == sizes[1]


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [ref for key, each in value.items() for ref in ([each] if key == "$ref" else _references(each))]
    return [ref for each in value for ref in _references(each)] if isinstance(value, list) else []
