"""Identity by client certificate: CN is the user, each O a group (k8s.io/apiserver, pkg/authentication/request/x509)."""

from hashlib import sha256

from cachetools import LRUCache
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.x509.oid import NameOID
from msgspec import Struct

from app.auth.identity import User
from app.auth.trust import authority_id

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"


class CallerCertificate(Struct, frozen=True):
    """What a verified chain says.

    `issuers` are the authority ids above the leaf (of the leaf, if it stands alone as a trusted certificate). The chain is valid from
    `not_before` to `not_after`, Unix seconds: the narrowest window of all its certificates.
    """

    common_name: str
    organizations: tuple[str, ...]
    credential_id: str
    issuers: frozenset[bytes]
    not_before: float
    not_after: float

    def valid_at(self, wall: float) -> bool:
        """A connection outlives its handshake: the window is checked again at each request."""
        return self.not_before <= wall <= self.not_after


def read_chain(chain: tuple[bytes, ...]) -> CallerCertificate:
    """Read a verified chain in DER, leaf first. Raises ValueError if a certificate in it cannot be read."""
    try:
        return _read([x509.load_der_x509_certificate(der) for der in chain], chain[0])
    except UnsupportedAlgorithm as exc:
        raise ValueError(f"a key of the chain is of a kind that is not known: {exc}") from exc


def _read(certificates: list[x509.Certificate], leaf_der: bytes) -> CallerCertificate:
    leaf = certificates[0]
    names = [str(name.value) for name in leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    return CallerCertificate(
        common_name=names[-1] if names else "",  # Go keeps the last
        organizations=tuple(str(name.value) for name in leaf.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)),
        credential_id=f"X509SHA256={sha256(leaf_der).hexdigest()}",
        issuers=frozenset(map(authority_id, certificates[1:] or certificates)),
        not_before=max(certificate.not_valid_before_utc.timestamp() for certificate in certificates),
        not_after=min(certificate.not_valid_after_utc.timestamp() for certificate in certificates),
    )


class ChainReader:
    """read_chain with a memory: the requests of one connection share one chain, and reading it costs more than serving it."""

    def __init__(self, maxsize: int = 1024) -> None:
        self._read: LRUCache[tuple[bytes, ...], CallerCertificate] = LRUCache(maxsize)

    def read(self, chain: tuple[bytes, ...]) -> CallerCertificate:
        try:
            return self._read[chain]
        except KeyError:
            certificate = self._read[chain] = read_chain(chain)
            return certificate


def certificate_user(certificate: CallerCertificate) -> User | None:
    """The user a certificate of the client CA stands for; None without a common name."""
    if not certificate.common_name:
        return None
    return User(
        name=certificate.common_name,
        groups=certificate.organizations,
        extra=((CREDENTIAL_ID, (certificate.credential_id,)),),
    )
