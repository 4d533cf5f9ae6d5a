"""The TLS side of the server: which certificate is shown, which callers' certificates are believed, both changed without a restart.

asyncio and uvloop ask the SSLContext they were given for one `wrap_bio` a connection. The context they get here passes that on to the
newest context, so each handshake is wholly made under one generation: certificate, authorities and whether one is asked for at all.
(An sni_callback cannot do this: it leaves the verify mode of the old context in force.)
"""

import os
import ssl
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import structlog
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from app.auth.trust import TrustBundle
from app.errors import SettingsError

_log = structlog.get_logger(__name__)

KeyPair = tuple[bytes, bytes]
"""Certificate chain (leaf first) and private key, both PEM."""


class Offer(NamedTuple):
    """What handshakes may agree on. `ciphers` are the suites of TLS 1.2 in OpenSSL's words, "" for its own choice."""

    ciphers: str = ""
    minimum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2


_USUAL = Offer()


class DirectObject(ssl.SSLObject):
    """One whose `read` and `write` are OpenSSL's own: those of ssl.SSLObject are a step of Python more, for each record of a connection."""

    @property
    def read(self) -> Any:
        return self._sslobj.read  # type: ignore[attr-defined]

    @property
    def write(self) -> Any:
        return self._sslobj.write  # type: ignore[attr-defined]


class GenerationContext(ssl.SSLContext):
    """The context of one generation of the trust bundle; `SSLObject.context` leads back to it."""

    sslobject_class = DirectObject
    trust_generation: int = 0


class CurrentContext(ssl.SSLContext):
    """What the listener holds: no settings of its own count, every new connection gets `current`."""

    current: GenerationContext

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """Begin a handshake under the newest context."""
        return self.current.wrap_bio(incoming, outgoing, server_side, server_hostname, session)


class ServerTLS:
    """The serving key pair and the trust bundle, as contexts.

    Give `context` to the listener, call `use_bundle` when the bundle changes (Trust.on_change) and `reload_if_changed` every few seconds.
    """

    def __init__(self, certificate_file: Path, key_file: Path, bundle: TrustBundle | None = None, *, offer: Offer | None = None) -> None:
        """Raise SettingsError if the pair or the offer cannot be used: a server never starts with a bad one."""
        self._files = (certificate_file, key_file)
        self._bundle = bundle or TrustBundle()
        self._offer = offer or _USUAL
        self._refused: KeyPair | str | None = None
        try:
            self._pair = self._read()
            current = build_context(self._pair, self._bundle, self._offer)
        except (OSError, ssl.SSLError, ValueError) as exc:
            raise SettingsError([f"the serving certificate {certificate_file} with key {key_file} cannot be used: {exc}"]) from exc
        self.context = CurrentContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.current = current

    def use_bundle(self, bundle: TrustBundle) -> None:
        """Believe the authorities of `bundle` from the next handshake on."""
        try:
            self.context.current = build_context(self._pair, bundle, self._offer)
        except (OSError, ssl.SSLError, ValueError) as exc:
            _log.error("the trust bundle cannot be used for TLS, the last good one stays", error=str(exc), generation=bundle.generation)
            return
        self._bundle = bundle

    def reload_if_changed(self) -> bool:
        """Show a renewed certificate from the next handshake on. True if it changed. Keeps the last good pair, with one error a fault.

        Contents are compared, not times: volumes of Secrets change by a symbolic link. Certificate and key may be caught half-way: they
        then do not fit together, the old pair stays, and the next call finds them whole.
        """
        pair: KeyPair | None = None
        try:
            pair = self._read()
            if pair == self._pair:
                self._refused = None
                return False
            if pair == self._refused:
                return False
            context = build_context(pair, self._bundle, self._offer)
        except (OSError, ssl.SSLError, ValueError) as exc:
            if (pair or str(exc)) != self._refused:
                _log.error(
                    "the renewed serving certificate cannot be used, the last good one stays",
                    certificate=str(self._files[0]),
                    key=str(self._files[1]),
                    error=str(exc),
                )
            self._refused = pair or str(exc)
            return False
        self._pair, self._refused = pair, None
        self.context.current = context
        leaf = x509.load_pem_x509_certificate(pair[0])
        _log.info("serving with a renewed certificate", subject=leaf.subject.rfc4514_string(), ends=leaf.not_valid_after_utc.isoformat())
        return True

    @property
    def not_after(self) -> float:
        """When the certificate that is shown ends, Unix seconds."""
        return x509.load_pem_x509_certificate(self._pair[0]).not_valid_after_utc.timestamp()

    def _read(self) -> KeyPair:
        return (self._files[0].read_bytes(), self._files[1].read_bytes())


def build_context(pair: KeyPair, bundle: TrustBundle, offer: Offer = _USUAL) -> GenerationContext:
    """A fresh server context, for there is no way to take an authority out of an old one. Raises ValueError, OSError or SSLError.

    - Sessions are not resumed by ticket (num_tickets, OP_NO_TICKET): a resumed session has no verified chain. TLS 1.2 resumption by
      session id cannot be switched off from Python; app/serving/protocol.py gives such a connection no certificate identity.
    - VERIFY_X509_STRICT is off: many clusters' authorities lack keyUsage or key identifiers.
    - Partial chains are off: a chain ends in a root of the bundle.
    """
    context = GenerationContext(ssl.PROTOCOL_TLS_SERVER)
    context.trust_generation = bundle.generation
    context.minimum_version = offer.minimum
    if offer.ciphers:
        context.set_ciphers(offer.ciphers)
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.num_tickets = 0
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_PARTIAL_CHAIN", 0)
    _load_pair(context, pair)
    authorities = _unique(bundle.client_cas + bundle.requestheader_cas)
    if authorities:
        context.load_verify_locations(cadata=b"".join(authorities))
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def _unique(certificates: Sequence[x509.Certificate]) -> list[bytes]:
    return list(dict.fromkeys(certificate.public_bytes(Encoding.DER) for certificate in certificates))


def _load_pair(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Python loads pairs from files only; the very bytes that were compared are loaded, from memory where the system can."""
    certificate, key = pair
    if not certificate.strip() or not key.strip():
        raise ValueError("a file is empty")
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("serving-pair", os.MFD_CLOEXEC)
        with os.fdopen(descriptor, "wb") as file:
            file.write(certificate.rstrip() + b"\n" + key)
            file.flush()
            context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=_no_password)
        return
    with tempfile.NamedTemporaryFile(prefix="serving-pair-") as file:
        file.write(certificate.rstrip() + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name, password=_no_password)


def _no_password() -> str:
    raise ValueError("the private key is encrypted, which is not supported")
