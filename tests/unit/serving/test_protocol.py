"""The protocol's limits and refusals, over real sockets where closing matters, else with a transport of paper."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from app.auth.identity import PEER_KEY
from app.serving.dispatch import Dispatcher
from app.serving.peer import NO_PEER
from app.serving.protocol import (
    GOODBYE_SECONDS,
    HEADER_SECONDS,
    LIVE,
    MAX_BODY_BYTES,
    MAX_HEADER_BYTES,
    PIECE,
    REQUEST_SECONDS,
    KubeglanceProtocol,
)
from app.serving.server import KEEP_ALIVE, server_config
from app.serving.state import ServingState
from tests.unit.serving.loopback import LOOPS, connected, listening, run

GET = b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n"

both_loops = pytest.mark.parametrize("loop", LOOPS)


class Echo:
    """Answers with the path; keeps the scopes; `hold` delays the answers."""

    def __init__(self) -> None:
        self.scopes: list[Any] = []
        self.hold: asyncio.Event | None = None

    async def __call__(self, scope: Any, _receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        if self.hold is not None:
            await self.hold.wait()
        body = scope["path"].encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
        await send({"type": "http.response.body", "body": body})


class Paper(asyncio.Transport):
    """Keeps what is written. A peer that never answers: only abort ends the connection."""

    protocol: KubeglanceProtocol

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False
        self.aborted = False
        self.reading = True

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = self.aborted = True
        self.protocol.connection_lost(None)

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


def on_paper(app: Any) -> tuple[KubeglanceProtocol, Paper]:
    config = server_config(app, host="127.0.0.1", port=0, lifespan=False)
    config.load()
    protocol, transport = KubeglanceProtocol(config, ServingState(), {}, asyncio.get_running_loop()), Paper()
    transport.protocol = protocol
    protocol.connection_made(transport)
    return protocol, transport


@both_loops
@pytest.mark.parametrize(
    ("request_bytes", "status", "reason"),
    [
        pytest.param(b"rubbish\r\n\r\n", 400, "BadRequest", id="no HTTP"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "BadRequest", id="TLS to a plain port"),
        pytest.param(b"GET / HTTP/1.1\r\nBad Header: x\r\n\r\n", 400, "BadRequest", id="space in a header name"),
        pytest.param(b"GET / HTTP/1.1\r\nX: a\x00b\r\n\r\n", 400, "BadRequest", id="NUL in a header value"),
        pytest.param(b"GET /\xff HTTP/1.1\r\n\r\n", 400, "BadRequest", id="path not ASCII"),
        pytest.param(b"GET / HTTP/9.9\r\n\r\n", 400, "BadRequest", id="unknown version"),
        pytest.param(
            b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "BadRequest", id="two lengths"
        ),
        pytest.param(b"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 400, "BadRequest", id="upgrade, websocket"),
        pytest.param(
            b"GET / HTTP/1.1\r\nConnection: keep-alive, UPGRADE\r\nUpgrade: SPDY/3.1\r\n\r\n", 400, "BadRequest", id="upgrade, SPDY"
        ),
        pytest.param(b"GET / HTTP/1.1\r\nConnection: upgrade\r\n\r\n", 400, "BadRequest", id="upgrade to nothing"),
        pytest.param(b"CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", 400, "BadRequest", id="CONNECT"),
        pytest.param(
            b"GET / HTTP/1.1\r\nX: " + b"x" * MAX_HEADER_BYTES + b"\r\n\r\n", 431, "RequestHeaderFieldsTooLarge", id="one large header"
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\n" + b"X: 0123456789\r\n" * 5000 + b"\r\n", 431, "RequestHeaderFieldsTooLarge", id="many small headers"
        ),
        pytest.param(b"GET /" + b"x" * MAX_HEADER_BYTES + b" HTTP/1.1\r\n\r\n", 431, "RequestHeaderFieldsTooLarge", id="long path"),
        pytest.param(
            b"GET / HTTP/1.1\r\nX: " + b"x" * (2 * MAX_HEADER_BYTES + PIECE - 18),
            431,
            "RequestHeaderFieldsTooLarge",
            id="header without end",
        ),
    ],
)
def test_refusals(loop: str, request_bytes: bytes, status: int, reason: str) -> None:
    """What cannot be served gets one Status, then the connection is closed; the app sees none of it."""

    async def test() -> None:
        app = Echo()
        async with listening(app) as server, connected(server.port) as connection:
            reply = await connection.send(request_bytes)
            answer = json.loads(reply.body)
            assert (status, "close", "application/json") == (reply.status, reply.headers["connection"], reply.headers["content-type"])
            assert ("Status", "Failure", reason, status) == (answer["kind"], answer["status"], answer["reason"], answer["code"])
            assert b"" == await connection.rest()
            assert [] == app.scopes

    run(loop, test())


@both_loops
def test_headers_of_just_under_64_kib_are_served(loop: str) -> None:
    """The limit is 64 KiB for request line and headers together."""

    async def test() -> None:
        async with listening(Echo()) as server, connected(server.port) as connection:
            for _ in range(2):
                reply = await connection.get("/x", (b"x", b"y" * (MAX_HEADER_BYTES - 100)))
                assert (200, b"/x") == (reply.status, reply.body)

    run(loop, test())


@both_loops
def test_requests_of_a_connection_carry_its_peer(loop: str) -> None:
    """Every request has the peer in its scope; without TLS it is nobody."""

    async def test() -> None:
        app = Echo()
        async with listening(app) as server, connected(server.port) as connection:
            await connection.get("/a")
            await connection.get("/b", (b"X-Dup", b"1"), (b"X-Dup", b"2"), (b"X_Dup", b"3"))
        assert [NO_PEER, NO_PEER] == [scope[PEER_KEY] for scope in app.scopes]
        assert [b"1", b"2"] == [value for name, value in app.scopes[1]["headers"] if name == b"x-dup"]

    run(loop, test())


async def test_a_bad_request_behind_a_good_one_does_not_spoil_its_answer() -> None:
    """Pipelined rubbish: nothing is written into the place of an answer under way, the connection is closed."""
    app = Echo()
    app.hold = asyncio.Event()
    protocol, transport = on_paper(app)
    protocol.data_received(GET)
    await asyncio.sleep(0)
    protocol.data_received(b"rubbish\r\n\r\n")
    assert transport.is_closing()
    app.hold.set()
    for _ in range(3):
        await asyncio.sleep(0)
    assert b"" == transport.written
    protocol.connection_lost(None)


async def test_a_broken_body_gets_a_400() -> None:
    """The request itself is broken and nothing was answered yet: 400, and the app's answer is dropped."""
    app = Echo()
    app.hold = asyncio.Event()
    protocol, transport = on_paper(app)
    protocol.data_received(b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    await asyncio.sleep(0)
    protocol.data_received(b"zz\r\n")
    app.hold.set()
    for _ in range(3):
        await asyncio.sleep(0)
    assert transport.is_closing()
    assert transport.written.startswith(b"HTTP/1.1 400 ")
    assert 1 == transport.written.count(b"\r\n\r\n")
    protocol.connection_lost(None)


@pytest.mark.parametrize(
    ("head", "body"),
    [
        pytest.param(b"Content-Length: 9999999", [b"x" * 65536] * (MAX_BODY_BYTES // 65536 + 1), id="large"),
        pytest.param(b"Transfer-Encoding: chunked", [b"zz\r\n"], id="broken"),
    ],
)
async def test_an_answered_request_gets_no_second_answer(head: bytes, body: list[bytes]) -> None:
    """What is wrong with the rest of a request that was answered already closes the connection and no more."""
    protocol, transport = on_paper(Echo())
    protocol.data_received(b"POST /x HTTP/1.1\r\n" + head + b"\r\n\r\n")
    await asyncio.sleep(0)
    for piece in body:
        protocol.data_received(piece)
    assert transport.is_closing()
    assert 1 == transport.written.count(b"HTTP/1.1 ")
    assert transport.written.startswith(b"HTTP/1.1 200 ")
    protocol.connection_lost(None)


async def test_a_bad_request_behind_an_answered_one_gets_its_400() -> None:
    """The next message has an answer of its own."""
    protocol, transport = on_paper(Echo())
    protocol.data_received(GET)
    await asyncio.sleep(0)
    protocol.data_received(b"rubbish\r\n\r\n")
    assert transport.is_closing()
    assert [b"200", b"400"] == [part[:3] for part in transport.written.split(b"HTTP/1.1 ")[1:]]
    protocol.connection_lost(None)


@both_loops
def test_long_pipelines_are_answered(loop: str) -> None:
    """Requests sent without waiting are all answered, however many there are: limits hold for each by itself."""

    async def test() -> None:
        header = (b"x", b"y" * 1000)
        async with listening(Echo()) as server, connected(server.port) as connection:
            asked = [b"GET /%d HTTP/1.1\r\n%s: %s\r\n\r\n" % (number, *header) for number in range(600)]
            connection.writer.write(b"".join(asked))
            assert [b"/%d" % number for number in range(600)] == [(await connection.reply()).body for _ in asked]

    run(loop, test())


async def test_a_peer_is_not_read_from_while_requests_wait() -> None:
    """However many requests a peer sends without waiting, what is taken of them beyond those answered is one read and a little."""
    protocol, transport = on_paper(Echo())
    read = GET * 2000
    taken = 0
    for _ in range(2000):
        if transport.reading:
            protocol.data_received(read)
            taken += len(read)
        assert taken <= answers(transport) * len(GET) + len(read) + 2 * PIECE
        await asyncio.sleep(0)
    assert answers(transport) > 1000
    protocol.connection_lost(None)


def answers(transport: Paper) -> int:
    return transport.written.count(b"HTTP/1.1 200 ")


class Ready(Echo):
    """Has the answers below /now at once; keeps those scopes too."""

    def __init__(self) -> None:
        super().__init__()
        self.at_once_scopes: list[Any] = []

    def at_once(self, scope: Any) -> Any:
        if not scope["path"].startswith("/now"):
            return None
        self.at_once_scopes.append(scope)
        return ((b"x-alike", b"1"),), (b"x-own", b"2"), b"now"


NOW = GET.replace(b"/x", b"/now")


async def test_what_is_there_is_answered_at_once() -> None:
    """The answer is written in one piece when the request is read, without a task; other requests of the connection go on as ever."""
    app = Ready()
    protocol, transport = on_paper(app)
    for number in range(1, 4):
        protocol.data_received(NOW)
        assert (number, set()) == (answers(transport), protocol.tasks)
    assert b"HTTP/1.1 200 OK\r\nx-alike: 1\r\nx-own: 2\r\ncontent-length: 3\r\n\r\nnow" * 3 == transport.written
    protocol.data_received(GET)
    assert (3, 1) == (answers(transport), len(protocol.tasks))
    await asyncio.sleep(0)
    protocol.data_received(NOW)
    assert (5, NO_PEER) == (answers(transport), app.at_once_scopes[-1][PEER_KEY])
    protocol.connection_lost(None)


async def test_of_requests_that_come_together_one_is_answered_at_once() -> None:
    """The others get their turn among those of other connections, in order."""
    app = Ready()
    protocol, transport = on_paper(app)
    protocol.data_received(NOW + GET + NOW * 3)
    assert (1, 1) == (answers(transport), len(app.at_once_scopes))
    for _ in range(20):
        await asyncio.sleep(0)
    assert [b"now", b"/x", b"/now", b"/now", b"/now"] == [part.split(b"\r\n\r\n")[1] for part in transport.written.split(b"HTTP/1.1 ")[1:]]
    protocol.connection_lost(None)


async def test_nothing_is_answered_before_its_turn() -> None:
    """Not while an answer is under way on the connection."""
    app = Ready()
    app.hold = asyncio.Event()
    protocol, transport = on_paper(app)
    protocol.data_received(GET)
    protocol.data_received(NOW)
    assert (0, []) == (answers(transport), app.at_once_scopes)
    app.hold.set()
    for _ in range(10):
        await asyncio.sleep(0)
    assert 2 == answers(transport)
    protocol.connection_lost(None)


@pytest.mark.parametrize(
    "request_bytes",
    [
        NOW.replace(b"Host", b"Content-Length: 2\r\nHost") + b"{}",
        NOW.replace(b"Host", b"Transfer-Encoding: chunked\r\nHost") + b"0\r\n\r\n",
        NOW.replace(b"Host", b"Expect: 100-continue\r\nHost"),
        NOW.replace(b"Host", b"Connection: close\r\nHost"),
        NOW.replace(b"1.1", b"1.0"),
    ],
)
async def test_what_needs_more_than_an_answer_goes_the_usual_way(request_bytes: bytes) -> None:
    """A body may yet be wrong, and a connection is to be closed when its last answer is taken."""
    app = Ready()
    protocol, transport = on_paper(app)
    protocol.data_received(request_bytes)
    assert (0, []) == (answers(transport), app.at_once_scopes)
    await asyncio.sleep(0)
    assert (1, 1) == (answers(transport), len(app.scopes))
    protocol.connection_lost(None)


async def test_a_peer_that_takes_nothing_gets_nothing_at_once() -> None:
    """Its answers wait, each in its task, which the request's time bounds."""
    app = Ready()
    protocol, transport = on_paper(app)
    protocol.pause_writing()
    protocol.data_received(NOW)
    await asyncio.sleep(0)
    assert (0, [], 1) == (answers(transport), app.at_once_scopes, len(protocol.tasks))
    protocol.resume_writing()
    for _ in range(3):
        await asyncio.sleep(0)
    assert 1 == answers(transport)
    protocol.connection_lost(None)


async def test_a_draining_server_answers_nothing_at_once() -> None:
    """Each answer asks to connect anew, and closes."""
    protocol, transport = on_paper(Ready())
    protocol.server_state.draining = True  # type: ignore[attr-defined]  # it is a ServingState
    protocol.data_received(NOW)
    await asyncio.sleep(0)
    assert b"connection: close" in transport.written
    assert transport.is_closing()
    protocol.connection_lost(None)


async def test_what_comes_behind_a_body_is_no_header() -> None:
    """Trailers come when who is asking was told already: credentials among them would be anybody's."""
    app = Ready()
    protocol, _ = on_paper(app)
    chunked = NOW.replace(b"Host", b"Transfer-Encoding: chunked\r\nHost")
    protocol.data_received(chunked + b"0\r\nX-Remote-Group: system:masters\r\nAuthorization: Bearer x\r\n\r\n")
    await asyncio.sleep(0)
    assert [[b"transfer-encoding", b"host"]] == [[name for name, _ in scope["headers"]] for scope in app.scopes]
    protocol.connection_lost(None)


@pytest.mark.looptime
async def test_line_breaks_keep_no_connection_open() -> None:
    """A connection is idle until a message begins."""
    protocol, transport = on_paper(Ready())
    protocol.data_received(NOW)
    for _ in range(3):
        await asyncio.sleep(KEEP_ALIVE / 3 - 1)
        protocol.data_received(b"\r\n")
    assert not transport.is_closing()
    await asyncio.sleep(4)
    assert transport.is_closing()
    protocol.connection_lost(None)


@pytest.mark.parametrize("behind", [b"rubbish\r\n\r\n", b"GET / HTTP/1.1\r\nConnection: upgrade\r\n\r\n"])
async def test_what_is_wrong_behind_an_answer_gets_its_refusal(behind: bytes) -> None:
    """Whether it comes in the same read or in the next."""
    for reads in ([NOW + behind], [NOW, behind]):
        protocol, transport = on_paper(Ready())
        for read in reads:
            protocol.data_received(read)
        assert transport.is_closing()
        assert [b"200", b"400"] == [part[:3] for part in transport.written.split(b"HTTP/1.1 ")[1:]]
        protocol.connection_lost(None)


async def test_a_connection_ends_behind_what_was_answered_at_once() -> None:
    """However it ends: by the peer, or as idle at the end of the server."""
    for leaves in (True, False):
        protocol, transport = on_paper(Ready())
        protocol.data_received(NOW)
        if leaves:
            protocol.connection_lost(None)
        else:
            protocol.shutdown()
        assert transport.is_closing()


async def test_waiting_requests_are_few() -> None:
    """A peer that sends and sends has its requests parsed as answers are done, and is not read from meanwhile."""
    app = Echo()
    app.hold = asyncio.Event()
    protocol, transport = on_paper(app)
    protocol.data_received(GET * 5000)
    await asyncio.sleep(0)
    reading = [transport.reading]
    assert len(protocol.pipeline) < 200
    app.hold.set()
    for _ in range(20_000):
        await asyncio.sleep(0)
    assert 5000 == transport.written.count(b"HTTP/1.1 200 ")
    reading.append(transport.reading)
    assert [False, True] == reading
    protocol.connection_lost(None)


async def test_large_bodies_are_refused() -> None:
    """Nothing here reads bodies: more than kube-apiserver's 3 MiB is 413."""
    app = Echo()
    app.hold = asyncio.Event()
    protocol, transport = on_paper(app)
    protocol.data_received(b"POST /x HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n")
    await asyncio.sleep(0)
    for _ in range(MAX_BODY_BYTES // 65536 + 1):
        protocol.data_received(b"x" * 65536)
    assert transport.is_closing()
    assert transport.written.startswith(b"HTTP/1.1 413 ")
    app.hold.set()
    protocol.connection_lost(None)
    await asyncio.sleep(0)


@pytest.mark.looptime
@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([], id="nothing"),
        pytest.param([b"GET / HT"], id="half a line"),
        pytest.param([b"GET / HTTP/1.1\r\n", b"A: b\r\n", b"C: d\r\n", b"E: f\r\n"], id="a drip, 2 s a line"),
    ],
)
async def test_headers_have_ten_seconds(pieces: list[bytes]) -> None:
    """From the connection to the end of the first headers: 10 s, however steadily they drip."""
    protocol, transport = on_paper(Echo())
    loop = asyncio.get_running_loop()
    end = loop.time() + HEADER_SECONDS
    for piece in pieces:
        protocol.data_received(piece)
        await asyncio.sleep(2)
    await asyncio.sleep(end - 0.01 - loop.time())
    assert not transport.is_closing()
    await asyncio.sleep(0.02)
    assert transport.is_closing()
    assert b"" == transport.written
    protocol.connection_lost(None)


@pytest.mark.looptime
async def test_late_peers_are_cut() -> None:
    """A peer that does not answer the end of TLS is cut a second later, after late headers, rubbish or idleness alike."""
    loop = asyncio.get_running_loop()
    for sent, seconds in ((b"GET /x", HEADER_SECONDS), (b"rubbish\r\n\r\n", 0), (GET, KEEP_ALIVE)):
        protocol, transport = on_paper(Echo())
        protocol.data_received(sent)
        end = loop.time() + seconds + GOODBYE_SECONDS
        await asyncio.sleep(end - 0.01 - loop.time())
        assert (True, False) == (transport.closed, transport.aborted), sent
        await asyncio.sleep(0.02)
        assert transport.aborted, sent


@pytest.mark.looptime
async def test_headers_that_wait_for_an_answer_are_not_late() -> None:
    """While requests wait the connection is not read: the 10 s of half a request behind them do not end it."""
    app = Echo()
    app.hold = asyncio.Event()
    protocol, transport = on_paper(app)
    protocol.data_received(GET + GET + b"GET /y HTTP/1.1\r\n")
    await asyncio.sleep(2.5 * HEADER_SECONDS)
    assert not transport.is_closing()
    app.hold.set()
    await asyncio.sleep(0.1)
    protocol.data_received(b"\r\n")
    await asyncio.sleep(0.1)
    assert 3 == transport.written.count(b"HTTP/1.1 200 ")
    protocol.connection_lost(None)


@pytest.mark.looptime
async def test_a_peer_that_does_not_read_loses_its_place() -> None:
    """An answer that is not taken within 60 s is cut off, and its place among the requests in flight is free."""

    async def large(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"3")]})
        for piece in (b"a", b"b", b"c"):
            await send({"type": "http.response.body", "body": piece, "more_body": piece != b"c"})

    dispatcher = Dispatcher(large, large, max_in_flight=1)
    protocol, transport = on_paper(dispatcher)
    protocol.pause_writing()
    protocol.data_received(GET)
    await asyncio.sleep(REQUEST_SECONDS - 0.01)
    assert (1, False) == (dispatcher.in_flight, transport.aborted)
    with capture_logs() as logs:
        await asyncio.sleep(0.02)
    assert (0, True) == (dispatcher.in_flight, transport.aborted)
    assert ["a connection is cut: an answer was not taken in time"] == [log["event"] for log in logs]


@pytest.mark.looptime
async def test_each_request_has_its_own_minute() -> None:
    """Time counts from a request's begin to its answer's end; what follows on the connection counts anew."""
    protocol, transport = on_paper(Echo())
    for _ in range(4):
        protocol.data_received(GET)
        await asyncio.sleep(0.5 * REQUEST_SECONDS)
    app = Echo()
    app.hold = asyncio.Event()
    protocol.app = app
    protocol.data_received(GET + GET)
    await asyncio.sleep(REQUEST_SECONDS - 1)
    app.hold.set()
    await asyncio.sleep(0.1)
    app.hold.clear()
    protocol.data_received(GET)
    await asyncio.sleep(REQUEST_SECONDS - 1)
    assert not transport.is_closing()
    assert 6 == transport.written.count(b"HTTP/1.1 200 ")
    protocol.connection_lost(None)
    app.hold.set()
    await asyncio.sleep(0)


@pytest.mark.looptime
async def test_an_answer_that_goes_on_is_not_idle() -> None:
    """A connection is idle when nothing is to be answered, also if what goes on came in one read with what was answered at once."""

    async def app(scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["path"] == "/log":
            scope["extensions"][LIVE](10 * KEEP_ALIVE, lambda: None)
            await asyncio.sleep(2 * KEEP_ALIVE)
        await send({"type": "http.response.body", "body": scope["path"].encode()})

    app.at_once = Ready().at_once  # type: ignore[attr-defined]
    protocol, transport = on_paper(app)
    protocol.data_received(NOW + GET.replace(b"/x", b"/log"))
    await asyncio.sleep(2 * KEEP_ALIVE + 1)
    assert not transport.is_closing()
    assert b"/log" in transport.written
    protocol.connection_lost(None)


@pytest.mark.looptime
async def test_idle_connections_stay_longer_than_gos() -> None:
    """Between requests a connection stays for 130 s; the 10 s count anew from the next request's first byte."""
    protocol, transport = on_paper(Echo())
    protocol.data_received(GET)
    await asyncio.sleep(100)
    assert not transport.is_closing()
    protocol.data_received(GET)
    await asyncio.sleep(KEEP_ALIVE - 1)
    assert not transport.is_closing()
    protocol.data_received(b"GET / HT")
    await asyncio.sleep(HEADER_SECONDS - 0.1)
    assert not transport.is_closing()
    await asyncio.sleep(0.2)
    assert transport.is_closing()
    assert 2 == transport.written.count(b"HTTP/1.1 200 ")
    protocol.connection_lost(None)


@pytest.mark.looptime
async def test_slow_answers_are_not_header_time() -> None:
    """The limit ends with the headers: an answer may take longer."""
    app = Echo()
    app.hold = asyncio.Event()
    protocol, transport = on_paper(app)
    protocol.data_received(GET)
    await asyncio.sleep(REQUEST_SECONDS - 1)
    app.hold.set()
    await asyncio.sleep(0.1)
    assert not transport.is_closing()
    assert transport.written.startswith(b"HTTP/1.1 200 ")
    protocol.connection_lost(None)


@pytest.mark.looptime
@pytest.mark.parametrize("ends", [pytest.param(False, id="asked to close"), pytest.param(True, id="sends no more")])
async def test_a_close_has_to_be_taken_too(ends: bool) -> None:
    """A connection that is closed behind its answer is cut a minute later where the peer does not take what is written."""
    protocol, transport = on_paper(Echo())
    protocol.data_received(GET if ends else GET.replace(b"Host: h", b"Connection: close"))
    await asyncio.sleep(0.1)
    if ends:
        protocol.eof_received()
        transport.close()  # as a transport does then
    await asyncio.sleep(REQUEST_SECONDS - 1)
    assert (True, False) == (transport.closed, transport.aborted)
    await asyncio.sleep(1.1)
    assert transport.aborted


async def test_who_leaves_takes_all_its_requests_along() -> None:
    """The request that is answered when a peer leaves writes no more, also with others waiting behind it."""
    app = Echo()
    app.hold = asyncio.Event()
    protocol, transport = on_paper(app)
    protocol.data_received(GET + GET + GET)
    await asyncio.sleep(0)
    transport.abort()
    app.hold.set()
    for _ in range(3):
        await asyncio.sleep(0)
    assert (b"", 1) == (transport.written, len(app.scopes))


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param(b"Connection: upgrade\r\n\r\n", id="upgrade"),
        pytest.param(b"X: " + b"x" * MAX_HEADER_BYTES + b"\r\n\r\n", id="too large"),
        pytest.param(b"Bad Header: x\r\n\r\n", id="bad header"),
    ],
)
async def test_refusals_of_head_have_no_body(rest: bytes) -> None:
    """What answers HEAD ends with its headers, whoever answers."""
    protocol, transport = on_paper(Echo())
    protocol.data_received(GET)
    await asyncio.sleep(0)
    transport.written = b""
    protocol.data_received(b"HEAD / HTTP/1.1\r\n" + rest)
    assert transport.written.startswith(b"HTTP/1.1 4")
    assert transport.written.endswith(b"\r\n\r\n")
    protocol.connection_lost(None)


async def test_a_draining_server_asks_to_connect_anew() -> None:
    """While draining, each answer closes its connection."""
    protocol, transport = on_paper(Echo())
    state = protocol.server_state
    assert isinstance(state, ServingState)
    state.draining = True
    protocol.data_received(GET)
    await asyncio.sleep(0)
    assert b"connection: close" in transport.written
    assert transport.is_closing()
    protocol.connection_lost(None)


@given(
    st.lists(st.one_of(st.binary(max_size=200), st.sampled_from([GET, b"\r\n", b"Content-Length: 5\r\n", b"Upgrade: x\r\n"])), max_size=6)
)
@settings(max_examples=200, deadline=None)
def test_no_bytes_crash_it(pieces: list[bytes]) -> None:
    """Whatever arrives in whatever pieces: answers or a close, never an exception."""

    async def feed() -> None:
        protocol, transport = on_paper(Echo())
        for piece in pieces:
            if transport.is_closing():
                break
            protocol.data_received(piece)
            await asyncio.sleep(0)
        protocol.connection_lost(None)
        await asyncio.sleep(0)

    asyncio.run(feed())
