"""The rights that metrics need: to list and watch what they describe, where nobody watches it anyway."""

from pathlib import Path

import pytest

from app.cli.declared_files import declarations_of
from app.cli.objects import Options
from app.cli.source_rights import source_rights
from tests.unit.declared.canonical import COOL
from tests.unit.declared.metrics import ORDERS, REQUESTS, changed


@pytest.mark.parametrize(
    ("describes", "rules"),
    [
        ("{resource: pods}", []),
        ("{resource: services}", [("", "services")]),
        ("{group: networking.k8s.io, resource: ingresses}", [("networking.k8s.io", "ingresses")]),
        ("{group: example.com, resource: coolresources}", []),
        ("{group: live.kubeglance.io, resource: podstats}", []),
    ],
    ids=["pods are watched anyway", "services", "of a group", "a declared kind", "a built-in kind"],
)
def test_described_resources_are_granted(describes: str, rules: list[tuple[str, str]], tmp_path: Path) -> None:
    """In a ClusterRole: objects of all namespaces may be described. External metrics need none."""
    file = tmp_path / "a.yaml"
    file.write_text(f"{COOL}---\n{ORDERS}---\n{changed(REQUESTS, '{resource: pods}', describes)}")
    made = source_rights(declarations_of([file]), Options(image="kubeglance:test"))

    roles = [each for each in made if each["kind"] == "ClusterRole"]
    expected = [{"apiGroups": [group], "resources": [resource], "verbs": ["list", "watch"]} for group, resource in rules]
    assert expected == [rule for role in roles for rule in role["rules"]]
