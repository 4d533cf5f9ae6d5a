"""Who kubeglance is towards kube-apiserver and kubelets: an Authorization header that stays fresh.

Bound service account tokens live about an hour, and the kubelet replaces the file before that: a token that is read once works
for an hour and then gets 401. So it is read again when the file changed, at most every 60 s, and at once after a 401.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from app.clock import Clock
from app.errors import KubeError

_RECHECK_S = 60.0
_RETRY_AFTER_401_S = 5.0


class Credentials(Protocol):
    """Where the Authorization header comes from."""

    async def header(self) -> str | None:
        """The whole header value ("Bearer ..."), None if the connection has no such credential. Raises KubeError."""
        ...

    def refused(self) -> None:
        """The last header was answered with 401: read it again before the next use."""
        ...


class FixedCredentials:
    """A header that never changes, or none at all (client certificate, or no authentication)."""

    def __init__(self, value: str | None = None) -> None:
        self._value = value

    async def header(self) -> str | None:
        return self._value

    def refused(self) -> None:
        """Nothing can be read again."""


class RenewingCredentials:
    """A header that `read` gives anew: a token file, or an exec plugin of a kubeconfig.

    `read` may block; `in_thread` keeps it off the loop where it runs a program. A failing `read` keeps the last header while there is one.
    """

    def __init__(self, read: Callable[[], str | None], clock: Clock, *, in_thread: bool = False) -> None:
        self._read = read
        self._clock = clock
        self._in_thread = in_thread
        self._value: str | None = None
        self._read_at: float | None = None
        self._refused = False
        self._lock = asyncio.Lock()

    async def header(self) -> str | None:
        if not self._stale():
            return self._value
        async with self._lock:
            if self._stale():
                await self._renew()
        return self._value

    def _stale(self) -> bool:
        if self._read_at is None:
            return True
        return self._clock.monotonic() - self._read_at >= (_RETRY_AFTER_401_S if self._refused else _RECHECK_S)

    async def _renew(self) -> None:
        try:
            self._value = await asyncio.to_thread(self._read) if self._in_thread else self._read()
        except KubeError:
            if self._value is None:
                raise
        self._read_at = self._clock.monotonic()
        self._refused = False

    def refused(self) -> None:
        self._refused = True


def checked(header: str, origin: str) -> str:
    """The header, if it can be sent: one control character in it would make every request fail. Raises KubeError."""
    if not all(char.isprintable() for char in header):
        raise KubeError(f"the token of {origin} has a line break or another control character in it")
    return header


def token_file(path: Path) -> Callable[[], str]:
    """A reader of a bearer token file. Raises KubeError where it is missing or empty."""

    def read() -> str:
        try:
            token = path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as exc:
            raise KubeError(f"cannot read the token file {path}: {exc}; check that it is mounted and readable") from exc
        if not token:
            raise KubeError(f"the token file {path} is empty")
        return checked(f"Bearer {token}", f"the file {path}")

    return read
