"""app/declared/http_client.py against real sockets on loopback: names, TLS, limits, and servers that do not keep to HTTP."""

import asyncio
import gzip
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from app.declared.http_client import SourceHttp, open_client
from collectors._base import Cause, CollectError
from collectors._http_client import Answer, Request, Trust
from tests.fakes.dialing import FunctionDialer

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
LIMIT = 10_000


class Server:
    """Listens on 127.0.0.1. `heads` are the request heads that came, `connections` how many connections."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.heads: list[bytes] = []
        self.connections = 0


@asynccontextmanager
async def serving(reply: bytes | Talk, context: ssl.SSLContext | None = None, *, times: int = 9) -> AsyncIterator[Server]:
    """A server that answers `times` requests of a connection with `reply`, or talks as it wants."""
    server = Server(0)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        try:
            for _ in range(times):
                server.heads.append(await reader.readuntil(b"\r\n\r\n"))
                if isinstance(reply, bytes):
                    writer.write(reply)
                else:
                    await reply(reader, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=context)
    server.port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield server


async def here(_host: str, _port: int) -> Sequence[str]:
    """Every name is this machine."""
    return ["127.0.0.1"]


async def get(
    url: str, trust: Trust | None = None, *, limit: int = LIMIT, client: SourceHttp | None = None, timeout: float = 10, **more: Any
) -> Answer:
    """One request. The time bounds a hang."""
    opened = client or open_client(trust or Trust(), here, timeout)
    try:
        return await opened.send(Request(more.pop("method", "GET"), url, **more), limit=limit)
    finally:
        if client is None:
            await opened.aclose()


def reply(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


async def test_a_request_and_its_answer() -> None:
    """The host is the URL's, the connection goes where the policy says, headers that sources look at are kept."""
    answered = reply(b"{}", "Content-Type: application/json", "Link: <a>; rel=next", "link: <b>", "X-Other: 1")
    async with serving(answered) as server:
        answer = await get(f"http://queues.example:{server.port}/a/b?x=%20", headers=(("X-Team", "blue"),))

        head = server.heads[0].decode().split("\r\n")
    assert (200, b"{}", 2) == (answer.status, answer.body, answer.size)
    assert {"content-type": "application/json", "link": "<a>; rel=next, <b>"} == answer.headers
    assert head[:4] == [
        "GET /a/b?x=%20 HTTP/1.1",
        f"Host: queues.example:{server.port}",
        "User-Agent: kubeglance",
        "Accept-Encoding: identity",
    ]
    assert "X-Team: blue" in head


async def test_a_post() -> None:
    """With its length, also when it is empty."""
    bodies = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        bodies.append(await reader.readexactly(3))
        writer.write(reply(b"ok"))

    async with serving(talk) as server:
        await get(f"http://h:{server.port}", method="POST", body=b"a=b")
        assert b"POST / HTTP/1.1\r\n" in server.heads[0]
        assert b"Content-Length: 3\r\n" in server.heads[0]
    async with serving(reply(b"")) as server:
        await get(f"http://h:{server.port}/", method="POST")
        assert b"Content-Length: 0\r\n" in server.heads[0]
    assert bodies == [b"a=b"]


async def test_connections_are_kept_and_made_anew() -> None:
    """One for all requests of a source; where the server closed it meanwhile, another."""
    client = open_client(Trust(), here, 10)
    async with serving(reply(b"1"), times=2) as server:
        for _ in range(2):
            await get(f"http://h:{server.port}/", client=client)
        assert server.connections == 1
        for _ in range(3):
            await get(f"http://h:{server.port}/", client=client)
        assert len(server.heads) == 5
    await client.aclose()


async def test_the_environment_names_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where sources are reached is the declaration's business and the policy's."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    async with serving(reply(b"1")) as server:
        assert (await get(f"http://h:{server.port}/")).body == b"1"


async def test_a_host_that_must_not_be_reached_is_not_dialled() -> None:
    """The policy's own error comes out."""

    async def nowhere(host: str, _port: int) -> Sequence[str]:
        raise CollectError(Cause.NOT_ALLOWED, f"{host} must not be reached")

    async with serving(reply(b"1")) as server:
        client = open_client(Trust(), nowhere, 10)
        with pytest.raises(CollectError, match="must not be reached"):
            await client.send(Request("GET", f"http://h:{server.port}/"), limit=1)
        assert server.connections == 0


# Bodies


@pytest.mark.parametrize(
    "answered",
    [
        pytest.param(reply(b"x" * 20_000), id="by-length"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1000\r\n" + b"x" * 4096 + b"\r\n" + b"4000\r\n" + b"x" * 16384,
            id="chunked",
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 20_000, id="until-the-end"),
        pytest.param(reply(gzip.compress(b"x" * 20_000), "Content-Encoding: gzip"), id="unpacked"),
        pytest.param(reply(gzip.compress(b"\0" * 50_000_000), "Content-Encoding: gzip")[:LIMIT], id="a-bomb"),
    ],
)
async def test_a_body_beyond_the_limit(answered: bytes) -> None:
    """As it comes or unpacked, and no more of it than the limit is kept."""
    async with serving(answered, times=1) as server:
        with pytest.raises(CollectError, match="more than the 9000 bytes") as caught:
            await get(f"http://h:{server.port}/", limit=9000)

    assert caught.value.cause is Cause.TOO_LARGE
    assert "limits.bodyBytes" in caught.value.remedy


async def test_a_bomb_is_never_unpacked() -> None:
    """A thousand times the limit in a body that is within it."""
    bomb = gzip.compress(b"\0" * 5_000_000)
    async with serving(reply(bomb, "Content-Encoding: gzip")) as server:
        with pytest.raises(CollectError) as caught:
            await get(f"http://h:{server.port}/", limit=len(bomb) + 1)

    assert caught.value.cause is Cause.TOO_LARGE


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "GZIP"])
async def test_gzip_that_nobody_asked_for(coding: str) -> None:
    """Some servers send it all the same."""
    body = b"{}" * 1000
    async with serving(reply(gzip.compress(body), f"Content-Encoding: {coding}")) as server:
        answer = await get(f"http://h:{server.port}/")

    assert (body, len(gzip.compress(body))) == (answer.body, answer.size)


@pytest.mark.parametrize(
    ("body", "coding"),
    [
        pytest.param(b"x", "br", id="another-coding"),
        pytest.param(zlib.compress(b"x"), "deflate", id="deflate"),
        pytest.param(b"not gzip", "gzip", id="no-gzip"),
        pytest.param(gzip.compress(b"x" * 100)[:-9], "gzip", id="cut"),
        pytest.param(b"", "gzip", id="nothing"),
    ],
)
async def test_codings_that_are_not_taken(body: bytes, coding: str) -> None:
    """Each is told with its remedy."""
    async with serving(reply(body, f"Content-Encoding: {coding}")) as server:
        with pytest.raises(CollectError) as caught:
            await get(f"http://h:{server.port}/")

    assert caught.value.cause is Cause.ENCODING


async def test_of_an_error_the_beginning_is_enough() -> None:
    """An endless page of an error costs some kilobytes."""
    async with serving(b"HTTP/1.1 500 No\r\n\r\n" + b"x" * 1_000_000, times=1) as server:
        answer = await get(f"http://h:{server.port}/", limit=10)

    assert answer.status == 500
    assert 0 < len(answer.body) < 300_000


# Servers that do not keep to HTTP, or are not there


@pytest.mark.parametrize(
    ("answered", "cause"),
    [
        pytest.param(b"SSH-2.0-OpenSSH\r\n", Cause.PAYLOAD, id="another-protocol"),
        pytest.param(b"\x15\x03\x01\x00\x02\x02\x16", Cause.PAYLOAD, id="tls-on-the-port"),
        pytest.param(b"", Cause.CLOSED, id="closed-without-a-word"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", Cause.CLOSED, id="cut"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Length: 8\r\n\r\n", Cause.PAYLOAD, id="two-lengths"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 40_000, Cause.PAYLOAD, id="a-head-without-an-end"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 40_000, Cause.PAYLOAD, id="a-body-in-crumbs"
        ),
    ],
)
async def test_what_is_no_answer(answered: bytes, cause: Cause) -> None:
    """The cause is told, and the message has no query."""
    async with serving(answered, times=1) as server:
        with pytest.raises(CollectError) as caught:
            await get(f"http://h:{server.port}/p?token=s3cret", limit=1 << 20)

    assert cause is caught.value.cause
    assert "/p" in caught.value.message
    assert "s3cret" not in caught.value.message
    assert caught.value.remedy


async def test_nobody_listens() -> None:
    """The cause is that there is no connection."""
    async with serving(b"") as server:
        port = server.port

    with pytest.raises(CollectError) as caught:
        await get(f"http://h:{port}/")

    assert caught.value.cause is Cause.DIAL


async def test_a_drip_feed_ends_with_the_deadline() -> None:
    """A byte now and then keeps no collection alive: the deadline is that of the whole."""
    dripping = asyncio.Event()

    async def drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            dripping.set()
            await asyncio.sleep(0)

    async with serving(drip, times=1) as server:
        asking = asyncio.ensure_future(get(f"http://h:{server.port}/"))
        await dripping.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking


# TLS


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def pem(authority: trustme.CA) -> str:
    return authority.cert_pem.bytes().decode()


def server_context(authority: trustme.CA, *names: str, clients: trustme.CA | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    if clients is not None:
        clients.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


async def test_tls_is_verified_for_the_name(authority: trustme.CA, pem: str) -> None:
    """Whatever address the policy gave: the certificate has the name of the URL."""
    async with serving(reply(b"1"), server_context(authority, "queues.example")) as server:
        assert (await get(f"https://queues.example:{server.port}/", Trust(ca=pem))).body == b"1"


@pytest.mark.parametrize(
    "trust",
    [
        pytest.param(Trust(), id="a-ca-that-the-machine-does-not-know"),
        pytest.param(Trust(ca=trustme.CA().cert_pem.bytes().decode()), id="another-ca"),
        pytest.param(None, id="another-name"),
    ],
)
async def test_a_server_that_is_not_trusted(authority: trustme.CA, pem: str, trust: Trust | None) -> None:
    """Nothing is sent to it."""
    async with serving(reply(b"1"), server_context(authority, "other.example" if trust is None else "queues.example")) as server:
        with pytest.raises(CollectError, match="x509") as caught:
            await get(f"https://queues.example:{server.port}/", trust or Trust(ca=pem))
        assert server.heads == []

    assert caught.value.cause is Cause.CERTIFICATE


async def test_another_server_name(authority: trustme.CA, pem: str) -> None:
    """tls.serverName stands in for the host of the URL."""
    async with serving(reply(b"1"), server_context(authority, "inside.example")) as server:
        assert (await get(f"https://queues.example:{server.port}/", Trust(ca=pem, server_name="inside.example"))).body == b"1"


async def test_without_verification(authority: trustme.CA) -> None:
    """Where the declaration says so."""
    async with serving(reply(b"1"), server_context(authority, "other.example")) as server:
        assert (await get(f"https://queues.example:{server.port}/", Trust(verify=False))).body == b"1"


async def test_a_client_certificate(authority: trustme.CA, pem: str) -> None:
    """mTLS: with the certificate we are let in, without it not."""
    clients = trustme.CA()
    leaf = clients.issue_cert("kubeglance")
    shown = Trust(
        ca=pem, certificate=b"".join(each.bytes() for each in leaf.cert_chain_pems).decode(), key=leaf.private_key_pem.bytes().decode()
    )
    async with serving(reply(b"1"), server_context(authority, "queues.example", clients=clients)) as server:
        url = f"https://queues.example:{server.port}/"
        assert (await get(url, shown)).body == b"1"
        with pytest.raises(CollectError) as caught:
            await get(url, Trust(ca=pem))

    assert caught.value.cause in {Cause.CERTIFICATE, Cause.CLOSED}


@pytest.mark.parametrize(
    ("trust", "words"),
    [
        pytest.param(Trust(ca="no PEM"), "tls.ca", id="a-ca-that-is-none"),
        pytest.param(Trust(certificate="no PEM", key="no PEM"), "tls.cert and tls.key", id="a-certificate-that-is-none"),
        pytest.param(
            Trust(
                certificate=trustme.CA().issue_cert("a").cert_chain_pems[0].bytes().decode(),
                key=trustme.CA().issue_cert("a").private_key_pem.bytes().decode(),
            ),
            "tls.cert and tls.key",
            id="a-key-of-another-certificate",
        ),
    ],
)
async def test_pem_that_cannot_be_used(trust: Trust, words: str) -> None:
    """The message names the field, and shows nothing of what it holds."""
    async with serving(reply(b"1")) as server:
        with pytest.raises(CollectError, match=words) as caught:
            await get(f"https://h:{server.port}/", trust)

    assert caught.value.cause is Cause.CERTIFICATE
    assert "no PEM" not in caught.value.message


async def test_plain_http_where_tls_was_meant() -> None:
    """A server without TLS on an https URL is told as such."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    listening = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with listening:
        with pytest.raises(CollectError) as caught:
            await get(f"https://h:{listening.sockets[0].getsockname()[1]}/", Trust(verify=False))

    assert caught.value.cause in {Cause.CERTIFICATE, Cause.CLOSED}


@given(
    st.binary(max_size=200)
    | st.lists(
        st.sampled_from(
            [b"HTTP/1.1 ", b"200 OK\r\n", b"Content-Encoding: gzip\r\n", b"Content-Length: 3\r\n", b"\r\n", b"abc", b"\x1f\x8b"]
        )
    ).map(b"".join)
)
async def test_no_bytes_crash_it(data: bytes) -> None:
    """For whatever a server sends, an answer or CollectError."""
    dialer = FunctionDialer(lambda _: data)
    client = SourceHttp(dialer, dialer, connect_timeout=1)
    try:
        answer = await client.send(Request("GET", "http://h/"), limit=100)
    except CollectError:
        return
    assert len(answer.body) <= 100 or not 200 <= answer.status < 300
