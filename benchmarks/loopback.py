"""The little of an HTTP server that a simulated peer needs: keep-alive, whole requests, answers that are bytes already.

Only for programs on loopback that are known to behave: nothing here is bounded, and what is no HTTP/1.1 with a Content-Length is cut off.
"""

import asyncio
import re
from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple, cast


class Request(NamedTuple):
    """One request. `head` holds the header lines as they came, each behind a CRLF."""

    method: str
    target: str
    head: bytes
    body: bytes

    def header(self, name: str) -> str:
        """The value of a header, "" if it was not sent."""
        found = _header(name).search(self.head)
        return found[1].decode("latin-1") if found else ""


@lru_cache
def _header(name: str) -> re.Pattern[bytes]:
    return re.compile(rb"\r\n%b:[ \t]*([^\r]*)" % re.escape(name.encode()), re.IGNORECASE)


Answer = Callable[[Request, asyncio.Transport], bytes]
"""From a request to all the bytes of its response. What goes on answering later writes to the transport itself."""


class Connection(asyncio.Protocol):
    """One connection; `answer` is asked once for each request, in their order."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # those of uvloop are no subclasses

    def data_received(self, data: bytes) -> None:
        self._received += data
        while self._transport is not None and (request := self._whole()) is not None:
            self._transport.write(self._answer(request, self._transport))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # asyncio gives it; a client that leaves is no news
        self._transport = None

    def _whole(self) -> Request | None:
        """The first request that has arrived as a whole."""
        head, end, rest = self._received.partition(b"\r\n\r\n")
        if not end:
            return None
        line, _, lines = head.partition(b"\r\n")
        method, target, _ = line.decode("latin-1").split(" ")
        request = Request(method, target, b"\r\n" + lines, b"")
        length = int(request.header("Content-Length") or 0)
        if len(rest) < length:
            return None
        self._received = rest[length:]
        return request._replace(body=rest[:length]) if length else request


def response(status: int, content_type: str, body: bytes, *headers: str) -> bytes:
    """A whole response; `headers` are more lines for its head."""
    lines = (f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", f"Content-Type: {content_type}", f"Content-Length: {len(body)}", *headers)
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
