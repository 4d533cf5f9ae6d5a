"""RESP2, the protocol of Redis, as a client that reads: commands in a pipeline, replies within bounds.

Of the protocol (redis.io/docs/latest/develop/reference/protocol-spec) this is all that a client without subscriptions needs.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from collectors._base import Cause, CollectError

MAX_DEPTH = 8
"""Of arrays within arrays. XINFO STREAM has three."""

Command = tuple[str | bytes, ...]


class ReplyError(Exception):
    """What the server says instead of an answer: "WRONGPASS invalid username-password pair"."""

    @property
    def code(self) -> str:
        """The first word."""
        return str(self).partition(" ")[0]


class Resp:
    """A connection. `room` is how many bytes of replies may still come; whoever starts a collection sets it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, where: str, room: int) -> None:
        self._reader = reader
        self._writer = writer
        self._where = where
        self.room = room

    @property
    def closed(self) -> bool:
        """Whether the other side closed it meanwhile."""
        return self._reader.at_eof() or self._writer.is_closing()

    async def call(self, commands: Sequence[Command]) -> list[Any]:
        """The replies to `commands`, which are sent all at once. A reply is bytes, int, None, a list, or a ReplyError.

        Raises CollectError for what is no RESP and for more than there is room for, EOFError or OSError if the connection breaks.
        """
        self._writer.write(b"".join(_packed(command) for command in commands))
        await self._writer.drain()
        return [await self._reply(0) for _ in commands]

    def abort(self) -> None:
        """Close it without a word."""
        self._writer.transport.abort()

    async def _reply(self, depth: int) -> Any:
        line = await self._line()
        kind, rest = line[:1], line[1:]
        match kind:
            case b"+":
                return rest
            case b"-":
                return ReplyError(rest.decode("utf-8", "replace"))
            case b":":
                return self._number(rest)
            case b"$":
                return await self._bulk(self._number(rest))
            case b"*":
                count = self._number(rest)
                if count < 0:
                    return None
                if depth == MAX_DEPTH:
                    raise self._odd("arrays nest too deep")
                return [await self._reply(depth + 1) for _ in range(count)]
            case _:
                raise self._odd(f"it sent {line[:20]!r}")

    async def _line(self) -> bytes:
        try:
            line = await self._reader.readuntil(b"\r\n")
        except asyncio.LimitOverrunError as exc:
            raise self._odd("it sent an endless line") from exc
        self._take(len(line))
        return line[:-2]

    async def _bulk(self, length: int) -> bytes | None:
        if length < 0:
            return None
        self._take(length + 2)
        body = await self._reader.readexactly(length + 2)
        if not body.endswith(b"\r\n"):
            raise self._odd("a string does not end where it should")
        return body[:-2]

    def _number(self, digits: bytes) -> int:
        if not digits.removeprefix(b"-").isdigit() or len(digits) > 20:
            raise self._odd(f"it sent {digits[:20]!r} for a number")
        return int(digits)

    def _take(self, count: int) -> None:
        self.room -= count
        if self.room < 0:
            raise CollectError(Cause.TOO_LARGE, f"{self._where}: the answers are too large", "raise limits.bodyBytes, or ask for less")

    def _odd(self, what: str) -> CollectError:
        return CollectError(
            Cause.PAYLOAD, f"{self._where}: no answer of Redis: {what}", "is it Redis that listens there, and with the TLS that tls says?"
        )


def _packed(command: Command) -> bytes:
    parts = [part.encode() if isinstance(part, str) else part for part in command]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)
