"""How authority and serving certificate are renewed so that no client is ever without one that it can verify. Pure.

A new authority joins the bundle that clients trust (the caBundle of the APIServices) long before the old one ends. It signs nothing until
every APIService has had the bundle for a while. The old one leaves the bundle when every replica has had the new certificate for a while.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from cryptography import x509

from app.certs import BACKDATED, Authority, CertificateError
from app.clock import Clock

_DAY = 86400.0
_RENEWED_AT = 2 / 3
"""The share of its life after which a certificate is replaced: a third is left for whatever keeps that from working."""


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, both PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True)
class Lifetimes:
    """Seconds: of authorities, of serving certificates, and that a step of a rotation waits until all have seen the one before."""

    authority: float = 3650 * _DAY
    certificate: float = 90 * _DAY
    overlap: float = 600.0


@dataclass(frozen=True)
class Holdings:
    """All that is kept. `current` signs; `next` is trusted already and signs later; `previous` (PEM) is still trusted.

    `published` is since when every APIService has had `next` in its bundle, `issued` when `leaf` was made; Unix seconds, 0 for never.
    """

    current: Pair | None = None
    next: Pair | None = None
    previous: bytes = b""
    leaf: Pair | None = None
    published: float = 0.0
    issued: float = 0.0

    @property
    def bundle(self) -> bytes:
        """What clients must trust now, PEM: the one that signs first."""
        return b"".join([pair.certificate for pair in (self.current, self.next) if pair is not None] + [self.previous])


def advance(holdings: Holdings, *, clock: Clock, names: Sequence[str], lifetimes: Lifetimes, published: bool) -> Holdings:
    """The holdings after all steps that are due now; the same object if none is.

    `names` are those that the serving certificate must bear, the first as its common name. `published` tells whether every APIService has
    the bundle of these holdings. What cannot be read counts as not there: it is made anew.
    """
    now = clock.wall()
    holdings = _authorities(holdings, clock, lifetimes, published=published)
    authority = _authority(holdings.current, clock)
    if authority is None:  # _authorities has just seen to it that there is one
        raise CertificateError("there is no authority to sign with")
    if _leaf_is_due(holdings.leaf, authority, names, now):
        leaf = authority.issue(names[0][:64], dns=names, server=True, days=lifetimes.certificate / _DAY)
        holdings = replace(holdings, leaf=Pair(*leaf), issued=now)
    if holdings.previous and holdings.issued and now - holdings.issued >= lifetimes.overlap:
        holdings = replace(holdings, previous=b"")
    return holdings


def _authorities(holdings: Holdings, clock: Clock, lifetimes: Lifetimes, *, published: bool) -> Holdings:
    """The authorities after the step that is due, if one is."""
    now = clock.wall()
    current, following = _authority(holdings.current, clock), _authority(holdings.next, clock)
    if current is None:
        # Nobody trusts what it signed any more than what a new one would: there is nothing to overlap with.
        fresh = holdings.next if following is not None and holdings.next is not None else _create(clock, lifetimes)
        return replace(holdings, current=fresh, next=None, published=0.0)
    if following is None:
        if not _is_due(current.certificate, now):
            return holdings if holdings.next is None else replace(holdings, next=None, published=0.0)
        return replace(holdings, next=_create(clock, lifetimes), published=0.0)
    if not published:
        return holdings if not holdings.published else replace(holdings, published=0.0)
    if not holdings.published:
        return replace(holdings, published=now)
    if now - holdings.published < lifetimes.overlap or holdings.current is None:
        return holdings
    return replace(holdings, current=holdings.next, next=None, previous=holdings.current.certificate, published=0.0)


def _create(clock: Clock, lifetimes: Lifetimes) -> Pair:
    """A new authority. The time in its name tells it from the one before, which would else be taken for it."""
    made = datetime.fromtimestamp(clock.wall(), UTC).strftime("%Y%m%d%H%M%S")
    authority = Authority.create(f"kubeglance registrar {made}", clock, days=lifetimes.authority / _DAY)
    return Pair(authority.certificate_pem, authority.key_pem)


def _authority(pair: Pair | None, clock: Clock) -> Authority | None:
    """The authority, if it can be read and has not ended."""
    if pair is None:
        return None
    try:
        authority = Authority.parse(pair.certificate, pair.key, clock, names=("the Secret", "the Secret"))
    except CertificateError:
        return None
    return authority if authority.certificate.not_valid_after_utc.timestamp() > clock.wall() else None


def _is_due(certificate: x509.Certificate, now: float) -> bool:
    made, end = (certificate.not_valid_before_utc + BACKDATED).timestamp(), certificate.not_valid_after_utc.timestamp()
    return now >= made + (end - made) * _RENEWED_AT


def _leaf_is_due(leaf: Pair | None, authority: Authority, names: Sequence[str], now: float) -> bool:
    """Whether the serving certificate must be made anew: it is old, of another authority, or for other names."""
    if leaf is None:
        return True
    try:
        certificate = x509.load_pem_x509_certificate(leaf.certificate)
        certificate.verify_directly_issued_by(authority.certificate)
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName)
    except Exception:  # noqa: BLE001  whatever a broken certificate raises: it is replaced
        return True
    return found != list(names) or _is_due(certificate, now)
