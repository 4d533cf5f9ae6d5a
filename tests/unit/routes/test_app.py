"""What holds for every path: the gate, Status bodies, no redirects, audit IDs."""

import logging

import pytest
from prometheus_client import Counter

from app.errors import Problem
from tests.unit.routes.server import Server

PATHS = [
    "/",
    "/apis",
    "/openapi/v2",
    "/openapi/v3",
    "/version",
    "/metrics",
    "/nope",
    "/apis/",
    "/api/v1/pods",
    "/healthz/ping",
    "/docs",
    "/openapi.json",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_every_path_asks_the_gate(path: str, method: str) -> None:
    """Nothing but the health roots is answered before the gate agreed."""
    server = Server()
    server.gate.refusal = Problem(403, "Forbidden", "no")

    assert 403 == (await server.request(method, path)).status_code
    assert [(method.lower(), path)] == [(asked.verb, asked.path) for asked in server.gate.asked]


@pytest.mark.parametrize(
    "path", ["/nope", "/docs", "/openapi.json", "/api/v1/pods", "/apis/a", "/apis/a/b", "/apis/metrics.k8s.io/v1//pods", "/version/x"]
)
async def test_unknown_paths(path: str) -> None:
    """Unknown paths are 404 Status, never a redirect."""
    response = await Server().get(path)

    assert (404, "Status", "NotFound") == (response.status_code, response.json()["kind"], response.json()["reason"])


@pytest.mark.parametrize("path", ["/apis/", "/version/", "/openapi/v2/", "/apis/metrics.k8s.io/v1/nodes/"])
async def test_trailing_slash(path: str) -> None:
    """A slash at the end changes nothing: the aggregator would refuse a redirect."""
    assert 200 == (await Server().get(path)).status_code


async def test_audit_id() -> None:
    """The caller's Audit-ID comes back; without one (or with nonsense) each answer gets its own."""
    server = Server()
    given = await server.get("/version", audit_id="abc-1")
    made = [(await server.get("/version")).headers["audit-id"] for _ in range(2)]

    assert "abc-1" == given.headers["audit-id"]
    assert 2 == len(set(made))
    assert "x" * 65 != (await server.get("/version", audit_id="x" * 65)).headers["audit-id"]


@pytest.mark.parametrize("direct", [True, False])
async def test_a_fault_is_a_status(direct: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A fault of our own is a 500 Status that tells nothing of the inside; the log has it under the audit ID."""
    server = Server()
    server.gate.refusal = KeyError("secret")  # type: ignore[assignment]  # a fault, not a refusal
    with caplog.at_level(logging.ERROR):
        response = await server.request("GET", "/apis/metrics.k8s.io/v1/nodes", direct=direct, audit_id="id-7")

    assert (500, "InternalError") == (response.status_code, response.json()["reason"])
    assert "secret" not in response.text
    assert "id-7" in response.text
    assert "id-7" in caplog.text
    assert "secret" in caplog.text


async def test_retry_after() -> None:
    """Status.details.retryAfterSeconds becomes the header, and a 503 always has one."""
    server = Server()
    server.gate.refusal = Problem(429, "TooManyRequests", "later", details={"retryAfterSeconds": 7})
    busy = await server.get("/apis")
    server.gate.refusal = Problem(503, "ServiceUnavailable", "later")
    away = await server.get("/apis")

    assert ("7", "1") == (busy.headers["retry-after"], away.headers["retry-after"])


async def test_pretty_errors() -> None:
    """Humans get indented errors too."""
    assert '{\n  "kind": "Status"' in (await Server().get("/nope", user_agent="curl/8")).text


async def test_metrics() -> None:
    """/metrics shows the registry that was handed in."""
    server = Server()
    Counter("things", "Things.", registry=server.registry).inc()
    response = await server.get("/metrics")

    assert "things_total 1.0" in response.text
    assert response.headers["content-type"].startswith("text/plain")


async def test_version() -> None:
    """/version has all fields of version.Info."""
    info = (await Server().get("/version")).json()

    assert ("0", "1", "v0.1.0") == (info["major"], info["minor"], info["gitVersion"])
    assert {"gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"} < set(info)


async def test_index() -> None:
    """/ lists what is served."""
    assert {"/apis/metrics.k8s.io/v1", "/openapi/v2", "/readyz/ping"} <= set((await Server().get("/")).json()["paths"])
