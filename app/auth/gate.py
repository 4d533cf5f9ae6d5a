"""The gate every request passes: front proxy, client certificate, bearer token, else anonymous; then authorisation.

The order and the outcomes follow k8s.io/apiserver (pkg/authentication/authenticatorfactory/delegating.go): the first who knows the caller
wins, wrong credentials give 401, no credentials at all make the caller system:anonymous.
"""

from msgspec.structs import replace

from app.auth.access import AccessReviewer
from app.auth.certificate import ChainReader, certificate_user
from app.auth.identity import ANONYMOUS, AUTHENTICATED, PEER_KEY, UNAUTHENTICATED, Attributes, Peer, Scope, User
from app.auth.request_header import Headers, front_proxy_user
from app.auth.token import TokenAuthenticator, bearer_token
from app.auth.trust import Anchored, Trust, TrustBundle
from app.clock import Clock
from app.errors import Problem
from app.wire.status import quote

OPEN_PATHS = frozenset({"/healthz", "/livez", "/readyz"})
"""Served to anyone. The paths below them are not."""

_BOTH = Anchored.CLIENT | Anchored.REQUEST_HEADER


class DelegatingGate:
    """app.auth.identity.Gate, backed by the cluster."""

    def __init__(self, trust: Trust, tokens: TokenAuthenticator, access: AccessReviewer, clock: Clock, *, anonymous: bool = True) -> None:
        self._trust = trust
        self._tokens = tokens
        self._access = access
        self._clock = clock
        self._anonymous = anonymous
        self._chains = ChainReader()

    async def admit(self, scope: Scope, attributes: Attributes) -> User:
        """See Gate. After it the scope's headers hold no credentials any more: no token, no X-Remote-*."""
        if not attributes.resource and attributes.path in OPEN_PATHS:
            return ANONYMOUS
        bundle = self._trust.bundle
        headers: Headers = scope["headers"]
        user = _with_authenticated(await self._authenticate(scope.get(PEER_KEY), headers, bundle))
        scope["headers"] = _without_credentials(headers, bundle, user)
        await self._access.check(user, attributes)
        return user

    async def _authenticate(self, peer: Peer | None, headers: Headers, bundle: TrustBundle) -> User:
        refused = False
        if peer is not None and peer.chain:
            user, refused = self._by_certificate(peer, headers, bundle)
            if user is not None:
                return user
        token = bearer_token(headers)
        if token:
            user = await self._tokens.authenticate(token)
            if user is not None:
                return user
            refused = True
        if refused or not self._anonymous:
            raise _unauthorized()
        if peer is not None and not peer.chain and peer.trust_generation != bundle.generation:
            # At its handshake this caller may not have been asked for the certificate that now would be believed: let it come again.
            raise _unauthorized(close=True)
        return ANONYMOUS

    def _by_certificate(self, peer: Peer, headers: Headers, bundle: TrustBundle) -> tuple[User | None, bool]:
        """The user and whether the certificate was refused. Raises Problem 401 if it is valid no more.

        The sets are those in force now, not those of the handshake: a chain is as good as the authority it ends in.
        """
        try:
            certificate = self._chains.read(peer.chain)
        except ValueError:
            raise _unauthorized(close=True) from None
        anchored = bundle.anchored(certificate.issuers)
        if not anchored or not certificate.valid_at(self._clock.wall()):
            raise _unauthorized(close=True)
        refused = False
        ambiguous = anchored == _BOTH and not bundle.allowed_names
        if anchored & Anchored.REQUEST_HEADER and not ambiguous:
            if bundle.may_speak(certificate.common_name):
                user = front_proxy_user(headers, bundle)
                if user is not None:
                    return user, False
            else:
                refused = True
        if anchored & Anchored.CLIENT:
            return certificate_user(certificate), refused
        return None, True


def _with_authenticated(user: User) -> User:
    """Every known caller is in system:authenticated: the aggregator's own requests arrive without any group."""
    if user.name == ANONYMOUS.name or AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED))


def _without_credentials(headers: Headers, bundle: TrustBundle, user: User) -> list[tuple[bytes, bytes]]:
    named, prefixes = bundle.credential_headers, bundle.credential_prefixes
    kept = []
    for header in headers:
        name = header[0]
        if name.startswith(b"impersonate-"):
            # kube-apiserver resolves and removes them, so none comes through it. To ignore one would answer as somebody else.
            raise Problem(
                403,
                "Forbidden",
                f"forbidden: User {quote(user.name)} cannot impersonate here: send requests with Impersonate-* headers to kube-apiserver",
                details={},
                headers=(("X-Content-Type-Options", "nosniff"),),
            )
        if name not in named and not name.startswith(prefixes):
            kept.append(header)
    return kept


def _unauthorized(*, close: bool = False) -> Problem:
    return Problem(401, "Unauthorized", "Unauthorized", headers=(("connection", "close"),) if close else ())
