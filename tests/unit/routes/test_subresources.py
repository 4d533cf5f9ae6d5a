"""What is below an object: found, told in discovery and OpenAPI, asked of the gate by its own name, and only read."""

from collections.abc import AsyncGenerator

import pytest

from app.auth.identity import User
from app.errors import Problem
from app.kinds._base import Age, Asked, Column, Subresource, Told
from app.kinds._catalog import Served
from app.routes.live import LiveAnswers
from tests.fakes.clock import EPOCH
from tests.fakes.kinds import live_kind, make_collection, make_queue
from tests.unit.routes.server import Server

BASE = "/apis/example.com/v1alpha1/namespaces/a/queues"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
READ_ONLY = "this API is read-only: edit queues.yaml, the declaration of this kind"


class Below:
    """Three subresources of a kind, and what they were asked."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.closed = 0

    async def depth(self, asked: Asked) -> Told:
        self.asked.append(asked)
        if "wrong" in asked.query:
            raise Problem(400, "BadRequest", "wrong is wrong")
        columns = (Column("Time"), Column("Seen", type="date"))
        return Told(b'{"depth":3}', columns, (("now", Age((int(EPOCH) - 5) * 10**9)),))

    async def empty(self, asked: Asked) -> Told:
        return Told(b"{}")

    async def log(self, asked: Asked) -> Told:
        return Told(self._lines())

    async def _lines(self) -> AsyncGenerator[bytes, None]:
        try:
            for number in range(3):
                yield b"%d\n" % number
        finally:
            self.closed += 1

    @property
    def subresources(self) -> tuple[Subresource, ...]:
        schema = {"properties": {"depth": {"type": "integer"}, "odd": {"$ref": "nowhere"}}}
        parameters = {"since": "From when on."}
        return (
            Subresource("log", "Queue", self.log),
            Subresource("depth", "QueueDepth", self.depth, schema, parameters, tabular=True),
            Subresource("empty", "Nothing", self.empty, {}),
        )


def serving(below: Below | None = None, live: LiveAnswers | None = None) -> Server:
    kind = live_kind(subresources=(below or Below()).subresources)
    collection = make_collection(make_queue("a", "one", ready=3))
    collection.why = lambda _key: None
    return Server(served=(Served(kind, collection),), live=live)


async def test_an_object_of_its_own_kind() -> None:
    """Kind and apiVersion are its own, metadata that of the object it belongs to."""
    below = Below()
    server = serving(below)
    response = await server.get(f"{BASE}/one/depth?since=5m&since=6m")

    metadata = {"name": "one", "namespace": "a", "uid": "uid-of-a-one", "resourceVersion": "7"}
    assert {"kind": "QueueDepth", "apiVersion": "example.com/v1alpha1", "metadata": metadata, "depth": 3} == response.json()
    assert (("a", "one"), {"since": "5m"}, User("tester")) == (below.asked[0].item.key, below.asked[0].query, below.asked[0].caller)
    assert {"kind": "Nothing", "apiVersion": "example.com/v1alpha1", "metadata": metadata} == (await server.get(f"{BASE}/one/empty")).json()


async def test_a_table() -> None:
    """kubectl get --subresource prints it; what has no table is told as it is."""
    server = serving()
    table = (await server.get(f"{BASE}/one/depth", accept=f"{TABLE},application/json")).json()
    plain = (await server.get(f"{BASE}/one/empty", accept=f"{TABLE},application/json")).json()

    assert ("Table", "meta.k8s.io/v1", {"resourceVersion": "7"}) == (table["kind"], table["apiVersion"], table["metadata"])
    assert ["Time", "Seen"] == [column["name"] for column in table["columnDefinitions"]]
    assert [{"cells": ["now", "5s"], "object": None}] == table["rows"]
    assert "Nothing" == plain["kind"]


async def test_text() -> None:
    """Text goes out as it comes, whatever Accept says, and its stream is closed; HEAD closes it too."""
    below = Below()
    server = serving(below)
    response = await server.get(f"{BASE}/one/log", accept="application/json")
    head = await server.request("HEAD", f"{BASE}/one/log")

    assert (200, "text/plain; charset=utf-8", b"0\n1\n2\n") == (response.status_code, response.headers["content-type"], response.content)
    assert (200, b"", 1) == (head.status_code, head.content, below.closed)


@pytest.mark.parametrize(("query", "code", "text"), [("?wrong", 400, "wrong is wrong")])
async def test_problems(query: str, code: int, text: str) -> None:
    response = await serving().get(f"{BASE}/one/depth{query}")

    assert (code, text) == (response.status_code, response.json()["message"])


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("one/length", "the server could not find the requested resource"),
        ("one/depth/more", "the server could not find the requested resource"),
        ("two/depth", 'queues.example.com "two" not found'),
        ("one/status", "the server could not find the requested resource"),
    ],
)
async def test_not_found(path: str, text: str) -> None:
    response = await serving().get(f"{BASE}/{path}")

    assert (404, text) == (response.status_code, response.json()["message"])


@pytest.mark.parametrize(
    ("method", "path", "verb"),
    [
        ("POST", "depth", "create"),
        ("DELETE", "depth", "delete"),
        ("PUT", "status", "update"),
        ("PATCH", "scale", "patch"),
        ("POST", "exec", "create"),
        ("GET", "exec", "get"),
        ("GET", "portforward", "get"),
        ("GET", "attach", "get"),
        ("POST", "proxy", "create"),
    ],
)
async def test_writes(method: str, path: str, verb: str) -> None:
    """405 says that nothing is written here, and what to edit; exec and its like are writes by any method."""
    response = await serving().request(method, f"{BASE}/one/{path}")

    text = f'{verb} is not supported on resources of kind "queues/{path}.example.com": {READ_ONLY}'
    assert (405, "GET, HEAD", text) == (response.status_code, response.headers["allow"], response.json()["message"])


async def test_not_acceptable() -> None:
    """A subresource has no metadata of its own to tell alone."""
    assert 406 == (await serving().get(f"{BASE}/one/depth", accept=PARTIAL)).status_code


@pytest.mark.parametrize("path", ["one/depth", "one/exec", "two/log", "one/length"])
async def test_the_gate_is_asked_for_the_subresource(path: str) -> None:
    """get on queues/depth, not on queues; and who may not is told nothing else."""
    below = Below()
    server = serving(below)
    server.gate.refusal = Problem(403, "Forbidden", "no")
    response = await server.get(f"{BASE}/{path}")

    asked = server.gate.asked[0]
    name, _, subresource = path.partition("/")
    assert ("get", "queues", subresource, "a", name) == (asked.verb, asked.resource, asked.subresource, asked.namespace, asked.name)
    assert (403, []) == (response.status_code, below.asked)


async def test_discovery() -> None:
    """Both forms list them, by name, with get as their only verb and the scope of their parent."""
    server = serving()
    listed = (await server.get("/apis/example.com/v1alpha1")).json()["resources"]
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    aggregated = (await server.get("/apis", accept=accept)).json()["items"][0]["versions"][0]["resources"]

    depth = {"name": "queues/depth", "singularName": "", "namespaced": True, "kind": "QueueDepth", "verbs": ["get"]}
    assert ["queues", "queues/depth", "queues/empty", "queues/log"] == [resource["name"] for resource in listed]
    assert depth == listed[1]
    kind = {"group": "example.com", "version": "v1alpha1", "kind": "QueueDepth"}
    assert {"subresource": "depth", "responseKind": kind, "verbs": ["get"]} == aggregated[0]["subresources"][0]
    assert 1 == len(aggregated)


@pytest.mark.parametrize("version_3", [False, True])
async def test_openapi(*, version_3: bool) -> None:
    """Each has a path with its parameters, and a model where it has a schema; text is text."""
    path = "/openapi/v3/apis/example.com/v1alpha1" if version_3 else "/openapi/v2"
    document = (await serving().get(path)).json()
    models = document["components"]["schemas"] if version_3 else document["definitions"]
    inside = BASE.replace("/a/", "/{namespace}/") + "/{name}"
    depth, log = document["paths"][f"{inside}/depth"]["get"], document["paths"][f"{inside}/log"]["get"]

    assert ["namespace", "name", "since"] == [parameter["name"] for parameter in depth["parameters"]]
    assert {"group": "example.com", "version": "v1alpha1", "kind": "QueueDepth"} == depth["x-kubernetes-group-version-kind"]
    assert ["apiVersion", "kind", "metadata", "depth", "odd"] == list(models["com.example.v1alpha1.QueueDepth"]["properties"])
    text = log["responses"]["200"]["content"] if version_3 else {log["produces"][0]: log["responses"]["200"]}
    assert {"type": "string"} == text["text/plain"]["schema"]


async def test_no_more_at_a_time_than_may_be() -> None:
    """Beyond the limit 429; at the end of the process 503; plain answers go on."""
    live = LiveAnswers(most=0)
    server = serving(live=live)
    busy = await server.get(f"{BASE}/one/log")
    live.stop()
    ending = await server.get(f"{BASE}/one/log")

    assert [(429, "10"), (503, "1")] == [(each.status_code, each.headers["retry-after"]) for each in (busy, ending)]
    assert 200 == (await server.get(f"{BASE}/one/depth")).status_code


async def test_in_namespaces_of_their_own() -> None:
    """A cluster-scoped kind has them below its name."""
    below = Below()
    kind = live_kind(namespaced=False, subresources=below.subresources)
    server = Server(served=(Served(kind, make_collection(make_queue("", "one"))),))

    assert 200 == (await server.get("/apis/example.com/v1alpha1/queues/one/depth")).status_code
    assert 404 == (await server.get("/apis/example.com/v1alpha1/namespaces/a/queues/one/depth")).status_code
