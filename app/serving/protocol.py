"""uvicorn's httptools protocol with what an API server on the open network needs: the caller's certificate, limits, clean refusals."""

import asyncio
from collections.abc import Callable
from itertools import chain
from typing import Any, cast
from urllib.parse import unquote

import httptools
import structlog
from uvicorn._types import ASGI3Application, HTTPScope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from app.auth.identity import PEER_KEY
from app.errors import Problem
from app.serving.exchange import Answered, Exchange, Whole
from app.serving.peer import NO_PEER, ConnectionPeer, read_peer
from app.serving.state import ServingState
from app.wire.status import encode_status

MAX_HEADER_BYTES = 64 * 1024
"""Request line and headers together; more gets 431."""

MAX_BODY_BYTES = 3 * 1024 * 1024
"""Body of a request, as with kube-apiserver; nothing here reads one. More gets 413."""

HEADER_SECONDS = 10.0
"""Time for a request's headers, from its first byte, and from the handshake to the first headers; then the connection is closed."""

REQUEST_SECONDS = 60.0
"""Time for an answer to be made and taken, as with kube-apiserver's --request-timeout; then the connection is cut. A peer that does not
read would hold its request's place among those in flight for ever."""

LIVE = "kubeglance.live"
"""The ASGI extension by which an answer that goes on while nothing happens asks for more time, and to hear when nobody waits for it."""

GOODBYE_SECONDS = 1.0
"""Time for a peer to answer the end of TLS when the server closes a connection that is idle or misused; then it is cut. Peers that do
not read never answer, and would hold up the end of the process."""

PIECE = 4096
"""Bytes that the parser gets at once. One read may hold hundreds of requests: those behind the first that has to wait stay unparsed."""

_BAD_REQUEST = Problem(400, "BadRequest", "the request is not valid HTTP/1.1")
_TOO_LARGE = Problem(431, "RequestHeaderFieldsTooLarge", f"the request line and headers are larger than {MAX_HEADER_BYTES} bytes")
_BODY_TOO_LARGE = Problem(413, "RequestEntityTooLarge", f"the request is larger than {MAX_BODY_BYTES} bytes")
_UPGRADE = Problem(400, "BadRequest", "kubeglance upgrades no connections: send the request without Connection: Upgrade")


_OF_THE_CONNECTION = frozenset({b"expect", b"connection", b"content-length", b"transfer-encoding"})
"""Headers that say how to go on with a message, and not what is asked."""

_log = structlog.get_logger(__name__)


class _Refused(Exception):
    """Ends the parser's work; raised inside its callbacks."""


class KubeglanceProtocol(HttpToolsProtocol):
    """One connection. What it overrides: begin and end of a connection, of a message and of an answer, headers, and the 400 answer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._state = cast("ServingState", self.server_state)  # what app/serving/server.py gives
        self._peer: ConnectionPeer = NO_PEER
        self._refusal = _BAD_REQUEST
        self._reading_headers = False
        self._message_bytes = 0
        self._has_body = False
        self._asks_for_upgrade = False
        self._unread = b""
        self._ask: Callable[[HTTPScope], Whole | None] | None = getattr(self.app, "at_once", None)
        self._may_answer = False
        self._answered = Answered()
        self._answering: RequestResponseCycle | None = None
        self._header_timer: asyncio.TimerHandle | None = None
        self._request_timer: asyncio.TimerHandle | None = None
        self._gone: Callable[[], None] | None = None
        self._idle_since: float | None = None
        self._extensions = {LIVE: self._goes_on}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # only stream transports come here
        """Read the certificate once: it is the connection's, and so the same for all its requests."""
        super().connection_made(transport)
        self._peer = read_peer(transport.get_extra_info("ssl_object"))
        self._start_header_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_header_timer()
        self._stop_request_timer()
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
        if self._gone is not None:
            self._gone()
        if self._answering is not None:  # uvicorn tells the newest request only: one with others behind it would write on, and fail
            self._answering.disconnected = True
            self._answering.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._unread += data
        self._may_answer = True
        self._parse()

    def _parse(self) -> None:
        """Parse what was read, until a request has to wait for the answer to another. What is left keeps the connection from being read."""
        while self._unread and not self.pipeline and not self.transport.is_closing():
            piece, self._unread = self._unread[:PIECE], self._unread[PIECE:]
            # Headers without end never are complete: count what goes into the parser.
            self._message_bytes += len(piece)
            if self._reading_headers and self._message_bytes > 2 * MAX_HEADER_BYTES:
                self._refusal = _TOO_LARGE
                self.send_400_response("")
            elif self._message_bytes > MAX_BODY_BYTES:
                self._refusal = _BODY_TOO_LARGE
                self.send_400_response("")
            else:
                super().data_received(piece)
        self._may_answer = False
        if self.transport.is_closing():
            return
        if self._unread:
            self.flow.pause_reading()
        if self._reading_headers and self._header_timer is None:
            self._start_header_timer()

    def shutdown(self) -> None:
        super().shutdown()
        if self.transport.is_closing():
            self.loop.call_later(GOODBYE_SECONDS, self.transport.abort)

    def timeout_keep_alive_handler(self) -> None:
        """The time of an idle connection has ended, or would have if nothing had been asked since the timer was set."""
        self.timeout_keep_alive_task = None
        if self._idle_since is None or self.transport.is_closing():
            return
        rest = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if rest > 0:
            self.timeout_keep_alive_task = self.loop.call_later(rest, self.timeout_keep_alive_handler)
        else:
            self._close()

    def _unset_keepalive_if_required(self) -> None:
        """uvicorn calls it for whatever comes. A connection is idle until a message begins, for line breaks between messages are none; and
        its timer goes on: to look again when it ends costs less than one anew for each request."""

    def _set_keepalive(self) -> None:
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope[PEER_KEY] = self._peer  # type: ignore[literal-required]  # ASGI servers may add keys
        self.scope["extensions"] = self._extensions  # type: ignore[typeddict-item]
        self._reading_headers = True
        self._idle_since = None
        self._message_bytes = 0
        self._has_body = False
        self._asks_for_upgrade = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._reading_headers:  # behind a body: whoever speaks for others has not looked at it, and nothing of it counts
            return
        name = name.lower()
        if name in _OF_THE_CONNECTION:
            self._take_note(name, value.lower())
        self.headers.append((name, value))

    def _take_note(self, name: bytes, value: bytes) -> None:
        if name == b"expect":
            self.expect_100_continue = self.expect_100_continue or value == b"100-continue"
        elif name == b"connection":
            self._asks_for_upgrade = self._asks_for_upgrade or b"upgrade" in [token.strip() for token in value.split(b",")]
        else:
            self._has_body = True

    def on_headers_complete(self) -> None:
        """Refuse upgrades before the app sees them: a half-done upgrade once gave away an apiserver's connection (CVE-2018-1002105)."""
        self._reading_headers = False
        self._stop_header_timer()
        if len(self.url) + sum(map(len, chain.from_iterable(self.headers))) + 4 * len(self.headers) > MAX_HEADER_BYTES:
            self._refusal = _TOO_LARGE
            raise _Refused
        if self.parser.should_upgrade() or self._asks_for_upgrade:
            self._refusal = _UPGRADE
            raise _Refused
        self._read_request_line()
        earlier: RequestResponseCycle | Answered | None = self.cycle
        if self._may_answer and not self._has_body and (earlier is None or earlier.response_complete) and self._answer_at_once():
            return
        self.cycle = self._exchange()
        if earlier is None or earlier.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def _read_request_line(self) -> None:
        scope, raw_path, query = self.scope, self.url, b""
        if raw_path[:1] != b"/" or b"?" in raw_path or b"#" in raw_path:
            url = httptools.parse_url(raw_path)
            raw_path, query = url.path, url.query or b""
        path = raw_path.decode("ascii")
        scope["method"] = self.parser.get_method().decode("ascii")
        scope["http_version"] = self.parser.get_http_version()
        scope["path"] = unquote(path) if "%" in path else path
        scope["raw_path"] = raw_path
        scope["query_string"] = query

    def _answer_at_once(self) -> bool:
        """Write the answer, if it is there; else all goes its usual way, with a task.

        Of requests that came in one read only the first may be answered so: others are to have their turn among those of other
        connections. None with a body is: what is wrong with the body may come right behind the headers, and is told instead.
        """
        self._may_answer = False
        if self._ask is None or self.flow.write_paused or self.expect_100_continue or not self._keeps_alive():
            return False
        answer = self._ask(self.scope)
        if answer is None:
            return False
        self.transport.write(self._state.heads.encode(self._state.default_headers, answer))
        self._answered.scope = self.scope
        self.cycle = self._answered  # type: ignore[assignment]  # all that is asked of a cycle whose answer is complete
        self._state.total_requests += 1
        self._set_keepalive()
        return True

    def _keeps_alive(self) -> bool:
        return self.parser.should_keep_alive() and self.scope["http_version"] != "1.0" and not self._state.draining

    def _exchange(self) -> Exchange:
        return Exchange(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=self._keeps_alive(),
            on_response=self.on_response_complete,
        )

    def eof_received(self) -> None:
        """The peer will send no more: the connection is closed when what is written is taken, and cut if that takes too long."""
        if self._request_timer is None:
            self._request_timer = self.loop.call_later(REQUEST_SECONDS, self._request_late)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        super()._start_asgi_task(cycle, app)
        self._answering = cycle
        self._idle_since = None
        self._request_timer = self.loop.call_later(REQUEST_SECONDS, self._request_late)

    def _goes_on(self, seconds: float, gone: Callable[[], None]) -> None:
        """The answer under way may take so long; `gone` is called if the peer goes meanwhile."""
        self._stop_request_timer()
        self._request_timer = self.loop.call_later(seconds, self._request_late)
        self._gone = gone

    def on_response_complete(self) -> None:
        """As in uvicorn: what waits is answered next, and with nothing more to answer the connection is idle."""
        self._gone = None
        self.server_state.total_requests += 1
        if self.transport.is_closing():  # the peer has to take the rest within the request's time
            return
        self._stop_request_timer()
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        else:
            self._set_keepalive()
        self._parse()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  uvicorn's text, a Status stands for it
        """Refuse what the parser could not take, and close. Nothing is written into an answer under way, nor behind a message's own."""
        self._stop_header_timer()
        self._unset_keepalive_if_required()
        if self.transport.is_closing():
            return
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and cycle.response_complete and cycle.scope is self.scope:
            self._close()
            return
        if cycle is not None and not cycle.response_complete:
            others = bool(self.pipeline) or cycle.scope is not self.scope
            self.pipeline.clear()
            cycle.disconnected = True
            cycle.message_event.set()
            if others or cycle.response_started:
                self._close()
                return
        body = encode_status(self._refusal)
        head = [STATUS_LINE[self._refusal.code]]
        head += [b"%b: %b\r\n" % header for header in self.server_state.default_headers]
        head.append(b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body))
        is_head = self.url and self.parser.get_method() == b"HEAD"  # without a target it is that of the message before
        if not is_head:
            head.append(body)
        self.transport.write(b"".join(head))
        self._close()

    def _close(self) -> None:
        self.transport.close()
        self.loop.call_later(GOODBYE_SECONDS, self.transport.abort)

    def _start_header_timer(self) -> None:
        self._header_timer = self.loop.call_later(HEADER_SECONDS, self._headers_late)

    def _stop_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _headers_late(self) -> None:
        self._header_timer = None
        if self.flow.read_paused:  # the peer is not late: what is missing waits until an answer is done
            self._start_header_timer()
        elif not self.transport.is_closing():
            self._close()

    def _stop_request_timer(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    def _request_late(self) -> None:
        self._request_timer = None
        _log.info("a connection is cut: an answer was not taken in time", seconds=REQUEST_SECONDS, client=self.client)
        self.transport.abort()
