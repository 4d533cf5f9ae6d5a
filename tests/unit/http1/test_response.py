import gc
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.http1.response import NotHTTPError, Response, TruncatedError

_HEAD = b"HTTP/1.1 200 OK\r\n"

WHOLE = [
    pytest.param(_HEAD + b"Content-Length: 2\r\n\r\nok", (200, b"ok", True), id="a length"),
    pytest.param(_HEAD + b"Content-Length: 0\r\n\r\n", (200, b"", True), id="nothing, of a known length"),
    pytest.param(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\no\r\n1;x=y\r\nk\r\n0\r\n\r\n", (200, b"ok", True), id="chunks"),
    pytest.param(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nA: b\r\n\r\n", (200, b"ok", True), id="trailers"),
    pytest.param(_HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\nok", (200, b"ok", False), id="the server will close"),
    pytest.param(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", (200, b"ok", False), id="HTTP/1.0 keeps nothing"),
    pytest.param(_HEAD + b"Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\nmore", (200, b"ok", False), id="a second response unasked"),
    pytest.param(_HEAD + b"Content-Length: 2\r\n\r\nok\x00rubbish", (200, b"ok", False), id="rubbish after the end"),
    pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + _HEAD + b"Content-Length: 2\r\n\r\nok", (200, b"ok", True), id="a 100 first"),
    pytest.param(
        b"HTTP/1.1 103 Early Hints\r\nContent-Encoding: gzip\r\n\r\n" * 3 + _HEAD + b"Content-Length: 2\r\n\r\nok",
        (200, b"ok", True),
        id="hints first, of which nothing counts",
    ),
    pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", (204, b"", True), id="204 has no body"),
    pytest.param(b"HTTP/1.1 503 \xff\x1b[31m\r\nContent-Length: 2\r\n\r\nno", (503, b"no", True), id="hostile words of a status"),
    pytest.param(b"HTTP/1.1 599\r\nContent-Length: 2\r\n\r\nno", (599, b"no", True), id="a status without words"),
]


def _fed(data: bytes, size: int) -> Response:
    response = Response()
    for start in range(0, len(data), size):
        response.feed(data[start : start + size])
    return response


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(("data", "expected"), WHOLE)
def test_a_whole_response(data: bytes, expected: tuple[int, bytes, bool], size: int) -> None:
    """Status, body, and whether the connection can carry another request; however the bytes arrive."""
    response = _fed(data, size)

    assert response.complete
    assert expected == (response.status, response.take(), response.reusable)
    assert ("identity", len(expected[1]), len(data)) == (response.encoding, response.size, response.received)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"HTTP/1.1 200", id="within the status"),
        pytest.param(_HEAD + b"A: b\r\n", id="within the head"),
        pytest.param(_HEAD + b"Content-Length: 3\r\n\r\nok", id="short of the length"),
        pytest.param(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", id="without the last chunk"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n", id="after a 100"),
    ],
)
def test_a_connection_that_ends_too_early(data: bytes) -> None:
    """Half an answer is none."""
    response = _fed(data, 1000)

    assert not response.complete
    with pytest.raises(TruncatedError):
        response.end()


def test_a_body_that_ends_with_the_connection() -> None:
    """Neither length nor chunks: the end of the connection is the end of the body, and the connection carries no other."""
    response = _fed(_HEAD + b"A: b\r\n\r\nok", 3)
    before = response.complete
    response.end()

    assert (False, True, b"ok", False) == (before, response.complete, response.take(), response.reusable)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", id="another protocol"),
        pytest.param(b"\x15\x03\x01\x00\x02\x02\x46", id="TLS within TLS"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="a request"),
        pytest.param(b"HTTP/1.1 abc\r\n\r\n", id="no status"),
        pytest.param(_HEAD + b"Content-Length: -1\r\n\r\n", id="a negative length"),
        pytest.param(_HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", id="two lengths"),
        pytest.param(_HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", id="a length and chunks"),
        pytest.param(_HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", id="a chunk of no size"),
        pytest.param(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", id="an upgrade nobody asked for"),
        pytest.param(_HEAD + b"A: " + b"x" * 70_000, id="an endless header"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" * 3000, id="endless 100s"),
        pytest.param(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\no\r\n0\r\nA: " + b"x" * 70_000, id="an endless trailer"),
        pytest.param(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 70_000, id="an endless chunk extension"),
        pytest.param(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"6\r\n123456\r\n" * 20_000, id="a body in crumbs"),
    ],
)
def test_what_is_no_response(data: bytes) -> None:
    """It is refused, and what is kept of it is bounded."""
    with pytest.raises(NotHTTPError):
        _fed(data, 1000)


def test_a_body_in_crumbs_that_is_handed_on() -> None:
    """Lines of a log that is followed are chunks of a few bytes, for hours; what is handed on piles up nowhere."""
    response = _fed(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", 1000)
    for _ in range(2_000):
        response.feed(b"6\r\n12345\n\r\n" * 100)
        assert b"12345\n" * 100 == response.hand_on()
    with pytest.raises(NotHTTPError):
        response.feed(b"6\r\n12345\n\r\n" * 20_000)


def test_the_content_encoding_is_told() -> None:
    """Whoever asks decides about it; a trailer says nothing any more."""
    response = _fed(_HEAD + b"content-ENCODING: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Encoding: x\r\n\r\n", 1000)

    assert "gzip" == response.encoding


def test_a_closed_response_is_freed_at_once() -> None:
    """Bodies are large, and garbage collection comes seldom."""
    response = _fed(_HEAD + b"Content-Length: 2\r\n\r\nok", 1000)
    response.close()
    gc.disable()
    try:
        gone = weakref.ref(response)
        del response
        assert gone() is None
    finally:
        gc.enable()


@given(st.binary(max_size=200), st.binary(max_size=300), st.integers(1, 50))
def test_no_bytes_crash_it(head: bytes, rest: bytes, size: int) -> None:
    """Whatever comes, it is a response, the start of one, or NotHTTPError."""
    for data in (rest, _HEAD + head + b"\r\n\r\n" + rest, _HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + rest):
        try:
            response = _fed(data, size)
        except NotHTTPError:
            continue
        assert len(response.take()) == response.size <= response.received == len(data)


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=8), st.integers(1, 60), st.booleans())
def test_borders_do_not_matter(pieces: list[bytes], size: int, chunked: bool) -> None:
    """A body comes out as it went in, however it was cut."""
    body = b"".join(pieces)
    if chunked:
        chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
        data = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    else:
        data = _HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    response = _fed(data, size)

    assert (True, body, True) == (response.complete, response.take(), response.reusable)
