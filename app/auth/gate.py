"""The gate every request passes: front proxy, client certificate, bearer token, else anonymous; then authorisation.

The order and the outcomes follow k8s.io/apiserver (pkg/authentication/authenticatorfactory/delegating.go): the first who knows the caller
wins, wrong credentials give 401, no credentials at all make the caller system:anonymous.
"""

import structlog
from msgspec.structs import replace

from app.auth.access import AccessReviewer
from app.auth.certificate import ChainReader, certificate_user
from app.auth.identity import ANONYMOUS, AUTHENTICATED, PEER_KEY, UNAUTHENTICATED, Attributes, Narrowed, Peer, Scope, User
from app.auth.request_header import FrontProxyReader, Headers
from app.auth.token import TokenAuthenticator, bearer_token
from app.auth.trust import ALLOWED_NAMES, Anchored, Trust, TrustBundle
from app.clock import Clock
from app.errors import Problem
from app.wire.status import quote

_log = structlog.get_logger(__name__)

OPEN_PATHS = frozenset({"/healthz", "/livez", "/readyz"})
"""Served to anyone. The paths below them are not."""

Credentials = tuple[tuple[bytes, bytes], ...]
"""The headers that say who somebody is, or wants to be."""

_DISCOVERY = ("/apis", "/openapi", "/version")
"""With what is below them: the static part of the role system:discovery, which every cluster binds to system:authenticated."""

_BOTH = Anchored.CLIENT | Anchored.REQUEST_HEADER


class _Unauthorized(Exception):
    """Nobody, or not who they say. With `close` the connection is not to be used again."""

    def __init__(self, why: str, *, close: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.close = close


class DelegatingGate:
    """app.auth.identity.Gate, backed by the cluster."""

    def __init__(self, trust: Trust, tokens: TokenAuthenticator, access: AccessReviewer, clock: Clock, *, anonymous: bool = True) -> None:
        self._trust = trust
        self._tokens = tokens
        self._access = access
        self._clock = clock
        self._anonymous = anonymous
        self._chains = ChainReader()
        self._front_proxy = FrontProxyReader()

    def known(self, scope: Scope, attributes: Attributes) -> User | None:
        """See Gate."""
        bundle = self._trust.bundle
        credentials = _credentials(scope["headers"], bundle)
        user = None
        peer = scope.get(PEER_KEY)
        if peer is not None and peer.chain:
            try:
                user, _ = self._by_certificate(peer, credentials, bundle)
            except _Unauthorized:
                return None
        if user is None:
            token = bearer_token(credentials)
            user = self._tokens.known(token) if token else None
        if user is None:
            return None
        user = _with_authenticated(user)
        _refuse_impersonation(credentials, user)
        return user if self._access.knows(user, attributes) else None

    async def admit(self, scope: Scope, attributes: Attributes, narrowed: Narrowed | None = None) -> User:
        """See Gate. After it the scope's headers hold no credentials any more: no token, no X-Remote-*."""
        if not attributes.resource and attributes.path in OPEN_PATHS:
            return ANONYMOUS
        bundle = self._trust.bundle
        credentials = _credentials(scope["headers"], bundle)
        said = frozenset(credentials)
        scope["headers"] = [header for header in scope["headers"] if header not in said]
        try:
            user = _with_authenticated(await self._authenticate(scope.get(PEER_KEY), credentials, bundle))
        except _Unauthorized as exc:
            # The caller learns nothing of the cause, the log does.
            _log.info("a request is unauthorized", why=exc.why)
            raise Problem(401, "Unauthorized", "Unauthorized", headers=(("connection", "close"),) if exc.close else ()) from exc
        _refuse_impersonation(credentials, user)
        if not _is_discovery(user, attributes):
            await self._access.check(user, attributes, narrowed)
        return user

    async def _authenticate(self, peer: Peer | None, credentials: Credentials, bundle: TrustBundle) -> User:
        refused = ""
        if peer is not None and peer.chain:
            user, refused = self._by_certificate(peer, credentials, bundle)
            if user is not None:
                return user
        token = bearer_token(credentials)
        if token:
            user = await self._tokens.authenticate(token)
            if user is not None:
                return user
            refused = refused or "the bearer token was not accepted"
        if refused:
            raise _Unauthorized(refused)
        if not self._anonymous:
            raise _Unauthorized("there are no credentials, and anonymous requests are switched off")
        if peer is not None and not peer.chain and peer.trust_generation != bundle.generation:
            # At its handshake this caller may not have been asked for the certificate that now would be believed: let it come again.
            raise _Unauthorized("the connection is older than the authorities in force and has no credentials", close=True)
        return ANONYMOUS

    def _by_certificate(self, peer: Peer, credentials: Credentials, bundle: TrustBundle) -> tuple[User | None, str]:
        """The user, and why the certificate was refused, if it was. Raises _Unauthorized if it is valid no more.

        The sets are those in force now, not those of the handshake: a chain is as good as the authority it ends in.
        """
        try:
            certificate = self._chains.read(peer.chain)
        except ValueError as exc:
            raise _Unauthorized(f"the certificate cannot be read: {exc}", close=True) from exc
        anchored = bundle.anchored(certificate.issuers)
        name = certificate.common_name
        if not anchored:
            raise _Unauthorized(f"the authority of certificate {quote(name)} is not trusted any more", close=True)
        if not certificate.valid_at(self._clock.wall()):
            raise _Unauthorized(f"certificate {quote(name)} has ended or is of the future", close=True)
        refused = ""
        ambiguous = anchored == _BOTH and not bundle.allowed_names
        if anchored & Anchored.REQUEST_HEADER and not ambiguous:
            if bundle.may_speak(name):
                user = self._front_proxy.read(credentials, bundle)
                if user is not None:
                    return user, ""
                refused = f"certificate {quote(name)} is the front proxy's, and no header says for whom it speaks"
            else:
                refused = f"certificate {quote(name)} is of the front proxy's authority, and its name is not in {ALLOWED_NAMES}"
        if anchored & Anchored.CLIENT:
            return certificate_user(certificate), refused
        return None, refused


def _is_discovery(user: User, asked: Attributes) -> bool:
    """Whether an authenticated caller reads what kinds there are. That never waits for a verdict: were it refused while authorisation is
    away, the API would be marked as gone, and namespaces would hang in Terminating (docs/decisions/0008)."""
    if asked.resource or asked.verb not in {"get", "head"} or AUTHENTICATED not in user.groups:
        return False
    return any(asked.path == root or asked.path.startswith(f"{root}/") for root in _DISCOVERY)


def _with_authenticated(user: User) -> User:
    """Every known caller is in system:authenticated: the aggregator's own requests arrive without any group."""
    if user.name == ANONYMOUS.name or AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED))


def _credentials(headers: Headers, bundle: TrustBundle) -> Credentials:
    """In the order of arrival. All the rest is what routes see."""
    names, prefixes = bundle.credential_headers, bundle.credential_prefixes
    return tuple([header for header in headers if header[0] in names or header[0].startswith(prefixes)])


def _refuse_impersonation(credentials: Credentials, user: User) -> None:
    """kube-apiserver resolves and removes Impersonate-*, so none comes through it. To ignore one would answer as somebody else."""
    for name, _ in credentials:
        if name.startswith(b"impersonate-"):
            raise Problem(
                403,
                "Forbidden",
                f"forbidden: User {quote(user.name)} cannot impersonate here: send requests with Impersonate-* headers to kube-apiserver",
                details={},
                headers=(("X-Content-Type-Options", "nosniff"),),
            )
