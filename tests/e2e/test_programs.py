"""Where programs are looked for. Needs none of them."""

from pathlib import Path

import pytest

from tests.e2e.controlplane import programs


@pytest.fixture
def assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    return tmp_path


def test_the_folder_that_the_environment_names_comes_first(assets: Path) -> None:
    """As in envtest: what is in KUBEBUILDER_ASSETS is used, whatever was built."""
    program = assets / "etcd"
    program.write_text("#!/bin/sh\n", encoding="ascii")
    program.chmod(0o755)
    assert program == programs.find("etcd")


def test_a_file_that_cannot_be_run_is_no_program(assets: Path) -> None:
    """A download that was never made executable must not end as a riddle."""
    (assets / "etcd").write_text("", encoding="ascii")
    assert (assets / "etcd") != programs.find("etcd")


def test_a_stamp_changes_with_everything_that_a_build_depends_on() -> None:
    """Other flags or another package: another program."""
    one = programs.Program("kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl")
    others = [
        programs.Program("kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubelet"),
        programs.Program("kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl", (("a.b", "v1"),)),
        programs.Program("kubectl", "etcd", "k8s.io/kubernetes/cmd/kubectl"),
    ]
    assert len({program.stamp for program in (one, *others)}) == 4


def test_the_versions_named_here_are_those_that_the_modules_pin() -> None:
    """kubectl is linked with KUBERNETES as its own version: it must be the one that is built."""
    pins = {
        "kubernetes": f"k8s.io/kubernetes {programs.KUBERNETES}",
        "metrics-server": f"sigs.k8s.io/metrics-server {programs.METRICS_SERVER}",
        "prometheus-adapter": f"sigs.k8s.io/prometheus-adapter {programs.PROMETHEUS_ADAPTER}",
    }
    for module, pin in pins.items():
        assert f"require {pin}\n" in (programs.MODULES / module / "go.mod").read_text(encoding="utf-8")
