"""Kinds come, change and go while requests are served: at once, whole, and at the cost of what changed."""

from dataclasses import replace
from typing import Any

import pytest

from app.kinds._base import Kind
from app.kinds._catalog import Catalog, Served
from app.routes.discovery import Discovery
from app.routes.kind_descriptions import KindDescriptions
from app.routes.openapi import OpenApi
from app.wire.api_versions import preference
from tests.fakes.clock import ManualClock
from tests.fakes.kinds import live_kind, make_collection, make_queue
from tests.unit.routes.server import Server

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
BASE = "/apis/example.com/v1alpha1"
DOCUMENTS = ("/apis", "/openapi/v2", "/openapi/v3", "/")


def served(kind: Kind, *names: str, version: int = 7) -> Served:
    return Served(kind, make_collection(*(make_queue("a", name, version=version) for name in names), version=version))


def scope(path: str, **path_params: str) -> dict[str, Any]:
    return {"type": "http", "method": "GET", "path": path, "headers": [(b"accept", AGGREGATED.encode())], "path_params": path_params}


async def groups(server: Server) -> list[str]:
    return [group["name"] for group in (await server.get("/apis")).json()["groups"]]


async def test_a_kind_comes_and_goes() -> None:
    """It is in discovery, OpenAPI and the index, and readable, from one moment on; and nowhere from another."""
    server = Server()
    before = [(await server.get(path)).content for path in DOCUMENTS]

    server.catalog.put({"queues.yaml": [served(live_kind(), "one")]})
    assert ["example.com", "metrics.k8s.io"] == await groups(server)
    assert ["queues"] == [resource["name"] for resource in (await server.get(BASE)).json()["resources"]]
    assert "com.example.v1alpha1.QueueList" in (await server.get("/openapi/v2")).json()["definitions"]
    assert "apis/example.com/v1alpha1" in (await server.get("/openapi/v3")).json()["paths"]
    assert {BASE, "/apis/example.com", f"/openapi/v3{BASE}"} <= set((await server.get("/")).json()["paths"])
    assert 200 == (await server.get(f"{BASE}/namespaces/a/queues/one")).status_code

    server.catalog.put({"queues.yaml": []})
    assert before == [(await server.get(path)).content for path in DOCUMENTS]
    gone = [BASE, "/apis/example.com", f"/openapi/v3{BASE}", f"{BASE}/queues", f"{BASE}/namespaces/a/queues/one"]
    assert [404] * 5 == [(await server.get(path)).status_code for path in gone]


async def test_a_kind_that_changed_is_read_anew() -> None:
    """Lists that were kept are dropped with the kind that they are of, though the version is the same."""
    server = Server()
    server.catalog.put({"queues.yaml": [served(live_kind(), "one")]})
    assert ["one"] == [item["metadata"]["name"] for item in (await server.get(f"{BASE}/queues")).json()["items"]]

    server.catalog.put({"queues.yaml": [served(live_kind(kind="Line"), "two")]})
    body = (await server.get(f"{BASE}/queues")).json()
    assert ("LineList", ["two"]) == (body["kind"], [item["metadata"]["name"] for item in body["items"]])


async def test_pages_of_a_kind_that_changed() -> None:
    """A further page is never of the objects of what was there before."""
    server = Server()
    server.catalog.put({"queues.yaml": [served(live_kind(), "a", "b", "c")]})
    token = (await server.get(f"{BASE}/queues?limit=1")).json()["metadata"]["continue"]

    server.catalog.put({"queues.yaml": [served(live_kind(), "b2", version=8)]})
    rest = (await server.get(f"{BASE}/queues?continue={token}")).json()
    assert ["b2"] == [item["metadata"]["name"] for item in rest["items"]]


async def test_what_stays_keeps_its_lists() -> None:
    """A change of one kind does not cost the lists of another."""
    server = Server()
    kept = [served(live_kind(), "one"), served(live_kind("lines", "Line"), "two")]
    server.catalog.put({"a": kept[:1]})
    first = await server.get(f"{BASE}/queues")
    kept[0].collection.get(("a", "one")).body = b'{"broken":true}'  # type: ignore[union-attr]

    server.catalog.put({"b": kept[1:]})
    assert first.content == (await server.get(f"{BASE}/queues")).content


async def test_a_kind_that_goes_while_the_gate_thinks() -> None:
    """What exists is looked up after the verdict."""
    server = Server()
    server.gate.meanwhile = lambda: server.catalog.put({"queues.yaml": []})
    server.catalog.put({"queues.yaml": [served(live_kind(), "one")]})

    assert 404 == (await server.get(f"{BASE}/queues")).status_code


async def test_tags_move_with_the_content_only() -> None:
    """Another object, or the same kinds put in anew in another order, change no tag; a column or a schema field does."""
    server = Server()
    queues, lines = live_kind(), live_kind("lines", "Line")

    async def tags() -> list[str]:
        aggregated = await server.get("/apis", accept=AGGREGATED)
        return [aggregated.headers["etag"], *[(await server.get(path)).headers["etag"] for path in ("/openapi/v2", "/openapi/v3")]]

    server.catalog.put({"a": [served(queues)], "b": [served(lines)]})
    before = await tags()
    server.catalog.put({"a": [], "b": []})
    server.catalog.put({"b": [served(replace(lines), "x")], "a": [served(replace(queues), "y")]})
    assert before == await tags()
    server.catalog.put({"a": [served(replace(queues, schema={"properties": {"spec": {"type": "object"}}}))]})
    after = await tags()
    assert (before[0], True) == (after[0], before[1] != after[1] and before[2] != after[2])
    server.catalog.put({"a": [served(replace(queues, short_names=("q",)))]})
    assert after[0] != (await tags())[0]


def test_what_was_first_stays() -> None:
    """Two kinds with one resource, one kind or one list name in a group version: the second waits until the first goes."""
    first = served(live_kind())
    others = [served(live_kind(kind="Other")), served(live_kind("others")), served(live_kind("lists", "QueueList"))]
    elsewhere = served(live_kind(group="example.org"))
    catalog = Catalog([first])

    for position, other in enumerate(others):
        catalog.put({f"owner {position}": [other]})
    catalog.put({"elsewhere": [elsewhere]})
    assert [first, elsewhere] == list(catalog)

    catalog = Catalog()
    catalog.put({"a": [first], "b": [others[0]]})
    catalog.put({"a": []})
    assert [others[0].kind] == list(catalog.kinds)


def test_one_change_is_one_call() -> None:
    """However many owners change, listeners hear once, when all is in place."""
    catalog, heard = Catalog(), []
    catalog.listeners.append(lambda: heard.append([kind.resource for kind in catalog.kinds]))
    catalog.put({"a": [served(live_kind())], "b": [served(live_kind("lines", "Line"))]})
    catalog.put({"a": [], "b": [served(live_kind("rows", "Row"))]})

    assert [["queues", "lines"], ["rows"]] == heard


def many(count: int) -> dict[str, list[Served]]:
    """Kinds in three groups, each with a schema of some size."""
    schema = {
        "properties": {"spec": {"type": "object", "properties": {f"f{n}": {"type": "string", "description": "."} for n in range(20)}}}
    }
    return {
        f"{number}.yaml": [served(live_kind(f"things{number}", f"Thing{number}", f"g{number % 3}.example.com", schema=schema))]
        for number in range(count)
    }


async def test_two_hundred_kinds() -> None:
    """They come in one change. Discovery and OpenAPI are the same bytes in memory at each request, and on every replica."""
    kinds = many(200)
    catalog, other = Catalog(), Catalog()
    catalog.put(kinds)
    other.put(dict(reversed(kinds.items())))
    discovery, openapi = Discovery(KindDescriptions(catalog)), OpenApi(KindDescriptions(catalog), ManualClock(), "v1")
    elsewhere, elsewhere_openapi = Discovery(KindDescriptions(other)), OpenApi(KindDescriptions(other), ManualClock(), "v1")

    at = scope("/openapi/v3", document="apis/g1.example.com/v1alpha1")
    bodies = [(await answer(at)).body for answer in (discovery.all_groups, openapi.v2, openapi.v3_root, openapi.v3)]
    again = [(await answer(at)).body for answer in (discovery.all_groups, openapi.v2, openapi.v3_root, openapi.v3)]
    others = [
        (await answer(at)).body for answer in (elsewhere.all_groups, elsewhere_openapi.v2, elsewhere_openapi.v3_root, elsewhere_openapi.v3)
    ]
    assert all(one is two for one, two in zip(bodies, again, strict=True))
    assert bodies == others
    assert 200 == bodies[0].count(b'"resource":"things')


async def test_a_change_costs_what_changed() -> None:
    """The documents of the group versions that stayed are the very same bytes, and no other kind's schema is read again."""
    kinds = many(30)
    catalog = Catalog()
    catalog.put(kinds)
    discovery, openapi = Discovery(KindDescriptions(catalog)), OpenApi(KindDescriptions(catalog), ManualClock(), "v1")

    async def documents(group: str) -> list[bytes]:
        where = {"group": group, "version": "v1alpha1", "document": f"apis/{group}/v1alpha1"}
        return [(await answer({**scope("/"), "headers": [], "path_params": where})).body for answer in (discovery.resources, openapi.v3)]

    before = [await documents(f"g{number}.example.com") for number in range(3)]
    catalog.put({"0.yaml": [served(live_kind("things0", "Changed", "g0.example.com"))]})
    after = [await documents(f"g{number}.example.com") for number in range(3)]
    assert [[False, False], [True, True], [True, True]] == [
        [one is two for one, two in zip(*pair, strict=True)] for pair in zip(before, after, strict=True)
    ]
    assert b"com.example.g0.v1alpha1.Changed" in after[0][1]


@pytest.mark.parametrize("put", [lambda catalog: catalog.put({"0.yaml": []}), lambda catalog: catalog.put(many(3))])
async def test_openapi_of_the_last_moment(put: Any) -> None:
    """Kinds that change between two requests for one set of documents: each answer is of the kinds as they are then."""
    catalog = Catalog()
    catalog.put(many(2))
    openapi = OpenApi(KindDescriptions(catalog), ManualClock(), "v1")
    await openapi.v2(scope("/openapi/v2"))
    put(catalog)

    body = (await openapi.v2(scope("/openapi/v2"))).body
    assert len(catalog.kinds) == body.count(b'"x-kubernetes-action":"get"')


def test_versions_in_the_order_of_preference() -> None:
    """GA before beta before alpha, high before low, what is no version of Kubernetes last."""
    ordered = ["v12", "v2", "v1", "v2beta1", "v1beta2", "v1beta1", "v1alpha1", "foo", "v0", "v1beta"]

    assert ordered == sorted(set(ordered), key=preference)


async def test_versions_of_a_group_from_several_kinds() -> None:
    """The preferred version is that of the highest stability, whoever declared it and when."""
    server = Server(served=())
    server.catalog.put({"a": [served(live_kind())], "b": [served(live_kind("lines", "Line", versions=("v1", "v1beta1")))]})

    group = (await server.get("/apis/example.com")).json()
    assert ["v1", "v1beta1", "v1alpha1"] == [version["version"] for version in group["versions"]]
    assert "v1" == group["preferredVersion"]["version"]
