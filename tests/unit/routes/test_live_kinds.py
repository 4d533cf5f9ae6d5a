"""Kinds about no node and no pod: identity, ages, field selectors, what is not found, and what writers are told."""

import json
from typing import Any

import pytest

from app.kinds._catalog import Served
from tests.fakes.clock import EPOCH, ManualClock
from tests.fakes.kinds import live_kind, make_collection, make_queue
from tests.fakes.protobuf import decode
from tests.unit.routes.server import Server

QUEUES = "/apis/example.com/v1alpha1/namespaces/a/queues"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
NOW = int(EPOCH) * 10**9
SECOND = 10**9


def queues(*items: Any, **changes: Any) -> Server:
    collection = make_collection(*items)
    collection.why = lambda _key: None
    return Server(served=(Served(live_kind(**changes), collection),))


async def test_metadata() -> None:
    """uid stands where upstream has it; an object whose time of creation nobody knows has no such field."""
    server = queues(make_queue("a", "old", created=NOW), make_queue("a", "young"))

    old, young = (await server.get(f"{QUEUES}/old")).json(), (await server.get(f"{QUEUES}/young")).json()
    assert ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] == list(old["metadata"])
    assert "uid-of-a-old" == old["metadata"]["uid"]
    assert {"name": "young", "namespace": "a", "uid": "uid-of-a-young", "resourceVersion": "7"} == young["metadata"]


async def test_metadata_in_protobuf() -> None:
    """Metadata in protobuf says the same."""
    server = queues(make_queue("a", "one"))

    response = await server.get(f"{QUEUES}/one", accept=PARTIAL)
    assert "uid-of-a-one" == decode(response.content)["metadata"]["uid"]


async def test_items_of_lists_say_no_kind() -> None:
    """As in every list of this server; the list's own kind tells."""
    body = (await queues(make_queue("a", "one")).get(QUEUES)).json()

    assert ("QueueList", "example.com/v1alpha1") == (body["kind"], body["apiVersion"])
    assert [["metadata", "status"]] == [list(item) for item in body["items"]]


async def test_ages_go_on() -> None:
    """The same object, read again a minute later, is a minute older; nothing of the table is kept."""
    server = queues(make_queue("a", "one", ready=3, seen=NOW - 5 * SECOND), make_queue("a", "two", seen=0))

    async def cells() -> list[list[Any]]:
        return [row["cells"] for row in (await server.get(QUEUES, accept=TABLE)).json()["rows"]]

    assert [["one", 3, "5s"], ["two", 0, "<unknown>"]] == await cells()
    server.clock.advance(60)
    assert [["one", 3, "65s"], ["two", 0, "<unknown>"]] == await cells()


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("spec.node%3Dn1", ["one", "three"]),
        ("spec.node!%3Dn1", ["two"]),
        ("spec.node%3Dn1,metadata.name%3Dthree", ["three"]),
        ("spec.node%3Dn1,spec.node%3Dn2", []),
        ("metadata.namespace%3Da", ["one", "three", "two"]),
    ],
)
async def test_field_selectors_of_the_kind(selector: str, names: list[str]) -> None:
    """A kind may be selected by fields of its own beside name and namespace, whole and page by page."""
    server = queues(make_queue("a", "one", node="n1"), make_queue("a", "two", node="n2"), make_queue("a", "three", node="n1"))

    whole = (await server.get(f"{QUEUES}?fieldSelector={selector}")).json()
    page = (await server.get(f"{QUEUES}?fieldSelector={selector}&limit=10")).json()
    assert [names] * 2 == [[item["metadata"]["name"] for item in body["items"]] for body in (whole, page)]


async def test_unknown_field() -> None:
    """400 names the fields that there are."""
    response = await queues().get(f"{QUEUES}?fieldSelector=spec.host%3Dn1")

    known = '"metadata.name", "metadata.namespace", "spec.node"'
    assert (400, f'"spec.host" is not a known field selector: only {known}') == (response.status_code, response.json()["message"])


async def test_the_gate_hears_of_the_kinds_fields() -> None:
    """A field selector narrows the question also where only this kind has the field."""
    server = queues()
    await server.get(f"{QUEUES}?fieldSelector=spec.node%3Dn1")

    assert (("spec.node", "In", ("n1",)),) == server.gate.asked[0].field_selector


async def test_not_found() -> None:
    """Without a subject it is the object itself that is not found; a reason follows, as everywhere."""
    server = queues()
    plain = (await server.get(f"{QUEUES}/none")).json()
    server.collection(0).why = lambda _key: "the last collection failed"
    told = (await server.get(f"{QUEUES}/none")).json()

    assert 'queues.example.com "none" not found' == plain["message"]
    assert {"name": "none", "group": "example.com", "kind": "queues"} == plain["details"] == told["details"]
    assert 'queues.example.com "none" not found: the last collection failed' == told["message"]


@pytest.mark.parametrize(("method", "path", "verb"), [("POST", "", "create"), ("DELETE", "/one", "delete"), ("PATCH", "/one", "patch")])
async def test_writers_are_told_what_to_edit(method: str, path: str, verb: str) -> None:
    """A 405 has upstream's words first, then what to change instead."""
    response = await queues(make_queue("a", "one")).request(method, f"{QUEUES}{path}")

    text = f'{verb} is not supported on resources of kind "queues.example.com": edit queues.yaml, the declaration of this kind'
    assert (405, text) == (response.status_code, response.json()["message"])


async def test_what_is_observed() -> None:
    """The age of what was served is that of the measurement, not of the object; an unknown one is not observed."""
    seen = NOW - 9 * SECOND
    server = queues(make_queue("a", "one", created=NOW - 10**18, seen=seen), make_queue("b", "two", seen=0))
    for path in (f"{QUEUES}/one", QUEUES, QUEUES, QUEUES.replace("/a/", "/b/"), f"{QUEUES.replace('/a/', '/b/')}/two"):
        assert 200 == (await server.get(path)).status_code

    assert [seen] * 3 == server.observed


async def test_lists_of_one_kind_are_lists_of_that_kind() -> None:
    """Kinds beside each other each have their own list kind, in the list and in OpenAPI."""
    kinds = [live_kind("queues", "Queue"), live_kind("postgreses", "Postgres"), live_kind("ingresses", "Ingress")]
    server = Server(served=[Served(kind, make_collection(make_queue("a", kind.singular))) for kind in kinds])
    document = (await server.get("/openapi/v3/apis/example.com/v1alpha1")).json()

    for kind in kinds:
        base = f"/apis/example.com/v1alpha1/namespaces/a/{kind.resource}"
        body = (await server.get(base)).json()
        assert (kind.list_kind, [kind.singular]) == (body["kind"], [item["metadata"]["name"] for item in body["items"]])
        operation = document["paths"][base.replace("/a/", "/{namespace}/")]["get"]
        model = operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        assert f"com.example.v1alpha1.{kind.list_kind}" == model
        assert model in document["components"]["schemas"]


async def test_a_list_of_all_namespaces_is_one_question() -> None:
    """However many namespaces a list spans: one review for each is what made such lists slow elsewhere."""
    server = queues(*(make_queue(f"ns{number}", "one") for number in range(20)))
    await server.get("/apis/example.com/v1alpha1/queues")

    assert [("list", "")] == [(asked.verb, asked.namespace) for asked in server.gate.asked]


async def test_get_and_list_say_the_same() -> None:
    """An object has the same metadata and fields in a list as alone."""
    server = queues(make_queue("a", "one", ready=2, created=NOW))
    listed, alone = (await server.get(QUEUES)).json()["items"][0], (await server.get(f"{QUEUES}/one")).json()

    assert {**listed, "kind": "Queue", "apiVersion": "example.com/v1alpha1"} == alone


async def test_the_table_of_an_object_that_others_share() -> None:
    """includeObject=Object carries the whole object beside an age."""
    server = queues(make_queue("a", "one", seen=NOW))
    row = (await server.get(f"{QUEUES}?includeObject=Object", accept=TABLE)).json()["rows"][0]

    assert ["one", 0, "0s"] == row["cells"]
    assert {"ready": 0} == row["object"]["status"]


async def test_a_broken_object_costs_itself() -> None:
    """An object that cannot be encoded is left out of the list; the others are there."""
    server = queues(make_queue("a", "one"), make_queue("a", "two", ready="no number"))

    assert ["one"] == [item["metadata"]["name"] for item in json.loads((await server.get(QUEUES)).content)["items"]]


class _Hasty(ManualClock):
    """Each look at it is a second later."""

    def wall(self) -> float:
        self.advance(1)
        return super().wall()


async def test_a_long_list_of_ages_for_who_must_know_its_length() -> None:
    """HTTP/1.0 has no chunks: what is told as the length is what is sent, though ages go on meanwhile."""
    server = queues(*(make_queue("a", f"q{number:04}", seen=NOW - 9 * SECOND) for number in range(600)))
    server = Server(served=server.served, clock=_Hasty())
    scope = {"type": "http", "http_version": "1.0", "method": "GET", "path": QUEUES, "headers": [(b"accept", TABLE.encode())]}
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("nothing is read")

    async def send(message: Any) -> None:
        sent.append(message)

    await server.resources(scope, receive, send)
    length = dict(sent[0]["headers"])[b"content-length"]
    assert int(length) == sum(len(message.get("body", b"")) for message in sent[1:]) > 600 * 50
