"""The little of ASGI that the simulated kube-apiserver needs: a request taken apart, and whole responses."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, quote

import msgspec

RawHeaders = list[tuple[bytes, bytes]]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Request:
    """One request. `target` is path and query as they were sent, `query` the last value of each parameter."""

    def __init__(self, scope: Scope) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        raw_path: bytes = scope.get("raw_path") or quote(self.path).encode()
        raw_query: bytes = scope["query_string"]
        self.target = raw_path.decode("latin-1") + (f"?{raw_query.decode('latin-1')}" if raw_query else "")
        self.query = dict(parse_qsl(raw_query.decode("latin-1"), keep_blank_values=True))
        self.headers: RawHeaders = list(scope["headers"])

    def header(self, name: bytes) -> str:
        """The first header of that (lower-case) name, "" if there is none."""
        return next((value.decode("latin-1") for key, value in self.headers if key == name), "")

    @property
    def table(self) -> bool:
        """Whether kubectl's Table form is asked for."""
        return "as=Table" in self.header(b"accept")

    @property
    def watch(self) -> bool:
        """Whether a list is to be a watch."""
        return self.query.get("watch") in {"1", "t", "true", "True"}


async def read_body(receive: Receive) -> bytes:
    """The whole body."""
    body = b""
    while True:
        message = await receive()
        body += bytes(message.get("body", b""))
        if not message.get("more_body"):
            return body


async def send_json(send: Send, document: object, content_type: str = "application/json", status: int = 200) -> None:
    """Answer with a document; bytes go out as they are."""
    body = document if isinstance(document, bytes) else msgspec.json.encode(document)
    await send_whole(send, status, [(b"content-type", content_type.encode())], body)


async def send_whole(send: Send, status: int, headers: RawHeaders, body: bytes) -> None:
    """Answer with headers and a body in one piece."""
    if not any(name == b"content-length" for name, _ in headers):
        headers = [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
