"""One watch on the simulated kube-apiserver: events, bookmarks, 410, timeoutSeconds."""

import asyncio
import math
from collections.abc import Callable

import msgspec

from app.errors import Problem
from app.simulation.asgi import Receive, Request, Send
from app.simulation.core_discovery import KINDS
from app.simulation.journal import Journal
from app.simulation.objects import Object
from app.simulation.selection import Selection
from app.wire.list_options import parse_version
from app.wire.query import integer
from app.wire.status import encode_status

_BOOKMARK_EVERY = 60.0
_LONGEST_WATCH = 1800.0
_CLOCK_STEP = 0.001  # a timer may ring this much early


class WatchStream:
    """What one watcher of `resource` is sent. `objects` gives what is there now, `as_table` a Table of one object.

    Raises Problem 400 for parameters that cannot be read, before any of the answer is sent.
    """

    def __init__(
        self,
        request: Request,
        resource: str,
        selection: Selection,
        journal: Journal,
        *,
        objects: Callable[[], list[Object]],
        as_table: Callable[[list[Object], bool], Object],
    ) -> None:
        self._request = request
        self._resource = resource
        self._selection = selection
        self._journal = journal
        self._objects = objects
        self._as_table = as_table
        self._columns = True
        seconds = integer(request.query, "timeoutSeconds") or 0
        self._seconds = min(seconds, _LONGEST_WATCH) if seconds > 0 else _LONGEST_WATCH
        self._version = parse_version(request.query.get("resourceVersion", "")) or 0

    async def serve(self, receive: Receive, send: Send, closing: asyncio.Event) -> None:
        """The whole response: until timeoutSeconds, the client's end, or `closing`."""
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        waiter = self._journal.waiter()
        try:
            async with asyncio.TaskGroup() as group:
                ends = (
                    group.create_task(_disconnected(receive, waiter), name="watch-client"),
                    group.create_task(_closed(closing, waiter), name="watch-server"),
                )
                await self._run(send, waiter, lambda: any(end.done() for end in ends))
                for end in ends:
                    end.cancel()
        finally:
            self._journal.forget(waiter)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _run(self, send: Send, waiter: asyncio.Event, ended: Callable[[], bool]) -> None:
        query, journal = self._request.query, self._journal
        loop = asyncio.get_running_loop()
        end = loop.time() + self._seconds
        position = self._version
        bookmarks = query.get("allowWatchBookmarks") == "true"
        if not position or query.get("sendInitialEvents") == "true":
            position = journal.version
            for found in self._objects():
                await self._event(send, "ADDED", found)
            if bookmarks and query.get("sendInitialEvents") == "true":
                await self._bookmark(send, position, {"annotations": {"k8s.io/initial-events-end": "true"}})
        elif position < journal.start:
            problem = Problem(410, "Expired", f"too old resource version: {position} ({journal.start})")
            await self._write(send, {"type": "ERROR", "object": msgspec.Raw(encode_status(problem))})
            return
        next_bookmark = loop.time() + _BOOKMARK_EVERY if bookmarks else math.inf
        while not ended():
            waiter.clear()
            for event in journal.after(position):
                position = event.version
                if event.resource == self._resource:
                    changed = {**event.object, "metadata": {**event.object["metadata"], "resourceVersion": str(event.version)}}
                    await self._event(send, event.type, changed)
            now = loop.time()
            if now >= end - _CLOCK_STEP:
                return
            if now >= next_bookmark - _CLOCK_STEP:
                await self._bookmark(send, position, {})
                next_bookmark = now + _BOOKMARK_EVERY
            try:
                async with asyncio.timeout(min(end, next_bookmark) - now):
                    await waiter.wait()
            except TimeoutError:
                continue

    async def _event(self, send: Send, kind: str, found: Object) -> None:
        if not self._selection.matches(found):
            return
        shown = found
        if self._request.table:
            shown = self._as_table([found], self._columns)
            self._columns = False
        await self._write(send, {"type": kind, "object": shown})

    async def _bookmark(self, send: Send, version: int, extra: Object) -> None:
        kind = KINDS[self._resource][0]
        metadata = {"resourceVersion": str(version), "creationTimestamp": None, **extra}
        await self._write(send, {"type": "BOOKMARK", "object": {"kind": kind, "apiVersion": "v1", "metadata": metadata}})

    async def _write(self, send: Send, event: object) -> None:
        await send({"type": "http.response.body", "body": msgspec.json.encode(event) + b"\n", "more_body": True})


async def _disconnected(receive: Receive, waiter: asyncio.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    waiter.set()


async def _closed(closing: asyncio.Event, waiter: asyncio.Event) -> None:
    await closing.wait()
    waiter.set()
