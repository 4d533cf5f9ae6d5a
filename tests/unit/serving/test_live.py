"""Answers that go on while nothing happens: over a real connection, to their end, whoever ends them."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from app.auth.trust import Trust
from app.kinds._base import Asked, Subresource, Told
from app.kinds._catalog import Served
from app.routes.live import LiveAnswers
from tests.fakes.clock import ManualClock
from tests.fakes.kinds import live_kind, make_collection, make_queue
from tests.unit.serving.loopback import LOOPS, connected, run
from tests.unit.serving.whole import nothing_breaks, serving, whole_app

LOG = "/apis/example.com/v1alpha1/namespaces/a/queues/one/log"
CHUNK = b"3\r\nhi\n\r\n"


class Endless:
    """A log that says one line and then waits for ever."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    async def answer(self, _asked: Asked) -> Told:
        return Told(self._lines())

    async def _lines(self) -> AsyncGenerator[bytes, None]:
        try:
            yield b"hi\n"
            await asyncio.Event().wait()
        finally:
            self.closed.set()

    def served(self) -> tuple[Served, ...]:
        kind = live_kind(subresources=(Subresource("log", "Queue", self.answer),))
        return (Served(kind, make_collection(make_queue("a", "one"))),)


@pytest.mark.parametrize("loop", LOOPS)
def test_the_line_is_there_at_once_and_the_end_is_clean(loop: str) -> None:
    """What was said arrives while the answer goes on; when the process leaves, the answer ends as a whole one."""

    async def body() -> None:
        endless, live = Endless(), LiveAnswers()
        app = whole_app(Trust(), ManualClock(), endless.served(), live=live)
        with nothing_breaks():
            async with serving(app) as whole, connected(whole.port) as connection:
                connection.writer.write(b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % LOG.encode())
                head = await connection.reader.readuntil(b"\r\n\r\n")
                assert CHUNK == await connection.reader.readexactly(len(CHUNK))
                live.stop()
                assert b"0\r\n\r\n" == await connection.reader.readexactly(5)
                await endless.closed.wait()
                assert 200 == (await connection.get("/healthz")).status
        assert b"transfer-encoding: chunked" in head

    run(loop, body())


@pytest.mark.parametrize("loop", LOOPS)
def test_nobody_waits_any_more(loop: str) -> None:
    """When the peer goes, what the answer reads from is closed at once, though nothing is said."""

    async def body() -> None:
        endless = Endless()
        with nothing_breaks():
            async with serving(whole_app(Trust(), ManualClock(), endless.served())) as whole:
                async with connected(whole.port) as connection:
                    connection.writer.write(b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % LOG.encode())
                    await connection.reader.readuntil(CHUNK)
                await endless.closed.wait()
                await whole.is_idle()

    run(loop, body())


@pytest.mark.parametrize("loop", LOOPS)
def test_its_time_is_over(loop: str) -> None:
    """An answer that goes on ends in order when its time is over, and the connection serves on."""

    async def body() -> None:
        endless = Endless()
        app = whole_app(Trust(), ManualClock(), endless.served(), live=LiveAnswers(seconds=0.01))
        with nothing_breaks():
            async with serving(app) as whole, connected(whole.port) as connection:
                assert b"hi\n" == (await connection.get(LOG)).body
                assert 200 == (await connection.get("/healthz")).status
                await endless.closed.wait()

    run(loop, body())


def test_a_client_that_knows_no_chunks() -> None:
    """HTTP/1.0 could not tell the end from a loss."""

    async def body() -> None:
        async with serving(whole_app(Trust(), ManualClock(), Endless().served())) as whole, connected(whole.port) as connection:
            reply = await connection.send(b"GET %b HTTP/1.0\r\n\r\n" % LOG.encode())
            assert 400 == reply.status

    run("asyncio", body())
