"""Methods and encodings on every path: HEAD is GET without its body, what is not served is a Status, and nothing is ever compressed."""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from app.auth.trust import Trust
from tests.fakes.clock import ManualClock
from tests.unit.serving.loopback import LOOPS, connected
from tests.unit.serving.raw_http import Answer, Asked, check_failure, read_answer
from tests.unit.serving.whole import API, Whole, nothing_breaks, serving, whole_app

PATHS = [
    "/",
    "/apis",
    "/apis/metrics.k8s.io",
    API,
    f"{API}/",
    f"{API}/pods",
    f"{API}/nodes",
    f"{API}/nodes/n1",
    f"{API}/nodes/n3",
    f"{API}/namespaces/a/pods",
    f"{API}/namespaces/a/pods/one",
    f"{API}/namespaces/a/pods/none",
    f"{API}/namespaces/secret/pods",
    f"{API}/pods?limit=1",
    f"{API}/pods?limit=x",
    f"{API}/none",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/apis/metrics.k8s.io/v1",
    "/version",
    "/metrics",
    "/healthz",
    "/healthz?verbose",
    "/livez/ping",
    "/readyz/none",
    "/none",
]
OWN_HEADERS = (b"audit-id", b"date", b"expires")
ENCODINGS = [
    "gzip",
    "gzip;q=1.0, identity;q=0",
    "*;q=0",
    "identity;q=0",
    "br, deflate, zstd, compress, x-gzip",
    "",
    ",,;;q=",
    "gzip\xff",
    "a" * 8000,
]


def run(test: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            with nothing_breaks():
                await test

    with asyncio.Runner(loop_factory=LOOPS["uvloop"]) as runner:
        runner.run(bounded())


@asynccontextmanager
async def small_server() -> AsyncIterator[Whole]:
    async with serving(whole_app(Trust(), ManualClock())) as whole:
        yield whole
        await whole.is_idle()


async def ask(whole: Whole, method: str, target: str, *headers: str) -> tuple[Answer, bool]:
    """The answer on a connection of its own, and whether the connection is closed behind it."""
    asked = "".join(f"{line}\r\n" for line in (f"{method} {target} HTTP/1.1", "Host: h", *headers, ""))
    async with connected(whole.port) as connection:
        connection.writer.write(asked.encode("latin-1"))
        answer = await read_answer(connection.reader, head=method == "HEAD")
        assert answer is not None
        if answer.headers.get(b"connection") == b"close":
            assert b"" == await connection.rest()
            return answer, True
        connection.writer.write(b"GET /healthz HTTP/1.1\r\n\r\n")
        follower = await read_answer(connection.reader, head=False)
        assert follower is not None
        assert b"ok" == follower.body
        return answer, False


def lasting(answer: Answer) -> dict[bytes, bytes]:
    return {name: value for name, value in answer.headers.items() if name not in OWN_HEADERS}


@pytest.mark.parametrize("path", PATHS)
def test_head(path: str) -> None:
    """HEAD has status and headers of GET, its length too, and no body."""

    async def test() -> None:
        async with small_server() as whole:
            (get, _), (head, closed) = await ask(whole, "GET", path), await ask(whole, "HEAD", path)
            if path == "/metrics":  # it counts
                assert (200, 200) == (get.status, head.status)
            else:
                assert (get.status, lasting(get)) == (head.status, lasting(head))
            assert not closed

    run(test())


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "POST", "PUT", "PATCH", "DELETE", "PROPFIND", "SEARCH"])
def test_other_methods(method: str) -> None:
    """Each path has one answer to each method, and the connection goes on. TRACE is not echoed, OPTIONS grants nothing to browsers."""

    async def test() -> None:
        async with small_server() as whole:
            for path in PATHS:
                answer, closed = await ask(whole, method, path, "X-Secret: s3cret", "Origin: https://elsewhere")
                assert not closed, path
                assert b"s3cret" not in answer.body, path
                assert not any(name.startswith(b"access-control-") for name in answer.headers), path
                if answer.status >= 400:
                    check_failure(answer, Asked(method.encode(), path.encode(), ()), head=False)
                else:
                    assert path.split("?")[0].split("/")[1] in {"healthz", "livez", "openapi", "metrics", ""}, path

    run(test())


@pytest.mark.parametrize(
    ("method", "target"),
    [
        pytest.param("CONNECT", "kubernetes.default:443", id="CONNECT"),
        pytest.param("CONNECT", f"{API}/pods", id="CONNECT to a path"),
        pytest.param("PRI", "*", id="HTTP/2's preface"),
        pytest.param("BREW", "/", id="no method"),
        pytest.param("get", "/apis", id="a method in small letters"),
    ],
)
def test_what_is_no_request_here(method: str, target: str) -> None:
    """A Status, and the connection is closed: what follows might be meant as something else than HTTP."""

    async def test() -> None:
        async with small_server() as whole:
            answer, closed = await ask(whole, method, target)
            assert (400, True) == (answer.status, closed)
            assert "Status" == json.loads(answer.body)["kind"]

    run(test())


def test_options_of_the_whole_server() -> None:
    """`OPTIONS *` is valid and asks for a path that nobody serves."""

    async def test() -> None:
        async with small_server() as whole:
            answer, closed = await ask(whole, "OPTIONS", "*")
            assert (404, False) == (answer.status, closed)
            check_failure(answer, None, head=False)

    run(test())


@pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda text: text[:30] or "empty")
def test_nothing_is_compressed(encoding: str) -> None:
    """No coding is offered, and none is no reason to refuse (RFC 9110, 12.5.3): answers are the same whatever is accepted."""

    async def test() -> None:
        async with small_server() as whole:
            for path in PATHS:
                (plain, _), (answer, _) = await ask(whole, "GET", path), await ask(whole, "GET", path, f"Accept-Encoding: {encoding}")
                assert b"content-encoding" not in answer.headers
                assert plain.status == answer.status
                assert path == "/metrics" or (lasting(plain), plain.body) == (lasting(answer), answer.body)

    run(test())
