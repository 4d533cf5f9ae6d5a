"""Items that stand in the declaration itself: for first steps, for what people keep by hand, and for tests."""

import asyncio
from typing import Any

from pydantic import Field

from collectors._source import Means, Response, SourceType, Spec


class StaticSpec(Spec):
    """Items written down. `response` is what stands here: `response.items` is the list."""

    items: list[Any] = Field(description="The items, of any shape.")


class Static:
    """Gives the same response each time."""

    changed: asyncio.Event | None = None

    def __init__(self, spec: StaticSpec) -> None:
        self._response = Response({"items": spec.items})

    async def collect(self) -> Response:
        return self._response

    async def aclose(self) -> None:
        """Nothing is held."""


def _open(spec: StaticSpec, _means: Means) -> Static:
    return Static(spec)


SOURCE = SourceType(name="static", spec=StaticSpec, open=_open, endpoint=lambda _spec: "", hosts=lambda _spec: ())
