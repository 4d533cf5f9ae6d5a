"""GET /metrics: kubeglance's own metrics, from the registry that is handed in."""

import asyncio
from collections.abc import Awaitable, Callable

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from app.routes.respond import Answer, Scope, joined_header


def create_metrics(registry: CollectorRegistry) -> Callable[[Scope], Awaitable[Answer]]:
    """The answer of /metrics, in the exposition format that Accept asks for."""

    async def metrics(scope: Scope) -> Answer:
        encode, content_type = choose_encoder(joined_header(scope, b"accept"))
        # Some series are there for each node: of thousands the text takes half a second, which the event loop cannot spare.
        return Answer(200, await asyncio.to_thread(encode, registry), content_type)

    return metrics
