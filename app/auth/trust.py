"""Whom kubeglance believes: the content of ConfigMap kube-system/extension-apiserver-authentication as one frozen value.

kube-apiserver writes the ConfigMap (k8s.io/apiserver, pkg/server/options/authentication.go reads it in Go servers). It names two sets of
certificate authorities: that of users (`client-ca-file`) and that of the front proxy (`requestheader-client-ca-file`), which may speak for
others by headers. Which set a caller's chain ends in decides between the two; that both sets stand in one TLS store decides nothing.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Flag
from functools import cached_property
from hashlib import sha256

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from app.errors import KubeglanceError

CLIENT_CA = "client-ca-file"
REQUESTHEADER_CA = "requestheader-client-ca-file"
ALLOWED_NAMES = "requestheader-allowed-names"
USERNAME_HEADERS = "requestheader-username-headers"
UID_HEADERS = "requestheader-uid-headers"
GROUP_HEADERS = "requestheader-group-headers"
EXTRA_PREFIXES = "requestheader-extra-headers-prefix"


class TrustDataError(KubeglanceError):
    """The ConfigMap cannot be read. `faults` has one line for each fault: which key, what is wrong."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)


class Anchored(Flag):
    """Which sets of authorities a chain ends in."""

    NOWHERE = 0
    CLIENT = 1
    REQUEST_HEADER = 2


def authority_id(certificate: x509.Certificate) -> bytes:
    """One authority is one subject and one key: a renewed certificate of the same authority has the same id."""
    subject = certificate.subject.public_bytes()
    key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return sha256(len(subject).to_bytes(4, "big") + subject + key).digest()


@dataclass(frozen=True)
class TrustBundle:
    """Authorities and header names. Header names and prefixes are lower-case bytes, as ASGI gives them; never `_` for `-`.

    `generation` counts the changes: 0 is the empty bundle of the start. An empty `allowed_names` means any certificate of the front
    proxy's authorities.
    """

    generation: int = 0
    client_cas: tuple[x509.Certificate, ...] = ()
    requestheader_cas: tuple[x509.Certificate, ...] = ()
    allowed_names: tuple[str, ...] = ()
    username_headers: tuple[bytes, ...] = ()
    uid_headers: tuple[bytes, ...] = ()
    group_headers: tuple[bytes, ...] = ()
    extra_prefixes: tuple[bytes, ...] = ()

    @cached_property
    def client_ids(self) -> frozenset[bytes]:
        return frozenset(map(authority_id, self.client_cas))

    @cached_property
    def requestheader_ids(self) -> frozenset[bytes]:
        return frozenset(map(authority_id, self.requestheader_cas))

    @cached_property
    def ambiguous(self) -> bool:
        """Whether a user's certificate could pass for the front proxy's: an authority is in both sets and no name tells them apart."""
        return not self.allowed_names and bool(self.client_ids & self.requestheader_ids)

    @cached_property
    def credential_headers(self) -> frozenset[bytes]:
        """Headers that say who somebody is; routes never see them."""
        return frozenset((b"authorization", *self.username_headers, *self.uid_headers, *self.group_headers))

    @cached_property
    def credential_prefixes(self) -> tuple[bytes, ...]:
        """Beginnings of such headers. The usual ones are held back also when the ConfigMap names others or none."""
        return (b"x-remote-", b"impersonate-", *self.extra_prefixes)

    def anchored(self, issuers: Collection[bytes]) -> Anchored:
        """The sets that hold one of a verified chain's authorities (authority_id of all certificates above the leaf).

        As in Go, an authority that is itself issued by another may anchor a chain; OpenSSL has verified all of it up to a root.
        """
        found = Anchored.NOWHERE
        if not self.client_ids.isdisjoint(issuers):
            found |= Anchored.CLIENT
        if not self.requestheader_ids.isdisjoint(issuers):
            found |= Anchored.REQUEST_HEADER
        return found

    def may_speak(self, common_name: str) -> bool:
        """Whether a certificate of the front proxy's authorities with this common name may speak for others."""
        return not self.allowed_names or common_name in self.allowed_names


class Trust:
    """The bundle in force, and who is told when it changes. Every change gives it the next generation."""

    def __init__(self, bundle: TrustBundle | None = None) -> None:
        self._bundle = bundle or TrustBundle()
        self._listeners: list[Callable[[TrustBundle], None]] = []

    @property
    def bundle(self) -> TrustBundle:
        return self._bundle

    def on_change(self, listener: Callable[[TrustBundle], None]) -> None:
        """Call `listener` with each new bundle from now on, at once and in the order of registration."""
        self._listeners.append(listener)

    def replace(self, bundle: TrustBundle) -> bool:
        """Put a bundle into force. False if it says the same as the one in force, which then stays."""
        current = self._bundle
        bundle = _with_generation(bundle, current.generation)
        if bundle == current:
            return False
        self._bundle = _with_generation(bundle, current.generation + 1)
        for listener in self._listeners:
            listener(self._bundle)
        return True


def parse_bundle(data: Mapping[str, str]) -> TrustBundle:
    """The bundle that the ConfigMap's data describes. Raises TrustDataError with all faults.

    Absent or empty keys are empty sets: a cluster may have no client CA (kubernetes#65724), and UID headers are believed only if named.
    """
    faults: list[str] = []
    client_cas = _certificates(data, CLIENT_CA, faults)
    requestheader_cas = _certificates(data, REQUESTHEADER_CA, faults)
    names = {key: _names(data, key, faults) for key in (ALLOWED_NAMES, USERNAME_HEADERS, UID_HEADERS, GROUP_HEADERS, EXTRA_PREFIXES)}
    if faults:
        raise TrustDataError(faults)
    return TrustBundle(
        client_cas=client_cas,
        requestheader_cas=requestheader_cas,
        allowed_names=names[ALLOWED_NAMES],
        username_headers=_header_names(names[USERNAME_HEADERS]),
        uid_headers=_header_names(names[UID_HEADERS]),
        group_headers=_header_names(names[GROUP_HEADERS]),
        extra_prefixes=_header_names(names[EXTRA_PREFIXES]),
    )


def _with_generation(bundle: TrustBundle, generation: int) -> TrustBundle:
    if bundle.generation == generation:
        return bundle
    return TrustBundle(
        generation,
        bundle.client_cas,
        bundle.requestheader_cas,
        bundle.allowed_names,
        bundle.username_headers,
        bundle.uid_headers,
        bundle.group_headers,
        bundle.extra_prefixes,
    )


def _certificates(data: Mapping[str, str], key: str, faults: list[str]) -> tuple[x509.Certificate, ...]:
    text = data.get(key, "")
    if not text.strip():
        return ()
    try:
        certificates = x509.load_pem_x509_certificates(text.encode())
        for certificate in certificates:
            authority_id(certificate)  # a name or key that cannot be read must fail here, not at a request
    except Exception as exc:  # noqa: BLE001  cryptography raises ValueError, TypeError, UnsupportedAlgorithm and its own parse errors
        faults.append(f"{key}: not a list of PEM certificates ({exc})")
        return ()
    return tuple(certificates)


def _names(data: Mapping[str, str], key: str, faults: list[str]) -> tuple[str, ...]:
    text = data.get(key, "")
    if not text.strip():
        return ()
    try:
        names = msgspec.json.decode(text, type=list[str] | None)
    except (msgspec.DecodeError, UnicodeError) as exc:
        faults.append(f"{key}: not a JSON list of strings ({exc})")
        return ()
    return tuple(name for name in map(str.strip, names or ()) if name)


def _header_names(names: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(name.lower().encode() for name in names)
