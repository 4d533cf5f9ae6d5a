"""app/registrar/rotation.py: at no moment of a rotation is there a certificate that some client cannot verify."""

import itertools
from collections.abc import Iterable
from dataclasses import replace

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from app.registrar.rotation import Holdings, Lifetimes, Pair, advance
from tests.fakes.clock import ManualClock

certificates = x509.load_pem_x509_certificates

NAMES = ("kubeglance.kube-system.svc", "kubeglance")
LIFETIMES = Lifetimes(authority=90_000.0, certificate=9_000.0, overlap=600.0)


def step(holdings: Holdings, clock: ManualClock, *, published: bool = False, names: tuple[str, ...] = NAMES) -> Holdings:
    return advance(holdings, clock=clock, names=names, lifetimes=LIFETIMES, published=published)


def is_signed_by_one_of(leaf: Pair | None, authorities: Iterable[x509.Certificate]) -> bool:
    assert leaf is not None
    certificate = x509.load_pem_x509_certificate(leaf.certificate)
    for authority in authorities:
        try:
            certificate.verify_directly_issued_by(authority)
        except Exception:  # noqa: BLE001  whatever it raises: it is not the one
            continue
        return True
    return False


def test_at_first_there_is_an_authority_and_a_certificate_of_it() -> None:
    """Nothing is there: both are made at once, for nobody trusts anything yet."""
    held = step(Holdings(), ManualClock())

    assert held.current is not None
    assert held.next is None
    assert is_signed_by_one_of(held.leaf, certificates(held.bundle))
    leaf = x509.load_pem_x509_certificate(held.leaf.certificate if held.leaf else b"")
    assert list(NAMES) == leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName)


def test_nothing_is_done_while_nothing_is_due() -> None:
    """A look that finds all well gives the same holdings, so that nothing is written."""
    clock = ManualClock()
    held = step(Holdings(), clock)
    clock.advance(100)

    assert step(held, clock, published=True) is held


def test_a_certificate_is_renewed_after_two_thirds_of_its_life() -> None:
    """The authority stays: no client notices."""
    clock = ManualClock()
    held = step(Holdings(), clock)
    clock.advance(6_000)
    renewed = step(held, clock)

    assert held.leaf != renewed.leaf
    assert held.current == renewed.current


def test_other_names_need_another_certificate() -> None:
    """A Service that was renamed gets a certificate for its new name at once."""
    clock = ManualClock()
    held = step(Holdings(), clock)

    assert held.leaf != step(held, clock, names=("other.kube-system.svc",)).leaf


@pytest.mark.parametrize("broken", ["leaf", "current"])
def test_what_cannot_be_read_is_made_anew(broken: str) -> None:
    """Somebody edited the Secret: what is broken costs itself, and what hangs on it."""
    clock = ManualClock()
    held = step(Holdings(), clock)
    spoiled = Pair(b"no certificate", b"no key")
    mended = step(replace(held, leaf=spoiled) if broken == "leaf" else replace(held, current=spoiled), clock)

    assert is_signed_by_one_of(mended.leaf, certificates(mended.bundle))
    assert (held.current == mended.current) == (broken == "leaf")


def test_a_rotation_waits_until_the_bundle_is_published_and_has_been_seen() -> None:
    """The order of a rotation: trust the new, wait, sign by the new, wait, forget the old."""
    clock = ManualClock()
    first = step(Holdings(), clock)
    clock.advance(61_000)

    begun = step(first, clock)
    assert begun.next is not None
    assert begun.current == first.current
    assert is_signed_by_one_of(begun.leaf, certificates(first.bundle)), "the new authority signs nothing yet"

    clock.advance(5_000)
    assert step(begun, clock).next == begun.next, "as long as some APIService lacks the bundle nothing goes on"

    published = step(begun, clock, published=True)
    assert clock.wall() == published.published
    clock.advance(599)
    assert step(published, clock, published=True).current == first.current
    clock.advance(1)
    turned = step(published, clock, published=True)
    assert turned.current == begun.next
    assert first.current is not None
    assert turned.previous == first.current.certificate
    assert is_signed_by_one_of(turned.leaf, certificates(turned.bundle.removesuffix(turned.previous)))

    clock.advance(599)
    assert step(turned, clock, published=True).previous
    clock.advance(1)
    assert not step(turned, clock, published=True).previous


def test_a_bundle_that_was_taken_away_again_is_waited_for_anew() -> None:
    """An administrator restored an old APIService: the time that everybody had the bundle begins anew."""
    clock = ManualClock()
    held = step(Holdings(), clock)
    clock.advance(61_000)
    held = step(step(held, clock), clock, published=True)
    lost = step(held, clock, published=False)

    assert lost.published == 0.0
    assert lost.next == held.next


def test_an_authority_that_ended_is_replaced_at_once() -> None:
    """The registrar was away for years: there is nothing left to overlap with."""
    clock = ManualClock()
    held = step(Holdings(), clock)
    clock.advance(100_000)
    renewed = step(held, clock)

    assert renewed.current != held.current
    assert is_signed_by_one_of(renewed.leaf, certificates(renewed.bundle))


@given(pauses=st.lists(st.tuples(st.integers(1, 20_000), st.booleans()), max_size=40))
def test_what_is_served_is_always_verified_by_what_was_published_before(pauses: list[tuple[int, bool]]) -> None:
    """However long the registrar sleeps between looks, a certificate is signed by what clients had been told to trust, while that lives."""
    clock = ManualClock()
    held = step(Holdings(), clock)
    bundle = held.bundle
    for seconds, published in itertools.islice(pauses, 40):
        clock.advance(seconds)
        after = step(held, clock, published=published and held.bundle == bundle)
        living = [each for each in certificates(bundle) if each.not_valid_after_utc.timestamp() > clock.wall()]
        assert not living or is_signed_by_one_of(after.leaf, living)
        held = after
        if published:
            bundle = held.bundle
