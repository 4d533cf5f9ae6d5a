"""Get and list in protobuf, of the real kinds: the same objects as in JSON, in the envelope of the asked version."""

import asyncio
from dataclasses import replace
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cache.collection import Item
from app.cache.values import ContainerUsage, NodeUsage, PodUsage
from app.errors import Problem
from app.kinds import node_metrics, pod_metrics
from app.kinds._catalog import Served
from app.kube.records import Labels
from app.routes.lists import Page, whole
from app.routes.protobuf_rendering import ProtobufRenderer
from app.routes.rendering import PLAIN, Renderer
from app.wire.accept import JSON, PROTOBUF
from tests.fakes.clock import ManualClock
from tests.fakes.kinds import make_collection
from tests.fakes.lumps import one_by_one
from tests.fakes.protobuf import decode
from tests.unit.routes.server import Server

SECOND = 10**9
T = 1_764_500_000 * SECOND
V1 = "/apis/metrics.k8s.io/v1"
BETA = "/apis/metrics.k8s.io/v1beta1"


def pod(namespace: str, name: str, *containers: ContainerUsage, labels: Labels = (("app", "web"),), at: int = T, version: int = 7) -> Item:
    """A published PodMetrics."""
    usage = PodUsage(containers or (ContainerUsage("main", 1_500_000, 1024),), at, 20 * SECOND, "kubelet_summary")
    return Item((namespace, name), labels, version, usage)


def node(name: str, *, cpu: int = 11_187_091, memory: int = 12_533_760, window: int = 17_913_000_000, labels: Labels = ()) -> Item:
    """A published NodeMetrics."""
    return Item(("", name), labels, 7, NodeUsage(cpu, memory, T, window, "kubelet_resource"))


def server(*more: Item) -> Server:
    """Two nodes and three pods, and more pods."""
    pods = make_collection(pod("a", "one"), pod("a", "two"), pod("b", "three", labels=(("app", "db"),)), *more)
    return Server(served=(Served(pod_metrics.KIND, pods), Served(node_metrics.KIND, make_collection(node("n1"), node("n2")))))


async def both(path: str, accept: str, as_: str = "") -> tuple[Any, Any]:
    """The object in JSON, and in protobuf from a server of its own."""
    told = (await server().get(path, accept=f"{JSON}{as_}")).json()
    response = await server().get(path, accept=f"{PROTOBUF}{as_}{accept}")
    assert PROTOBUF == response.headers["content-type"]
    assert str(len(response.content)) == response.headers["content-length"]
    return told, decode(response.content)


@pytest.mark.parametrize("accept", ["", ", */*", ",application/json", ";type=x"], ids=["alone", "hpa", "client-go", "unknown-parameter"])
@pytest.mark.parametrize("version", [V1, BETA])
@pytest.mark.parametrize(
    "path",
    [
        "/nodes",
        "/nodes/n1",
        "/pods",
        "/namespaces/a/pods",
        "/namespaces/a/pods/one",
        "/pods?labelSelector=app%3Ddb",
        "/pods?fieldSelector=metadata.name%3Dtwo",
        "/pods?labelSelector=app%3Dnone",
        "/pods?limit=2",
        "/namespaces/a/pods/nobody",
        "/pods?limit=x",
        "/pods?watch=1",
        "/nodes/n1/status",
    ],
)
async def test_it_says_what_json_says(path: str, version: str, accept: str) -> None:
    """Objects, lists, pages and failures are the same in both forms, kind and apiVersion included."""
    told, read = await both(version + path, accept)

    assert told == {**read, "items": read.get("items", [])} if "items" in told else told == read


@pytest.mark.parametrize("meta", ["v1", "v1beta1"])
@pytest.mark.parametrize(
    ("path", "kind"),
    [("/pods", "PartialObjectMetadataList"), ("/nodes/n2", "PartialObjectMetadata"), ("/pods?limit=1", "PartialObjectMetadataList")],
)
async def test_metadata_alone(path: str, kind: str, meta: str) -> None:
    """PartialObjectMetadata for one and many; v1beta1 has its list's two fields the other way round, and reads all the same."""
    told, read = await both(V1 + path, "", f";as={kind};g=meta.k8s.io;v={meta}")

    for item in told.get("items", []):
        assert (item.pop("kind"), item.pop("apiVersion")) == ("PartialObjectMetadata", f"meta.k8s.io/{meta}")
    assert told == read


async def test_what_informers_ask_first_is_answered_first() -> None:
    """The Accept of client-go's metadata client gets protobuf; the wrong kind for a list is 406, in JSON as conversions of errors go."""
    asked = f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    one = f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    informers = await server().get(f"{V1}/pods", accept=f"{asked},application/json")
    wrong = [await server().get(f"{V1}/pods", accept=one), await server().get(f"{V1}/nodes/n1", accept=asked)]

    assert "PartialObjectMetadataList" == decode(informers.content)["kind"]
    assert [(406, JSON)] * 2 == [(response.status_code, response.headers["content-type"]) for response in wrong]


async def test_a_table_is_json() -> None:
    """Table has no protobuf form: the next clause decides."""
    table = "as=Table;g=meta.k8s.io;v=v1"
    response = await server().get(f"{V1}/pods", accept=f"{PROTOBUF};{table},application/json;{table}")
    alone = await server().get(f"{V1}/pods", accept=f"{PROTOBUF};{table}")

    assert ("Table", 406) == (response.json()["kind"], alone.status_code)
    assert alone.json()["message"].endswith(f"{JSON}, {PROTOBUF}")


async def test_json_stays_the_default() -> None:
    """Without Accept, with any, and where JSON comes first."""
    for accept in ({}, {"accept": "*/*"}, {"accept": "application/*"}, {"accept": f"application/json,{PROTOBUF}"}):
        assert JSON == (await server().get(f"{V1}/pods", **accept)).headers["content-type"]


async def test_nobody_indents_protobuf() -> None:
    """pretty and the user agents of people mean nothing to it."""
    pretty = await server().get(f"{V1}/nodes?pretty=1", accept=PROTOBUF, user_agent="curl/8")

    assert (await server().get(f"{V1}/nodes", accept=PROTOBUF)).content == pretty.content


async def test_head() -> None:
    """HEAD has the headers of GET and no body."""
    got = await server().get(f"{V1}/pods", accept=PROTOBUF)
    headed = await server().request("HEAD", f"{V1}/pods", accept=PROTOBUF)

    assert b"" == headed.content
    same = ("content-type", "content-length")
    assert [got.headers[name] for name in same] == [headed.headers[name] for name in same]


async def test_pages_add_up() -> None:
    """Pages put together are the list."""
    running, names, token = server(), [], ""
    while True:
        page = decode((await running.get(f"{V1}/pods?limit=2&continue={token}", accept=PROTOBUF)).content)
        names += [item["metadata"]["name"] for item in page["items"]]
        token = page["metadata"].get("continue", "")
        if not token:
            break

    assert ["one", "two", "three"] == names


async def test_a_publish_shows_at_once() -> None:
    """A rendered list is of the current version, and its two media types do not stand in each other's way."""
    running = server()
    pods = running.collection(0)
    for _ in range(2):
        assert 3 == len(decode((await running.get(f"{V1}/pods", accept=PROTOBUF)).content)["items"])
        assert 3 == len((await running.get(f"{V1}/pods", accept=JSON)).json()["items"])
    pods.replace([pod("a", "four", version=8)], [("b", "three")], 8)
    read = decode((await running.get(f"{V1}/pods", accept=PROTOBUF)).content)

    assert ("8", ["four", "one", "two"]) == (read["metadata"]["resourceVersion"], [item["metadata"]["name"] for item in read["items"]])


async def test_an_item_is_encoded_once() -> None:
    """Both versions, lists, gets and metadata are made of one encoding, which lives as long as the item."""
    running = server()
    item = running.collection(0).get(("a", "one"))
    assert item is not None
    await running.get(f"{V1}/pods", accept=PROTOBUF)
    entry = item.entry
    assert entry is not None
    lists = [(await running.get(f"{version}/pods", accept=PROTOBUF)).content for version in (V1, BETA)]
    await running.get(f"{V1}/namespaces/a/pods/one", accept=PROTOBUF)

    assert [True, True] == [entry in body for body in lists]
    assert entry is item.entry


@pytest.mark.parametrize("rendered_bytes", [1 << 20, 10_000])
@pytest.mark.parametrize("query", ["", "labelSelector=app", "limit=1999"])
async def test_large_lists_go_in_pieces(rendered_bytes: int, query: str) -> None:
    """A body over 64 KiB is sent in pieces of at most 64 KiB that make up the announced length, cached or streamed."""
    running = replace(server(*(pod("ns", f"pod-{number:05}") for number in range(1997))), rendered_bytes=rendered_bytes)
    messages: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    headers = [(b"accept", PROTOBUF.encode())]
    scope = {"type": "http", "method": "GET", "path": f"{V1}/pods", "query_string": query.encode(), "headers": headers}
    await running.resources(scope, receive, send)  # type: ignore[arg-type]  # ASGI messages are plain dicts

    body = b"".join(message["body"] for message in messages[1:])
    assert max(len(message["body"]) for message in messages[1:]) <= 64 * 1024
    assert (b"content-length", str(len(body)).encode()) in messages[0]["headers"]
    assert (1999 if "limit" in query else 2000) == len(decode(body)["items"])


async def test_a_refusal_of_the_gate_is_protobuf_too() -> None:
    """Who speaks protobuf is told in protobuf, wherever the failure is."""
    running = server()
    running.gate.refusal = Problem(403, "Forbidden", "no")
    responses: list[httpx.Response] = [await running.get(path, accept=f"{PROTOBUF}, */*") for path in (f"{V1}/pods", "/apis")]

    assert [(403, "nosniff", "Forbidden")] * 2 == [
        (response.status_code, response.headers["x-content-type-options"], decode(response.content)["reason"]) for response in responses
    ]


async def test_a_kind_without_a_message() -> None:
    """Like a custom resource: the next clause, 406 as a protobuf Status where there is none, and metadata all the same."""
    running = Server()  # its kinds declare no protobuf
    partial = f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    refused = await running.get(f"{V1}/nodes", accept=PROTOBUF)

    assert (406, "NotAcceptable") == (refused.status_code, decode(refused.content)["reason"])
    assert "NodeMetricsList" == (await running.get(f"{V1}/nodes", accept=f"{PROTOBUF},application/json")).json()["kind"]
    named = decode((await running.get(f"{V1}/nodes", accept=partial)).content)["items"]
    assert ["n1", "n2"] == [item["metadata"]["name"] for item in named]


NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?", fullmatch=True)
LABELS = st.dictionaries(NAMES, st.text(st.characters(codec="utf-8"), max_size=150), max_size=5).map(
    lambda pairs: tuple(sorted(pairs.items()))
)
INT64 = st.integers(0, 2**63 - 1)
CONTAINERS = st.lists(st.builds(ContainerUsage, name=NAMES, cpu=INT64, memory=INT64), min_size=1, max_size=4).map(tuple)
TIMES = st.integers(SECOND, 2**62)


@given(st.tuples(NAMES, NAMES), LABELS, CONTAINERS, TIMES, st.integers(1, 2**62))
def test_any_pod_is_the_same_in_both_forms(
    key: tuple[str, str], labels: Labels, containers: tuple[ContainerUsage, ...], at: int, version: int
) -> None:
    """Whatever is published, JSON and protobuf tell the same of it: alone, and in a list."""
    item = pod(*key, *containers, labels=labels, at=at, version=version)
    as_json, as_protobuf = Renderer(pod_metrics.KIND, "v1", ManualClock()), ProtobufRenderer(pod_metrics.KIND, "v1")

    assert _json(as_json.one(item, PLAIN)) == decode(as_protobuf.one(item, PLAIN))
    page = Page(version, "token", 3)
    lists = [
        asyncio.run(whole(renderer.many(PLAIN), [item, item], page, one_by_one(), most=1 << 20)) for renderer in (as_json, as_protobuf)
    ]
    assert _json(lists[0] or b"") == decode(lists[1] or b"")


@given(NAMES, LABELS, INT64, INT64, INT64)
def test_any_node_is_the_same_in_both_forms(name: str, labels: Labels, cpu: int, memory: int, window: int) -> None:
    """Quantities and windows of every magnitude."""
    item = node(name, cpu=cpu, memory=memory, window=window, labels=labels)

    assert _json(Renderer(node_metrics.KIND, "v1beta1", ManualClock()).one(item, PLAIN)) == decode(
        ProtobufRenderer(node_metrics.KIND, "v1beta1").one(item, PLAIN)
    )


def _json(body: bytes) -> Any:
    return httpx.Response(200, content=body).json()
