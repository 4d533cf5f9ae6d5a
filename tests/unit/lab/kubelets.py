"""Kubelets that answer what the script says, in every way in which one can fail."""

import asyncio
import gzip
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

import httpx

from tests.fakes.dialing import Reply
from tests.fakes.replay import Stream

Answer = Callable[[httpx.Request], Awaitable[Reply]]
LIGHT, FULL = "/metrics/resource", "/stats/summary"


class Kubelets:
    """All kubelets of a cluster, by (address, path). What was never scripted is 404."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], Answer] = {}
        self.asked: list[tuple[float, str, str]] = []
        """(second, address, path) of every request."""

    async def __call__(self, request: httpx.Request) -> Reply:
        self.asked.append((round(asyncio.get_running_loop().time(), 1), request.url.host, request.url.path))
        return await self.answers.get((request.url.host, request.url.path), status(404))(request)


async def _pieces(pieces: Iterable[bytes], pause: float = 0) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
        await asyncio.sleep(pause)


def body(content: bytes | str, *, after: float = 0, headers: dict[str, str] | None = None) -> Answer:
    """200 with `content`, `after` so many seconds."""
    data = content.encode() if isinstance(content, str) else content

    async def answer(_request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(after)
        return httpx.Response(200, headers=headers, stream=Stream(_pieces([data])))

    return answer


def status(code: int, **headers: str) -> Answer:
    """That status and words for it."""

    async def answer(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(code, headers=headers, content=b"trouble at https://10.0.0.1\n")

    return answer


def raises(error: OSError) -> Answer:
    """The connection fails."""

    async def answer(_request: httpx.Request) -> Reply:
        raise error

    return answer


def says(content: bytes) -> Answer:
    """These bytes, and the connection ends."""

    async def answer(_request: httpx.Request) -> Reply:
        return content

    return answer


def drip(content: str) -> Answer:
    """A byte a second: no read ever times out, and the answer never ends."""

    async def answer(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=Stream(_pieces((bytes([byte]) for byte in content.encode()), pause=1)))

    return answer


def cut(content: str) -> Answer:
    """The first two thirds of `content`, as if that were all: HTTP tells nothing of what is missing."""

    async def answer(_request: httpx.Request) -> httpx.Response:
        data = content.encode()
        return httpx.Response(200, stream=Stream(_pieces([data[: len(data) * 2 // 3]])))

    return answer


class Flood:
    """100 MB in pieces of 1 MB; `sent` counts them, so that a test sees how many were taken."""

    def __init__(self) -> None:
        self.sent = 0

    async def __call__(self, _request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=Stream(_pieces(self._megabytes())))

    def _megabytes(self) -> Iterable[bytes]:
        for _ in range(100):
            self.sent += 1
            yield b"# nothing\n" * 100_000


BOMB = gzip.compress(bytes(16 * 1024 * 1024))
"""16 KB that would become 16 MB."""


def _x509(why: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = why
    return error


DOWN = raises(ConnectionRefusedError(111, "Connection refused"))
HANGS = body("", after=3600)
FAULTS: dict[str, tuple[str, Answer]] = {
    "down": ("dial", DOWN),
    "no route": ("dial", raises(OSError(113, "No route to host"))),
    "no such host": ("dns", raises(socket.gaierror(-2, "Name or service not known"))),
    "hangs": ("deadline", HANGS),
    "drips": ("deadline", drip("# a kubelet that never comes to its point\n" * 9)),
    "connection reset": ("closed", raises(ConnectionResetError(104, "Connection reset by peer"))),
    "closed without an answer": ("closed", says(b"")),
    "truncated": ("closed", says(b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n" + b"x" * 60)),
    "401": ("unauthorized", status(401)),
    "403": ("forbidden", status(403)),
    "404": ("not_found", status(404)),
    "429": ("status", status(429)),
    "500": ("status", status(500)),
    "503": ("status", status(503)),
    "204 without a body": ("status", status(204)),
    "redirect": ("status", status(302, location="https://evil.example/metrics/resource")),
    "garbage": ("payload", body(bytes(range(256)) * 40)),
    "another program": ("payload", body("<html><body>It works!</body></html>")),
    "an empty answer": ("payload", body("")),
    "scrape_error 1": ("payload", body("resource_scrape_error 1\nscrape_error 1\n")),
    "a gzip bomb": ("encoding", body(BOMB, headers={"content-encoding": "gzip"})),
    "100 MB": ("too_large", Flood()),
    "not HTTP": ("payload", says(b"SSH-2.0-OpenSSH_9.6\r\n")),
    "x509: unknown authority": ("certificate", raises(_x509("unable to get local issuer certificate"))),
    "x509: no such SAN": ("certificate", raises(_x509("IP address mismatch, certificate is not valid for '10.0.0.1'"))),
    "x509: expired": ("certificate", raises(_x509("certificate has expired"))),
    "no TLS there": ("certificate", raises(ssl.SSLError(1, "wrong version number"))),
}
"""Every way to fail: the cause that is told of it, and the answer."""
