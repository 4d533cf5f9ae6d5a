"""What can go wrong between us and a source: one cause each, told from the chain of exceptions."""

import socket
import ssl
from collections.abc import AsyncIterator, Callable

import aiohttp
import httpx
import pytest

from collectors._base import Cause, CollectError, Target
from collectors._transport import fetch

TARGET = Target("n1", "https://10.0.0.1:10250")
Handler = Callable[[httpx.Request], httpx.Response]


def client(handler: Handler) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.MockTransport(handler))


def caused_by(outer: Exception, inner: Exception) -> Handler:
    """A transport that fails as httpx-aiohttp does: an httpx error whose cause tells the truth."""

    def handler(_request: httpx.Request) -> httpx.Response:
        outer.__cause__ = inner
        raise outer

    return handler


def _certificate_error() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "self-signed certificate"
    return error


FAILURES = [
    pytest.param(caused_by(httpx.ConnectTimeout("x"), _certificate_error()), Cause.CERTIFICATE, "x509: self-signed", id="x509"),
    pytest.param(
        caused_by(httpx.ConnectTimeout("x"), ssl.SSLError(1, "wrong version number")), Cause.CERTIFICATE, "TLS", id="no TLS there"
    ),
    pytest.param(caused_by(httpx.ConnectTimeout("x"), socket.gaierror(-2, "Name or service not known")), Cause.DNS, "not known", id="DNS"),
    pytest.param(caused_by(httpx.ConnectTimeout("x"), ConnectionRefusedError(111, "refused")), Cause.DIAL, "refused", id="refused"),
    pytest.param(caused_by(httpx.ConnectError("x"), OSError(113, "No route to host")), Cause.DIAL, "No route", id="no route"),
    pytest.param(httpx.ConnectError("all failed"), Cause.DIAL, "all failed", id="connect error without a cause"),
    pytest.param(caused_by(httpx.ConnectTimeout("x"), ConnectionResetError(104, "reset")), Cause.CLOSED, "closed", id="reset"),
    pytest.param(caused_by(httpx.ReadError("x"), aiohttp.ClientPayloadError("x")), Cause.CLOSED, "closed", id="cut short"),
    pytest.param(httpx.RemoteProtocolError("x"), Cause.CLOSED, "closed", id="closed without an answer"),
    pytest.param(httpx.ReadTimeout("x"), Cause.DEADLINE, "timed out", id="read time-out"),
    pytest.param(
        aiohttp.ClientResponseError(None, (), status=400, message="x"),  # type: ignore[arg-type]  # aiohttp's own tests do so
        Cause.PAYLOAD,
        "not HTTP",
        id="not HTTP",
    ),
    pytest.param(lambda _: httpx.Response(401), Cause.UNAUTHORIZED, "401", id="401"),
    pytest.param(lambda _: httpx.Response(403), Cause.FORBIDDEN, "403", id="403"),
    pytest.param(lambda _: httpx.Response(404), Cause.NOT_FOUND, "404", id="404"),
    pytest.param(lambda _: httpx.Response(500), Cause.STATUS, "500 Internal Server Error", id="500"),
    pytest.param(
        lambda _: httpx.Response(599, extensions={"reason_phrase": b"\x1b[31m\xff"}), Cause.STATUS, "599$", id="hostile words of a status"
    ),
    pytest.param(
        lambda _: httpx.Response(302, headers={"location": "https://evil.example/"}), Cause.STATUS, "302", id="a redirect is not followed"
    ),
    pytest.param(
        lambda _: httpx.Response(200, headers={"content-encoding": "gzip"}, stream=Bytes(b"x")), Cause.ENCODING, "Encoding", id="gzip"
    ),
    pytest.param(lambda _: httpx.Response(200, stream=Bytes(b"x" * 60, b"y" * 60)), Cause.TOO_LARGE, "more than 100", id="too large"),
]


class Bytes(httpx.AsyncByteStream):
    """A body that comes in pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


@pytest.mark.parametrize(("failure", "cause", "text"), FAILURES)
async def test_each_failure_has_its_cause(failure: Handler | Exception, cause: Cause, text: str) -> None:
    """The error names what, where and a remedy, and is chained to what caused it."""

    def handler(request: httpx.Request) -> httpx.Response:
        if isinstance(failure, Exception):
            raise failure
        return failure(request)

    with pytest.raises(CollectError, match=text) as caught:
        await fetch(client(handler), TARGET, "/metrics/resource", limit=100)

    assert caught.value.cause is cause
    assert "https://10.0.0.1:10250/metrics/resource" in caught.value.message
    assert caught.value.remedy


async def test_a_body_is_returned_whole() -> None:
    """Pieces are joined."""
    body = await fetch(client(lambda _: httpx.Response(200, stream=Bytes(b"o", b"k"))), TARGET, "/x", limit=100)

    assert body == b"ok"
