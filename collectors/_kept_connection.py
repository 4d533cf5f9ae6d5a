"""A connection that is kept between collections: for how long, and what is done when it turns out to have ended."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from collectors._base import Cause, CollectError

KEEP_SECONDS = 1800.0
"""A connection is not kept longer, so that what load balancers and changed passwords decide comes into force."""

T = TypeVar("T")


async def once_more(collect: Callable[[], Awaitable[T]], *, kept: bool) -> T:
    """What `collect` gives. Where it went over a connection that was `kept`, and that was closed, it is tried once more over a new one:
    that it had ended may show only when it is used. Raises CollectError."""
    try:
        return await collect()
    except CollectError as error:
        if not (kept and error.cause is Cause.CLOSED):
            raise
    return await collect()
