import asyncio
import socket
import ssl

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import KubeError, KubeUnavailable
from app.kube.client import KubeClient, status_error
from app.kube.config import Connection
from app.kube.credentials import Credentials, FixedCredentials, RenewingCredentials
from tests.fakes.clock import ManualClock
from tests.fakes.dialing import FunctionDialer, Handler, Reply
from tests.fakes.kube_server import Stream, refusal


def _client(handler: Handler, credentials: Credentials | None = None, *, server: str = "https://kube") -> KubeClient:
    return KubeClient(Connection(server, credentials=credentials or FixedCredentials("Bearer t")), dialer=FunctionDialer(handler))


async def test_get_json_sends_the_credentials_and_asks_for_plain_json() -> None:
    """Every request carries the token, and no encoding that could hide a huge body."""
    requests: list[httpx.Request] = []

    def server(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json={"a": 1})

    async with _client(server) as client:
        answer = await client.get_json("/api/v1/nodes", {"limit": 5})

    assert answer == {"a": 1}
    assert str(requests[0].url) == "https://kube/api/v1/nodes?limit=5"
    assert (requests[0].headers["Authorization"], requests[0].headers["Accept-Encoding"]) == ("Bearer t", "identity")


async def test_create_posts_json_and_gives_the_object() -> None:
    """A review is created, and the verdict is in what comes back."""

    def server(request: httpx.Request) -> httpx.Response:
        assert (request.content, request.headers["Content-Type"]) == (b'{"spec":1}', "application/json")
        return httpx.Response(201, json={"status": {"allowed": True}})

    async with _client(server) as client:
        assert await client.create("/apis/a/v1/reviews", {"spec": 1}) == {"status": {"allowed": True}}


async def test_version_is_the_git_version() -> None:
    """GET /version tells which kube-apiserver this is."""
    async with _client(lambda _: httpx.Response(200, json={"gitVersion": "v1.37.2"})) as client:
        assert await client.version() == "v1.37.2"


@pytest.mark.parametrize(
    ("response", "kind", "text", "reason"),
    [
        pytest.param(
            httpx.Response(403, json={"kind": "Status", "reason": "Forbidden", "message": "pods is forbidden"}),
            KubeError,
            "GET /x: kube-apiserver answered 403: pods is forbidden",
            "Forbidden",
            id="a Status",
        ),
        pytest.param(
            httpx.Response(404, text="page not found"), KubeError, "GET /x: kube-apiserver answered 404: page not found", "", id="a text"
        ),
        pytest.param(httpx.Response(503), KubeUnavailable, "GET /x: kube-apiserver answered 503: no explanation given", "", id="5xx"),
        pytest.param(httpx.Response(429, text="slow"), KubeUnavailable, "GET /x: kube-apiserver answered 429: slow", "", id="429"),
        pytest.param(httpx.Response(302, text="elsewhere"), KubeError, "GET /x: kube-apiserver answered 302: elsewhere", "", id="redirect"),
    ],
)
async def test_a_refusal_becomes_an_error_with_the_servers_words(response: httpx.Response, kind: type, text: str, reason: str) -> None:
    """Status code, reason and message of the Status are in the error; 5xx and 429 may be tried again."""
    async with _client(lambda _: response) as client:
        with pytest.raises(KubeError) as caught:
            await client.get("/x")

    assert (kind, text, response.status_code, reason) == (type(caught.value), str(caught.value), caught.value.status, caught.value.reason)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(ConnectionRefusedError(111, "Connection refused"), "cannot talk to https://kube: Connection refused", id="refused"),
        pytest.param(socket.gaierror(-2, "Name or service not known"), "https://kube: Name or service not known", id="no such name"),
        pytest.param(ssl.SSLError(1, "wrong version number"), "https://kube: wrong version number", id="no TLS there"),
        pytest.param(ConnectionResetError(104, "reset"), "https://kube: the connection was closed", id="closed"),
        pytest.param(TimeoutError(110, "Connection timed out"), "did not answer in time (Connection timed out)", id="slow"),
    ],
)
async def test_no_answer_is_unavailable(error: OSError, words: str) -> None:
    """A server that cannot be reached is told apart from one that refuses."""

    def server(request: httpx.Request) -> httpx.Response:
        raise error

    async with _client(server) as client:
        with pytest.raises(KubeUnavailable) as caught:
            await client.get("/x")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", "the answer is not HTTP", id="another program"),
        pytest.param(b"", "the connection was closed", id="nothing"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "the connection was closed", id="half"),
    ],
)
async def test_half_an_answer_is_none(reply: Reply, words: str) -> None:
    """Nor is one that is no HTTP."""
    async with _client(lambda _: reply) as client:
        with pytest.raises(KubeUnavailable, match=words):
            await client.get("/x")


@pytest.mark.looptime
async def test_a_server_that_says_nothing_is_unavailable() -> None:
    """Half a minute is enough for any answer but a watch."""

    async def server(request: httpx.Request) -> Reply:
        await asyncio.sleep(3600)
        return b""

    async with _client(server) as client:
        with pytest.raises(KubeUnavailable, match="did not answer in time"):
            await client.get("/x")
    assert 30 == asyncio.get_running_loop().time()


async def test_a_401_is_tried_once_more_with_a_new_token() -> None:
    """A rotated token costs no failed request."""
    clock = ManualClock()
    tokens = ["Bearer old", "Bearer new"]
    credentials = RenewingCredentials(lambda: tokens.pop(0), clock)
    await credentials.header()
    clock.advance(10)
    seen: list[str] = []

    def server(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["Authorization"])
        return httpx.Response(200, text="{}") if seen[-1] == "Bearer new" else refusal(401)

    async with _client(server, credentials) as client:
        assert b"{}" == await client.get("/x")
    assert ["Bearer old", "Bearer new"] == seen


async def test_a_401_with_an_unchanged_token_is_not_repeated() -> None:
    """The same token would get the same answer."""
    seen: list[str] = []

    def server(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["Authorization"])
        return refusal(401, "Unauthorized")

    async with _client(server) as client:
        with pytest.raises(KubeError, match="401: Unauthorized"):
            await client.get("/x")
    assert ["Bearer t"] == seen


@pytest.mark.parametrize(
    ("server", "url"),
    [
        pytest.param("https://kube:6443", "https://kube:6443/api?a=b%2Cc%21%3Dd", id="port"),
        pytest.param("https://[::1]:6443", "https://[::1]:6443/api?a=b%2Cc%21%3Dd", id="IPv6"),
        pytest.param("https://gateway/clusters/c-1", "https://gateway/clusters/c-1/api?a=b%2Cc%21%3Dd", id="path"),
    ],
)
async def test_requests_go_below_the_servers_url(server: str, url: str) -> None:
    """Gateways of many clusters have a path for each; what is asked is escaped."""
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        return httpx.Response(200, text="{}")

    async with _client(answer, server=server) as client:
        await client.get("/api", {"a": "b,c!=d"})
    assert [url] == seen


async def test_what_is_not_json_is_an_error() -> None:
    """A proxy's login page is no answer."""
    async with _client(lambda _: httpx.Response(200, text="<html>")) as client:
        with pytest.raises(KubeError, match="not JSON"):
            await client.get_json("/x")


async def test_a_watch_gives_lines_as_they_come() -> None:
    """First an empty list when the server accepted, then the lines of each chunk."""
    requests: list[httpx.Request] = []

    def server(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, stream=Stream(b'{"a":1}\n{"b"', b":2}\n"))

    async with _client(server) as client:
        batches = [batch async for batch in client.watch("/w", {"resourceVersion": "7"}, timeout_seconds=300)]

    assert batches == [[], [b'{"a":1}'], [b'{"b":2}']]
    assert dict(requests[0].url.params) == {"resourceVersion": "7", "watch": "true", "timeoutSeconds": "300"}


async def test_a_watch_that_breaks_is_unavailable() -> None:
    """A connection lost in the middle of a watch is an error, after the lines that came."""
    async with _client(lambda _: httpx.Response(200, stream=Stream(b"{}\n", ConnectionResetError(104, "reset")))) as client:
        batches = client.watch("/w", {}, timeout_seconds=300)
        got = [await anext(batches), await anext(batches)]
        with pytest.raises(KubeUnavailable, match="the connection was closed"):
            await anext(batches)

    assert got == [[], [b"{}"]]


async def test_a_watch_that_is_refused_says_why() -> None:
    """410 Gone arrives before the stream."""
    gone = httpx.Response(410, json={"kind": "Status", "reason": "Expired", "message": "too old"})

    async with _client(lambda _: gone) as client:
        with pytest.raises(KubeError, match="too old") as caught:
            await anext(client.watch("/w", {}, timeout_seconds=300))

    assert caught.value.status == 410


@given(st.integers(400, 599), st.binary(max_size=200))
def test_no_body_of_an_error_crashes_it(code: int, body: bytes) -> None:
    """Whatever an error's body is, the error is ours and tells the code."""
    assert str(code) in str(status_error("GET /", code, body))


async def test_a_stream_gives_pieces_as_they_come() -> None:
    """First an empty piece when the server has begun to answer, then what comes, as it comes."""
    requests: list[httpx.Request] = []

    def server(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, stream=Stream(b"one\ntw", b"o\n"))

    async with _client(server) as client:
        pieces = [piece async for piece in client.stream("/log", {"follow": "true"}, patience=None)]

    assert (b"", b"one\ntwo\n") == (pieces[0], b"".join(pieces))
    assert ("*/*", {"follow": "true"}) == (requests[0].headers["Accept"], dict(requests[0].url.params))


async def test_a_stream_that_is_refused_says_why() -> None:
    """A Status comes before the stream, a loss within it."""
    refused = httpx.Response(400, json={"kind": "Status", "reason": "BadRequest", "message": "container is waiting to start"})
    async with _client(lambda _: refused) as client:
        with pytest.raises(KubeError, match="waiting to start") as caught:
            await anext(client.stream("/log", {}))
    assert caught.value.status == 400

    async with _client(lambda _: httpx.Response(200, stream=Stream(b"one\n", ConnectionResetError(104, "reset")))) as client:
        pieces = client.stream("/log", {})
        assert [b"", b"one\n"] == [await anext(pieces), await anext(pieces)]
        with pytest.raises(KubeUnavailable, match="the connection was closed"):
            await anext(pieces)
