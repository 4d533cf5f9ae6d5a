"""What carries the bytes of requests and responses. Tests hand in servers that are functions."""

from collections.abc import Callable
from typing import Protocol


class Channel(Protocol):
    """An open connection, used by one request at a time. All failures are OSErrors."""

    async def send(self, data: bytes) -> None:
        """Hand `data` over for sending."""
        ...

    async def receive(self) -> bytes:
        """What came, as soon as anything did; b"" once the other side has ended the connection."""
        ...

    def rest(self, ended: Callable[[], None]) -> None:
        """Nobody waits until the next `send`. Should the connection end meanwhile, or the other side speak unasked, `ended` is called."""
        ...

    def close(self) -> None:
        """End it. Harmless if it has ended."""
        ...


class Dialer(Protocol):
    """Opens channels."""

    async def dial(self, host: str, port: int) -> Channel:
        """A channel that is ready. Raises OSError: socket.gaierror, ssl.SSLError, ConnectionRefusedError and their like."""
        ...

    def close(self) -> None:
        """Nothing will be dialled any more."""
        ...
