"""Identity by bearer token, which kube-apiserver looks at for us: TokenReview (authentication.k8s.io/v1)."""

import asyncio
import secrets
from hashlib import blake2b
from typing import Any

import structlog
from msgspec import Struct, field

from app.auth.identity import User
from app.auth.request_header import Headers
from app.auth.reviews import CACHE_SIZE, REVIEW_TTL, ReviewClient, Sleep, review
from app.auth.single_flight import SingleFlight
from app.auth.verdicts import Verdicts
from app.clock import Clock
from app.errors import KubeError

PATH = "/apis/authentication.k8s.io/v1/tokenreviews"

_log = structlog.get_logger(__name__)


class _UserInfo(Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] | None = None
    extra: dict[str, list[str] | None] | None = None


class _TokenStatus(Struct):
    authenticated: bool = False
    user: _UserInfo = field(default_factory=_UserInfo)
    audiences: list[str] | None = None


class _Verdict(Struct, frozen=True):
    user: User | None


def bearer_token(headers: Headers) -> str:
    """The token of the first Authorization header, "" if it is none of a bearer. The scheme's case does not matter (RFC 7235 2.1)."""
    for name, value in headers:
        if name == b"authorization":
            scheme, _, rest = value.decode("latin-1").strip().partition(" ")
            return rest.split(" ", 1)[0] if scheme.lower() == "bearer" else ""
    return ""


class TokenAuthenticator:
    """TokenReview with a memory of 10 s for good and bad tokens; errors are not kept.

    Tokens are kept only as a MAC (keyed BLAKE2b) under a key of this process: a dump of the memory gives none away.
    With `audiences`, the token must be meant for one of them; by default that is left to kube-apiserver.
    """

    def __init__(self, client: ReviewClient, clock: Clock, *, audiences: tuple[str, ...] = (), sleep: Sleep = asyncio.sleep) -> None:
        self._client = client
        self._audiences = audiences
        self._sleep = sleep
        self._secret = secrets.token_bytes(32)
        self._verdicts: Verdicts[_Verdict] = Verdicts(CACHE_SIZE, REVIEW_TTL, clock.monotonic)
        self._flights: SingleFlight[_Verdict] = SingleFlight()

    def known(self, token: str) -> User | None:
        """Whose token it is, None if nobody's or if that is not known now."""
        verdict = self._verdicts.get(self._key(token))
        return None if verdict is None else verdict.user

    async def authenticate(self, token: str) -> User | None:
        """Whose token it is, None if nobody's or if that cannot be found out: without a proof there is no identity."""
        key = self._key(token)
        verdict = self._verdicts.get(key)
        if verdict is None:
            try:
                verdict = await self._flights.run(key, lambda: self._review(key, token))
            except KubeError as exc:
                _log.warning(
                    "a bearer token could not be reviewed, its bearer gets 401",
                    error=str(exc),
                    fix="kubectl create clusterrolebinding kubeglance:auth-delegator --clusterrole=system:auth-delegator "
                    "--serviceaccount=NAMESPACE:NAME"
                    if exc.status == 403
                    else "is kube-apiserver up and reachable?",
                )
                return None
        return verdict.user

    def _key(self, token: str) -> bytes:
        return blake2b(token.encode("latin-1", "replace"), key=self._secret, digest_size=32).digest()

    async def _review(self, key: bytes, token: str) -> _Verdict:
        spec: dict[str, Any] = {"token": token}
        if self._audiences:
            spec["audiences"] = list(self._audiences)
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
        status = await review(self._client, PATH, body, _TokenStatus, sleep=self._sleep)
        verdict = _Verdict(self._user(status))
        self._verdicts.put(key, verdict)
        return verdict

    def _user(self, status: _TokenStatus) -> User | None:
        if not status.authenticated or not status.user.username:
            return None
        if self._audiences and not set(self._audiences).intersection(status.audiences or ()):
            return None
        return User(
            name=status.user.username,
            uid=status.user.uid,
            groups=tuple(status.user.groups or ()),
            extra=tuple((key, tuple(values or ())) for key, values in sorted((status.user.extra or {}).items())),
        )
