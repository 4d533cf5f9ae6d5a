"""TLS of sources: a context from PEM texts, which never become files that others can read."""

import os
import ssl
from functools import cache

from collectors._base import Cause, CollectError
from collectors._http_client import Trust


def context_of(trust: Trust) -> ssl.SSLContext:
    """A context for a client. Raises CollectError that names the part of tls that cannot be used.

    VERIFY_X509_STRICT is cleared as for all our clients (app/kube/config.py).
    """
    if trust == Trust(server_name=trust.server_name):
        return _of_the_machine()
    try:
        context = ssl.create_default_context(cadata=trust.ca or None)
    except (ssl.SSLError, ValueError) as exc:
        raise CollectError(Cause.CERTIFICATE, "tls.ca holds no certificate that can be read", "give it certificates in PEM form") from exc
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not trust.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if trust.certificate:
        _show(context, trust.certificate, trust.key)
    return context


@cache
def _of_the_machine() -> ssl.SSLContext:
    """With the machine's own CAs, which take some milliseconds to read: one for all sources."""
    context = ssl.create_default_context()
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _show(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """Use a client certificate. OpenSSL's binding reads files only: this one is in memory, and nobody else can open it."""
    descriptor = os.memfd_create("client certificate")
    try:
        with os.fdopen(os.dup(descriptor), "w", encoding="ascii") as out:
            out.write(f"{certificate}\n{key}\n")
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=_no_password)
    except (OSError, ValueError) as exc:  # ssl.SSLError is an OSError
        remedy = "both must be PEM, the key not encrypted, and belong together"
        raise CollectError(Cause.CERTIFICATE, "tls.cert and tls.key cannot be used", remedy) from exc
    finally:
        os.close(descriptor)


def _no_password() -> str:
    """Instead of OpenSSL's own question on the terminal."""
    raise ValueError("the private key is encrypted")
