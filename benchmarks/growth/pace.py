"""Requests at a fixed pace, whatever the server does: an answer's latency counts from when its request was due.

A client that waits for an answer before it asks again never sees the requests that a stall would have hit; this one does.
"""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import httptools


class Unanswered(RuntimeError):
    """The server gave an answer that is no 200, or closed the connection instead of one."""


@dataclass(frozen=True)
class Server:
    """Whom to ask: a port on 127.0.0.1, and the headers of each request."""

    port: int
    context: ssl.SSLContext
    headers: str

    async def connect(self) -> "Connection":
        """A new connection. Raises OSError."""
        loop = asyncio.get_running_loop()
        _, protocol = await loop.create_connection(
            lambda: Connection(self.headers), "127.0.0.1", self.port, ssl=self.context, server_hostname="127.0.0.1"
        )
        return protocol


class Connection(asyncio.Protocol):
    """One keep-alive connection, one request at a time. Bodies are counted and thrown away."""

    def __init__(self, headers: str) -> None:
        self._headers = headers
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[int] | None = None
        self._size = 0

    @property
    def closed(self) -> bool:
        """Whether it carries no more requests: servers close connections that wait for long."""
        return self._transport is None

    async def get(self, target: str) -> int:
        """The size of the answer's body. Raises Unanswered."""
        if self._transport is None:
            raise Unanswered(f"GET {target}: the connection is closed")
        self._answer = asyncio.get_running_loop().create_future()
        self._size = 0
        self._transport.write(f"GET {target} HTTP/1.1\r\n{self._headers}\r\n\r\n".encode())
        return await self._answer

    def close(self) -> None:
        """Close it."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # those of uvloop are no subclasses

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(Unanswered(f"the connection was closed: {exc}"))

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    # The callbacks below are httptools' names.

    def on_body(self, body: bytes) -> None:
        self._size += len(body)

    def on_message_complete(self) -> None:
        if self._answer is None or self._answer.done():
            return
        if (status := self._parser.get_status_code()) == 200:
            self._answer.set_result(self._size)
        else:
            self._answer.set_exception(Unanswered(f"the server answered {status}"))


@dataclass
class Pace:
    """A request every `step` seconds, over a few connections. `targets` gives the kind and the target of request number n."""

    server: Server
    targets: Callable[[int], tuple[str, str]]
    step: float
    latencies: dict[str, list[float]] = field(default_factory=dict)

    async def keep(self, seconds: float, connections: int) -> None:
        """For so long. A request that is due while all connections are busy waits, and its wait counts. Raises Unanswered, OSError."""
        loop = asyncio.get_running_loop()
        free: asyncio.Queue[Connection] = asyncio.Queue()
        for _ in range(connections):
            free.put_nowait(await self.server.connect())
        start = loop.time()
        async with asyncio.TaskGroup() as group:
            for number in range(int(seconds / self.step)):
                due = start + number * self.step
                await asyncio.sleep(due - loop.time())
                group.create_task(self._ask(number, due, free))
        while not free.empty():
            free.get_nowait().close()

    async def _ask(self, number: int, due: float, free: asyncio.Queue[Connection]) -> None:
        kind, target = self.targets(number)
        connection = await free.get()
        if connection.closed:
            connection = await self.server.connect()
        await connection.get(target)
        self.latencies.setdefault(kind, []).append(asyncio.get_running_loop().time() - due)
        free.put_nowait(connection)
