"""`kubeglance check` against a real kube-apiserver: what it serves beside us, and the command that it prints for good files."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.cli.main import main
from tests.e2e.controlplane import ControlPlane, programs
from tests.e2e.controlplane.waiting import wait_until
from tests.unit.declared.canonical import COOL

pytestmark = pytest.mark.e2e

TAKEN = "taken.check.example.com"
FOREIGN = "foreign.check.example.com"
OBJECTS: list[dict[str, Any]] = [
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"crates.{TAKEN}"},
        "spec": {
            "group": TAKEN,
            "scope": "Namespaced",
            "names": {"kind": "Crate", "plural": "crates", "shortNames": ["crt"]},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    },
    {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"v1.{FOREIGN}"},
        "spec": {
            "group": FOREIGN,
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": {"namespace": "default", "name": "adapter"},
        },
    },
]


@pytest.fixture(scope="module")
def served(plane: ControlPlane) -> Iterator[ControlPlane]:
    """A group of a CRD, and one of an APIService whose server is away."""
    plane.apply(OBJECTS)
    wait_until(
        "crates in discovery",
        lambda: plane.kubectl("api-resources", f"--api-group={TAKEN}", "-o", "name", "--cached=false", check=False).stdout,
        seconds=60,
    )
    yield plane
    for each in OBJECTS:
        plane.kubectl("delete", each["kind"], each["metadata"]["name"])


def checked(plane: ControlPlane, path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """Exit code and lines."""
    path.write_text(text)
    code = main(["check", str(path), f"--kubeconfig={plane.kubeconfig()}"], {})
    return code, [line.removeprefix(f"{path}:") for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("group", "owner"),
    [
        pytest.param(TAKEN, "kube-apiserver (built in, or by a CustomResourceDefinition)", id="a CRD"),
        pytest.param(FOREIGN, "the Service default/adapter", id="a foreign APIService"),
    ],
)
def test_a_group_of_others_is_refused(
    served: ControlPlane, group: str, owner: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Although the foreign server does not answer."""
    code, lines = checked(served, tmp_path / "a.yaml", COOL.replace("example.com", group), capsys)

    assert 1 == code
    assert f"5:10: spec.group: Forbidden: {group} is served by {owner} already; expected a group that nothing else serves" == lines[0]


def test_short_names_of_others_are_warnings(served: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of Kubernetes and those of CRDs."""
    code, lines = checked(served, tmp_path / "a.yaml", COOL.replace("[cr]", "[po, crt, cool]"), capsys)

    assert 0 == code
    assert [
        '8:91: warning: spec.names.shortNames[0]: "po" is a name of pods in this cluster, and kubectl takes it for that',
        f'8:95: warning: spec.names.shortNames[1]: "crt" is a name of crates.{TAKEN} in this cluster, and kubectl takes it for that',
    ] == [line.split("; ")[0] for line in lines[:2]]


def test_the_printed_command_brings_the_file_into_the_cluster(
    served: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run twice, for a file that was changed: the ConfigMap has the label and the text."""
    for text in (COOL, COOL + "# changed\n"):
        _, lines = checked(served, tmp_path / "cool check.yaml", text, capsys)
        kubectl = programs.path("kubectl")
        path = f"{kubectl.parent}{os.pathsep}{os.environ['PATH']}"
        environ = {**os.environ, "PATH": path, "KUBECONFIG": str(served.kubeconfig()), "HOME": str(tmp_path)}
        subprocess.run(["sh", "-c", lines[-1]], check=True, capture_output=True, env=environ)
        found = yaml.safe_load(served.kubectl("-n", "kube-system", "get", "configmap", "cool-check", "-o", "yaml").stdout)

        assert {"kubeglance.io/declarations": "true"} == found["metadata"]["labels"]
        assert {"cool-check.yaml": text} == found["data"]
    served.kubectl("-n", "kube-system", "delete", "configmap", "cool-check")
