"""custom.metrics.k8s.io on the wire: the facts that custom-metrics-apiserver's own tests state, and what adapters get wrong."""

import json
from typing import Any

import httpx
import pytest

from app.errors import Problem
from app.routes.custom_metrics import CustomMetrics
from app.routes.metric_answers import MetricAnswers
from app.served_metrics.providers import Registry
from app.served_metrics.values import Absent, Answer, Question
from app.wire.label_selectors import EVERYTHING
from tests.fakes.clock import ManualClock
from tests.fakes.gate import FakeGate
from tests.fakes.protobuf import MEDIA_TYPE, decode
from tests.fakes.served_metrics import INGRESS, NAMESPACE, NODE, POD, FakeProvider, describe, series
from tests.unit.routes.server import Server

BASE = "/apis/custom.metrics.k8s.io/v1beta2"
BETA1 = "/apis/custom.metrics.k8s.io/v1beta1"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_FOO = (("foo", "bar"),)


def provider() -> FakeProvider:
    """Four nodes and sixteen pods, of which every second one has foo=bar; the Namespace ns; an Ingress; hits by code."""
    made = FakeProvider()
    nodes = [("", f"node{number}") for number in range(4)]
    pods = [("ns", f"pod{number:02}") for number in range(16)]
    made.objects = {key: _FOO if number % 2 else () for keys in (nodes, pods) for number, key in enumerate(keys)}
    made.serve("custom", "some-metric", NODE, [series(*key, "1") for key in nodes])
    made.serve("custom", "some-metric", POD, [series(*key, "10.5", window=60 * 10**9) for key in pods])
    made.serve("custom", "some-metric", NAMESPACE, [series("", "ns", "1000")])
    made.serve("custom", "hits", INGRESS, [series("ns", "web", "7")])
    codes = [series("ns", "web", str(number), labels=(("code", str(number)),)) for number in (200, 404, 500)]
    made.serve("custom", "requests", POD, codes)
    return made


@pytest.fixture
def served() -> FakeProvider:
    return provider()


@pytest.fixture
def server(served: FakeProvider) -> Server:
    return Server(metrics=[served])


def message(response: httpx.Response) -> str:
    body = response.json()
    assert ("Status", response.status_code) == (body["kind"], body["code"])
    text: str = body["message"]
    return text


@pytest.mark.parametrize(
    ("path", "status", "count"),
    [
        ("/blah", 404, 0),
        ("/nodes/foo", 404, 0),
        ("/namespaces/ns/pods/bar", 404, 0),
        ("/namespaces//pods/bar/some-metric", 404, 0),
        ("/nodes/node0/some-metric/deeper", 404, 0),
        ("/watch/nodes/node0/some-metric", 404, 0),
        ("/nodes/*/some-metric", 200, 4),
        ("/nodes/%2A/some-metric", 200, 4),
        ("/namespaces/ns/pods/*/some-metric", 200, 16),
        ("/namespaces/ns/pods/%2A/some-metric", 200, 16),
        ("/pods/*/some-metric", 200, 16),
        ("/namespaces/ns/metrics/some-metric", 200, 1),
        ("/nodes/*/some-metric?labelSelector=foo%3Dbar", 200, 2),
        ("/namespaces/ns/pods/*/some-metric?labelSelector=foo%3Dbar", 200, 8),
        ("/nodes/node0/some-metric", 200, 1),
        ("/namespaces/anywhere/nodes/node0/some-metric", 200, 1),
        ("/namespaces/ns/pods/pod00/some-metric", 200, 1),
        ("/namespaces/ns/ingresses.networking.k8s.io/web/hits", 200, 1),
        ("/namespaces/other/pods/*/some-metric", 404, 0),
        ("/namespaces/ns/pods/*/a%2Fb", 404, 0),
    ],
)
@pytest.mark.parametrize("base", [BASE, BETA1])
async def test_paths(server: Server, base: str, path: str, status: int, count: int) -> None:
    """All shapes, in both versions; what is cluster-scoped is found on both paths, for the HPA knows the namespaced one only."""
    response = await server.get(f"{base}{path}")

    assert (status, count) == (response.status_code, len(response.json().get("items", ())))


@pytest.mark.parametrize(
    "path", ["/namespaces/ns/pods/%2e%2e/some-metric", "/%2e%2e/pod00/some-metric", "/nodes/node0/%2e%2e", "/nodes/%2e/m"]
)
async def test_nobody_is_asked_for_what_leads_elsewhere(server: Server, served: FakeProvider, path: str) -> None:
    """Routes ask other adapters by such a path, as kubeglance: the right to one must not open another."""
    assert 404 == (await server.get(f"{BASE}{path}")).status_code
    assert [] == served.asked


@pytest.mark.parametrize("name", ["v1beta3", "v1"])
async def test_other_versions(server: Server, name: str) -> None:
    """There are two versions."""
    assert 404 == (await server.get(f"/apis/custom.metrics.k8s.io/{name}/nodes/*/some-metric")).status_code


async def test_a_list(server: Server) -> None:
    """What an HPA gets, in the preferred version: core objects are of v1, the selector is null, the time has whole seconds."""
    response = await server.get(f"{BASE}/namespaces/ns/pods/pod00/some-metric")

    assert (
        b'{"kind":"MetricValueList","apiVersion":"custom.metrics.k8s.io/v1beta2","metadata":{},"items":[{"describedObject":{"kind":"Pod",'
        b'"namespace":"ns","name":"pod00","apiVersion":"v1"},"metric":{"name":"some-metric","selector":null},'
        b'"timestamp":"2025-11-30T10:53:20Z","windowSeconds":60,"value":"10500m"}]}\n'
    ) == response.content
    assert "application/json" == response.headers["content-type"]


async def test_a_list_of_the_older_version(server: Server) -> None:
    """A Namespace, as `namespaces/NS/metrics/M` describes it."""
    assert (
        b'{"kind":"MetricValueList","apiVersion":"custom.metrics.k8s.io/v1beta1","metadata":{},"items":[{"describedObject":{'
        b'"kind":"Namespace","name":"ns","apiVersion":"v1"},"metricName":"some-metric","timestamp":"2025-11-30T10:53:20Z",'
        b'"value":"1k","selector":null}]}\n'
    ) == (await server.get(f"{BETA1}/namespaces/ns/metrics/some-metric")).content


async def test_a_kind_of_another_group(server: Server) -> None:
    """It is told with its group and version."""
    item = (await server.get(f"{BASE}/namespaces/ns/ingresses.networking.k8s.io/web/hits")).json()["items"][0]

    assert {"kind": "Ingress", "namespace": "ns", "name": "web", "apiVersion": "networking.k8s.io/v1"} == item["describedObject"]


@pytest.mark.parametrize(
    ("selector", "values"),
    [
        ("code=200", ["200"]),
        ("code!=200", ["404", "500"]),
        ("code in (200,500)", ["200", "500"]),
        ("code notin (200,500)", ["404"]),
        ("code", ["200", "404", "500"]),
        ("code>300", ["404", "500"]),
        ("code<300", ["200"]),
        ("!verb,code=404", ["404"]),
    ],
)
async def test_series_are_selected(server: Server, selector: str, values: list[str]) -> None:
    """With every operator, whatever the source could do."""
    response = await server.get(f"{BASE}/namespaces/ns/pods/web/requests?metricLabelSelector={selector}")

    assert values == [item["value"] for item in response.json()["items"]]


async def test_the_selector_is_echoed(server: Server) -> None:
    """As upstream's adapters do: it tells which series were taken."""
    item = (await server.get(f"{BASE}/namespaces/ns/pods/web/requests?metricLabelSelector=code=200")).json()["items"][0]

    assert {"name": "requests", "selector": {"matchLabels": {"code": "200"}}} == item["metric"]


async def test_one_object_is_asked_for_by_name_alone(server: Server, served: FakeProvider) -> None:
    """labelSelector is of *: a single name has what it has."""
    response = await server.get(f"{BASE}/namespaces/ns/pods/pod00/some-metric?labelSelector=no%3Dsuch")

    assert (200, EVERYTHING) == (response.status_code, served.asked[0].objects)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("labelSelector=a%20b", "unable to parse requirement"),
        ("metricLabelSelector=%3D", "found '=', expected: !, identifier, or 'end of string'"),
        ("metricLabelSelector=a%3Eb", "the value must be an integer"),
        ("fieldSelector=metadata.name%3Dother", "fieldSelector metadata.name doesn't match requested name"),
        ("fieldSelector=metadata.name%21%3Dpod00", "fieldSelector metadata.name doesn't match requested name"),
        ("fieldSelector=spec.nodeName%3Dx", '"spec.nodeName" is not a known field selector: only "metadata.name"'),
    ],
)
async def test_bad_selectors(server: Server, served: FakeProvider, query: str, text: str) -> None:
    """400, of both selectors and of fields; nobody is asked."""
    response = await server.get(f"{BASE}/namespaces/ns/pods/pod00/some-metric?{query}")

    assert 400 == response.status_code
    assert text in message(response)
    assert not served.asked


@pytest.mark.parametrize(("name", "field"), [("pod00", "pod00"), ("*", "*")])
async def test_the_field_selector_that_clients_send(server: Server, name: str, field: str) -> None:
    """The name that stands in the path anyway."""
    path = f"{BASE}/namespaces/ns/pods/{name}/some-metric?fieldSelector=metadata.name%3D{field}"

    assert 200 == (await server.get(path)).status_code


@pytest.mark.parametrize(
    ("path", "right"),
    [
        ("namespaces/default/foo", "namespaces/default/metrics/foo"),
        ("namespaces/*/m", "namespaces/NAMESPACE/metrics/m"),
    ],
)
async def test_what_looks_like_a_metric_of_a_namespace(server: Server, path: str, right: str) -> None:
    """It once ended the adapter's process (custom-metrics-apiserver issue 78); the answer names the path that was meant."""
    response = await server.get(f"{BASE}/{path}")

    assert 400 == response.status_code
    assert message(response).startswith("invalid request path: ")
    assert message(response).endswith(f" {BASE}/{right}")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("nodes/node9/some-metric", "some-metric for nodes node9: no data yet"),
        ("namespaces/ns/pods/*/some-metric?labelSelector=no%3Dsuch", "some-metric for pods: no data yet"),
        ("namespaces/ns/pods/web/requests?metricLabelSelector=code%3D1", "requests for pods web with selector code=1: no data yet"),
        ("namespaces/ns/pods/*/requests?metricLabelSelector=code%3D1", "requests for pods with selector code=1: no data yet"),
        ("namespaces/ns/pods/*/unknown", "unknown for pods: nothing serves unknown of pods"),
        ("namespaces/x/metrics/unknown", "unknown for namespaces x: nothing serves unknown of namespaces"),
        ("namespaces/ns/jobs.batch/a/m", "m for jobs.batch a: nothing serves m of jobs.batch"),
    ],
)
async def test_what_is_missing(server: Server, path: str, text: str) -> None:
    """404 in upstream's words, which consumers know, and then with the cause."""
    response = await server.get(f"{BASE}/{path}")

    assert (404, "NotFound") == (response.status_code, response.json()["reason"])
    assert f"the server could not find the metric {text}" == message(response)
    assert "retry-after" not in response.headers


async def test_a_resource_that_the_cluster_does_not_know(served: FakeProvider, server: Server) -> None:
    """Its objects have no kind that could be told: 404 with that reason."""
    served.serve("custom", "m", INGRESS._replace(name="odd"), [series("ns", "one", "1")])
    served.served = {entry._replace(namespaced=True): values for entry, values in served.served.items()}
    server.served_metrics.changed()

    response = await server.get(f"{BASE}/namespaces/ns/odd.networking.k8s.io/one/m")
    assert (404, True) == (response.status_code, message(response).endswith(": the cluster serves no resource odd.networking.k8s.io"))


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_writes(server: Server, method: str) -> None:
    """405, with what there is."""
    response = await server.request(method, f"{BASE}/namespaces/ns/pods/pod00/some-metric")

    assert (405, "GET, HEAD") == (response.status_code, response.headers["allow"])
    assert 'is not supported on resources of kind "pods/some-metric.custom.metrics.k8s.io"' in message(response)


async def test_no_watch(server: Server) -> None:
    """It is refused: a client that waits for events would wait for ever."""
    response = await server.get(f"{BASE}/namespaces/ns/pods/*/some-metric?watch=true")

    assert (405, True) == (response.status_code, message(response).startswith("watch is not supported"))


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/namespaces/ns/pods/*/some-metric", ("get", "pods", "some-metric", "ns", "*")),
        ("/nodes/node0/some-metric", ("get", "nodes", "some-metric", "", "node0")),
        ("/namespaces/ns/metrics/some-metric", ("get", "metrics", "", "ns", "some-metric")),
        ("/namespaces/ns/ingresses.networking.k8s.io/web/hits", ("get", "ingresses.networking.k8s.io", "hits", "ns", "web")),
    ],
)
async def test_rights(server: Server, path: str, asked: tuple[str, ...]) -> None:
    """What RBAC is asked is what kube-apiserver's RequestInfo says of the path; the refusal comes before anything is told."""
    server.gate.refusal = Problem(403, "Forbidden", "forbidden")
    response = await server.get(f"{BASE}{path}")

    found = server.gate.asked[-1]
    assert 403 == response.status_code
    assert asked == (found.verb, found.resource, found.subresource, found.namespace, found.name)
    assert ("custom.metrics.k8s.io", "v1beta2") == (found.group, found.version)


@pytest.mark.parametrize("path", ["/namespaces/ns/pods/*/some-metric", "/namespaces/ns/pods/web/requests?metricLabelSelector=code%3E300"])
@pytest.mark.parametrize("base", [BASE, BETA1])
async def test_protobuf(server: Server, base: str, path: str) -> None:
    """kube-controller-manager prefers it: it says what the JSON says."""
    told = await server.get(f"{base}{path}", accept="application/vnd.kubernetes.protobuf, */*")
    json_body = (await server.get(f"{base}{path}")).json()

    assert MEDIA_TYPE == told.headers["content-type"]
    assert _comparable(json_body) == decode(told.content)


def _comparable(body: Any) -> Any:
    """JSON without what the reader of protobuf leaves out: nulls and what is empty."""
    if isinstance(body, dict):
        return {key: _comparable(value) for key, value in body.items() if value not in (None, {}, "")}
    return [_comparable(each) for each in body] if isinstance(body, list) else body


async def test_a_table(server: Server) -> None:
    """For people: which object, what, how old, and by which labels."""
    body = (await server.get(f"{BASE}/namespaces/ns/pods/web/requests?metricLabelSelector=code=200", accept=TABLE)).json()

    assert ("Table", "meta.k8s.io/v1", {}) == (body["kind"], body["apiVersion"], body["metadata"])
    assert ["Object", "Metric", "Value", "Age", "Labels"] == [column["name"] for column in body["columnDefinitions"]]
    row = body["rows"][0]
    assert ["web", "requests", "200", "0s", "code=200"] == row["cells"]
    assert {"name": "web", "namespace": "ns"} == row["object"]["metadata"]


async def test_a_table_grows_older(server: Server) -> None:
    """It is made anew each time: its ages go on while the values stay."""
    path = f"{BASE}/namespaces/ns/pods/pod00/some-metric"
    await server.get(path, accept=TABLE)
    server.clock.advance(125)

    assert "2m5s" == (await server.get(path, accept=TABLE)).json()["rows"][0]["cells"][3]


@pytest.mark.parametrize(("include", "kind"), [("Object", None), ("None", ...), ("Metadata", "PartialObjectMetadata")])
async def test_what_rows_hold(server: Server, include: str, kind: Any) -> None:
    """The value itself, nothing, or what names the object."""
    rows = (await server.get(f"{BASE}/nodes/node0/some-metric?includeObject={include}", accept=TABLE)).json()["rows"]

    held = rows[0]["object"]
    assert kind == (... if held is None else held.get("kind"))


async def test_objects_of_all_namespaces_have_theirs_in_the_table(server: Server) -> None:
    """Else two of one name would look the same."""
    rows = (await server.get(f"{BASE}/pods/*/some-metric", accept=TABLE)).json()["rows"]

    assert "ns/pod00" == rows[0]["cells"][0]


@pytest.mark.parametrize(
    "accept",
    ["application/xml", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", f"{MEDIA_TYPE};as=Table;g=meta.k8s.io;v=v1"],
)
async def test_not_acceptable(server: Server, accept: str) -> None:
    """Values have no metadata to be told alone."""
    assert 406 == (await server.get(f"{BASE}/nodes/*/some-metric", accept=accept)).status_code


async def test_pretty(server: Server) -> None:
    """For people with curl; the same as without."""
    plain = await server.get(f"{BASE}/nodes/*/some-metric")
    pretty = await server.get(f"{BASE}/nodes/*/some-metric?pretty=true")

    assert pretty.content.startswith(b'{\n  "kind": "MetricValueList"')
    assert plain.json() == pretty.json()


@pytest.mark.parametrize("path", ["/namespaces/ns/pods/*/some-metric", "/namespaces/ns/pods/*/unknown", "/namespaces/ns/m"])
async def test_the_short_way(server: Server, path: str) -> None:
    """The dispatcher asks past FastAPI; the answer is the same."""
    short, long = await server.request("GET", f"{BASE}{path}", direct=True), await server.get(f"{BASE}{path}")

    assert (long.status_code, long.content) == (short.status_code, short.content)


async def test_head(server: Server) -> None:
    """The headers of a GET."""
    response = await server.request("HEAD", f"{BASE}/nodes/*/some-metric")

    assert (200, b"") == (response.status_code, response.content)


async def test_values_that_change_are_told(server: Server, served: FakeProvider) -> None:
    """A body is kept while the series are the same, in whatever form, and no longer."""
    path = f"{BASE}/nodes/node0/some-metric"
    first, again = [(await server.get(path)).content for _ in range(2)]
    entry = next(entry for entry in served.served if entry.resource == NODE)
    served.served[entry] = [series("", "node0", "12345678901234567890.5")]
    after = await server.get(path)

    assert first == again
    assert "12345678901234567890500m" == after.json()["items"][0]["value"]
    assert "12345678901234567890500m" in json.dumps(decode((await server.get(path, accept=MEDIA_TYPE)).content))


async def test_more_values_than_are_made_at_once(server: Server, served: FakeProvider) -> None:
    """Others get their turn in between; all are there, in order."""
    served.serve("custom", "many", POD, [series("ns", f"pod{number:05}", str(number)) for number in range(2000)])
    served.objects = {}
    items = (await server.get(f"{BASE}/namespaces/ns/pods/*/many")).json()["items"]

    assert [f"pod{number:05}" for number in range(2000)] == [item["describedObject"]["name"] for item in items]


async def test_what_is_too_large_to_be_kept_is_told_all_the_same(served: FakeProvider) -> None:
    """It does not take the room of all others; what is small is made once."""
    registry = Registry()
    registry.add(served)
    answers = MetricAnswers(CustomMetrics(describe), registry, gate=FakeGate(), clock=ManualClock(), kept_bytes=6000)

    def scope(path: str) -> dict[str, Any]:
        return {"method": "GET", "path": f"{BASE}/{path}", "query_string": b"", "headers": []}

    bodies = {
        path: [(await answers.answer(scope(path))).body for _ in range(2)] for path in ("nodes/node0/some-metric", "pods/*/some-metric")
    }
    assert {"nodes/node0/some-metric": True, "pods/*/some-metric": False} == {path: one is two for path, (one, two) in bodies.items()}
    assert all(one == two for one, two in bodies.values())


class _Odd(FakeProvider):
    """Answers with a fault of its own."""

    async def answer(self, question: Question) -> Answer | Absent | None:
        raise RuntimeError("secret of the inside")


async def test_a_provider_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    """500 as a Status, which tells nothing of the inside; the log has it."""
    odd = _Odd()
    odd.serve("custom", "m", POD, [])
    response = await Server(metrics=[odd]).get(f"{BASE}/namespaces/ns/pods/*/m")

    assert (500, False) == (response.status_code, "secret" in message(response))
    assert "secret of the inside" in caplog.text


async def test_without_metrics_there_is_no_such_api() -> None:
    """Nothing of it: whoever has it is somebody else."""
    server = Server()

    assert [404, 404, 404] == [
        (await server.get(path)).status_code for path in (BASE, f"{BASE}/nodes/*/some-metric", f"{BASE}/namespaces/default/foo")
    ]
