"""app/certs.py: certificates that strict verifiers accept, and keys that nobody else can read."""

import datetime
import ssl
import stat
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from hypothesis import example, given

from app.certs import Authority, CertificateError, write_key
from app.clock import SystemClock
from tests.fakes.bent_pem import bent_pem, pem


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


def foreign_authority(folder: Path, *extensions: x509.ExtensionType) -> tuple[Path, Path]:
    """The files of a self-signed certificate with just these extensions."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "foreign")])
    begin = datetime.datetime(2025, 12, 1, tzinfo=datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    builder = builder.not_valid_before(begin).not_valid_after(begin + datetime.timedelta(days=9999))
    for extension in extensions:
        builder = builder.add_extension(extension, critical=True)
    files = (folder / "ca.crt", folder / "ca.key")
    files[0].write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    write_key(files[1], key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files


def usage(*, key_cert_sign: bool) -> x509.KeyUsage:
    """A key usage with or without keyCertSign."""
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


CA = x509.BasicConstraints(ca=True, path_length=None)


@pytest.mark.parametrize(
    ("extensions", "said"),
    [
        pytest.param([], "it has no basic constraints that say CA:TRUE", id="none"),
        pytest.param([x509.BasicConstraints(ca=False, path_length=None)], "its basic constraints say CA:FALSE", id="a leaf"),
        pytest.param([CA, usage(key_cert_sign=False)], "its key usage has no keyCertSign", id="may not sign"),
    ],
)
def test_what_is_no_authority_is_refused(tmp_path: Path, extensions: list[x509.ExtensionType], said: str) -> None:
    """Its leaves would be refused by every client, with words that do not lead here."""
    with pytest.raises(CertificateError, match=rf"ca\.crt is not that of an authority: {said}"):
        Authority.load(*foreign_authority(tmp_path, *extensions), FixedClock())


@pytest.mark.parametrize("extensions", [[CA], [CA, usage(key_cert_sign=True)]], ids=["any usage", "may sign"])
def test_an_authority_without_a_key_identifier_signs(tmp_path: Path, extensions: list[x509.ExtensionType]) -> None:
    """Older tools leave it out; the leaf then names the usual one, made from the key."""
    authority = Authority.load(*foreign_authority(tmp_path, *extensions), FixedClock())
    leaf = x509.load_pem_x509_certificate(authority.issue("x", dns=["a.svc"], server=True)[0])

    leaf.verify_directly_issued_by(authority.certificate)
    expected = x509.SubjectKeyIdentifier.from_public_key(authority.certificate.public_key()).digest
    assert expected == leaf.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier


_AUTHORITY = Authority.create("ca", FixedClock())

_P256 = bytes.fromhex("2a8648ce3d030107")
_UNKNOWN_CURVE = _AUTHORITY.certificate.public_bytes(Encoding.DER).replace(_P256, _P256[:-1] + b"\x7f")


@example(pem("CERTIFICATE", _UNKNOWN_CURVE), _AUTHORITY.key_pem)
@given(bent_pem(_AUTHORITY.certificate_pem), bent_pem(_AUTHORITY.key_pem))
def test_no_authority_file_crashes_it(certificate: bytes, key: bytes) -> None:
    """Any two files are an authority, or a CertificateError."""
    with TemporaryDirectory() as folder:
        files = Path(folder) / "ca.crt", Path(folder) / "ca.key"
        files[0].write_bytes(certificate)
        files[1].write_bytes(key)
        with suppress(CertificateError):
            Authority.load(*files, FixedClock())
