"""A message broker's management API, as far as it tells of queues: what the demo's declared kind Queue is collected from.

Its form is that of RabbitMQ's /api/queues. What is in the queues follows from the time alone.
"""

import msgspec
from msgspec import Struct

from app.clock import Clock
from app.errors import Problem
from app.simulation.asgi import Receive, Request, Scope, Send, send_json, send_whole
from app.wire.status import encode_status, unknown_path

PATH = "/api/queues"


class _Queue(Struct, frozen=True):
    """It fills by `rate` messages a second up to `most`, and is emptied then."""

    name: str
    vhost: str
    rate: int
    most: int
    consumers: int

    def ready(self, seconds: int) -> int:
        return seconds * self.rate % self.most


_QUEUES = (
    _Queue("orders", "shop", 3, 240, 4),
    _Queue("invoices", "shop", 1, 90, 2),
    _Queue("thumbnails", "media", 17, 5_000, 8),
    _Queue("Returns/EU", "shop", 1, 12, 0),
)


class Queues:
    """The ASGI application."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if Request(scope).path != PATH:
            problem: Problem = unknown_path()
            await send_whole(send, problem.code, [(b"content-type", b"application/json")], encode_status(problem))
            return
        await send_json(send, msgspec.json.encode({"items": self.items(), "page": 1, "page_count": 1}))

    def items(self) -> list[dict[str, object]]:
        """The queues now."""
        seconds = int(self._clock.wall())
        return [
            {
                "name": queue.name,
                "vhost": queue.vhost,
                "durable": True,
                "messages_ready": queue.ready(seconds),
                "messages_unacknowledged": min(queue.ready(seconds), queue.consumers),
                "consumers": queue.consumers,
            }
            for queue in _QUEUES
        ]
