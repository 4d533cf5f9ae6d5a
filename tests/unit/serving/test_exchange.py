"""How an answer is written: in as few writes as may be, in the framing that its headers say, and never with a header that is none."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest
from uvicorn.protocols.http.flow_control import FlowControl

from app.serving.exchange import TOGETHER, Exchange, Heads

OK = b"HTTP/1.1 200 OK\r\n"
Headers = Sequence[tuple[bytes, bytes]]


class Writes(asyncio.Transport):
    """Keeps each write."""

    def __init__(self) -> None:
        super().__init__()
        self.each: list[bytes] = []
        self.closed = False

    def write(self, data: Any) -> None:
        self.each.append(bytes(data))

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


def exchange(method: str = "GET", *, keep_alive: bool = True, defaults: Headers = ()) -> tuple[Exchange, Writes]:
    transport = Writes()
    logger = logging.getLogger("test")
    made = Exchange(
        scope={"type": "http", "method": method},  # type: ignore[typeddict-item]  # the rest is not looked at
        transport=transport,
        flow=FlowControl(transport),
        logger=logger,
        access_logger=logger,
        access_log=False,
        default_headers=list(defaults),
        message_event=asyncio.Event(),
        expect_100_continue=False,
        keep_alive=keep_alive,
        on_response=lambda: None,
    )
    return made, transport


async def answered(made: Exchange, headers: Headers, *bodies: bytes, status: int = 200) -> None:
    await made.send({"type": "http.response.start", "status": status, "headers": headers})
    for number, body in enumerate(bodies, 1):
        await made.send({"type": "http.response.body", "body": body, "more_body": number < len(bodies)})


def length(size: int) -> Headers:
    return ((b"content-length", b"%d" % size),)


@pytest.mark.parametrize(
    ("headers", "bodies", "writes"),
    [
        pytest.param(length(2), [b"hi"], [OK + b"content-length: 2\r\n\r\nhi"], id="short: one write"),
        pytest.param(length(0), [b""], [OK + b"content-length: 0\r\n\r\n"], id="empty"),
        pytest.param(length(4), [b"hi", b"ho"], [OK + b"content-length: 4\r\n\r\nhi", b"ho"], id="parts"),
        pytest.param(length(2), [b"hi", b""], [OK + b"content-length: 2\r\n\r\nhi"], id="an end of nothing"),
        pytest.param(length(TOGETHER), [b"x" * TOGETHER], [OK + b"content-length: 65536\r\n\r\n", b"x" * TOGETHER], id="long: not copied"),
        pytest.param(
            (), [b"hi", b"ho", b""], [OK + b"transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n", b"2\r\nho\r\n", b"0\r\n\r\n"], id="chunks"
        ),
        pytest.param((), [b"hi"], [OK + b"transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"], id="one chunk"),
        pytest.param((), [b"", b"hi"], [OK + b"transfer-encoding: chunked\r\n\r\n", b"2\r\nhi\r\n0\r\n\r\n"], id="no chunk of nothing"),
    ],
)
async def test_writes(headers: Headers, bodies: list[bytes], writes: list[bytes]) -> None:
    """The head comes with the first part of the body; a part of nothing is no write."""
    made, transport = exchange()
    await answered(made, headers, *bodies)

    assert (writes, True, False) == (transport.each, made.response_complete, transport.closed)


async def test_the_head_waits_for_the_body() -> None:
    """Nothing is written before there is something of the body, and nothing of an answer that never gets one."""
    made, transport = exchange()
    await answered(made, length(2))

    assert ([], True, False) == (transport.each, made.response_started, made.response_complete)


@pytest.mark.parametrize(("method", "status", "headers"), [("HEAD", 200, length(2)), ("HEAD", 200, ()), ("GET", 304, ()), ("GET", 204, ())])
async def test_heads_alone(method: str, status: int, headers: Headers) -> None:
    """What has no body has no framing for one but what it says itself."""
    made, transport = exchange(method)
    await answered(made, headers, b"hi" if method == "HEAD" else b"", status=status)

    (written,) = transport.each
    assert written.endswith(b"\r\n\r\n")
    assert b"transfer-encoding" not in written
    assert made.response_complete


@pytest.mark.parametrize(
    ("keep_alive", "headers", "closed"),
    [
        (True, (), False),
        (False, (), True),
        (True, ((b"connection", b"close"),), True),
        (True, ((b"Connection", b"x, Close"),), True),
        (True, ((b"connection", b"keep-alive"),), False),
        (False, ((b"connection", b"close"),), True),
    ],
)
async def test_the_end_of_a_connection(keep_alive: bool, headers: Headers, closed: bool) -> None:
    """It is told once, by the answer or for it."""
    made, transport = exchange(keep_alive=keep_alive)
    await answered(made, (*length(0), *headers), b"")

    assert (closed, int(closed)) == (transport.closed, transport.each[0].lower().count(b"close"))


async def test_the_headers_of_all_answers() -> None:
    """Those of the server, such as Date, come first."""
    made, transport = exchange(defaults=[(b"date", b"now")])
    await answered(made, length(0), b"")

    assert [OK + b"date: now\r\ncontent-length: 0\r\n\r\n"] == transport.each


def test_what_answers_have_alike_is_encoded_once() -> None:
    """As long as the headers of all are the same; each answer has its own header, length and body."""
    heads, now, later = Heads(), [(b"date", b"now")], [(b"date", b"later")]
    alike = ((b"a", b"b"),)

    assert OK + b"date: now\r\na: b\r\nid: 1\r\ncontent-length: 2\r\n\r\nhi" == heads.encode(now, (alike, (b"id", b"1"), b"hi"))
    assert OK + b"date: now\r\na: b\r\nid: 2\r\ncontent-length: 0\r\n\r\n" == heads.encode(now, (alike, (b"id", b"2"), b""))
    assert OK + b"date: later\r\na: b\r\nid: 3\r\ncontent-length: 0\r\n\r\n" == heads.encode(later, (alike, (b"id", b"3"), b""))
    assert OK + b"date: later\r\nid: 4\r\ncontent-length: 0\r\n\r\n" == heads.encode(later, ((), (b"id", b"4"), b""))


@pytest.mark.parametrize("header", [(b"a", b"b\r\nc: d"), (b"a", b"b\n"), (b"a\r\n", b"b"), (b"a", b"\r")])
def test_a_line_break_in_what_is_there_is_refused(header: tuple[bytes, bytes]) -> None:
    """Be it in what answers have alike or in one's own."""
    for answer in (((header,), (b"id", b"1"), b""), ((), header, b"")):
        with pytest.raises(RuntimeError, match="line break"):
            Heads().encode([], answer)


@pytest.mark.parametrize("header", [(b"a", b"b\r\nc: d"), (b"a", b"b\n"), (b"a\r\n", b"b"), (b"a", b"\r")])
async def test_a_line_break_in_a_header_is_refused(header: tuple[bytes, bytes]) -> None:
    """Else a value that came from a client could become a header, or an answer, of its own."""
    made, transport = exchange()
    with pytest.raises(RuntimeError, match="line break"):
        await answered(made, (header,), b"")

    assert [] == transport.each


@pytest.mark.parametrize("bodies", [[b"hi!"], [b"h"], [b"hi", b"!"]], ids=["too long", "too short", "too long in parts"])
async def test_a_body_of_another_length_is_refused(bodies: list[bytes]) -> None:
    """The client would take its rest for the next answer, or wait for ever."""
    made, _ = exchange()
    with pytest.raises(RuntimeError, match="Content-Length"):
        await answered(made, length(2), *bodies)


async def test_the_order_of_messages() -> None:
    """A start, then bodies, then nothing more."""
    early, _ = exchange()
    with pytest.raises(RuntimeError, match="start"):
        await early.send({"type": "http.response.body", "body": b"", "more_body": False})
    late, _ = exchange()
    await answered(late, length(0), b"")
    with pytest.raises(RuntimeError, match="complete"):
        await late.send({"type": "http.response.body", "body": b"", "more_body": False})


async def test_who_is_gone_is_told_nothing() -> None:
    """A peer that left gets no writes. What has more to send learns of it, and need not make it."""
    made, transport = exchange()
    made.disconnected = True
    await answered(made, length(2), b"hi")
    with pytest.raises(ConnectionResetError):
        await answered(made, (), b"hi", b"ho")

    assert [] == transport.each
