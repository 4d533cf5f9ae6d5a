"""A kube-apiserver that answers reviews from tables."""

import asyncio
from collections.abc import Callable
from typing import Any

from app.auth import access, token
from app.errors import KubeError, KubeUnavailable


class FakeReviews:
    """A ReviewClient. `tokens` maps tokens to user infos; `may` decides on the spec of a SubjectAccessReview.

    `error` is raised instead of any answer; `failures` makes only the next so many calls fail as unavailable.
    `gate`, an event, holds answers back until it is set. `asked` are the bodies in the order in which they came.
    """

    def __init__(
        self,
        tokens: dict[str, dict[str, Any]] | None = None,
        may: Callable[[dict[str, Any]], bool | dict[str, Any]] = lambda _spec: True,
    ) -> None:
        self.tokens = tokens or {}
        self.may = may
        self.error: KubeError | None = None
        self.failures = 0
        self.gate: asyncio.Event | None = None
        self.asked: list[dict[str, Any]] = []

    async def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(body)
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        if self.failures:
            self.failures -= 1
            raise KubeUnavailable("connection refused")
        spec = body["spec"]
        if path == token.PATH:
            user = self.tokens.get(spec["token"])
            return {**body, "status": {"error": "unknown token"} if user is None else {"authenticated": True, **user}}
        if path == access.PATH:
            verdict = self.may(spec)
            return {**body, "status": verdict if isinstance(verdict, dict) else {"allowed": verdict}}
        raise KubeError(f"POST {path}: not found", status=404)

    @property
    def specs(self) -> list[dict[str, Any]]:
        return [body["spec"] for body in self.asked]
