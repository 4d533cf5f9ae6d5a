"""uvicorn, set up for an API server behind kube-apiserver's aggregator, and drained before it ends."""

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import structlog
import uvicorn

from app.serving.dispatch import ASGIApp
from app.serving.protocol import KubeglanceProtocol
from app.serving.state import ServingState

KEEP_ALIVE = 130
"""Seconds an idle connection stays: longer than the 90 s of Go's client, so that the client closes first and no request meets a close."""

GRACEFUL_SHUTDOWN = 15
"""Seconds that requests under way get at the end."""

_TICK_S = 1.0

_log = structlog.get_logger(__name__)


def server_config(
    app: ASGIApp,
    *,
    host: str,
    port: int,
    ssl_context: ssl.SSLContext | None = None,
    lifespan: bool = True,
    graceful_shutdown: int = GRACEFUL_SHUTDOWN,
) -> uvicorn.Config:
    """uvicorn's settings. Without `ssl_context` plain HTTP is served: for tests."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        loop="uvloop",
        http=KubeglanceProtocol,
        ws="none",
        lifespan="on" if lifespan else "off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=graceful_shutdown,
        ssl_context_factory=None if ssl_context is None else lambda _config, _default: ssl_context,
    )


class Server(uvicorn.Server):
    """A server that leaves in steps, so that no client notices.

    The first SIGTERM or SIGINT (or `drain()`): `on_drain` is called, which makes /readyz fail; all is served on for `shutdown_delay`
    seconds, each answer asking its client to connect anew; then the listener and idle connections close, requests under way end.
    A second signal ends at once. The process exits with the code of an ordinary end.
    """

    def __init__(self, config: uvicorn.Config, *, shutdown_delay: float = 10.0, on_drain: Callable[[], None] = lambda: None) -> None:
        super().__init__(config)
        self.server_state: ServingState = ServingState()
        self._shutdown_delay = shutdown_delay
        self._on_drain = on_drain
        self._asked_to_drain = False
        self._ends: float | None = None
        self._asked = asyncio.Event()
        self._wake: Callable[[], object] = lambda: None

    @property
    def port(self) -> int:
        """The port that is listened on, once `started`."""
        return int(self.servers[0].sockets[0].getsockname()[1])

    def drain(self) -> None:
        """Begin to leave; safe from a signal handler. Called again: leave at once."""
        if self._asked_to_drain:
            self.should_exit = self.force_exit = True
        self._asked_to_drain = True
        self._wake()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002  a signal handler's form
        """uvicorn's signal handler. The signal is not raised again at the end: a drained server has ended well."""
        self.drain()

    async def main_loop(self) -> None:
        """uvicorn's own looks ten times a second for what is due; here it is once, for the Date header, and whenever `drain` was called."""
        loop = asyncio.get_running_loop()
        self._wake = lambda: loop.call_soon_threadsafe(self._asked.set)
        while not await self.on_tick(0):
            self._asked.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(_TICK_S if self._ends is None else min(_TICK_S, self._ends - loop.time())):
                    await self._asked.wait()

    async def on_tick(self, counter: int) -> bool:
        """What is due now; True ends the server. uvicorn writes the Date header anew where `counter` is a multiple of ten."""
        if self._asked_to_drain and self._ends is None:
            _log.info("draining: readiness is withdrawn, requests are served on", seconds=self._shutdown_delay)
            self._ends = asyncio.get_running_loop().time() + self._shutdown_delay
            self.server_state.draining = True
            self._on_drain()
        if self._ends is not None and asyncio.get_running_loop().time() >= self._ends:
            self.should_exit = True
        return await super().on_tick(counter)
