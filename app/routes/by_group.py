"""Which endpoint answers for an API group: those of metrics have their own, all others serve kinds."""

from collections.abc import Mapping

from app.routes.problems import Endpoint
from app.routes.respond import Receive, Scope, Send


class ByGroup:
    """The ASGI application of all paths below /apis/GROUP/VERSION/."""

    def __init__(self, kinds: Endpoint, others: Mapping[str, Endpoint]) -> None:
        """`others` are endpoints by group."""
        self._kinds = kinds
        self._others = others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        group = scope["path"].split("/", 3)[2]
        await self._others.get(group, self._kinds)(scope, receive, send)
