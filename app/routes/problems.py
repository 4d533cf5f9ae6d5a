"""The one mapping from exceptions to responses: always a Status, never a traceback and nothing of the inside."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from app.errors import Problem
from app.routes.respond import (
    NO_SNIFF,
    PIECE,
    Answer,
    Receive,
    Scope,
    Send,
    Whole,
    audit_id,
    header,
    joined_header,
    query_of,
    ready,
    send_answer,
)
from app.wire import messages
from app.wire.accept import PROTOBUF, error_media, wants_pretty
from app.wire.query import parse_query
from app.wire.status import encode_status, internal_error, path_method_not_allowed, unknown_path

logger = logging.getLogger(__name__)

Answering = Callable[[Scope], Awaitable[Answer]]


class Endpoint:
    """An ASGI application around a function that answers one request; whatever it raises becomes a Status."""

    def __init__(self, answer: Answering, at_once: Callable[[Scope], Answer | None] = lambda _scope: None) -> None:
        """`at_once` gives an answer that needs no waiting, with status 200 and no headers; None or an exception where there is none."""
        self._answer = answer
        self._at_once = at_once

    def at_once(self, scope: Scope) -> Whole | None:
        """An answer that is there. None where the endpoint has to be called, be it to say what is wrong."""
        try:
            answer = self._at_once(scope)
        except Exception:  # noqa: BLE001  whatever it is, the call meets it again and tells of it
            return None
        return None if answer is None or len(answer.body) > PIECE else ready(scope, answer)

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        try:
            answer = await self._answer(scope)
        except Exception as exc:  # noqa: BLE001  # the outermost frame of a request
            answer = answer_of(scope, exc)
        with suppress(ConnectionResetError):  # who asked is gone: the rest is made for nobody
            await send_answer(scope, send, answer)


def read_only(answer: Answering) -> Answering:
    """`answer` for GET and HEAD; 405 for the rest, as k8s.io/apiserver's discovery has it. (Its OpenAPI and health take any method.)"""

    async def read(scope: Scope) -> Answer:
        if scope["method"] not in {"GET", "HEAD"}:
            raise path_method_not_allowed()
        return await answer(scope)

    return read


def answer_of(scope: Scope, exc: Exception) -> Answer:
    """The response to an exception, in JSON or protobuf. What is no Problem is logged with its traceback and answered 500."""
    if isinstance(exc, Problem):
        problem = exc
    elif isinstance(exc, HTTPException) and exc.status_code == 404:
        problem = unknown_path()
    elif isinstance(exc, HTTPException) and exc.status_code == 405:
        problem = path_method_not_allowed()
    else:
        problem = internal_error(audit_id(scope))
        logger.error("request failed: %s %s audit-id=%s", scope["method"], scope["path"], audit_id(scope), exc_info=exc)
    media = error_media(joined_header(scope, b"accept"))
    if media == PROTOBUF:
        body = messages.status(problem)
    else:
        body = encode_status(problem)
        if wants_pretty(parse_query(query_of(scope)), header(scope, b"user-agent")):
            body = msgspec.json.format(body, indent=2)
        body += b"\n"
    headers = [(name.lower(), value) for name, value in problem.headers]
    names = {name for name, _ in headers}
    delay = (problem.details or {}).get("retryAfterSeconds")
    if "retry-after" not in names and (delay or problem.code == 503):
        headers.append(("retry-after", str(delay or 1)))
    if problem.code in {401, 403} and "x-content-type-options" not in names:
        headers.append(NO_SNIFF)
    return Answer(problem.code, body, media, headers=tuple(headers))


def install_handlers(app: FastAPI) -> None:
    """Make the framework's own errors Status objects too."""

    async def answer(request: Request, exc: Exception) -> Response:
        made = answer_of(request.scope, exc)
        headers = {"audit-id": audit_id(request.scope), "cache-control": "no-cache, private", **dict(made.headers)}
        return Response(made.body, made.status, headers, made.content_type)

    for kind in (Problem, HTTPException, Exception):
        app.add_exception_handler(kind, answer)
