"""Get and list: what exists, in which form, at which version."""

import asyncio
import json
import tracemalloc
from collections.abc import Sequence

import httpx
import pytest

from app.auth.identity import Attributes
from app.errors import Problem
from app.kinds._catalog import Served
from app.routes.resources import FILTERED_AT_ONCE, LABELLED_AT_ONCE, MOST_REVIEWED, PINNED_SECONDS
from app.wire.request_info import split_short
from tests.fakes.kinds import NODES, PODS, make_collection, make_item
from tests.unit.routes.server import Server

V1 = "/apis/metrics.k8s.io/v1"
BETA = "/apis/metrics.k8s.io/v1beta1"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def _names(response: httpx.Response) -> list[str]:
    assert 200 == response.status_code, response.text
    return [item["metadata"]["name"] for item in response.json()["items"]]


@pytest.mark.parametrize("direct", [True, False])
async def test_get(direct: bool) -> None:
    """A get puts kind and apiVersion of the asked version before the encoded body, and ends the line."""
    response = await Server().request("GET", f"{BETA}/namespaces/a/pods/one", direct=direct)

    expected = (
        '{"kind":"PodMetrics","apiVersion":"metrics.k8s.io/v1beta1","metadata":{"name":"one","namespace":"a",'
        '"resourceVersion":"7","creationTimestamp":"2025-11-30T10:53:20Z","labels":{"app":"web"}},"usage":{"cpu":"1m"}}\n'
    )
    assert (200, expected) == (response.status_code, response.text)
    assert "application/json" == response.headers["content-type"]
    assert "no-cache, private" == response.headers["cache-control"]


async def test_list() -> None:
    """Items of a list carry no kind, are sorted by namespace and name, and the list has the collection's version."""
    response = await Server().get(f"{V1}/pods")

    body = response.json()
    assert ("PodMetricsList", "metrics.k8s.io/v1", {"resourceVersion": "7"}) == (body["kind"], body["apiVersion"], body["metadata"])
    assert ["one", "two", "three"] == _names(response)
    assert ["metadata", "usage"] == list(body["items"][0])


async def test_an_empty_list_has_no_null() -> None:
    """`items` is [] when there is nothing."""
    server = Server(served=(Served(PODS, make_collection()),))

    assert '"items":[]}\n' in (await server.get(f"{V1}/pods")).text


PATHS: Sequence[tuple[str, str, dict[str, str]]] = (
    ("GET", f"{V1}/pods", {}),
    ("HEAD", f"{V1}/pods", {}),
    ("GET", f"{V1}/pods?limit=1", {}),
    ("GET", f"{V1}/pods?labelSelector=app%3Dweb", {"accept": TABLE}),
    ("GET", f"{V1}/namespaces/a/pods", {"accept": PARTIAL_LIST}),
    ("GET", f"{V1}/namespaces/a/pods/one", {"user_agent": "curl/8"}),
    ("GET", f"{V1}/namespaces/a/pods/none", {}),
    ("GET", f"{V1}/nodes/n1", {"accept": "text/html"}),
    ("GET", f"{V1}/nodes/n1/status", {}),
    ("GET", f"{V1}/watch/nodes", {}),
    ("GET", f"{V1}/nodes?watch=1", {}),
    ("GET", f"{V1}/nodes?limit=x", {}),
    ("POST", f"{V1}/namespaces/a/pods", {}),
    ("DELETE", f"{V1}/nodes", {}),
    ("GET", "/apis/other/v1/things", {}),
    ("GET", f"{V1}/namespaces/a/pods/on%2565", {}),
    ("GET", f"{V1}/namespaces//pods", {}),
)


@pytest.mark.parametrize(("method", "path", "headers"), PATHS)
async def test_both_ways_are_equal(method: str, path: str, headers: dict[str, str]) -> None:
    """The dispatcher's way (the endpoint alone) and FastAPI's route give the same status, headers and bytes, and ask the gate the same."""
    server = Server()
    answers = []
    for direct in (True, False):
        response = await server.request(method, path, direct=direct, audit_id="same", **headers)
        answers.append((response.status_code, response.headers.raw, response.content))

    assert answers[0] == answers[1]
    assert server.gate.asked[0] == server.gate.asked[1]


async def test_head() -> None:
    """HEAD is a GET without body, with the body's length."""
    server = Server()
    whole, head = await server.get(f"{V1}/pods"), await server.request("HEAD", f"{V1}/pods")

    assert (200, b"", str(len(whole.content))) == (head.status_code, head.content, head.headers["content-length"])


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("pods?labelSelector=app%3Dweb", ["one", "three"]),
        ("pods?labelSelector=app+in+(db)", ["two"]),
        ("pods?fieldSelector=metadata.name%3Dtwo", ["two"]),
        ("pods?fieldSelector=metadata.namespace%3Db", ["three"]),
        ("pods?fieldSelector=metadata.namespace!%3Db&labelSelector=app!%3Ddb", ["one"]),
        ("pods?fieldSelector=metadata.namespace%3Db&limit=5", ["three"]),
        ("namespaces/a/pods", ["one", "two"]),
        ("namespaces/a/pods?fieldSelector=metadata.namespace%3Db", []),
        ("namespaces/zzz/pods", []),
        ("nodes?fieldSelector=metadata.name%3Dn2", ["n2"]),
        ("nodes?fieldSelector=metadata.namespace%3D", ["n1", "n2"]),
    ],
)
async def test_selectors(path: str, names: list[str]) -> None:
    """Selectors and namespaces narrow a list."""
    assert names == _names(await Server().get(f"{V1}/{path}"))


async def test_pages() -> None:
    """Pages bear the first page's version and its moment, whatever was published between them."""
    server = Server()
    pods = server.collection(0)
    first = (await server.get(f"{V1}/pods?limit=2")).json()
    pods.replace([make_item("a", "zero", version=8)], [("b", "three")], 8)
    token = first["metadata"]["continue"]
    second = await server.get(f"{V1}/pods?limit=2&continue={token}")

    assert 1 == first["metadata"]["remainingItemCount"]
    assert ["three"] == _names(second)
    assert {"resourceVersion": "7"} == second.json()["metadata"]


async def test_pages_of_a_lost_moment() -> None:
    """When the snapshot is gone the rest comes from the current state, with 200."""
    server = Server()
    first = (await server.get(f"{V1}/pods?limit=1")).json()
    server.collection(0).replace([make_item("a", "zero", version=8)], [("b", "three")], 8)
    server.clock.advance(3600)
    second = await server.get(f"{V1}/pods?continue={first['metadata']['continue']}")

    assert ["two", "zero"] == _names(second)
    assert "7" == second.json()["metadata"]["resourceVersion"]


async def test_a_moment_that_is_over_is_let_go() -> None:
    """Once its time has ended any list lets go of it: each publish has work with a snapshot, and it holds all that was replaced since."""
    server = Server()
    pods = server.collection(0)
    await server.get(f"{V1}/pods?limit=1")
    server.clock.advance(30)
    await server.get(f"{V1}/nodes")
    held = len(pods._snapshots)
    server.clock.advance(3600)
    await server.get(f"{V1}/nodes")

    assert [1, 0] == [held, len(pods._snapshots)]


@pytest.mark.looptime
async def test_a_moment_is_let_go_though_nobody_asks_again() -> None:
    """One list with pages, by hand, must not make every scrape dearer from then on."""
    server = Server()
    pods = server.collection(0)
    held = []
    for second in range(0, int(2 * PINNED_SECONDS) + 1, 10):
        if second in {0, 30}:
            pods.replace([], [], 8 + second)
            await server.get(f"{V1}/pods?limit=1")
        held.append(len(pods._snapshots))
        server.clock.advance(10)
        await asyncio.sleep(10)

    assert [1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 0] == held


@pytest.mark.parametrize("path", ["pods", "namespaces/a/pods", "nodes"])
async def test_pages_add_up(path: str) -> None:
    """All pages together are the whole list."""
    server = Server()
    names, token = [], ""
    while True:
        response = await server.get(f"{V1}/{path}?limit=1&continue={token}")
        names += _names(response)
        token = response.json()["metadata"].get("continue", "")
        if not token:
            break

    assert _names(await server.get(f"{V1}/{path}")) == names


async def test_remaining_count_only_without_selectors() -> None:
    """With a selector the count is not told; the last page has no token."""
    server = Server()
    page = (await server.get(f"{V1}/pods?limit=1&labelSelector=app%3Dweb")).json()["metadata"]
    last = (await server.get(f"{V1}/pods?limit=1&labelSelector=app%3Ddb")).json()["metadata"]

    assert "continue" in page
    assert "remainingItemCount" not in page
    assert {"resourceVersion": "7"} == last


@pytest.mark.parametrize(
    ("query", "status", "reason"),
    [
        ("resourceVersion=0", 200, ""),
        ("resourceVersion=3", 200, ""),
        ("resourceVersion=7", 200, ""),
        ("resourceVersion=8", 504, "Timeout"),
        ("resourceVersion=2000000", 200, ""),
        ("resourceVersion=3&resourceVersionMatch=NotOlderThan", 200, ""),
        ("resourceVersion=8&resourceVersionMatch=NotOlderThan", 504, "Timeout"),
        ("resourceVersion=2000000&resourceVersionMatch=NotOlderThan", 200, ""),
        ("resourceVersion=7&resourceVersionMatch=Exact", 200, ""),
        ("resourceVersion=3&resourceVersionMatch=Exact", 410, "Expired"),
        ("resourceVersion=8&resourceVersionMatch=Exact", 504, "Timeout"),
        ("resourceVersion=2000000&resourceVersionMatch=Exact", 410, "Expired"),
        ("resourceVersion=x", 400, "BadRequest"),
        ("resourceVersionMatch=Exact", 422, "Invalid"),
    ],
)
async def test_versions(query: str, status: int, reason: str) -> None:
    """An own version ahead is 504, another instance's is served from now, Exact is the current one or 410."""
    response = await Server().get(f"{V1}/pods?{query}")

    assert (status, reason) == (response.status_code, response.json().get("reason", ""))
    assert ("retry-after" in response.headers) is (status == 504)


async def test_get_at_a_version() -> None:
    """A get may ask for a version too."""
    server = Server()

    assert 200 == (await server.get(f"{V1}/nodes/n1?resourceVersion=0")).status_code
    assert 504 == (await server.get(f"{V1}/nodes/n1?resourceVersion=8")).status_code


@pytest.mark.parametrize(
    ("path", "message", "details"),
    [
        ("namespaces/a/pods/x", 'pods "x" not found', {"name": "x", "kind": "pods"}),
        (
            "namespaces/a/pods/waiting",
            'podmetrics.metrics.k8s.io "a/waiting" not found: late',
            {"name": "a/waiting", "group": "metrics.k8s.io", "kind": "podmetrics"},
        ),
        ("nodes/x", 'nodes "x" not found', {"name": "x", "kind": "nodes"}),
        ("nodes/n3", 'nodemetrics.metrics.k8s.io "n3" not found: late', {"name": "n3", "group": "metrics.k8s.io", "kind": "nodemetrics"}),
        ("things", "the server could not find the requested resource", {}),
        ("pods/one", "the server could not find the requested resource", {}),
        ("namespaces/a/nodes", "the server could not find the requested resource", {}),
        ("namespaces/a/pods/one/log", "the server could not find the requested resource", {}),
        ("nodes/n1/a/b/c", "the server could not find the requested resource", {}),
        ("namespaces//pods", "the server could not find the requested resource", {}),
        ("namespaces//pods/one", "the server could not find the requested resource", {}),
    ],
)
async def test_not_found(path: str, message: str, details: dict[str, str]) -> None:
    """404 tells a missing subject from a subject without values, as metrics-server does, and an unknown path from both."""
    response = await Server().get(f"{V1}/{path}")

    status = response.json()
    assert (404, "NotFound", message, details) == (response.status_code, status["reason"], status["message"], status["details"])


@pytest.mark.parametrize(
    ("method", "path", "verb"),
    [
        ("POST", "namespaces/a/pods", "create"),
        ("POST", "namespaces/a/pods?dryRun=All", "create"),
        ("PUT", "namespaces/a/pods/one", "update"),
        ("PATCH", "nodes/n1", "patch"),
        ("DELETE", "nodes/n1", "delete"),
        ("DELETE", "nodes", "deletecollection"),
        ("OPTIONS", "nodes", "options"),
        ("GET", "nodes?watch=true", "watch"),
        ("GET", "nodes?watch", "watch"),
        ("GET", "watch/nodes", "watch"),
        ("GET", "watch/nodes/n1", "watch"),
        ("GET", "nodes?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "watch"),
    ],
)
async def test_method_not_allowed(method: str, path: str, verb: str) -> None:
    """Writes and watch are 405 with Allow, after the gate had its say."""
    server = Server()
    response = await server.request(method, f"{V1}/{path}")

    resource = "pods" if "pods" in path else "nodes"
    assert (405, "GET, HEAD") == (response.status_code, response.headers["allow"])
    assert f'{verb} is not supported on resources of kind "{resource}.metrics.k8s.io"' == response.json()["message"]
    assert {"group": "metrics.k8s.io", "kind": resource} == response.json()["details"]
    assert ("" if method == "OPTIONS" else verb) == server.gate.asked[0].verb


@pytest.mark.parametrize("path", ["nodes", "nodes/n1", "namespaces/a/pods/x", "things", "nodes?watch=1", "nodes?limit=x"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_the_gate_speaks_first(method: str, path: str) -> None:
    """Who may not is told 403 and nothing else: not what exists, not what is wrong with the request."""
    server = Server()
    server.gate.refusal = Problem(403, "Forbidden", "no")
    response = await server.request(method, f"{V1}/{path}")

    assert (403, "no") == (response.status_code, response.json()["message"])
    assert "nosniff" == response.headers["x-content-type-options"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("namespaces/a/pods", Attributes("list", "", "metrics.k8s.io", "v1", "pods", "", "a")),
        ("namespaces/a/pods/one", Attributes("get", "", "metrics.k8s.io", "v1", "pods", "", "a", "one")),
        ("nodes?watch=1", Attributes("watch", "", "metrics.k8s.io", "v1", "nodes")),
        ("nodes/n1/stats", Attributes("get", "", "metrics.k8s.io", "v1", "nodes", "stats", "", "n1")),
        (
            "nodes?fieldSelector=metadata.name%3Dn1&labelSelector=a,b+in+(c)",
            Attributes(
                "list",
                "",
                "metrics.k8s.io",
                "v1",
                "nodes",
                name="n1",
                label_selector=(("a", "Exists", ()), ("b", "In", ("c",))),
                field_selector=(("metadata.name", "In", ("n1",)),),
            ),
        ),
        (
            "nodes?fieldSelector=metadata.name%3D..",
            Attributes("list", "", "metrics.k8s.io", "v1", "nodes", field_selector=(("metadata.name", "In", ("..",)),)),
        ),
        ("nodes?labelSelector=((", Attributes("list", "", "metrics.k8s.io", "v1", "nodes")),
    ],
)
async def test_what_the_gate_is_asked(path: str, expected: Attributes) -> None:
    """The gate gets RequestInfo's attributes, and those of a list's selectors on request; what cannot be parsed is left out."""
    server = Server()
    await server.get(f"{V1}/{path}")

    asked = server.gate.asked[0]
    assert expected == Attributes(asked.verb, "", *(getattr(asked, field) for field in Attributes.__struct_fields__[2:]))


@pytest.mark.parametrize(
    ("query", "labels", "fields"),
    [
        pytest.param("labelSelector=" + ",".join(["!a"] * MOST_REVIEWED), MOST_REVIEWED, 1, id="as many labels as may be"),
        pytest.param("labelSelector=" + ",".join(["!a"] * (MOST_REVIEWED + 1)), 0, 1, id="labels"),
        pytest.param("labelSelector=a+in+(" + ",".join(["b"] * (MOST_REVIEWED + 1)) + ")", 0, 1, id="values"),
        pytest.param("labelSelector=!a", 1, 0, id="fields"),
        pytest.param("labelSelector=" + ",".join(["!a"] * 20_000), 0, 1, id="more than are read"),
    ],
)
async def test_the_gate_is_not_asked_about_large_selectors(query: str, labels: int, fields: int) -> None:
    """Selectors only narrow a question: large ones stay out of it, yet the one name that a field selector gives stays in."""
    server = Server()
    many = "" if fields else ",metadata.name!%3Dx" * MOST_REVIEWED
    await server.get(f"{V1}/nodes?{query}&fieldSelector=metadata.name%3Dn1{many}")

    asked = server.gate.asked[0]
    assert ("n1", labels, fields) == (asked.name, len(asked.label_selector), len(asked.field_selector))


async def test_filtering_lets_others_run() -> None:
    """A selector over many objects is worked off in parts; the list is of the moment when it was asked for."""
    items = [make_item("ns", f"pod-{number:05}", labels={"app": "web"}) for number in range(3 * FILTERED_AT_ONCE)]
    pods = make_collection(*items)
    server = Server(served=(Served(PODS, pods),))
    turns: list[int] = []

    async def other() -> None:
        for turn in range(20):
            pods.replace([make_item("ns", f"pod-new-{turn}", labels={"app": "web"}, version=8 + turn)], [], 8 + turn)
            turns.append(turn)
            await asyncio.sleep(0)

    async def send(message: dict[str, object]) -> None:
        if message["type"] == "http.response.start":
            turns.append(-1)
        messages.append(message)

    messages: list[dict[str, object]] = []
    scope = {"type": "http", "method": "GET", "path": f"{V1}/pods", "query_string": b"labelSelector=app&limit=9999", "headers": []}
    async with asyncio.TaskGroup() as group:
        group.create_task(server.resources(scope, _no_body, send))  # type: ignore[arg-type]  # ASGI messages are plain dicts
        group.create_task(other())

    listed = json.loads(b"".join(message["body"] for message in messages[1:] if isinstance(message["body"], bytes)))
    assert [*range(9), -1, *range(9, 20)] == turns
    assert (len(items), "7") == (len(listed["items"]), listed["metadata"]["resourceVersion"])


async def test_table() -> None:
    """A Table has all columns, one row an object, and the object's metadata."""
    table = (await Server().get(f"{V1}/nodes", accept=TABLE)).json()

    assert ("Table", "meta.k8s.io/v1", {"resourceVersion": "7"}) == (table["kind"], table["apiVersion"], table["metadata"])
    assert ["Name", "cpu", "Window"] == [column["name"] for column in table["columnDefinitions"]]
    assert [["n1", "1m", "15s"], ["n2", "1m", "15s"]] == [row["cells"] for row in table["rows"]]
    assert {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}.items() <= table["rows"][0]["object"].items()
    assert {"kind", "apiVersion", "metadata"} == set(table["rows"][0]["object"])


async def test_table_of_one_and_of_none() -> None:
    """A get can be a Table too, and an empty Table keeps its columns (metrics-server loses them)."""
    server = Server()
    one = (await server.get(f"{V1}/nodes/n1", accept=TABLE.replace("v=v1", "v=v1beta1"))).json()
    none = (await server.get(f"{V1}/nodes?labelSelector=no", accept=TABLE)).json()

    assert ("meta.k8s.io/v1beta1", 1) == (one["apiVersion"], len(one["rows"]))
    assert (3, []) == (len(none["columnDefinitions"]), none["rows"])


@pytest.mark.parametrize(
    ("include", "keys"), [("Object", {"kind", "apiVersion", "metadata", "usage"}), ("Metadata", {"kind", "apiVersion", "metadata"})]
)
async def test_include_object(include: str, keys: set[str]) -> None:
    """includeObject chooses what a row carries."""
    table = (await Server().get(f"{V1}/nodes?includeObject={include}", accept=TABLE)).json()

    assert keys == set(table["rows"][0]["object"])


async def test_include_none_and_nonsense() -> None:
    """None is null; what is unknown is 400, and without Table it is ignored."""
    server = Server()

    assert (await server.get(f"{V1}/nodes?includeObject=None", accept=TABLE)).json()["rows"][0]["object"] is None
    assert 400 == (await server.get(f"{V1}/nodes?includeObject=all", accept=TABLE)).status_code
    assert 200 == (await server.get(f"{V1}/nodes?includeObject=all")).status_code


async def test_partial_object_metadata() -> None:
    """Metadata alone, for one and for many; the wrong one of the two is 406."""
    server = Server()
    one = await server.get(f"{V1}/nodes/n1", accept=PARTIAL)
    many = (await server.get(f"{V1}/nodes", accept=PARTIAL_LIST)).json()

    head = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    rest = {"resourceVersion": "7", "creationTimestamp": "2025-11-30T10:53:20Z"}
    assert {**head, "metadata": {"name": "n1", **rest}} == one.json()
    assert ("PartialObjectMetadataList", "7") == (many["kind"], many["metadata"]["resourceVersion"])
    assert {**head, "metadata": {"name": "n2", **rest}} == many["items"][1]
    assert 406 == (await server.get(f"{V1}/nodes", accept=PARTIAL)).status_code
    assert 406 == (await server.get(f"{V1}/nodes/n1", accept=PARTIAL_LIST)).status_code


async def test_not_acceptable() -> None:
    """What nobody serves is 406, and with any type beside it JSON; protobuf is for kinds that declare it."""
    server = Server()

    assert 406 == (await server.get(f"{V1}/nodes", accept="application/xml")).status_code
    assert 200 == (await server.get(f"{V1}/nodes", accept="application/vnd.kubernetes.protobuf, */*")).status_code


async def test_pretty() -> None:
    """Humans get the same object with indentation."""
    server = Server()
    pretty = await server.get(f"{V1}/nodes", user_agent="curl/8.0")

    assert pretty.text.startswith('{\n  "kind": "NodeMetricsList"')
    assert (await server.get(f"{V1}/nodes")).json() == pretty.json()


async def test_a_rendered_list_is_of_the_current_version() -> None:
    """A whole list is rendered once a version: a publish shows at once."""
    server = Server()
    nodes = server.collection(1)
    before = await server.get(f"{V1}/nodes")
    assert before.content == (await server.get(f"{V1}/nodes")).content
    nodes.replace([make_item("", "n0", version=8)], (), 8)

    assert ["n0", "n1", "n2"] == _names(await server.get(f"{V1}/nodes"))


async def test_a_selected_list_is_of_the_current_version() -> None:
    """A short list of a selector is rendered once a version too; its text and which of the two it is tell one from another."""
    server = Server()
    pods = server.collection(0)
    assert [] == _names(await server.get(f"{V1}/pods?labelSelector=metadata.name%3Done"))
    assert ["one"] == _names(await server.get(f"{V1}/pods?fieldSelector=metadata.name%3Done"))
    web, db = f"{V1}/pods?labelSelector=app%3Dweb", f"{V1}/pods?labelSelector=app%3Ddb"
    before = [_names(await server.get(path)) for path in (web, db, web, f"{web}&fieldSelector=metadata.namespace%3Da")]
    pods.replace([make_item("a", "one", version=8, labels={"app": "db"})], (), 8)
    after = [_names(await server.get(path)) for path in (web, db)]

    assert [["one", "three"], ["two"], ["one", "three"], ["one"]] == before
    assert [["three"], ["one", "two"]] == after


@pytest.mark.parametrize("count", [3, LABELLED_AT_ONCE + 1], ids=["by label", "one by one"])
async def test_a_selector_takes_the_same_in_both_ways(count: int) -> None:
    """Where there are too many label sets each object is held against it, some at a time."""
    items = [make_item("ns", f"pod-{number:05}", labels={"pod": f"pod-{number:05}"}) for number in range(count)]
    response = await Server(served=(Served(PODS, make_collection(*items)),)).get(f"{V1}/pods?labelSelector=pod+in+(pod-00002,pod-00000)")

    assert ["pod-00000", "pod-00002"] == _names(response)


@pytest.mark.parametrize("rendered_bytes", [1 << 20, 10_000])
@pytest.mark.parametrize("query", ["", "?labelSelector=app", "?limit=2999"])
async def test_large_lists_go_in_pieces(rendered_bytes: int, query: str) -> None:
    """A body over 64 KiB is sent in pieces of at most 64 KiB: whole with its length, or as it is made, without one."""
    items = [make_item("ns", f"pod-{number:05}", labels={"app": "web"}) for number in range(3000)]
    server = Server(served=(Served(PODS, make_collection(*items)),), rendered_bytes=rendered_bytes)
    messages: list[dict[str, object]] = []

    async def send(message: dict[str, object]) -> None:
        messages.append(message)

    scope = {"type": "http", "method": "GET", "path": f"{V1}/pods", "query_string": query.removeprefix("?").encode(), "headers": []}
    await server.resources(scope, _no_body, send)  # type: ignore[arg-type]  # ASGI messages are plain dicts

    pieces = [message["body"] for message in messages[1:] if isinstance(message["body"], bytes)]
    whole = b"".join(pieces)
    assert max(map(len, pieces)) <= 64 * 1024
    assert len(pieces) > 3
    lengths = [value for name, value in messages[0]["headers"] if name == b"content-length"]  # type: ignore[attr-defined]  # pairs
    assert ([] if query or rendered_bytes == 10_000 else [str(len(whole)).encode()]) == lengths
    assert (2999 if "limit" in query else 3000) == len(json.loads(whole)["items"])
    assert [True] * (len(messages) - 2) + [False] == [bool(message.get("more_body")) for message in messages[1:]]


@pytest.mark.parametrize(
    ("path", "query"),
    [("namespaces/{}/pods", ""), ("pods", "fieldSelector=metadata.name%3D{}"), ("namespaces/{}/pods", "fieldSelector=metadata.name%3D{}")],
)
@pytest.mark.parametrize("length", [5, 100, 250, 5000])
async def test_rendered_lists_have_their_room_and_no_more(path: str, query: str, length: int) -> None:
    """Lists of whatever text, all empty, take what rendered lists may take: their bodies are short, and what they are found by is not."""
    room = 256 * 1024
    server = Server(rendered_bytes=room)

    async def ask(number: int) -> None:
        text = str(number).rjust(length, "x")
        scope = {"type": "http", "method": "GET", "path": f"{V1}/{path.format(text)}", "query_string": query.format(text).encode()}
        await server.resources({**scope, "headers": []}, _no_body, _nobody)
        server.gate.asked.clear()

    await ask(0)
    tracemalloc.start()
    try:
        for number in range(500):
            await ask(number)
        split_short.cache_clear()  # what paths mean has its own room
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 1.25 * room


async def _nobody(_message: object) -> None:
    return


async def _no_body() -> dict[str, object]:
    return {"type": "http.request", "body": b"", "more_body": False}


async def test_one_body_serves_both_versions() -> None:
    """v1 and v1beta1 differ in apiVersion only."""
    server = Server(served=(Served(NODES, make_collection(make_item("", "n1"))),))
    new, old = (await server.get(f"{V1}/nodes")).text, (await server.get(f"{BETA}/nodes")).text

    assert new.replace("metrics.k8s.io/v1", "metrics.k8s.io/v1beta1") == old
