"""Answers: what an endpoint returns, and how it goes over the wire (pieces with drain, HEAD, common headers)."""

from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import aclosing
from itertools import count
from random import getrandbits
from typing import Any
from uuid import UUID

from msgspec import Struct

from app.routes.live import LiveAnswers

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Chunks = AsyncGenerator[bytes, None]
Whole = tuple[tuple[tuple[bytes, bytes], ...], tuple[bytes, bytes], bytes]
"""An answer with status 200 as app/serving/exchange.py takes it: headers that many have, one that is its own, and the body."""

PIECE = 64 * 1024
"""Bytes written at once. The server drains between pieces, so that a slow reader costs one piece and not the whole body."""

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
_NO_CACHE = (b"cache-control", b"no-cache, private")
_OWN_UUID = str(UUID(int=getrandbits(128) & ~(0xF << 76 | 0x3 << 62) | 0x8 << 76 | 0x2 << 62))[:-12]
_numbers = count()
_ALIKE: dict[str, tuple[tuple[bytes, bytes], ...]] = {}
"""The headers that all answers of a content type have which is served; there are few."""
NO_SNIFF = ("x-content-type-options", "nosniff")


class Answer(Struct, frozen=True):
    """A response. Its body is `body`, or what `stream` gives, which has `length` bytes, -1 if nobody knows: it goes in chunks then.

    What a stream gives goes out in pieces of PIECE bytes; with `live`, which bounds it, each at once.

    `headers` come on top of audit-id and, unless they set one, `Cache-Control: no-cache, private`.
    """

    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()
    stream: Chunks | None = None
    length: int = -1
    live: LiveAnswers | None = None


async def send_answer(scope: Scope, send: Send, answer: Answer) -> None:
    """Send the answer. A body over PIECE bytes goes in pieces; HEAD has the headers only."""
    body, stream = answer.body, answer.stream
    length = len(body) if stream is None else answer.length
    await send({"type": "http.response.start", "status": answer.status, "headers": _headers(scope, answer, length)})
    if scope["method"] == "HEAD" or answer.status == 304:
        if stream is not None:
            await stream.aclose()
        await send({"type": "http.response.body", "body": b""})
        return
    if stream is not None and answer.live is not None:
        async with answer.live.bounded(scope), aclosing(stream) as pieces:
            await send({"type": "http.response.body", "body": b"", "more_body": True})  # the head, before there is anything to say
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    elif stream is not None:
        async with aclosing(gather(stream)) as pieces:
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    elif length > PIECE:
        for start in range(0, length, PIECE):
            await send({"type": "http.response.body", "body": body[start : start + PIECE], "more_body": True})
        body = b""
    await send({"type": "http.response.body", "body": body})


def _headers(scope: Scope, answer: Answer, length: int) -> list[tuple[bytes, bytes]]:
    headers = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in answer.headers]
    if not any(name == _NO_CACHE[0] for name, _ in headers):
        headers.append(_NO_CACHE)
    headers.append((b"audit-id", audit_id(scope).encode()))
    if answer.content_type:
        headers.append((b"content-type", answer.content_type.encode("latin-1")))
    if answer.status != 304 and length >= 0:
        headers.append((b"content-length", b"%d" % length))
    return headers


def ready(scope: Scope, answer: Answer) -> Whole:
    """An answer that is there, with nothing of its own among its headers but their audit-id and content-length."""
    alike = _ALIKE.get(answer.content_type)
    if alike is None:
        alike = _ALIKE[answer.content_type] = (_NO_CACHE, (b"content-type", answer.content_type.encode("latin-1")))
    return alike, (b"audit-id", audit_id(scope).encode()), answer.body


async def gather(stream: Chunks) -> Chunks:
    """The chunks as pieces of PIECE bytes; the last one is shorter."""
    pending: list[bytes] = []
    size = 0
    async with aclosing(stream) as chunks:
        async for chunk in chunks:
            pending.append(chunk)
            size += len(chunk)
            if size >= PIECE:
                joined = b"".join(pending)
                whole = size - size % PIECE
                for start in range(0, whole, PIECE):
                    yield joined[start : start + PIECE]
                pending = [joined[whole:]]
                size -= whole
    if size:
        yield b"".join(pending)


def header(scope: Scope, name: bytes) -> str:
    """The first value of a request header (lower-case name), "" if absent."""
    for key, value in scope["headers"]:
        if key == name:
            text: str = value.decode("latin-1")
            return text
    return ""


def joined_header(scope: Scope, name: bytes) -> str:
    """All values of a request header that is a list, joined by commas (RFC 9110, 5.3)."""
    return ",".join([value.decode("latin-1") for key, value in scope["headers"] if key == name])


def audit_id(scope: Scope) -> str:
    """The request's Audit-ID, or one made for it; the same for the whole request."""
    known = scope.get("kubeglance.audit_id")
    if known is None:
        given = header(scope, b"audit-id")
        known = given if given and len(given) <= 64 and given.isascii() and given.isprintable() else _uuid()
        scope["kubeglance.audit_id"] = known
    text: str = known
    return text


def _uuid() -> str:
    """A UUID (RFC 9562, version 8): what is this process's own, drawn at random, and a number.

    Each answer has one, and a random one would be a thirtieth of what a get costs. It names a request and is no secret.
    """
    return f"{_OWN_UUID}{next(_numbers):012x}"


def query_of(scope: Scope) -> bytes:
    """The raw query string, b"" if there is none."""
    raw: bytes = scope.get("query_string", b"")
    return raw
