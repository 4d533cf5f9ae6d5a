"""Runs an ASGI application on uvicorn over TLS on a loopback port, from `start()` to `close()`."""

import contextlib
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn

from app.certs import Authority, write_key
from app.errors import KubeglanceError


class HttpsServerError(KubeglanceError):
    """The port cannot be had. The message says which and why."""


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: who started it decides when it ends."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class HttpsServer:
    """One server on 127.0.0.1; its certificate, signed by `authority`, names localhost, 127.0.0.1 and `names`."""

    def __init__(self, application: Any, authority: Authority, names: tuple[str, ...] = ()) -> None:
        self._application = application
        self._authority = authority
        self._names = names
        self._server: _Server | None = None
        self._socket: socket.socket | None = None

    def bind(self, port: int = 0) -> int:
        """Take the port (0: any free one). Requests wait until `serve` runs. Raises HttpsServerError."""
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError as exc:
            listener.close()
            raise HttpsServerError(f"cannot listen on 127.0.0.1:{port}: {exc.strerror}; choose another port, or 0 for any") from exc
        listener.listen(128)
        self._socket = listener
        return int(listener.getsockname()[1])

    async def serve(self) -> None:
        """Serve until `stop` is called."""
        certificate, key = self._authority.issue("localhost", dns=["localhost", *self._names], ips=["127.0.0.1"], server=True)
        with tempfile.TemporaryDirectory(prefix="kubeglance-tls-") as folder:  # uvicorn takes files only
            (Path(folder) / "tls.crt").write_bytes(certificate)
            write_key(Path(folder) / "tls.key", key)
            config = uvicorn.Config(
                self._application,
                ssl_certfile=str(Path(folder) / "tls.crt"),
                ssl_keyfile=str(Path(folder) / "tls.key"),
                http="httptools",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=130,
                timeout_graceful_shutdown=1,
            )
            config.load()
        self._server = _Server(config)
        await self._server.serve(sockets=[self._socket] if self._socket is not None else None)

    def stop(self) -> None:
        """Let `serve` end."""
        if self._server is not None:
            self._server.should_exit = True
