"""app/certs.py: certificates that strict verifiers accept, and keys that nobody else can read."""

import ssl
import stat
from pathlib import Path

import pytest
from cryptography import x509

from app.certs import Authority, CertificateError, write_key
from app.clock import SystemClock


class FixedClock:
    """A clock that stands still at 2026-01-01T00:00:00Z."""

    def wall(self) -> float:
        return 1767225600.0

    def monotonic(self) -> float:
        return 0.0


def handshake(authority: Authority, folder: Path, certificate: bytes, key: bytes, name: str) -> str:
    """One TLS handshake in memory; the client's error text, "" if it accepted the certificate."""
    (folder / "leaf.crt").write_bytes(certificate)
    write_key(folder / "leaf.key", key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "leaf.crt", folder / "leaf.key")
    client = ssl.create_default_context(cadata=authority.certificate_pem.decode())
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (client.wrap_bio(to_client, to_server, server_hostname=name), server.wrap_bio(to_server, to_client, server_side=True))
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError as exc:
                return exc.verify_message
    return ""


def test_a_server_leaf_is_accepted_by_a_strict_verifier(tmp_path: Path) -> None:
    """A leaf with the right name passes VERIFY_X509_STRICT, by DNS name and by IP address."""
    authority = Authority.create("test-ca", SystemClock())
    leaf, key = authority.issue("x", dns=["kubeglance.kube-system.svc"], ips=["127.0.0.1"], server=True)

    assert handshake(authority, tmp_path, leaf, key, "kubeglance.kube-system.svc") == ""
    assert handshake(authority, tmp_path, leaf, key, "127.0.0.1") == ""


@pytest.mark.parametrize(
    ("server", "name", "error"),
    [
        pytest.param(True, "other.svc", "Hostname mismatch, certificate is not valid for 'other.svc'.", id="another name"),
        pytest.param(False, "a.svc", "unsuitable certificate purpose", id="a client certificate"),
    ],
)
def test_a_wrong_leaf_is_refused(tmp_path: Path, server: bool, name: str, error: str) -> None:
    """A leaf serves only the names and only the purpose that it was issued for."""
    authority = Authority.create("test-ca", SystemClock())
    leaf, key = authority.issue("x", dns=["a.svc"], server=server, client=not server)

    assert error == handshake(authority, tmp_path, leaf, key, name)


def test_a_leaf_carries_user_groups_and_times_of_the_clock() -> None:
    """Common name and organisations are user and groups; validity is counted from the injected clock, never beyond the authority."""
    authority = Authority.create("test-ca", FixedClock(), days=10)
    leaf = x509.load_pem_x509_certificate(authority.issue("jane", ["dev", "ops"], client=True, days=365)[0])

    assert [a.value for a in leaf.subject] == ["dev", "ops", "jane"]
    assert leaf.not_valid_before_utc.isoformat() == "2025-12-31T23:00:00+00:00"
    assert leaf.not_valid_after_utc == authority.certificate.not_valid_after_utc


def test_an_authority_survives_being_saved(tmp_path: Path) -> None:
    """What was saved is loaded again, and the key file is readable by its owner only, even over an older open file."""
    (tmp_path / "ca.key").write_text("old")
    (tmp_path / "ca.key").chmod(0o644)
    authority = Authority.create("test-ca", FixedClock())
    authority.save(tmp_path / "ca.crt", tmp_path / "ca.key")

    assert Authority.load(tmp_path / "ca.crt", tmp_path / "ca.key", FixedClock()).certificate == authority.certificate
    assert stat.S_IMODE((tmp_path / "ca.key").stat().st_mode) == 0o600


def test_a_key_of_another_authority_is_named(tmp_path: Path) -> None:
    """A certificate and a key that do not belong together are refused with both files named."""
    one, two = Authority.create("one", FixedClock()), Authority.create("two", FixedClock())
    one.save(tmp_path / "ca.crt", tmp_path / "ca.key")
    write_key(tmp_path / "two.key", two.key_pem)

    with pytest.raises(CertificateError, match=r"two\.key does not belong to the certificate in .*ca\.crt"):
        Authority.load(tmp_path / "ca.crt", tmp_path / "two.key", FixedClock())
    with pytest.raises(CertificateError, match="cannot load the authority"):
        Authority.load(tmp_path / "none.crt", tmp_path / "two.key", FixedClock())
