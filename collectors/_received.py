"""Bounds for clients that read whole answers before they hand out any of them: how much a connection may receive, and for how long."""

import asyncio
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

_TCP_INFO = getattr(socket, "TCP_INFO", None)  # Linux has it
_BYTES_RECEIVED = 128
"""Where tcpi_bytes_received (uint64) is in struct tcp_info of linux/tcp.h, since Linux 4.1."""

LOOK_SECONDS = 0.02


class Bound(Enum):
    """What was passed."""

    BYTES = "bytes"
    TIME = "time"


class Meter:
    """Counts what a connection receives, by the kernel's count, and cuts it when that is too much or takes too long.

    On systems that do not tell how much it was, time alone counts.
    """

    def __init__(self) -> None:
        self.passed: Bound | None = None
        """The bound for which the connection was cut."""
        self._transport: asyncio.WriteTransport | None = None
        self._before = 0

    def follow(self, transport: asyncio.WriteTransport) -> None:
        """Count what this connection receives from now on; the one before is gone."""
        self._transport = transport
        self._before = self._count()

    @property
    def received(self) -> int:
        """Bytes since `follow` or `at_most`, whichever came last; 0 where that is not known."""
        return max(0, self._count() - self._before)

    @contextmanager
    def at_most(self, limit: int, seconds: float) -> Iterator[None]:
        """Within, the connection is cut soon after it has received more than `limit` bytes, and after `seconds`."""
        loop = asyncio.get_running_loop()
        latest = loop.time() + seconds
        timer: asyncio.TimerHandle | None = None
        self._before = self._count()

        def look() -> None:
            nonlocal timer
            self.passed = Bound.BYTES if self.received > limit else Bound.TIME if loop.time() > latest else None
            if self.passed is None:
                timer = loop.call_later(LOOK_SECONDS, look)
            elif self._transport is not None:
                self._transport.abort()

        look()
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()

    def _count(self) -> int:
        if _TCP_INFO is None or self._transport is None:
            return 0
        connection: Any = self._transport.get_extra_info("socket")
        try:
            told = connection.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _BYTES_RECEIVED + 8)
        except (OSError, ValueError):  # no TCP, or closed meanwhile
            return 0
        return int(struct.unpack_from("=Q", told, _BYTES_RECEIVED)[0]) if len(told) >= _BYTES_RECEIVED + 8 else 0
