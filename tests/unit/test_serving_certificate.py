"""app/serving_certificate.py: given files are served; else a self-signed pair is made in --cert-dir, and used again."""

import ssl
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cryptography import x509
from hypothesis import given

from app.certs import Authority, CertificateError, write_key
from app.clock import SystemClock
from app.serving_certificate import ServingFiles, self_signed, serving_files
from app.settings import Settings
from tests.fakes.bent_pem import bent_pem
from tests.fakes.clock import ManualClock

DAY = 86400.0


def made(folder: Path, clock: ManualClock | None = None) -> ServingFiles:
    """The pair in a folder."""
    return self_signed(folder, clock or ManualClock(), names=("localhost", "pod-1"), addresses=("127.0.0.1",))


def foreign(folder: Path, clock: ManualClock, days: float) -> bytes:
    """A pair that someone else put there."""
    certificate, key = Authority.create("company CA", clock).issue("glance.example", dns=["glance.example"], server=True, days=days)
    (folder / "apiserver.crt").write_bytes(certificate)
    write_key(folder / "apiserver.key", key)
    return certificate


def test_given_files_are_served(tmp_path: Path) -> None:
    """Then --cert-dir is not touched."""
    settings = Settings(tls_cert_file=Path("a.crt"), tls_private_key_file=Path("a.key"), cert_dir=tmp_path / "none")

    assert (Path("a.crt"), Path("a.key")) == serving_files(settings, ManualClock())
    assert not (tmp_path / "none").exists()


def test_a_pair_is_made_where_there_is_none(tmp_path: Path) -> None:
    """The names are kube-apiserver's; the pair loads, chain included; the key is private."""
    files = serving_files(Settings(cert_dir=tmp_path / "new", bind_address="10.1.2.3"), ManualClock())

    assert (tmp_path / "new" / "apiserver.crt", tmp_path / "new" / "apiserver.key") == files
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*files)
    assert 0o600 == files.key.stat().st_mode & 0o777
    leaf, _ = x509.load_pem_x509_certificates(files.certificate.read_bytes())
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "localhost" in names.get_values_for_type(x509.DNSName)
    assert "10.1.2.3" in [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    assert ["apiserver.crt", "apiserver.key"] == sorted(path.name for path in files.key.parent.iterdir())


def test_a_valid_pair_is_used_again(tmp_path: Path) -> None:
    """A restart of the container does not change the certificate."""
    before = made(tmp_path).certificate.read_bytes()

    assert before == made(tmp_path).certificate.read_bytes()


def test_our_own_pair_is_made_anew_before_it_ends(tmp_path: Path) -> None:
    """A process lives long: a pair with less than 30 days is not started with."""
    clock = ManualClock()
    before = made(tmp_path, clock).certificate.read_bytes()
    clock.advance(3625 * DAY)

    assert before != made(tmp_path, clock).certificate.read_bytes()


def test_our_own_pair_without_its_key_is_made_anew(tmp_path: Path) -> None:
    """Half a pair of our own is worth nothing."""
    made(tmp_path).key.unlink()

    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*made(tmp_path))


def test_a_valid_pair_of_someone_else_is_served(tmp_path: Path) -> None:
    """Putting files into --cert-dir works with metrics-server, and so here."""
    clock = ManualClock()
    before = foreign(tmp_path, clock, days=10)

    assert before == made(tmp_path, clock).certificate.read_bytes()


def test_a_pair_of_someone_else_is_never_overwritten(tmp_path: Path) -> None:
    """That it ended is told instead."""
    clock = ManualClock()
    before = foreign(tmp_path, clock, days=1)
    clock.advance(2 * DAY)

    with pytest.raises(CertificateError, match="was not made by kubeglance and cannot be served: it ends at"):
        made(tmp_path, clock)
    assert before == (tmp_path / "apiserver.crt").read_bytes()


def test_a_key_of_another_certificate_is_told(tmp_path: Path) -> None:
    """Before TLS would fail with words that nobody understands."""
    clock = ManualClock()
    foreign(tmp_path, clock, days=10)
    write_key(tmp_path / "apiserver.key", Authority.create("x", clock).issue("x")[1])

    with pytest.raises(CertificateError, match="belongs to another certificate"):
        made(tmp_path, clock)


def test_a_file_that_is_no_certificate_is_told(tmp_path: Path) -> None:
    """It is not ours, so it stays."""
    (tmp_path / "apiserver.crt").write_text("hello")

    with pytest.raises(CertificateError, match="is no PEM certificate"):
        made(tmp_path)


def test_a_folder_that_cannot_be_written_is_told_with_the_remedy(tmp_path: Path) -> None:
    """A read-only root without a volume is the usual cause."""
    (tmp_path / "file").write_text("")

    with pytest.raises(CertificateError, match=r"give --cert-dir a folder that can be written .*emptyDir.*--tls-cert-file"):
        made(tmp_path / "file" / "certs")


def test_nothing_is_left_of_a_pair_that_could_not_be_written(tmp_path: Path) -> None:
    """A folder where the key should be: a key under another name would lie there for ever."""
    (tmp_path / "apiserver.key").mkdir()

    with pytest.raises(CertificateError, match="Is a directory"):
        made(tmp_path)
    assert ["apiserver.key"] == [path.name for path in tmp_path.iterdir()]


_AUTHORITY = Authority.create("kubeglance self-signed CA", SystemClock())
_LEAF, _KEY = _AUTHORITY.issue("kubeglance self-signed", dns=["localhost"], server=True)


@given(bent_pem(_LEAF), bent_pem(_KEY))
def test_no_pair_that_is_there_crashes_it(certificate: bytes, key: bytes) -> None:
    """Any two files are used, or made anew, or refused with a CertificateError."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "apiserver.crt").write_bytes(certificate)
        (Path(folder) / "apiserver.key").write_bytes(key)
        with suppress(CertificateError):
            files = self_signed(Path(folder), SystemClock(), names=["localhost"], addresses=[])
            assert files.key.read_bytes() != b""
