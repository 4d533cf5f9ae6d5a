import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

import pytest

from app.kube.credentials import Credentials, FixedCredentials, RenewingCredentials
from app.kubelet.client import KubeletClient
from collectors._base import Cause, CollectError
from tests.fakes.clock import LoopClock

pytestmark = pytest.mark.looptime

URL = "https://10.0.0.1:10250/metrics/resource"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Step = bytes | OSError | float
"""What a channel gives: bytes (b"" is its end), an error, or that many seconds of silence."""


class _Channel:
    def __init__(self, *steps: Step) -> None:
        self._steps = list(steps)
        self.sent: list[bytes] = []
        self.ended: Callable[[], None] | None = None
        self.closed = False

    async def send(self, data: bytes) -> None:
        assert not self.closed
        self.ended = None
        self.sent.append(data)

    async def receive(self) -> bytes:
        assert not self.closed
        step = self._steps.pop(0)
        if isinstance(step, OSError):
            raise step
        if isinstance(step, float):
            await asyncio.sleep(step)
            return await self.receive()
        return step

    def rest(self, ended: Callable[[], None]) -> None:
        self.ended = ended

    def close(self) -> None:
        self.closed = True


class _Dialer:
    """Gives `channels` in turn, or fails."""

    def __init__(self, *channels: _Channel | OSError | float) -> None:
        self._channels = list(channels)
        self.dialled: list[tuple[str, int]] = []
        self.closed = False

    async def dial(self, host: str, port: int) -> _Channel:
        self.dialled.append((host, port))
        channel = self._channels.pop(0)
        if isinstance(channel, OSError):
            raise channel
        if isinstance(channel, float):
            await asyncio.sleep(channel)
            return await self.dial(host, port)
        return channel

    def close(self) -> None:
        self.closed = True


@asynccontextmanager
async def _client(*channels: _Channel | OSError | float, credentials: Credentials | None = None) -> AsyncIterator[KubeletClient]:
    client = KubeletClient(_Dialer(*channels), credentials or FixedCredentials("Bearer t"), keepalive=30, connect_timeout=4)
    yield client
    await client.aclose()


def _certificate_error() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "self-signed certificate"
    return error


def _status(code: int, *headers: str) -> bytes:
    lines = "".join(f"{header}\r\n" for header in headers)
    return f"HTTP/1.1 {code} \x1b[31mWords\r\n{lines}Content-Length: 1\r\n\r\nx".encode()


FAILURES = [
    pytest.param(_certificate_error(), Cause.CERTIFICATE, "x509: self-signed", id="x509"),
    pytest.param(ssl.SSLError(1, "wrong version number"), Cause.CERTIFICATE, "TLS", id="no TLS there"),
    pytest.param(socket.gaierror(-2, "Name or service not known"), Cause.DNS, "not known", id="DNS"),
    pytest.param(ConnectionRefusedError(111, "refused"), Cause.DIAL, "refused", id="refused"),
    pytest.param(OSError(113, "No route to host"), Cause.DIAL, "No route", id="no route"),
    pytest.param(OSError("all failed"), Cause.DIAL, "all failed", id="an error without a number"),
    pytest.param(60.0, Cause.DIAL, "no connection within 4 s", id="nobody takes the connection"),
    pytest.param(ConnectionResetError(104, "reset"), Cause.CLOSED, "closed", id="reset in the handshake"),
    pytest.param(ssl.SSLEOFError(8, "EOF occurred"), Cause.CLOSED, "closed", id="closed in the handshake"),
    pytest.param(_Channel(ConnectionResetError(104, "reset")), Cause.CLOSED, "closed", id="reset"),
    pytest.param(_Channel(BrokenPipeError(32, "pipe")), Cause.CLOSED, "closed", id="broken pipe"),
    pytest.param(_Channel(b""), Cause.CLOSED, "closed", id="closed without an answer"),
    pytest.param(_Channel(OK[:-1], b""), Cause.CLOSED, "closed", id="cut short"),
    pytest.param(_Channel(ssl.SSLError(1, "bad record mac")), Cause.CERTIFICATE, "TLS", id="TLS breaks"),
    pytest.param(_Channel(b"SSH-2.0-OpenSSH_9.6\r\n"), Cause.PAYLOAD, "not HTTP", id="not HTTP"),
    pytest.param(_Channel(_status(401)), Cause.UNAUTHORIZED, "401 Unauthorized$", id="401"),
    pytest.param(_Channel(_status(403)), Cause.FORBIDDEN, "403 Forbidden$", id="403"),
    pytest.param(_Channel(_status(404)), Cause.NOT_FOUND, "404 Not Found$", id="404"),
    pytest.param(_Channel(_status(500)), Cause.STATUS, "500 Internal Server Error$", id="500"),
    pytest.param(_Channel(_status(599)), Cause.STATUS, "599$", id="hostile words of a status"),
    pytest.param(_Channel(b"HTTP/1.1 204 No Content\r\n\r\n"), Cause.STATUS, "204 No Content$", id="204"),
    pytest.param(_Channel(_status(302, "Location: https://evil.example/")), Cause.STATUS, "302 Found$", id="a redirect is not followed"),
    pytest.param(_Channel(_status(200, "Content-Encoding: gzip")), Cause.ENCODING, "Encoding", id="gzip"),
    pytest.param(
        _Channel(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b"x" * 101), Cause.TOO_LARGE, "more than 100", id="too large"
    ),
    pytest.param(_Channel(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 60, b"y" * 60), Cause.TOO_LARGE, "more than 100", id="large without an end"),
    pytest.param(_Channel(b"HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\n", 60.0), Cause.STATUS, "500", id="500 whose body never comes"),
]


@pytest.mark.parametrize(("failure", "cause", "text"), FAILURES)
async def test_each_failure_has_its_cause(failure: _Channel | OSError | float, cause: Cause, text: str) -> None:
    """The error names what, where and a remedy; the rest of an answer that is refused is not waited for."""
    async with _client(failure) as client:
        with pytest.raises(CollectError, match=text) as caught:
            await client.get(URL, limit=100)

    assert caught.value.cause is cause
    assert URL in caught.value.message
    assert caught.value.remedy
    assert asyncio.get_running_loop().time() <= 4


async def test_what_caused_a_failure_is_chained_to_it() -> None:
    """A traceback tells the whole story."""
    refused = ConnectionRefusedError(111, "refused")
    async with _client(refused) as client:
        with pytest.raises(CollectError) as caught:
            await client.get(URL, limit=100)

    assert caught.value.__cause__ is refused


async def test_only_what_is_needed_is_sent() -> None:
    """No cookie of an earlier answer, no encoding offered, the address as Host; one connection for both requests."""
    channel = _Channel(OK.replace(b"\r\n\r\n", b"\r\nSet-Cookie: a=b\r\n\r\n"), OK)
    async with _client(channel) as client:
        bodies = [await client.get(URL, limit=2), await client.get("https://10.0.0.1:10250/stats/summary?a=b", limit=2)]

    assert [b"ok", b"ok"] == bodies
    assert channel.sent[1] == (
        b"GET /stats/summary?a=b HTTP/1.1\r\nHost: 10.0.0.1:10250\r\nUser-Agent: kubeglance\r\nAccept: */*\r\n"
        b"Accept-Encoding: identity\r\nAuthorization: Bearer t\r\n\r\n"
    )
    assert channel.closed


async def test_without_a_credential_no_header_is_sent() -> None:
    """Who authenticates by certificate has no token."""
    channel = _Channel(OK)
    async with _client(channel, credentials=FixedCredentials()) as client:
        await client.get(URL, limit=2)

    assert b"Authorization" not in channel.sent[0]


@pytest.mark.parametrize(
    ("url", "dialled"),
    [
        pytest.param("https://10.0.0.1:10250/x", ("10.0.0.1", 10250), id="IPv4"),
        pytest.param("https://[fd00::1]:443/x", ("fd00::1", 443), id="IPv6"),
        pytest.param("https://node-a.example:10250/x", ("node-a.example", 10250), id="name"),
    ],
)
async def test_where_a_url_leads(url: str, dialled: tuple[str, int]) -> None:
    """Hosts are dialled without brackets."""
    dialer = _Dialer(_Channel(OK))
    client = KubeletClient(dialer, FixedCredentials(), keepalive=30, connect_timeout=4)
    await client.get(url, limit=2)
    await client.aclose()

    assert ([dialled], True) == (dialer.dialled, dialer.closed)


async def test_a_stale_connection_costs_one_new_one() -> None:
    """The kubelet closed it while our request was on its way: that is no failure of the kubelet."""
    stale, fresh = _Channel(OK, b""), _Channel(OK)
    async with _client(stale, fresh) as client:
        await client.get(URL, limit=2)
        assert b"ok" == await client.get(URL, limit=2)

        assert (True, False) == (stale.closed, fresh.closed)


@pytest.mark.parametrize(
    "second", [pytest.param([OK[:20], b""], id="an answer had begun"), pytest.param([OSError(5, "I/O")], id="not closed")]
)
async def test_what_is_not_stale_is_not_tried_again(second: Sequence[Step]) -> None:
    """Only a connection that ended before anything came says nothing of the kubelet."""
    async with _client(_Channel(OK, *second), _Channel(OK)) as client:
        await client.get(URL, limit=2)
        with pytest.raises(CollectError):
            await client.get(URL, limit=2)


async def test_a_kubelet_that_closes_every_connection_fails() -> None:
    """There is one second try, on a new connection."""
    async with _client(_Channel(OK, b""), _Channel(b""), _Channel(OK)) as client:
        await client.get(URL, limit=2)
        with pytest.raises(CollectError) as caught:
            await client.get(URL, limit=2)

    assert Cause.CLOSED is caught.value.cause


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        pytest.param(OK, True, id="a whole answer"),
        pytest.param(_status(403), True, id="a whole refusal"),
        pytest.param(OK.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"), False, id="the kubelet will close"),
        pytest.param(OK + b"more", False, id="more than one answer"),
        pytest.param(b"HTTP/1.1 403 No\r\nContent-Length: 9\r\n\r\n", False, id="half a refusal"),
    ],
)
async def test_a_connection_is_kept_if_it_can_carry_another_request(answer: bytes, kept: bool) -> None:
    """Nothing of one answer may be taken for the next."""
    channel = _Channel(answer)
    async with _client(channel) as client:
        with suppress(CollectError):
            await client.get(URL, limit=2)

        assert kept is not channel.closed


async def test_a_connection_that_nobody_uses_is_closed() -> None:
    """Before the kubelet does it."""
    channel, second = _Channel(OK, OK), _Channel(OK)
    async with _client(channel, second) as client:
        await client.get(URL, limit=2)
        await asyncio.sleep(29)
        await client.get(URL, limit=2)
        await asyncio.sleep(29)
        before = channel.closed
        await asyncio.sleep(2)
        assert (False, True) == (before, channel.closed)

        assert b"ok" == await client.get(URL, limit=2)


async def test_a_connection_that_ends_while_it_rests_is_closed() -> None:
    """The kubelet restarted: the next scrape begins with a new connection."""
    channel, second = _Channel(OK), _Channel(OK)
    async with _client(channel, second) as client:
        await client.get(URL, limit=2)
        assert channel.ended is not None
        channel.ended()

        assert channel.closed
        assert b"ok" == await client.get(URL, limit=2)
        await asyncio.sleep(100)


async def test_requests_do_not_wait_for_each_other() -> None:
    """A slow summary holds up no resource metrics. Of two connections the one that was used last goes first, so the other ends."""
    slow, quick = _Channel(5.0, OK, OK), _Channel(OK)
    async with _client(slow, quick) as client:
        async with asyncio.TaskGroup() as group:
            group.create_task(client.get(URL, limit=2))
            await asyncio.sleep(1)
            await client.get(URL, limit=2)
            assert 1 == asyncio.get_running_loop().time()
        await asyncio.sleep(20)
        await client.get(URL, limit=2)
        await asyncio.sleep(10)

        assert (2, 1) == (len(slow.sent), len(quick.sent))
        assert (False, True) == (slow.closed, quick.closed)


async def test_a_deadline_closes_the_connection() -> None:
    """What is left of a late answer must not be taken for the next one."""
    dripping = _Channel(OK[:10], *(step for byte in OK[10:] for step in (1.0, bytes([byte]))))
    async with _client(dripping) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await client.get(URL, limit=2)

        assert dripping.closed


async def test_a_401_is_tried_once_more_with_a_new_token() -> None:
    """A rotated token costs no failed request."""
    tokens = ["Bearer old", "Bearer new"]
    credentials = RenewingCredentials(lambda: tokens.pop(0), LoopClock())
    await credentials.header()
    await asyncio.sleep(10)
    channel = _Channel(_status(401), OK)
    async with _client(channel, credentials=credentials) as client:
        body = await client.get(URL, limit=2)

    assert b"ok" == body
    assert [b"old", b"new"] == [sent.partition(b"Bearer ")[2].partition(b"\r\n")[0] for sent in channel.sent]


async def test_a_401_with_an_unchanged_token_is_not_repeated() -> None:
    """The same token would get the same answer."""
    channel = _Channel(_status(401), OK)
    async with _client(channel) as client:
        with pytest.raises(CollectError):
            await client.get(URL, limit=2)

    assert 1 == len(channel.sent)
