"""Asking kube-apiserver for a review (TokenReview, SubjectAccessReview): time-out, back-off, a typed answer."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

import msgspec

from app.errors import KubeError, KubeUnavailable

REVIEW_TIMEOUT = 10.0
"""Seconds for one review with all its tries; k8s.io/apiserver's webhook authenticator has the same."""

REVIEW_TTL = 10.0
"""Seconds a verdict is kept, good or bad; the default of Go's delegated authentication and authorisation."""

CACHE_SIZE = 8192
"""Verdicts kept at most, so that made-up tokens and names cannot fill the memory."""

_STEPS, _FIRST_DELAY, _FACTOR, _JITTER = 5, 0.5, 1.5, 0.2

T = TypeVar("T")

Sleep = Callable[[float], Awaitable[None]]


class ReviewClient(Protocol):
    """The part of the Kubernetes client that reviews need."""

    async def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """POST a body, the decoded answer. Raises KubeError, or KubeUnavailable if a later try may help."""
        ...


async def review(client: ReviewClient, path: str, body: dict[str, Any], answer: type[T], *, sleep: Sleep = asyncio.sleep) -> T:
    """The `status` of the answer as `answer`. Raises KubeError: refused, unavailable after five tries or 10 s, or not understood."""
    try:
        async with asyncio.timeout(REVIEW_TIMEOUT):
            reply = await _create(client, path, body, sleep)
    except TimeoutError as exc:
        raise KubeUnavailable(f"kube-apiserver did not answer POST {path} within {REVIEW_TIMEOUT:g} s") from exc
    try:
        return msgspec.convert(reply["status"], answer)
    except (KeyError, TypeError, msgspec.ValidationError) as exc:
        raise KubeError(f"the answer to POST {path} has no status that can be understood: {exc}") from exc


async def _create(client: ReviewClient, path: str, body: dict[str, Any], sleep: Sleep) -> dict[str, Any]:
    delay = _FIRST_DELAY
    for _ in range(_STEPS - 1):
        try:
            return await client.create(path, body)
        except KubeUnavailable:
            await sleep(delay * (1 + _JITTER * random.random()))  # noqa: S311  jitter is no secret
            delay *= _FACTOR
    return await client.create(path, body)
