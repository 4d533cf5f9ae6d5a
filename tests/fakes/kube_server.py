"""A kube-apiserver of a few lines for unit tests: scripted answers to lists and watches, each used once."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import httpx
import msgspec

from app.kube.client import KubeClient
from app.kube.config import Connection
from tests.fakes.dialing import FunctionDialer

Step = bytes | Exception | Any


class Stream(httpx.AsyncByteStream):
    """The body of a watch: bytes are sent, exceptions raised, anything else is awaited after being called (a sleep, an event)."""

    def __init__(self, *steps: Step) -> None:
        self._steps = steps

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for step in self._steps:
            if isinstance(step, bytes):
                yield step
            elif isinstance(step, Exception):
                raise step
            else:
                await step()


def page(*items: dict[str, Any], version: str = "10", token: str = "") -> httpx.Response:
    """One page of a list."""
    return httpx.Response(200, json={"metadata": {"resourceVersion": version, "continue": token}, "items": list(items)})


def watch(*steps: Step) -> httpx.Response:
    """A watch that was accepted."""
    return httpx.Response(200, stream=Stream(*steps))


def event(kind: str, item: dict[str, Any]) -> bytes:
    """One line of a watch."""
    return msgspec.json.encode({"type": kind, "object": item}) + b"\n"


def refusal(code: int, message: str = "no", reason: str = "") -> httpx.Response:
    """A Status."""
    return httpx.Response(code, json={"kind": "Status", "code": code, "message": message, "reason": reason})


def client_of(handle: Callable[[httpx.Request], httpx.Response]) -> KubeClient:
    """A client whose every request is answered by `handle`."""
    return KubeClient(Connection("https://kube"), dialer=FunctionDialer(handle))


class KubeServer:
    """Answers in the order given, then fails the test that asks for more; `requests` are kept as (kind, query parameters)."""

    def __init__(self, answers: Sequence[httpx.Response | Exception]) -> None:
        self._answers = list(answers)
        self.requests: list[tuple[str, dict[str, str]]] = []

    def _handle(self, request: httpx.Request) -> httpx.Response:
        params = dict(request.url.params)
        self.requests.append(("watch" if "watch" in params else "list", params))
        if not self._answers:
            raise AssertionError(f"one request too many: {request.url}")
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(self) -> KubeClient:
        return client_of(self._handle)
