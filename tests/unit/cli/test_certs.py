"""`kubeglance certs`: files that an operator can use at once, and a CA that is never lost by accident."""

from pathlib import Path

import pytest
from cryptography import x509

from app.cli.certs import run
from tests.fakes.clock import ManualClock


def made(folder: Path, *argv: str, clock: ManualClock | None = None) -> int:
    """Run the command for a folder."""
    return run(["--dir", str(folder), *argv], clock or ManualClock())


def leaf_of(folder: Path) -> x509.Certificate:
    """The serving certificate."""
    return x509.load_pem_x509_certificate((folder / "tls.crt").read_bytes())


def names_of(folder: Path) -> list[str]:
    """Its DNS names."""
    names = leaf_of(folder).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return names.get_values_for_type(x509.DNSName)


def test_a_ca_and_a_leaf_for_the_service(tmp_path: Path) -> None:
    """The aggregator verifies SERVICE.NAMESPACE.svc, so that name is always there."""
    assert 0 == made(tmp_path / "new" / "folder", "--namespace=monitoring", "--service=glance")

    folder = tmp_path / "new" / "folder"
    assert ["glance", "glance.monitoring", "glance.monitoring.svc", "glance.monitoring.svc.cluster.local"] == names_of(folder)
    ca = x509.load_pem_x509_certificate((folder / "ca.crt").read_bytes())
    leaf_of(folder).verify_directly_issued_by(ca)


def test_keys_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    """0600 for both keys."""
    made(tmp_path)

    assert [0o600, 0o600] == [(tmp_path / name).stat().st_mode & 0o777 for name in ("ca.key", "tls.key")]


def test_an_existing_ca_is_used_again(tmp_path: Path) -> None:
    """caBundles that were made from it stay valid; the leaf is new."""
    made(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in ("ca.crt", "ca.key", "tls.crt")}
    made(tmp_path, "--dns=other.example", "--ip=10.0.0.1")

    assert (before["ca.crt"], before["ca.key"]) == ((tmp_path / "ca.crt").read_bytes(), (tmp_path / "ca.key").read_bytes())
    assert before["tls.crt"] != (tmp_path / "tls.crt").read_bytes()
    assert ["other.example"] == names_of(tmp_path)


def test_force_makes_a_new_ca(tmp_path: Path) -> None:
    """Only when asked for."""
    made(tmp_path)
    before = (tmp_path / "ca.crt").read_bytes()
    made(tmp_path, "--force")

    assert before != (tmp_path / "ca.crt").read_bytes()


@pytest.mark.parametrize("lost", ["ca.crt", "ca.key"])
def test_half_a_ca_is_not_overwritten(tmp_path: Path, lost: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The other half may be what caBundles were made from."""
    made(tmp_path)
    (tmp_path / lost).unlink()

    assert 1 == made(tmp_path)
    assert "cannot load the authority" in capsys.readouterr().err
    assert not (tmp_path / lost).exists()


def test_a_ca_that_has_ended_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A leaf of it would never be accepted."""
    clock = ManualClock()
    made(tmp_path, clock=clock)
    clock.advance(3651 * 86400)

    assert 1 == made(tmp_path, clock=clock)
    assert "has ended; make a new one with --force" in capsys.readouterr().err


def test_days(tmp_path: Path) -> None:
    """--days counts from now."""
    clock = ManualClock()
    made(tmp_path, "--days=30", clock=clock)

    assert 30 * 86400 == leaf_of(tmp_path).not_valid_after_utc.timestamp() - clock.wall()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        pytest.param(["--ip=10.0.0"], "--ip=10.0.0: is not an IP address", id="ip"),
        pytest.param(["--dns=a b"], "--dns=a b: is not a DNS name", id="space"),
        pytest.param(["--dns=https://x"], "--dns=https://x: is not a DNS name", id="url"),
        pytest.param(["--dns=a\x01b"], "--dns='a\\x01b': is not a DNS name", id="control-character"),
        pytest.param(["--dns=a..b"], "--dns=a..b: is not a DNS name", id="empty-label"),
        pytest.param([f"--dns={'a' * 64}.b"], "is not a DNS name", id="long-label"),
        pytest.param(["--dns=*"], "is not a DNS name", id="only-a-wildcard"),
        pytest.param(["--ip=fe80::1%eth0"], "--ip=fe80::1%eth0: is not an IP address", id="zone"),
        pytest.param(["--service="], "--service=: is not a name of a Service", id="no-service"),
        pytest.param(["--service=1a"], "--service=1a: is not a name of a Service", id="service-with-a-digit-first"),
        pytest.param(["--service=\u00fcn"], "is not a name of a Service", id="service-that-is-not-ascii"),
        pytest.param([f"--service={'s' * 64}"], "is not a name of a Service", id="long-service"),
        pytest.param(["--namespace=.."], "--namespace=..: is not a Kubernetes name", id="namespace"),
        pytest.param(["--days=0"], "--days=0: must be between 1 and 3650", id="no-days"),
        pytest.param(["--days=soon"], "invalid int value: 'soon'", id="days-in-words"),
    ],
)
def test_wrong_use(tmp_path: Path, argv: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Code 2 and nothing written."""
    assert 2 == made(tmp_path, *argv)
    assert said in capsys.readouterr().err
    assert [] == list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No traceback where a file stands in the way."""
    (tmp_path / "file").write_text("")

    assert 1 == made(tmp_path / "file")
    assert "cannot write" in capsys.readouterr().err


def test_the_longest_names_fit_into_certificates(tmp_path: Path) -> None:
    """Common names hold 64 characters; nobody verifies them, so that they are cut."""
    assert 0 == made(tmp_path, f"--service={'s' * 63}", f"--namespace={'n' * 63}")
    assert f"{'s' * 63}.{'n' * 63}.svc" in names_of(tmp_path)


def test_a_wildcard_is_a_name(tmp_path: Path) -> None:
    """Certificates may hold one."""
    assert 0 == made(tmp_path, "--dns=*.example.com")
    assert ["*.example.com"] == names_of(tmp_path)


@pytest.mark.parametrize("in_the_way", ["tls.crt", "tls.key"])
def test_a_fault_leaves_all_files_as_they_were(tmp_path: Path, in_the_way: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The CA that caBundles were made from is not lost to --force, and no key is left without its certificate."""
    made(tmp_path)
    (tmp_path / in_the_way).unlink()
    (tmp_path / in_the_way).mkdir()
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}

    assert 1 == made(tmp_path, "--force")
    assert f"cannot write {tmp_path / in_the_way}: Is a directory" in capsys.readouterr().err
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}


def test_a_ca_that_may_not_sign_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A leaf of a leaf is accepted by nobody."""
    made(tmp_path)
    for end in ("crt", "key"):
        (tmp_path / f"tls.{end}").replace(tmp_path / f"ca.{end}")

    assert 1 == made(tmp_path)
    assert f"the certificate in {tmp_path}/ca.crt is not that of an authority" in capsys.readouterr().err


def test_printed_commands_are_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder's name may hold what a shell would read otherwise."""
    made(tmp_path / "my certs; x")

    assert f"'--ca-file={tmp_path}/my certs; x/ca.crt'" in capsys.readouterr().out


def test_next_steps_fit_the_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The commands printed can be pasted."""
    made(tmp_path, "--namespace=monitoring", "--service=glance")

    out = capsys.readouterr().out
    assert f"kubectl -n monitoring create secret tls glance-tls --cert={tmp_path}/tls.crt --key={tmp_path}/tls.key" in out
    assert f"kubeglance manifests --namespace=monitoring --service=glance --ca-file={tmp_path}/ca.crt" in out
