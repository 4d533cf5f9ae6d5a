"""What `kubeglance manifests` prints is accepted by a real kube-apiserver, every field of it, and keeps to the restricted standard."""

from pathlib import Path

import pytest
import yaml

from app.certs import Authority
from app.cli.manifests import run
from app.clock import SystemClock
from tests.e2e.controlplane import ControlPlane

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("namespace", ["kube-system", "manifests-of-ours"])
def test_the_objects_are_accepted(plane: ControlPlane, namespace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No unknown field, no invalid value, no warning of Pod Security at the level restricted. Nothing is kept: the server only checks."""
    authority = Authority.create("CA", SystemClock())
    (tmp_path / "ca.crt").write_bytes(authority.certificate_pem)
    if namespace != "kube-system":
        labels = {"pod-security.kubernetes.io/warn": "restricted"}
        plane.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}])

    assert 0 == run([f"--namespace={namespace}", f"--ca-file={tmp_path}/ca.crt"])
    printed = capsys.readouterr().out
    done = plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", text=printed)

    assert "" == done.stderr
    assert len(list(yaml.safe_load_all(printed))) == len(done.stdout.splitlines()) > 10


def test_the_objects_of_the_registrar_are_accepted(plane: ControlPlane, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside those of the server; the APIServices are left to it."""
    assert 0 == run(["--registrar", "--registrar-group=example.com", "--arg=--cozystack"])
    done = plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", text=capsys.readouterr().out)

    assert "" == done.stderr
    assert "deployment.apps/kubeglance-registrar" in done.stdout
    assert "apiservice" not in done.stdout
