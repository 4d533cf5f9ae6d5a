import json
from contextlib import suppress
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from hypothesis import given
from hypothesis import strategies as st

from app.auth.certificate import read_chain
from app.auth.trust import Anchored, Trust, TrustBundle, TrustDataError, parse_bundle
from app.certs import Authority
from tests.fakes.bent_pem import bent_pem
from tests.fakes.clock import ManualClock
from tests.unit.auth.authorities import Authorities


@pytest.fixture(scope="module")
def cas() -> Authorities:
    return Authorities()


def test_configmap_becomes_a_bundle(cas: Authorities) -> None:
    """Every key of the ConfigMap is read; header names are lower-cased, dashes stay dashes."""
    bundle = cas.bundle(requestheader_username_headers=[" X-Remote-User ", "X-Other"])
    assert (cas.users.certificate,) == bundle.client_cas
    assert (cas.proxy.certificate,) == bundle.requestheader_cas
    assert ("front-proxy-client",) == bundle.allowed_names
    assert (b"x-remote-user", b"x-other") == bundle.username_headers
    assert (b"x-remote-uid",) == bundle.uid_headers
    assert (b"x-remote-group",) == bundle.group_headers
    assert (b"x-remote-extra-",) == bundle.extra_prefixes


def test_empty_configmap_is_an_empty_bundle() -> None:
    """A cluster may have no client CA and no front proxy: that is no fault."""
    assert TrustBundle() == parse_bundle({"client-ca-file": "", "requestheader-allowed-names": "null"})


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        pytest.param({"client-ca-file": "rubbish"}, "client-ca-file: not a list of PEM certificates", id="no PEM"),
        pytest.param(
            {"requestheader-client-ca-file": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"},
            "requestheader-client-ca-file: not a list of PEM certificates",
            id="no DER",
        ),
        pytest.param({"requestheader-allowed-names": "front-proxy"}, "requestheader-allowed-names: not a JSON list", id="no JSON"),
        pytest.param({"requestheader-group-headers": '{"a": 1}'}, "requestheader-group-headers: not a JSON list", id="no list"),
        pytest.param({"requestheader-uid-headers": "[1]"}, "requestheader-uid-headers: not a JSON list", id="no strings"),
    ],
)
def test_bad_values_are_named(cas: Authorities, changes: dict[str, Any], fault: str) -> None:
    """A value that cannot be read is refused, and the error names its key."""
    with pytest.raises(TrustDataError) as caught:
        parse_bundle({**cas.data(), **changes})
    assert caught.value.faults[0].startswith(fault)


def test_all_faults_are_told_at_once(cas: Authorities) -> None:
    """Two faults give two lines."""
    with pytest.raises(TrustDataError) as caught:
        parse_bundle({**cas.data(), "client-ca-file": "x", "requestheader-allowed-names": "x"})
    assert 2 == len(caught.value.faults)


@given(st.dictionaries(st.sampled_from(["client-ca-file", "requestheader-allowed-names", "requestheader-group-headers"]), st.text()))
def test_no_text_crashes_the_parser(data: dict[str, str]) -> None:
    """Whatever the values hold, the outcome is a bundle or TrustDataError."""
    with suppress(TrustDataError):
        assert isinstance(parse_bundle(data), TrustBundle)


@given(st.lists(st.text(min_size=1).filter(lambda text: text == text.strip())))
def test_names_survive(names: list[str]) -> None:
    """Names of any characters come out as they went in."""
    assert tuple(names) == parse_bundle({"requestheader-allowed-names": json.dumps(names)}).allowed_names


@pytest.mark.parametrize(
    ("signer", "expected"),
    [
        pytest.param("users", Anchored.CLIENT, id="client CA"),
        pytest.param("proxy", Anchored.REQUEST_HEADER, id="requestheader CA"),
        pytest.param("stranger", Anchored.NOWHERE, id="unknown CA"),
    ],
)
def test_the_authority_above_the_leaf_decides(cas: Authorities, signer: str, expected: Any) -> None:
    """Which set a chain ends in is read off its authorities."""
    chain = cas.chain(getattr(cas, signer), "x")
    assert expected == cas.bundle().anchored(read_chain(chain).issuers)


def test_one_authority_in_both_sets_is_both(cas: Authorities) -> None:
    """A CA that is in both sets anchors its chains in both; without allowed names that is ambiguous."""
    both = cas.bundle(requestheader_client_ca_file=cas.users.certificate_pem, requestheader_allowed_names=None)
    issuers = read_chain(cas.chain(cas.users, "x")).issuers
    assert Anchored.CLIENT | Anchored.REQUEST_HEADER == both.anchored(issuers)
    assert both.ambiguous
    assert not cas.bundle(requestheader_client_ca_file=cas.users.certificate_pem).ambiguous


def test_a_renewed_certificate_is_the_same_authority() -> None:
    """An authority is its name and key: another certificate of the same pair is no other authority."""
    clock = ManualClock()
    first = Authority.create("ca", clock)
    clock.advance(3600)
    renewed = _renewed(first, clock)
    assert first.certificate != renewed.certificate
    bundle = parse_bundle({"client-ca-file": renewed.certificate_pem.decode()})
    assert Anchored.CLIENT == bundle.anchored(read_chain(Authorities(clock).chain(first, "x")).issuers)


def test_only_a_change_makes_a_generation(cas: Authorities) -> None:
    """The same content again is no change; each change is one generation and tells the listeners."""
    trust, seen = Trust(), []
    trust.on_change(lambda bundle: seen.append(bundle.generation))
    assert trust.replace(cas.bundle())
    assert not trust.replace(cas.bundle())
    assert trust.replace(cas.bundle(client_ca_file=cas.stranger.certificate_pem))
    assert [1, 2] == seen
    assert 2 == trust.bundle.generation


def _renewed(authority: Authority, clock: ManualClock) -> Authority:
    key = load_pem_private_key(authority.key_pem, None)
    old = authority.certificate
    builder = (
        x509.CertificateBuilder()
        .subject_name(old.subject)
        .issuer_name(old.subject)
        .public_key(old.public_key())
        .serial_number(7)
        .not_valid_before(old.not_valid_before_utc)
        .not_valid_after(old.not_valid_after_utc)
    )
    return Authority(builder.sign(key, hashes.SHA256()), key, clock)  # type: ignore[arg-type]  # Authority makes EC keys only


@given(
    bent_pem(Authorities().users.certificate_pem),
    st.dictionaries(st.sampled_from(["requestheader-client-ca-file", "requestheader-uid-headers"]), st.text()),
)
def test_no_certificate_crashes_the_parser(pem: bytes, others: dict[str, str]) -> None:
    """A bundle, whose authorities can all be told apart, or a TrustDataError."""
    with suppress(TrustDataError):
        bundle = parse_bundle({"client-ca-file": pem.decode("latin-1"), **others})
        assert len(bundle.client_ids) <= len(bundle.client_cas)
