"""OpenAPI: what kubectl explain and the aggregator need, and nothing that breaks them."""

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kinds._base import Kind
from app.kinds._catalog import Catalog, Served
from app.routes.kind_descriptions import KindDescriptions
from app.routes.openapi import OpenApi
from app.wire.open_schema import publishable
from tests.fakes.clock import ManualClock
from tests.fakes.kinds import NODES, live_kind, make_collection
from tests.unit.routes.server import Server
from tests.unit.wire.test_open_schema import ODD_SCHEMAS

V3 = "/openapi/v3/apis/metrics.k8s.io/v1beta1"
POD = "io.k8s.metrics.pkg.apis.metrics.v1beta1.PodMetrics"
DOCUMENTS = ["/openapi/v2", V3, "/openapi/v3/apis/metrics.k8s.io/v1"]


def _walk(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key, item
            yield from _walk(item)
    elif isinstance(value, list):
        for item in value:
            yield from _walk(item)


@pytest.mark.parametrize("path", DOCUMENTS)
async def test_references_resolve(path: str) -> None:
    """Every $ref leads to a definition, whose name has no slash."""
    document = (await Server().get(path)).json()
    prefix, models = (
        ("#/definitions/", document["definitions"])
        if "definitions" in document
        else ("#/components/schemas/", document["components"]["schemas"])
    )

    references = {value for key, value in _walk(document) if key == "$ref"}
    assert references
    assert {name for name in models if "/" in name} == set()
    assert references <= {prefix + name for name in models}


@pytest.mark.parametrize("path", DOCUMENTS)
async def test_paths_are_our_own(path: str) -> None:
    """Only paths of our groups are listed, each operation with its action and kind, and with an id of its own."""
    document = (await Server().get(path)).json()
    operations = [operation for item in document["paths"].values() for operation in item.values()]

    assert all(name.startswith("/apis/metrics.k8s.io/v1") for name in document["paths"])
    assert {"get", "list"} == {operation["x-kubernetes-action"] for operation in operations}
    assert all("kind" in operation["x-kubernetes-group-version-kind"] for operation in operations)
    assert len(operations) == len({operation["operationId"] for operation in operations})


@pytest.mark.parametrize("path", DOCUMENTS)
async def test_no_boolean_additional_properties(path: str) -> None:
    """A boolean additionalProperties crashes kube-controller-manager's type checker."""
    document = (await Server().get(path)).json()

    assert [] == [value for key, value in _walk(document) if key == "additionalProperties" and isinstance(value, bool)]


@pytest.mark.parametrize("path", ["/openapi/v2", "/openapi/v3", *DOCUMENTS])
async def test_deterministic_and_tagged(path: str) -> None:
    """Two servers give the same bytes and tag, and 304 to whom has them."""
    first, second = await Server().get(path), await Server().get(path)
    again = await Server().get(path, if_none_match=first.headers["etag"])

    assert (first.content, first.headers["etag"]) == (second.content, second.headers["etag"])
    assert (304, b"") == (again.status_code, again.content)


async def test_explain_finds_the_kind() -> None:
    """kubectl explain goes from the path to the kind, from the kind to the schema, from there to the fields and their descriptions."""
    document = (await Server().get(V3)).json()
    gvk = document["paths"]["/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods"]["get"]["x-kubernetes-group-version-kind"]
    found = [name for name, schema in document["components"]["schemas"].items() if gvk in schema.get("x-kubernetes-group-version-kind", [])]

    assert {"group": "metrics.k8s.io", "kind": "PodMetrics", "version": "v1beta1"} == gvk
    assert [POD] == found
    schema = document["components"]["schemas"][POD]
    assert ["apiVersion", "kind", "metadata", "usage"] == list(schema["properties"])
    assert (["usage"], "Pods.") == (schema["required"], schema["description"])
    meta = schema["properties"]["metadata"]["allOf"][0]["$ref"].rpartition("/")[2]
    assert "labels" in document["components"]["schemas"][meta]["properties"]


async def test_v3_root_and_hash() -> None:
    """The root names each document by its hash; such a URL never changes and may be kept for a year."""
    server = Server()
    paths = (await server.get("/openapi/v3")).json()["paths"]
    url = paths["apis/metrics.k8s.io/v1beta1"]["serverRelativeURL"]
    response = await server.get(url)

    assert ["apis/metrics.k8s.io/v1", "apis/metrics.k8s.io/v1beta1"] == list(paths)
    assert f"{V3}?hash={response.headers['etag'].strip(chr(34))}" == url
    assert "public, immutable" == response.headers["cache-control"]
    assert "Mon, 30 Nov 2026 10:53:20 GMT" == response.headers["expires"]


async def test_an_old_hash_gets_the_current_document() -> None:
    """The aggregator refuses redirects: a stale hash is answered with 200, and not to be kept."""
    response = await Server().get(f"{V3}?hash=OLD")

    assert (200, "no-cache, private") == (response.status_code, response.headers["cache-control"])


@pytest.mark.parametrize(
    ("path", "accept", "status"),
    [
        ("/openapi/v2", "application/json", 200),
        ("/openapi/v2", "*/*", 200),
        ("/openapi/v2", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", 406),
        ("/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf,application/json", 200),
        (V3, "application/com.github.proto-openapi.spec.v3.v1.0+protobuf", 406),
    ],
)
async def test_accept(path: str, accept: str, status: int) -> None:
    """JSON only; else a bare 406."""
    response = await Server().get(path, accept=accept)

    assert (status, "Accept") == (response.status_code, response.headers["vary"])
    assert (status == 200) is bool(response.content)


async def test_unknown_document() -> None:
    """Documents of others are 404."""
    assert 404 == (await Server().get("/openapi/v3/apis/apps/v1")).status_code


def test_clean() -> None:
    """v2 has none of anyOf, oneOf, not, nullable; a property may bear any name."""
    schema = {
        "properties": {"not": {"anyOf": [{"type": "string"}], "nullable": True, "x-kubernetes-int-or-string": True}},
        "additionalProperties": False,
    }

    assert {"properties": {"not": {"x-kubernetes-int-or-string": True}}} == publishable(schema, version_2=True)
    assert {"properties": schema["properties"]} == publishable(schema, version_2=False)
    assert {"x-kubernetes-preserve-unknown-fields": True} == publishable({"additionalProperties": True}, version_2=True)


_BOTH = ["application/json", "application/vnd.kubernetes.protobuf"]


@pytest.mark.parametrize(
    ("kind", "produces"),
    [(NODES, ["application/json"]), (replace(NODES, protobuf=bytes), _BOTH)],
)
async def test_what_is_produced(kind: Kind, produces: list[str]) -> None:
    """Operations name the media types that their kind is served in."""
    server = Server(served=(Served(kind, make_collection()),))
    operations = [operation["get"] for operation in (await server.get("/openapi/v2")).json()["paths"].values()]
    contents = [operation["get"]["responses"]["200"]["content"] for operation in (await server.get(V3)).json()["paths"].values()]

    assert [produces] * 4 == [operation["produces"] for operation in operations]
    assert [produces] * 2 == [list(content) for content in contents]


_LABEL = st.from_regex(r"[a-z][a-z0-9]?(-[a-z0-9])?", fullmatch=True)
_KINDS = st.builds(
    live_kind,
    resource=st.sampled_from(["ingresses", "queues", "queuelists"]),
    kind=st.sampled_from(["Queue", "QueueList", "NamespacedQueue", "QueueForAllNamespaces", "ObjectMeta", "Odd/Kind"]),
    group=st.builds("{}.{}".format, _LABEL, _LABEL),
    namespaced=st.booleans(),
    schema=st.one_of(ODD_SCHEMAS, st.fixed_dictionaries({"properties": ODD_SCHEMAS}), st.fixed_dictionaries({"required": ODD_SCHEMAS})),
    versions=st.sampled_from([("v1",), ("v1", "v1beta1")]),
)


@given(st.lists(_KINDS, max_size=4))
def test_no_kind_breaks_the_clusters_openapi(kinds: list[Kind]) -> None:
    """Whatever is declared: every reference resolves, no model has a slash in its name, operations have ids of their own, all is JSON."""
    catalog = Catalog([Served(NODES, make_collection())])
    catalog.put({str(number): [Served(kind, make_collection())] for number, kind in enumerate(kinds)})
    openapi = OpenApi(KindDescriptions(catalog), ManualClock(), "v1")

    def document(answer: Any, name: str) -> Any:
        return json.loads(asyncio.run(answer({"headers": [], "path_params": {"document": name}})).body)

    root = document(openapi.v3_root, "")
    documents = [document(openapi.v2, ""), *(document(openapi.v3, path) for path in root["paths"])]
    for each in documents:
        prefix = "#/definitions/" if "definitions" in each else "#/components/schemas/"
        models = each.get("definitions") or each["components"]["schemas"]
        operations = [item["get"] for item in each["paths"].values()]
        references = [value for key, value in _walk(each) if key == "$ref"]
        assert {reference.removeprefix(prefix) for reference in references} <= set(models)
        assert all(re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in models)
        assert len(operations) == len({operation["operationId"] for operation in operations})
    served = {(kind.group, version) for kind in catalog.kinds for version in kind.versions}
    assert {f"apis/{group}/{version}" for group, version in served} == set(root["paths"])


async def test_what_declares_the_frame_does_not_replace_it() -> None:
    """Schemas of CRDs declare metadata as any object; published is what metadata has."""
    schema = {"properties": {"metadata": {"type": "object"}, "kind": {"type": "integer"}, "spec": {"type": "object"}}}
    server = Server(served=(Served(live_kind(schema=schema), make_collection()),))
    properties = (await server.get("/openapi/v2")).json()["definitions"]["com.example.v1alpha1.Queue"]["properties"]

    assert ["apiVersion", "kind", "metadata", "spec"] == list(properties)
    assert ("string", "$ref" in properties["metadata"]) == (properties["kind"]["type"], True)


async def test_a_plural_that_other_groups_have() -> None:
    """A kind may have the plural of another group's: ingresses of networking.k8s.io."""
    server = Server(served=(Served(live_kind("ingresses", "Ingress", "apps.example.com"), make_collection()),))
    document = (await server.get("/openapi/v2")).json()

    assert {"com.example.apps.v1alpha1.Ingress", "com.example.apps.v1alpha1.IngressList"} <= set(document["definitions"])
    assert 200 == (await server.get("/apis/apps.example.com/v1alpha1/ingresses")).status_code


async def test_selectable_fields_are_told() -> None:
    """The parameter fieldSelector names what may be selected by."""
    server = Server(served=(Served(live_kind(), make_collection()),))
    document = (await server.get("/openapi/v2")).json()
    parameters = document["paths"]["/apis/example.com/v1alpha1/queues"]["get"]["parameters"]

    assert ["Selects objects by metadata.name, metadata.namespace and spec.node."] == [
        parameter["description"] for parameter in parameters if parameter["name"] == "fieldSelector"
    ]
