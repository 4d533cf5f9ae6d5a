"""An HTTPS server that stands for the kubelets of many nodes: it tells nodes apart by the address they were called at.

It runs in threads of this process, so that a test can change what it answers, hold its answers back, and see what it was asked.
"""

import socket
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import NamedTuple


class KubeletAnswer(NamedTuple):
    """What a kubelet answers."""

    status: int
    content_type: str
    body: bytes


class KubeletRequest(NamedTuple):
    """What a kubelet was asked. `address` is the one it was called at, `path` includes the query."""

    address: str
    path: str
    authorization: str


Answerer = Callable[[KubeletRequest], KubeletAnswer]

NOT_FOUND = KubeletAnswer(404, "text/plain; charset=utf-8", b"404 page not found\n")


class KubeletServer:
    """Serves until it is closed. `hang()` makes it take requests and never answer, until `resume()`."""

    def __init__(self, answer: Answerer, certificate: Path, key: Path, *, address: str = "0.0.0.0") -> None:
        self.asked: list[KubeletRequest] = []
        self._answer = answer
        self._flowing = threading.Event()
        self._flowing.set()
        self._closing = threading.Event()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server = _Server((address, 0), self._handler(), context)
        self._thread = threading.Thread(target=self._server.serve_forever, name="kubelet-server", kwargs={"poll_interval": 0.1})
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def hang(self) -> None:
        """From now on every request waits."""
        self._flowing.clear()

    def resume(self) -> None:
        """Answer again, also those who still wait."""
        self._flowing.set()

    def close(self) -> None:
        """Stop serving and end open connections."""
        self._closing.set()
        self._flowing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> "KubeletServer":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 120

            def do_GET(self) -> None:
                asked = KubeletRequest(self.connection.getsockname()[0], self.path, self.headers.get("Authorization", ""))
                outer.asked.append(asked)
                outer._flowing.wait()
                if outer._closing.is_set():
                    self.close_connection = True
                    return
                answer = outer._answer(asked)
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.content_type)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name is http.server's
                """Say nothing: `asked` holds what is worth knowing."""

        return Handler


class _Server(ThreadingHTTPServer):
    """Shakes hands in the thread of each connection, so that one slow client does not hold up the rest."""

    daemon_threads = True
    block_on_close = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], context: ssl.SSLContext) -> None:
        super().__init__(address, handler)
        self._context = context
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    def get_request(self) -> tuple[socket.socket, object]:
        plain, peer = self.socket.accept()
        wrapped = self._context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        with self._lock:
            self._open.add(wrapped)
        return wrapped, peer

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away in the middle is none of the test's business."""

    def server_close(self) -> None:
        with self._lock:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue  # it was closed by the other side already
        super().server_close()
