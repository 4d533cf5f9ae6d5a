import asyncio
import json
from typing import Any

import pytest

from app.serving.dispatch import Dispatcher, is_resource_path, never_refused

RESOURCE = "/apis/metrics.k8s.io/v1/pods"


class Named:
    """An ASGI app that answers with its name, once `gate` is open."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.gate = asyncio.Event()
        self.gate.set()
        self.scopes: list[Any] = []

    async def __call__(self, scope: Any, _receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        await self.gate.wait()
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": self.name.encode()})


async def _no_receive() -> Any:
    raise AssertionError("nothing is read here")


async def ask(dispatcher: Dispatcher, path: str, method: str = "GET") -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await dispatcher({"type": "http", "method": method, "path": path, "headers": []}, _no_receive, send)
    return sent


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        pytest.param("GET", RESOURCE, b"endpoint", id="list"),
        pytest.param("HEAD", RESOURCE, b"endpoint", id="HEAD"),
        pytest.param("GET", "/apis/metrics.k8s.io/v1/namespaces/ns/pods/web", b"endpoint", id="get"),
        pytest.param("POST", RESOURCE, b"app", id="a write"),
        pytest.param("DELETE", "/apis/metrics.k8s.io/v1/namespaces/ns/pods/web", b"app", id="a delete"),
        pytest.param("GET", "/apis/metrics.k8s.io/v1", b"app", id="resource discovery"),
        pytest.param("GET", "/apis/metrics.k8s.io/v1/", b"app", id="resource discovery with a slash"),
        pytest.param("GET", "/apis/metrics.k8s.io", b"app", id="group discovery"),
        pytest.param("GET", "/apis", b"app", id="discovery"),
        pytest.param("GET", "/openapi/v3/apis/metrics.k8s.io/v1", b"app", id="OpenAPI"),
        pytest.param("GET", "/readyz", b"app", id="health"),
        pytest.param("GET", "/", b"app", id="root"),
    ],
)
async def test_the_short_way(method: str, path: str, expected: bytes) -> None:
    """Get and list of resources go straight to the endpoint, all else to the app."""
    dispatcher = Dispatcher(Named("app"), Named("endpoint"))
    assert expected == (await ask(dispatcher, path, method))[1]["body"]


async def test_hot_paths_can_be_chosen() -> None:
    """The composition root may say what is hot."""
    dispatcher = Dispatcher(Named("app"), Named("endpoint"), is_hot=lambda path: path == "/hot")
    assert b"endpoint" == (await ask(dispatcher, "/hot"))[1]["body"]
    assert b"app" == (await ask(dispatcher, RESOURCE))[1]["body"]


async def test_too_many_requests_get_429_and_discovery_never() -> None:
    """Over the limit resources are refused with a Status; discovery, OpenAPI, version and health are served."""
    endpoint = Named("endpoint")
    dispatcher = Dispatcher(Named("app"), endpoint, max_in_flight=2)
    endpoint.gate.clear()
    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(ask(dispatcher, RESOURCE))
        await asyncio.sleep(0)
        assert 2 == dispatcher.in_flight
        start, body = await ask(dispatcher, RESOURCE)
        assert 429 == start["status"]
        assert b"1" == dict(start["headers"])[b"retry-after"]
        status = json.loads(body["body"])
        assert ("Status", "TooManyRequests", 429) == (status["kind"], status["reason"], status["code"])
        assert {"retryAfterSeconds": 1} == status["details"]
        for path in (
            "/",
            "/apis",
            "/apis/g",
            "/apis/g/v1",
            "/openapi/v2",
            "/openapi/v3/apis/g/v1",
            "/version",
            "/healthz",
            "/livez/ping",
            "/readyz",
        ):
            assert 200 == (await ask(dispatcher, path))[0]["status"], path
        endpoint.gate.set()
    assert 0 == dispatcher.in_flight
    assert 200 == (await ask(dispatcher, RESOURCE))[0]["status"]


async def test_failed_requests_free_their_place() -> None:
    """An exception of the app counts its request out."""

    async def fail(_scope: Any, _receive: Any, _send: Any) -> None:
        raise ValueError("no")

    dispatcher = Dispatcher(Named("app"), fail, max_in_flight=1)
    for _ in range(3):
        with pytest.raises(ValueError, match="no"):
            await ask(dispatcher, RESOURCE)
    assert 0 == dispatcher.in_flight


async def test_no_limit() -> None:
    """0 is no limit, as with kube-apiserver's flag."""
    assert 200 == (await ask(Dispatcher(Named("app"), Named("endpoint"), max_in_flight=0), RESOURCE))[0]["status"]


async def test_lifespan_is_the_apps() -> None:
    """Start and end of the server are passed on."""
    app = Named("app")

    async def send(_message: Any) -> None:
        raise AssertionError("nothing is sent here")

    await Dispatcher(app, Named("endpoint"), max_in_flight=1)({"type": "lifespan"}, _no_receive, send)
    assert ["lifespan"] == [scope["type"] for scope in app.scopes]


@pytest.mark.parametrize(
    ("path", "resource", "spared"),
    [
        pytest.param("/apis/g/v/r", True, False, id="resource"),
        pytest.param("/apis/g/v/r/", True, False, id="resource, slash"),
        pytest.param("/apis/g/v", False, True, id="version"),
        pytest.param("/apis/g/v/", False, True, id="version, slash"),
        pytest.param("/apis//v/r", False, True, id="no group"),
        pytest.param("/apisx/g/v/r", False, False, id="another word"),
        pytest.param("/api/v1/pods", False, False, id="core"),
        pytest.param("/healthzz", False, False, id="no health path"),
        pytest.param("/metrics", False, False, id="own metrics"),
        pytest.param("", False, False, id="empty"),
        pytest.param("*", False, False, id="OPTIONS *"),
    ],
)
def test_paths(path: str, resource: bool, spared: bool) -> None:
    """What is a resource's path, and what is never refused."""
    assert (resource, spared) == (is_resource_path(path), never_refused(path))


def test_what_is_there_is_given_for_hot_paths_and_while_there_is_room() -> None:
    """Everything else has its one way: odd forms of a path, and a house that is full."""
    asked: list[str] = []

    def at_once(scope: Any) -> Any:
        asked.append(scope["path"])
        return (), (b"a", b"b"), b"there"

    async def nothing(_scope: Any, _receive: Any, _send: Any) -> None:
        raise AssertionError("it is not called")

    dispatcher = Dispatcher(nothing, nothing, at_once=at_once)
    hot = "/apis/metrics.k8s.io/v1/nodes/n1"
    found = [dispatcher.at_once({"path": path}) is not None for path in (hot, f"/{hot}", "/apis/metrics.k8s.io/v1", "/metrics")]

    assert [True, False, False, False] == found
    assert [hot] == asked
