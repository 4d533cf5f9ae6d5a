"""A thin client of kube-apiserver: get and write objects, pages of a list, the lines of a watch. It knows no kinds and keeps nothing.

Foreign exceptions end here: callers see KubeError, or KubeUnavailable where another try may help.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from app.errors import KubeError, KubeUnavailable
from app.http1.channel import Dialer
from app.http1.connections import CLOSED, Connections, Exchange
from app.http1.response import NotHTTPError
from app.kube.config import Connection
from app.kube.deep_json import UNDECODABLE, decode
from app.kube.lines import LineSplitter, LineTooLong
from app.kube.streams import StreamDialer

_CONNECT_S = 10.0
_REQUEST_S = 30.0
_WATCH_SLACK_S = 30.0
_KEEPALIVE_S = 80.0
_BODY_IN_MESSAGE = 256
_JSON = "application/json"
_HEADERS = "User-Agent: kubeglance\r\nAccept-Encoding: identity\r\n"
Params = Mapping[str, str | int]


class _Status(msgspec.Struct):
    message: str = ""
    reason: str = ""
    kind: str = ""


class KubeClient:
    """Talks to the server of one Connection. An async context manager; `dialer` is injected by tests.

    A server other than kube-apiserver is `called` so in errors. `most_bytes` bounds bodies that are read as a whole.
    """

    def __init__(
        self, connection: Connection, *, dialer: Dialer | None = None, called: str = "kube-apiserver", most_bytes: int = sys.maxsize
    ) -> None:
        url = urlsplit(connection.server)
        self.server = connection.server
        self._called = called
        self._most_bytes = most_bytes
        self._address = f"{url.hostname}:{url.port or (443 if url.scheme == 'https' else 80)}"
        self._host = url.netloc.rpartition("@")[2]
        self._path = url.path
        self._credentials = connection.credentials
        self._connections = Connections(dialer or StreamDialer(connection), keepalive=_KEEPALIVE_S, connect_timeout=_CONNECT_S)

    async def __aenter__(self) -> "KubeClient":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections that no request uses."""
        self._connections.close()

    async def get(self, path: str, params: Params | None = None, *, accept: str = _JSON) -> bytes:
        """The body of a GET that was answered 200; `accept` may ask for another form than the usual one. Raises KubeError."""
        return await self._request("GET", path, params=params, accept=accept)

    async def get_json(self, path: str, params: Params | None = None, *, accept: str = _JSON) -> Any:
        """The decoded JSON of a GET; `accept` may ask for another form than the usual one. Raises KubeError."""
        return self._decode(await self._request("GET", path, params=params, accept=accept), f"GET {path}")

    async def create(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """POST `body` as JSON; the created object (a TokenReview or SubjectAccessReview with its verdict). Raises KubeError.

        Where a kept connection turns out to have ended it is sent again: reviews may be asked twice.
        """
        return await self._write("POST", path, body)

    async def replace(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """PUT `body`, whose metadata.resourceVersion says what it replaces; the object as it is now. Raises KubeError (409: conflict)."""
        return await self._write("PUT", path, body)

    async def delete(self, path: str, *, uid: str) -> None:
        """DELETE the object at `path`, if it is the one with this uid. Raises KubeError."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}}
        await self._request("DELETE", path, content=msgspec.json.encode(options))

    async def _write(self, method: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        answer = self._decode(await self._request(method, path, content=msgspec.json.encode(body)), f"{method} {path}")
        if not isinstance(answer, dict):
            raise KubeError(f"{method} {path}: {self._called} answered with something that is no object")
        return answer

    async def version(self) -> str:
        """kube-apiserver's gitVersion, such as v1.37.2. Raises KubeError."""
        answer = await self.get_json("/version")
        return str(answer.get("gitVersion", "")) if isinstance(answer, dict) else ""

    async def watch(self, path: str, params: Params, *, timeout_seconds: int, accept: str = _JSON) -> AsyncGenerator[list[bytes], None]:
        """The lines of a watch, as many at a time as arrived together; an empty list comes first, once the server accepted it.

        Ends when the server ends it. Raises KubeError. A connection that died without a word is noticed a little after
        `timeout_seconds`, by when the server would have ended it.
        """
        what = f"watch {path}"
        splitter = LineSplitter()
        query = {**params, "watch": "true", "timeoutSeconds": timeout_seconds}
        deadline = asyncio.get_running_loop().time() + timeout_seconds + _WATCH_SLACK_S
        with _translated(what, self.server):
            async with asyncio.timeout_at(deadline):
                exchange = await self._ask("GET", path, params=query, accept=accept)
            try:
                async with asyncio.timeout_at(deadline):
                    await self._check(exchange, what)
                yield []
                while True:
                    try:
                        lines = splitter.feed(exchange.response.take())
                    except LineTooLong as exc:
                        raise KubeError(f"{what}: {exc}") from exc
                    if lines:
                        yield lines
                    if exchange.response.complete:
                        return
                    async with asyncio.timeout_at(deadline):
                        await exchange.more()
            finally:
                exchange.close()

    async def stream(self, path: str, params: Params, *, patience: float | None = _REQUEST_S) -> AsyncGenerator[bytes, None]:
        """The body of a GET as it arrives; an empty piece comes first, once the server has begun to answer. Raises KubeError.

        `patience` is how long that may take (s); None where the server says nothing until there is something to say. When it ends is for
        the caller to bound.
        """
        what = f"GET {path}"
        with _translated(what, self.server):
            async with asyncio.timeout(patience):
                exchange = await self._ask("GET", path, params=params, accept="*/*")
            try:
                async with asyncio.timeout(_REQUEST_S):
                    await self._check(exchange, what)
                yield b""
                while True:
                    piece = exchange.response.hand_on()
                    if piece:
                        yield piece
                    if exchange.response.complete:
                        return
                    await exchange.more()
            finally:
                exchange.close()

    async def _request(self, method: str, path: str, *, params: Params | None = None, content: bytes = b"", accept: str = _JSON) -> bytes:
        what = f"{method} {path}"
        with _translated(what, self.server):
            async with asyncio.timeout(_REQUEST_S):
                exchange = await self._ask(method, path, params=params, content=content, accept=accept)
                try:
                    await self._check(exchange, what)
                    return await self._body(exchange, what)
                finally:
                    exchange.close()

    async def _ask(self, method: str, path: str, *, params: Params | None = None, content: bytes = b"", accept: str = _JSON) -> Exchange:
        """The exchange, when the head of its response is here. After a 401 it is asked once more if the credential has changed."""
        target = f"{self._path}{path}?{urlencode(params)}" if params else f"{self._path}{path}"
        head = f"{method} {target} HTTP/1.1\r\nHost: {self._host}\r\n{_HEADERS}Accept: {accept}\r\n"
        if content:
            head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        sent = await self._credentials.header()
        exchange = await self._send(head, sent, content)
        if exchange.response.status != 401:
            return exchange
        try:
            self._credentials.refused()
            fresh = await self._credentials.header()
        except BaseException:
            exchange.close()
            raise
        if fresh is None or fresh == sent:
            return exchange
        exchange.close()
        return await self._send(head, fresh, content)

    async def _send(self, head: str, authorization: str | None, content: bytes) -> Exchange:
        who = "" if authorization is None else f"Authorization: {authorization}\r\n"
        exchange = await self._connections.ask(self._address, f"{head}{who}\r\n".encode() + content)
        try:
            while not exchange.response.status:
                await exchange.more()
        except BaseException:
            exchange.close()
            raise
        return exchange

    async def _check(self, exchange: Exchange, what: str) -> None:
        """Raise what the server says if it does not do what was asked."""
        if exchange.response.status not in {200, 201}:
            raise status_error(what, exchange.response.status, await self._body(exchange, what), called=self._called)

    async def _body(self, exchange: Exchange, what: str) -> bytes:
        response = exchange.response
        while not response.complete and response.size <= self._most_bytes:
            await exchange.more()
        if response.size > self._most_bytes:
            raise KubeError(f"{what}: the answer of {self._called} has more than {self._most_bytes} bytes")
        return response.take()

    def _decode(self, body: bytes, what: str) -> Any:
        try:
            return decode(body)
        except UNDECODABLE as exc:
            raise KubeError(f"{what}: the answer of {self._called} is not JSON: {exc}") from exc


def status_error(what: str, code: int, body: bytes, *, called: str = "kube-apiserver") -> KubeError:
    """The error for an answer with `code` and a Status, or any other text, as its body."""
    try:
        status = decode(body, _Status)
    except UNDECODABLE:
        status = _Status()
    if status.kind != "Status" or not status.message:
        text = body[:_BODY_IN_MESSAGE].decode("utf-8", "replace").strip()
        status = _Status(message=text or "no explanation given", reason=status.reason)
    kind = KubeUnavailable if code >= 500 or code == 429 else KubeError
    return kind(f"{what}: {called} answered {code}: {status.message}", status=code, reason=status.reason)


@contextmanager
def _translated(what: str, server: str) -> Iterator[None]:
    try:
        yield
    except TimeoutError as exc:
        raise KubeUnavailable(f"{what}: {server} did not answer in time ({exc.strerror or 'TimeoutError'})") from exc
    except (OSError, NotHTTPError) as exc:
        raise KubeUnavailable(f"{what}: cannot talk to {server}: {_words(exc)}") from exc


def _words(error: OSError | NotHTTPError) -> str:
    """What happened, in one line."""
    match error:
        case NotHTTPError():
            return "the answer is not HTTP"
        case _ if isinstance(error, CLOSED):
            return "the connection was closed"
        case _:
            return " ".join(str(error.strerror or error).split()) or type(error).__name__
