"""HTTP/1.1 by hand: what a server must have made of some bytes, and answers read so strictly that nothing odd gets through."""

import asyncio
import json
import re
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

import httptools

_STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-5]\d\d) [ -~]*")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9a-z-]+): ([\t -~\x80-\xff]*)")
PROTOBUF = b"application/vnd.kubernetes.protobuf"


class Asked(NamedTuple):
    """A request whose headers were understood."""

    method: bytes
    url: bytes
    headers: tuple[tuple[bytes, bytes], ...]


@dataclass
class Reading:
    """What a parser that is set up as the server's makes of a client's bytes."""

    begun: int = 0
    asked: list[Asked] = field(default_factory=list)
    ended: int = 0
    broken: bool = False
    """Whether the bytes are no HTTP from somewhere on, or ask for what is no HTTP any more (CONNECT, an upgrade)."""

    @property
    def between_requests(self) -> bool:
        return not self.broken and self.begun == len(self.asked) == self.ended


class _Listener:
    def __init__(self) -> None:
        self.reading = Reading()
        self.parser: httptools.HttpRequestParser
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []

    def on_message_begin(self) -> None:
        self.reading.begun += 1
        self._url, self._headers = b"", []

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self.reading.asked.append(Asked(self.parser.get_method(), self._url, tuple(self._headers)))

    def on_message_complete(self) -> None:
        self.reading.ended += 1


def read_requests(sent: bytes) -> Reading:
    """The requests in `sent`, as llhttp has them."""
    listener = _Listener()
    listener.parser = httptools.HttpRequestParser(listener)
    listener.parser.set_dangerous_leniencies(lenient_data_after_close=True)
    try:
        listener.parser.feed_data(sent)
    except (httptools.HttpParserError, httptools.HttpParserUpgrade):
        listener.reading.broken = True
    return listener.reading


class Answer(NamedTuple):
    status: int
    headers: dict[bytes, bytes]
    body: bytes


async def read_answer(reader: asyncio.StreamReader, *, head: bool | None) -> Answer | None:
    """The next answer; None where the server closed in place of one. Raises AssertionError for what is no well-formed answer.

    `head` is whether it answers HEAD; None if nobody can tell, as with a request that breaks off: then it is the last one. A close while
    the client still sends may destroy what is under way to it: that is TCP's, and counts as a close.
    """
    try:
        return await _read_answer(reader, head=head)
    except ConnectionError:
        return None


async def _read_answer(reader: asyncio.StreamReader, *, head: bool | None) -> Answer | None:
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as end:
        raw = end.partial
    if not raw:
        return None
    assert raw.endswith(b"\r\n\r\n"), raw
    line, *lines = raw[:-4].split(b"\r\n")
    matched = _STATUS_LINE.fullmatch(line)
    assert matched is not None, line
    pairs = [_HEADER.fullmatch(header) for header in lines]
    assert None not in pairs, lines
    headers = {pair[1]: pair[2] for pair in pairs if pair is not None}
    assert len(headers) == len(lines), lines
    assert b"content-encoding" not in headers
    assert b"transfer-encoding" not in headers
    length = 0 if matched[1] == b"304" else int(headers[b"content-length"])
    if head is None:
        body = await reader.read()
        assert len(body) in {0, length}, body
    else:
        body = b"" if head else await reader.readexactly(length)
    return Answer(int(matched[1]), headers, body)


def check_failure(answer: Answer, request: Asked | None, *, head: bool) -> None:
    """What is no success is a Status, in JSON, or in protobuf for who asked for it.

    Health tells its failures in plain text, and OpenAPI has a bare 406, both as kube-apiserver has them. `request` is None where it was not
    understood; `head` whether the answer has headers only.
    """
    path = unquote_to_bytes(request.url) if request is not None else b""
    accepts = b",".join(value for name, value in request.headers if name == b"accept") if request is not None else b""
    kind = answer.headers.get(b"content-type", b"")
    assert answer.status != 500, answer
    if any(root in path for root in (b"/healthz", b"/livez", b"/readyz")) and kind.startswith(b"text/plain"):
        return
    if b"/openapi/" in path and (406, b"", b"") == (answer.status, kind, answer.body):
        return
    if PROTOBUF in accepts and kind == PROTOBUF:
        assert head or answer.body.startswith(b"k8s\x00"), answer
        return
    assert kind == b"application/json", answer
    if head or (request is None and not answer.body):
        return
    status = json.loads(answer.body)
    told = (status["kind"], status["apiVersion"], status["status"], status["code"])
    assert told == ("Status", "v1", "Failure", answer.status), answer
    assert status["message"], answer
    assert status["reason"], answer
