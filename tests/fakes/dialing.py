"""Servers that are functions, behind our own HTTP client: a Dialer whose channels lead to a handler of httpx requests."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx

Reply = httpx.Response | bytes
"""A response, or the very bytes that are sent before the connection ends."""

Handler = Callable[[httpx.Request], Reply | Awaitable[Reply]]


class FunctionDialer:
    """Every address leads to `handler`. An OSError that it raises, or that the body of its response raises, is the channel's."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    async def dial(self, host: str, port: int) -> "FunctionChannel":
        return FunctionChannel(self._handler)

    def close(self) -> None:
        """There is nothing to close."""


class FunctionChannel:
    """A Channel that answers each request as the handler says."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._reply: AsyncIterator[bytes] | None = None

    async def send(self, data: bytes) -> None:
        self._reply = _bytes_of(self._handler(_request(data)))

    async def receive(self) -> bytes:
        assert self._reply is not None
        return await anext(self._reply, b"")

    def rest(self, ended: Callable[[], None]) -> None:
        """It never ends."""

    def close(self) -> None:
        """There is nothing to close."""


def _request(data: bytes) -> httpx.Request:
    head, _, content = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    method, path, _ = first.split(" ")
    headers = dict(line.split(": ", 1) for line in lines)
    assert int(headers.get("Content-Length", "0")) == len(content)
    return httpx.Request(method, f"https://{headers['Host']}{path}", headers=headers, content=content)


async def _bytes_of(reply: Reply | Awaitable[Reply]) -> AsyncIterator[bytes]:
    """A reply as it goes over the wire; a body in chunks, for its length is not known beforehand."""
    made = await reply if inspect.isawaitable(reply) else reply
    if isinstance(made, bytes):
        yield made
        return
    made.headers.pop("content-length", None)
    headers = "".join(f"{name}: {value}\r\n" for name, value in made.headers.items())
    yield f"HTTP/1.1 {made.status_code} Words\r\n{headers}Transfer-Encoding: chunked\r\n\r\n".encode()
    assert isinstance(made.stream, httpx.AsyncByteStream)
    async for piece in made.stream:
        if piece:
            yield b"%x\r\n%b\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"
