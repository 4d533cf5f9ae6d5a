"""One request and its answer: uvicorn's cycle, with a short answer as one write.

A head that is written alone is a TLS record, and a call of the system or two, of its own: a sixth of what a short answer costs.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from uvicorn._types import ASGISendEvent, HTTPScope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

Header = tuple[bytes, bytes]
"""Name and value."""

TOGETHER = 64 * 1024
"""Head and body that are written together; of a longer body the copy would cost more than the second write."""


_TWO_HEADERS = "a header has a line break in it"

Whole = tuple[tuple[Header, ...], Header, bytes]
"""An answer that is there, with status 200: headers that many answers have, one that is its own, and the body."""


def encode_head(status: int, headers: Iterable[Header]) -> bytes:
    """What comes before a body. Raises RuntimeError for a header that would be two."""
    lines = [STATUS_LINE[status], *[b"%b: %b\r\n" % header for header in headers]]
    head = b"".join(lines)
    if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines):
        raise RuntimeError(_TWO_HEADERS)
    return head + b"\r\n"


class Heads:
    """Beginnings of heads: what answers have alike, with the headers of all, is encoded once a second, when the time of day among those is
    a new one."""

    def __init__(self) -> None:
        self._of: Sequence[Header] = ()
        self._known: dict[tuple[Header, ...], bytes] = {}

    def encode(self, defaults: Sequence[Header], answer: Whole) -> bytes:
        """The bytes of an answer. `defaults` are the headers of all, in the same object as long as they are the same.

        Raises RuntimeError for a header that would be two.
        """
        alike, own, body = answer
        if self._of is not defaults:
            self._of, self._known = defaults, {}
        head = self._known.get(alike)
        if head is None:
            head = self._known[alike] = encode_head(200, (*defaults, *alike))[:-2]
        line = b"%b: %b\r\n" % own
        if line.count(b"\n") != 1 or line.count(b"\r") != 1:
            raise RuntimeError(_TWO_HEADERS)
        return b"%b%bcontent-length: %d\r\n\r\n%b" % (head, line, len(body), body)


class Answered:
    """Stands for an exchange that was over when it began: what uvicorn asks of the last request of a connection."""

    response_started = response_complete = True
    disconnected = False

    def __init__(self) -> None:
        self.scope: HTTPScope | None = None
        self.message_event = asyncio.Event()


class Exchange(RequestResponseCycle):
    """What it overrides: `send`. The head waits for the first part of the body, as ASGI allows."""

    _head = b""

    async def send(self, message: ASGISendEvent) -> None:
        """Take the next part of the answer; waits while the peer takes none.

        Raises ConnectionResetError where there is more of it and the peer is gone, RuntimeError for what is no answer.
        """
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            if message.get("more_body"):
                raise ConnectionResetError("the peer is gone, and nobody would take the rest of the answer")
            return
        if self.response_complete:
            raise RuntimeError(f"the answer is complete, and there is {message['type']} behind it")
        expected = "http.response.body" if self.response_started else "http.response.start"
        if message["type"] != expected:
            raise RuntimeError(f"an answer goes on with {expected}, not with {message['type']}")
        parts: Any = message
        if self.response_started:
            self._write_body(parts.get("body", b""), more=parts.get("more_body", False))
        else:
            self._keep_head(parts["status"], parts.get("headers", ()))

    def _keep_head(self, status: int, headers: Iterable[Header]) -> None:
        self.response_started = True
        self.waiting_for_100_continue = False
        headers = [*self.default_headers, *headers]
        closes = False
        for name, value in headers:
            lower = name.lower()
            if lower == b"content-length":
                self.chunked_encoding, self.expected_content_length = False, int(value)
            elif lower == b"connection" and b"close" in [token.strip() for token in value.lower().split(b",")]:
                self.keep_alive, closes = False, True
        if not self.keep_alive and not closes:
            headers.append((b"connection", b"close"))
        if self.chunked_encoding is None and self.scope["method"] != "HEAD" and status not in {204, 304}:
            self.chunked_encoding = True
            headers.append((b"transfer-encoding", b"chunked"))
        self._head = encode_head(status, headers)

    def _write_body(self, body: bytes, *, more: bool) -> None:
        if self.scope["method"] == "HEAD":
            body, self.expected_content_length = b"", 0
        elif self.chunked_encoding:
            body = b"%b%b" % (b"%x\r\n%b\r\n" % (len(body), body) if body else b"", b"" if more else b"0\r\n\r\n")
        else:
            self.expected_content_length -= len(body)
            if self.expected_content_length < 0 or (self.expected_content_length and not more):
                raise RuntimeError("the body is not as long as Content-Length says")
        head, self._head = self._head, b""
        if head and len(head) + len(body) > TOGETHER:
            self.transport.write(head)
            head = b""
        if head or body:
            self.transport.write(head + body)
        if not more:
            self.response_complete = True
            self.message_event.set()
            if not self.keep_alive:
                self.transport.close()
            self.on_response()
