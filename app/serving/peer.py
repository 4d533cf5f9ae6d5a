"""What a connection's TLS handshake says about the caller."""

import _ssl
import ssl
import sys

from msgspec import Struct

from app.serving.tls import GenerationContext


class ConnectionPeer(Struct, frozen=True):
    """app.auth.identity.Peer: one value a connection."""

    chain: tuple[bytes, ...] = ()
    trust_generation: int = 0


NO_PEER = ConnectionPeer()


def read_peer(ssl_object: ssl.SSLObject | None) -> ConnectionPeer:
    """The peer of a finished handshake. A resumed session was not verified now, under this context: it carries no certificate."""
    if ssl_object is None:
        return NO_PEER
    context = ssl_object.context
    generation = context.trust_generation if isinstance(context, GenerationContext) else 0
    chain = () if ssl_object.session_reused else _verified_chain(ssl_object)
    return ConnectionPeer(chain, generation)


def _verified_chain(ssl_object: ssl.SSLObject) -> tuple[bytes, ...]:
    if sys.version_info >= (3, 13):
        return tuple(ssl_object.get_verified_chain())
    chain = ssl_object._sslobj.get_verified_chain()  # type: ignore[attr-defined]  # noqa: SLF001  public from Python 3.13 on
    return tuple(certificate.public_bytes(_ssl.ENCODING_DER) for certificate in chain or ())
