"""app/cli/declared_groups.py: what has to stand in the cluster for declared groups, when nobody runs the registrar."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from app.cli.manifests import run

_KIND = """
apiVersion: kubeglance.io/v1alpha1
kind: LiveResource
metadata: {{name: {plural}.example.com}}
spec:
  group: example.com
  version: {version}
  scope: {scope}
  names: {{kind: {kind}, plural: {plural}}}
  source: {{static: {{items: [{{name: one}}]}}}}
  items: response.items
  object: {object}
  {more}
  schema: {{openAPIV3Schema: {{type: object}}}}
"""
QUEUES = _KIND.format(
    plural="queues",
    version="v1",
    scope="Namespaced",
    kind="Queue",
    object="{name: item.name, namespace: '\"default\"'}",
    more="allowNamespaces: [default]\n  subresources: {history: {}, raw: true}",
)
BROKERS = _KIND.format(plural="brokers", version="v1", scope="Cluster", kind="Broker", object="{name: item.name}", more="")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kinds.yaml").write_text(f"{QUEUES}---{BROKERS}", encoding="utf-8")
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *flags: str) -> dict[tuple[str, str], dict[str, Any]]:
    assert 0 == run(list(flags))
    found = yaml.safe_load_all(capsys.readouterr().out)
    return {(each["kind"], each["metadata"]["name"]): each for each in found}


def test_a_group_gets_one_api_service_and_the_roles_of_its_kinds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Namespaced kinds join view, with their history; cluster-scoped ones do not."""
    made = printed(capsys, f"--declared={folder}")

    spec = made["APIService", "v1.example.com"]["spec"]
    assert {"name": "kubeglance", "namespace": "kube-system", "port": 443} == spec["service"]
    (view,) = made["ClusterRole", "kubeglance:reader:example.com"]["rules"]
    (cluster,) = made["ClusterRole", "kubeglance:cluster-reader:example.com"]["rules"]
    assert (["queues", "queues/history"], ["brokers"]) == (view["resources"], cluster["resources"])


def test_they_are_not_the_registrars(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It knows its own by its labels: what is kept in Git it must neither change nor remove."""
    labels = printed(capsys, f"--declared={folder}")["APIService", "v1.example.com"]["metadata"]["labels"]

    assert {"app.kubernetes.io/name": "kubeglance"} == labels


def test_with_the_registrar_it_makes_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two writers would fight."""
    made = printed(capsys, f"--declared={folder}", "--registrar")

    assert ("APIService", "v1.example.com") not in made
    assert ("Deployment", "kubeglance-registrar") in made
