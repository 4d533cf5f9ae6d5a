"""GET /: the paths that are served (meta/v1 RootPaths), and the answer to all that is not."""

from collections.abc import Awaitable, Callable, Iterable

import msgspec

from app.routes.respond import Answer, Scope
from app.wire.status import unknown_path


def create_index(paths: Callable[[], Iterable[str]]) -> Callable[[Scope], Awaitable[Answer]]:
    """The answer of /, made of `paths` when it is asked for: few ask, and groups come and go."""

    async def index(_scope: Scope) -> Answer:
        return Answer(200, msgspec.json.format(msgspec.json.encode({"paths": sorted(paths())}), indent=2))

    return index


async def unknown(_scope: Scope) -> Answer:
    """Anything else: 404 as a Status."""
    raise unknown_path()
