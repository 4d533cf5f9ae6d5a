from collections.abc import AsyncIterator, Callable

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import KubeError, KubeUnavailable
from app.kube.client import KubeClient, status_error
from app.kube.config import Connection
from app.kube.credentials import FixedCredentials

Handler = Callable[[httpx.Request], httpx.Response]


def _client(handler: Handler) -> KubeClient:
    return KubeClient(Connection("https://kube", credentials=FixedCredentials("Bearer t")), transport=httpx.MockTransport(handler))


class _Chunks(httpx.AsyncByteStream):
    def __init__(self, *chunks: bytes | Exception) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk


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
    "error",
    [
        pytest.param(httpx.ConnectError("refused"), id="refused"),
        pytest.param(httpx.ReadTimeout("slow"), id="slow"),
        pytest.param(httpx.RemoteProtocolError("closed"), id="closed"),
    ],
)
async def test_no_answer_is_unavailable(error: Exception) -> None:
    """A server that cannot be reached is told apart from one that refuses."""

    def server(request: httpx.Request) -> httpx.Response:
        raise error

    async with _client(server) as client:
        with pytest.raises(KubeUnavailable, match="https://kube"):
            await client.get("/x")


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
        return httpx.Response(200, stream=_Chunks(b'{"a":1}\n{"b"', b":2}\n"))

    async with _client(server) as client:
        batches = [batch async for batch in client.watch("/w", {"resourceVersion": "7"}, timeout_seconds=300)]

    assert batches == [[], [b'{"a":1}'], [b'{"b":2}']]
    assert dict(requests[0].url.params) == {"resourceVersion": "7", "watch": "true", "timeoutSeconds": "300"}
    assert 300 < requests[0].extensions["timeout"]["read"] <= 360


async def test_a_watch_that_breaks_is_unavailable() -> None:
    """A connection lost in the middle of a watch is an error, after the lines that came."""
    async with _client(lambda _: httpx.Response(200, stream=_Chunks(b"{}\n", httpx.ReadError("reset")))) as client:
        batches = client.watch("/w", {}, timeout_seconds=300)
        got = [await anext(batches), await anext(batches)]
        with pytest.raises(KubeUnavailable, match="reset"):
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
