"""Certificate authorities and leaves, for `kubeglance certs`, for the demo and for tests.

Keys are EC P-256. Every certificate carries the extensions that strict verifiers ask for (RFC 5280 section 4.2): subject and authority
key identifiers, keyUsage, basicConstraints, extendedKeyUsage, so that Python's VERIFY_X509_STRICT and Go both accept them.
"""

import datetime
import ipaddress
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from app.clock import Clock
from app.errors import KubeglanceError

BACKDATED = datetime.timedelta(hours=1)
"""How long before it was made a certificate begins: machines whose clocks are a little behind accept it at once."""
_CA_USAGE = ("key_cert_sign", "crl_sign", "digital_signature")
_LEAF_USAGE = ("digital_signature",)


class CertificateError(KubeglanceError):
    """A certificate or key file cannot be used. The message names the file and what to do."""


class Authority:
    """A certificate authority that can sign: `certificate` and the key that belongs to it."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey, clock: Clock) -> None:
        self.certificate = certificate
        self._key = key
        self._clock = clock

    @classmethod
    def create(cls, name: str, clock: Clock, days: float = 3650) -> Self:
        """A new self-signed authority whose common name is `name`, valid for `days` from the clock's now."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(name)
        builder = (
            _builder(subject, subject, key.public_key(), clock=clock, days=days)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(_CA_USAGE), critical=True)
        )
        return cls(builder.sign(key, hashes.SHA256()), key, clock)

    @classmethod
    def load(cls, certificate: Path, key: Path, clock: Clock) -> Self:
        """The authority in two PEM files. Raises CertificateError if they are unreadable or do not belong together."""
        try:
            pems = certificate.read_bytes(), key.read_bytes()
        except OSError as exc:
            raise _unloadable(str(certificate), str(key), exc) from exc
        return cls.parse(*pems, clock, names=(str(certificate), str(key)))

    @classmethod
    def parse(cls, certificate: bytes, key: bytes, clock: Clock, *, names: tuple[str, str]) -> Self:
        """The authority in two PEM texts, which came from what `names` says. Raises CertificateError as `load` does."""
        of_certificate, of_key = names
        try:
            parsed = x509.load_pem_x509_certificate(certificate)
            public = parsed.public_key()
            private = load_pem_private_key(key, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as exc:
            raise _unloadable(of_certificate, of_key, exc) from exc
        if not isinstance(private, ec.EllipticCurvePrivateKey):
            raise CertificateError(f"the key in {of_key} is not an elliptic curve key; make a new authority with `kubeglance certs`")
        if private.public_key() != public:
            raise CertificateError(f"the key in {of_key} does not belong to the certificate in {of_certificate}")
        if fault := _no_authority(parsed):
            raise CertificateError(f"the certificate in {of_certificate} is not that of an authority: {fault}")
        return cls(parsed, private, clock)

    @property
    def certificate_pem(self) -> bytes:
        """The authority's certificate: what goes into a caBundle or a --client-ca-file."""
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The signing key, PKCS #8, not encrypted: write it with `write_key` only."""
        return _key_pem(self._key)

    def save(self, certificate: Path, key: Path) -> None:
        """Write both PEM files, the key readable by its owner only."""
        certificate.write_bytes(self.certificate_pem)
        write_key(key, self.key_pem)

    def issue(
        self,
        common_name: str,
        organizations: Sequence[str] = (),
        dns: Iterable[str] = (),
        ips: Iterable[str] = (),
        *,
        server: bool = False,
        client: bool = False,
        days: float = 365,
    ) -> tuple[bytes, bytes]:
        """A new leaf and its key, both PEM. Kubernetes reads `common_name` as the user and `organizations` as its groups.

        `dns` and `ips` become subject alternative names; `server` and `client` become extended key usages. The leaf never outlives
        its authority.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        ends = self.certificate.not_valid_after_utc
        builder = _builder(
            _name(common_name, organizations), self.certificate.subject, key.public_key(), clock=self._clock, days=days, latest=ends
        )
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(_LEAF_USAGE), critical=True)
        builder = builder.add_extension(self._identifier(), critical=False)
        usages = [ExtendedKeyUsageOID.SERVER_AUTH] * server + [ExtendedKeyUsageOID.CLIENT_AUTH] * client
        if usages:
            builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        names: list[x509.GeneralName] = [x509.DNSName(name) for name in dns]
        names += [x509.IPAddress(ipaddress.ip_address(address)) for address in ips]
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        leaf = builder.sign(self._key, hashes.SHA256())
        return leaf.public_bytes(Encoding.PEM), _key_pem(key)

    def _identifier(self) -> x509.AuthorityKeyIdentifier:
        """What leaves say of their authority's key: its identifier, or where it has none the usual one (RFC 5280 section 4.2.1.2)."""
        try:
            own = self.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        except x509.ExtensionNotFound:
            return x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)


def write_key(path: Path, pem: bytes) -> None:
    """Write a private key so that no other user can ever read it, not even between creating and filling the file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)  # the file may have been there already, with another mode
        file.write(pem)


def _unloadable(certificate: str, key: str, error: Exception) -> CertificateError:
    return CertificateError(
        f"cannot load the authority from {certificate} and {key}: {error}; give a PEM certificate and its unencrypted key"
    )


def _no_authority(certificate: x509.Certificate) -> str:
    """Why verifiers would not let it sign others, "" if they would: RFC 5280 section 4.2.1.3 and 4.2.1.9, and Go's CheckSignatureFrom."""
    try:
        extensions = certificate.extensions
    except (ValueError, x509.DuplicateExtension) as exc:
        return f"its extensions cannot be read: {exc}"
    try:
        if not extensions.get_extension_for_class(x509.BasicConstraints).value.ca:
            return "its basic constraints say CA:FALSE"
    except x509.ExtensionNotFound:
        if certificate.version is x509.Version.v3:
            return "it has no basic constraints that say CA:TRUE"
    try:
        if not extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign:
            return "its key usage has no keyCertSign"
    except x509.ExtensionNotFound:
        pass  # then all usages are allowed
    return ""


def _name(common_name: str, organizations: Sequence[str] = ()) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization) for organization in organizations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    *,
    clock: Clock,
    days: float,
    latest: datetime.datetime | None = None,
) -> x509.CertificateBuilder:
    now = datetime.datetime.fromtimestamp(int(clock.wall()), datetime.UTC)
    until = now + datetime.timedelta(days=days)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(until if latest is None else min(until, latest))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _usage(wanted: Sequence[str]) -> x509.KeyUsage:
    names = (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
        "encipher_only",
        "decipher_only",
    )
    return x509.KeyUsage(**{name: name in wanted for name in names})


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
