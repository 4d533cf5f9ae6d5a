"""Which endpoint answers for an API group: those of metrics have their own, all others serve kinds."""

from collections.abc import Mapping

from app.at_once import in_task
from app.routes.problems import Endpoint
from app.routes.respond import Receive, Scope, Send


class ByGroup:
    """The ASGI application of all paths below /apis/GROUP/VERSION/."""

    def __init__(self, kinds: Endpoint, others: Mapping[str, Endpoint]) -> None:
        """`others` are endpoints by group."""
        self._kinds = kinds
        self._others = others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._others.get(scope["path"].split("/", 3)[2], self._kinds)
        if endpoint is not self._kinds:
            await in_task()  # they may have to ask others first, for some time and no longer
        await endpoint(scope, receive, send)
