"""TLS to a source that speaks a protocol of its own: whom to trust, and the name that its certificate must have."""

import ssl
from typing import Any

from collectors._base import Cause, CollectError


class _NamedContext(ssl.SSLContext):
    """Sessions that ask for, and verify, one name, whatever address was dialled: addresses come from our own look-up of that name."""

    name = ""

    def wrap_bio(self, incoming: Any, outgoing: Any, server_side: bool = False, server_hostname: Any = None, session: Any = None) -> Any:
        return super().wrap_bio(incoming, outgoing, server_side, self.name if server_hostname is not None else None, session)


def verifying(ca: str, name: str) -> ssl.SSLContext:
    """A context for a client that trusts `ca` (PEM; "" for the system's CAs) to certify `name`, a DNS name or an IP address.

    Raises CollectError if `ca` holds no certificate.
    """
    context = _NamedContext(ssl.PROTOCOL_TLS_CLIENT)  # this protocol verifies certificates and names
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.name = name
    if not ca:
        context.load_default_certs()
        return context
    try:
        context.load_verify_locations(cadata=ca)
    except (ssl.SSLError, TypeError, ValueError) as exc:  # TypeError: no ASCII
        raise CollectError(Cause.CERTIFICATE, "tls.ca holds no certificate that can be read", "give it certificates in PEM form") from exc
    return context
