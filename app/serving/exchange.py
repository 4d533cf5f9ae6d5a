"""One request and its answer: uvicorn's cycle, with a short answer as one write.

A head that is written alone is a TLS record, and a call of the system or two, of its own: a sixth of what a short answer costs.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

Header = tuple[bytes, bytes]
"""Name, in lower case as ASGI asks for, and value."""

TOGETHER = 64 * 1024
"""Head and body that are written together; of a longer body the copy would cost more than the second write."""


class Exchange(RequestResponseCycle):
    """What it overrides: `send`. The head waits for the first part of the body, as ASGI allows. `whole` is what a short answer needs."""

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

    def whole(self, status: int, headers: Sequence[Header], body: bytes) -> bool:
        """Take an answer with all its body, where nothing has to be waited for; False if it has to be sent."""
        if self.response_started or self.disconnected or self.flow.write_paused:
            return False
        self._keep_head(status, headers)
        self._write_body(body, more=False)
        return True

    def _keep_head(self, status: int, headers: Iterable[Header]) -> None:
        self.response_started = True
        self.waiting_for_100_continue = False
        headers = (*self.default_headers, *headers)
        lines = [STATUS_LINE[status], *[b"%b: %b\r\n" % header for header in headers]]
        told = dict(headers)
        if b"connection" in told and b"close" in [token.strip() for token in told[b"connection"].lower().split(b",")]:
            self.keep_alive = False
        elif not self.keep_alive:
            lines.append(b"connection: close\r\n")
        if b"content-length" in told:
            self.chunked_encoding, self.expected_content_length = False, int(told[b"content-length"])
        elif self.scope["method"] != "HEAD" and status not in {204, 304}:
            self.chunked_encoding = True
            lines.append(b"transfer-encoding: chunked\r\n")
        head = b"".join(lines)
        if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines):
            raise RuntimeError("a header has a line break in it")
        self._head = head + b"\r\n"

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
