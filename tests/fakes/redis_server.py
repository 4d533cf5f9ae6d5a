"""A Redis server on loopback whose answers a test writes down, byte by byte if it likes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

Replies = Mapping[str, bytes] | Callable[[str], bytes | None]
"""By command with its arguments ("LLEN jobs"), or by its name alone. None closes the connection."""

OK = b"+OK\r\n"


class FakeRedis:
    """What was asked, and the port that it was asked on."""

    def __init__(self, replies: Replies) -> None:
        self.replies = replies
        self.asked: list[str] = []
        self.connections = 0
        self.port = 0
        self._writers: list[asyncio.StreamWriter] = []
        self._serving: set[asyncio.Task[None] | None] = set()

    def close_connections(self) -> None:
        """As a server does that restarts."""
        for writer in self._writers:
            writer.close()

    async def ended(self) -> None:
        """Wait until nothing is served any more."""
        await asyncio.gather(*(task for task in self._serving if task is not None))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections += 1
        self._serving.add(asyncio.current_task())
        self._writers.append(writer)
        try:
            while command := await _command(reader):
                self.asked.append(command)
                reply = self._reply(command)
                if reply is None:
                    break
                writer.write(reply)
        except (OSError, EOFError):
            pass
        finally:
            writer.close()

    def _reply(self, command: str) -> bytes | None:
        if callable(self.replies):
            return self.replies(command)
        name = command.partition(" ")[0]
        known = {"AUTH": OK, "SELECT": OK, "CLIENT": OK, "INFO server": bulk("# Server\r\nredis_mode:standalone\r\n")} | dict(self.replies)
        return known.get(command) or known.get(name) or b"-ERR unknown command '%b'\r\n" % name.encode()


@asynccontextmanager
async def fake_redis(replies: Replies) -> AsyncIterator[FakeRedis]:
    """One that answers while the block runs."""
    fake = FakeRedis(replies)
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.port = server.sockets[0].getsockname()[1]
    try:
        yield fake
    finally:
        server.close()
        fake.close_connections()
        await fake.ended()


def bulk(text: str | None) -> bytes:
    """A string as Redis sends it."""
    return b"$-1\r\n" if text is None else b"$%d\r\n%b\r\n" % (len(text.encode()), text.encode())


def array(*parts: bytes | str | int | None) -> bytes:
    """A list of replies; texts and numbers are made replies."""
    made = [part if isinstance(part, bytes) else b":%d\r\n" % part if isinstance(part, int) else bulk(part) for part in parts]
    return b"*%d\r\n%b" % (len(made), b"".join(made))


async def _command(reader: asyncio.StreamReader) -> str:
    """The next command; "" at the end."""
    head = await reader.readline()
    if not head:
        return ""
    parts = []
    for _ in range(int(head[1:])):
        length = int((await reader.readline())[1:])
        parts.append((await reader.readexactly(length + 2))[:-2].decode("utf-8", "replace"))
    return " ".join(parts)
