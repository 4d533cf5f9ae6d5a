"""external.metrics.k8s.io on the wire: the facts that custom-metrics-apiserver's own tests state, and what adapters get wrong."""

import pytest

from app.errors import Problem
from tests.fakes.protobuf import MEDIA_TYPE, decode
from tests.fakes.served_metrics import FakeProvider, external
from tests.unit.routes.server import Server

BASE = "/apis/external.metrics.k8s.io/v1beta1"
METRIC = f"{BASE}/namespaces/default/my-external-metric"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.fixture
def served() -> FakeProvider:
    made = FakeProvider(reason="no series fulfils the selector")
    made.serve("external", "my-external-metric", None, [external("42", foo="bar"), external("43", foo="baz")])
    return made.serve("external", "plain", None, [external("80473.159")])


@pytest.fixture
def server(served: FakeProvider) -> Server:
    return Server(metrics=[served])


@pytest.mark.parametrize(
    ("path", "status", "count"),
    [
        ("/nonexistent-metric", 404, 0),
        ("/namespaces/foo", 404, 0),
        ("/namespaces/foo/group/metric", 404, 0),
        ("/namespaces/default/my-external-metric", 200, 2),
        ("/namespaces/default/my-external-metric?labelSelector=foo%3Dbar", 200, 1),
        ("/namespaces/default/my-external-metric?labelSelector=foo%20in%20(bar,baz)", 200, 2),
        ("/namespaces/default/my-external-metric?labelSelector=foo%3Dno", 404, 0),
        ("/namespaces/default/my-external-metric/", 200, 2),
        ("/namespaces/default/a%2Fb", 404, 0),
        ("/namespaces/foo/nonexistent-metric", 404, 0),
    ],
)
async def test_paths(server: Server, path: str, status: int, count: int) -> None:
    """There is one shape. Nothing is no answer: an HPA would take a list without items for an error without a cause."""
    response = await server.get(f"{BASE}{path}")

    assert (status, count) == (response.status_code, len(response.json().get("items", ())))


async def test_a_list(server: Server) -> None:
    """A series without labels says null."""
    assert (
        b'{"kind":"ExternalMetricValueList","apiVersion":"external.metrics.k8s.io/v1beta1","metadata":{},"items":[{"metricName":"plain",'
        b'"metricLabels":null,"timestamp":"2025-11-30T10:53:20Z","value":"80473159m"}]}\n'
    ) == (await server.get(f"{BASE}/namespaces/ns/plain")).content


async def test_protobuf(server: Server) -> None:
    """It says what the JSON says."""
    told = decode((await server.get(METRIC, accept=f"{MEDIA_TYPE}, */*")).content)

    assert (await server.get(METRIC)).json()["items"] == told["items"]


async def test_a_table(server: Server) -> None:
    """What, how old, and by which labels."""
    body = (await server.get(METRIC, accept=TABLE)).json()

    assert ["Metric", "Value", "Age", "Labels"] == [column["name"] for column in body["columnDefinitions"]]
    assert [["my-external-metric", "42", "0s", "foo=bar"], ["my-external-metric", "43", "0s", "foo=baz"]] == [
        row["cells"] for row in body["rows"]
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("nowhere", "nowhere in namespace default: nothing serves nowhere as an external metric"),
        (
            "my-external-metric?labelSelector=foo%3Dno",
            "my-external-metric in namespace default with selector foo=no: no series fulfils the selector",
        ),
    ],
)
async def test_what_is_missing(server: Server, path: str, text: str) -> None:
    """404 with the cause."""
    body = (await server.get(f"{BASE}/namespaces/default/{path}")).json()

    assert (404, f"the server could not find the metric {text}") == (body["code"], body["message"])


@pytest.mark.parametrize(("query", "code"), [("labelSelector=a%20b", 400), ("fieldSelector=metadata.name%3Dx", 400), ("watch=1", 405)])
async def test_what_cannot_be_asked(server: Server, query: str, code: int) -> None:
    """Bad selectors, fields that a series does not have, and events."""
    assert code == (await server.get(f"{METRIC}?{query}")).status_code


@pytest.mark.parametrize(("query", "verb"), [("", "list"), ("?watch=true", "watch")])
async def test_rights(server: Server, query: str, verb: str) -> None:
    """A metric is a resource, and to ask for it is to list it, as kube-apiserver's RequestInfo says of the path."""
    server.gate.refusal = Problem(403, "Forbidden", "forbidden")
    response = await server.get(f"{METRIC}{query}")

    asked = server.gate.asked[-1]
    assert 403 == response.status_code
    assert ("external.metrics.k8s.io", verb, "my-external-metric", "", "default", "") == (
        asked.group,
        asked.verb,
        asked.resource,
        asked.subresource,
        asked.namespace,
        asked.name,
    )


async def test_namespaces_have_values_of_their_own(served: FakeProvider, server: Server) -> None:
    """Who asks says where, and the provider hears it (kube-metrics-adapter issue 255)."""
    for namespace in ("alpha", "beta"):
        await server.get(f"{BASE}/namespaces/{namespace}/plain")

    assert ["alpha", "beta"] == [question.namespace for question in served.asked]


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_writes(server: Server, method: str) -> None:
    """405 as for everything here."""
    response = await server.request(method, METRIC)

    assert (405, "GET, HEAD") == (response.status_code, response.headers["allow"])
