"""Who a request comes from and what it wants, in the words of k8s.io/apiserver's user.Info and authorizer.Attributes."""

from collections.abc import Callable, MutableMapping
from typing import Any, Protocol

from msgspec import Struct

Scope = MutableMapping[str, Any]
"""An ASGI connection scope."""

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"


class User(Struct, frozen=True, cache_hash=True):
    """An authenticated (or anonymous) caller. `extra` is sorted by key so that a User can be part of a cache key."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


ANONYMOUS = User(name="system:anonymous", groups=(UNAUTHENTICATED,))


class Attributes(Struct, frozen=True):
    """What is asked. `resource` empty means a non-resource request, described by `path` and the lower-case method as `verb`.

    `label_selector` and `field_selector` hold the requirements of a list in the SubjectAccessReview's own form, as JSON-ready
    tuples (key, operator, values).
    """

    verb: str
    path: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    label_selector: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    field_selector: tuple[tuple[str, str, tuple[str, ...]], ...] = ()


Narrowed = Callable[[], Attributes]
"""Makes the narrower form of a question: with the selectors of a list, which are read only for callers who may not ask for all."""


class Peer(Protocol):
    """What the transport knows of the caller, handed on in the ASGI scope under `PEER_KEY` (app/serving/protocol.py sets it).

    `chain` is the verified chain in DER, leaf first and trust anchor last, empty without a client certificate, or on a resumed TLS session.
    `trust_generation` is the generation of the trust bundle that verified it.
    """

    @property
    def chain(self) -> tuple[bytes, ...]: ...

    @property
    def trust_generation(self) -> int: ...


PEER_KEY = "kubeglance.peer"


class Gate(Protocol):
    """The whole of authentication and authorisation, as the routes see it."""

    def known(self, scope: Scope, attributes: Attributes) -> User | None:
        """The caller, where it is known already who that is and that they may do `attributes`; the scope is left as it is. None where that
        has to be found out, or is refused: `admit` does both.

        Raises Problem as `admit` would, or nothing.
        """
        ...

    async def admit(self, scope: Scope, attributes: Attributes, narrowed: Narrowed | None = None) -> User:
        """The caller, who may do `attributes`, or else what `narrowed` makes of them.

        Raises Problem: 401 Unauthorized, 403 Forbidden, 500 when no verdict can be had.
        """
        ...
