"""Declarations that are added, changed, spoiled and removed while kubeglance serves, and two hundred of them at once."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.declared import cool_resource, declaring, items, named, resources, wait_for, write
from tests.e2e.stage import Stage

pytestmark = pytest.mark.e2e

COOL = "example.com/v1alpha1/coolresources"
MANY = "many.example.com"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("declarations")
    write(made / "cool.yaml", cool_resource())
    write(made / "other.yaml", named(cool_resource(), "Table"))
    return made


@pytest.fixture(scope="module")
def stage(plane: ControlPlane, folder: Path) -> Iterator[Stage]:
    plane.kubectl("create", "namespace", "cool", check=False)
    groups = ["v1alpha1.example.com", f"v1alpha1.{MANY}", "v1alpha1.live.kubeglance.io"]
    write(folder / "many.yaml", named(cool_resource(), "First", group=MANY))
    with declaring(plane, "reload", f"--declarations={folder}", groups=groups) as made:
        wait_for(made, COOL)
        yield made


def message(stage: Stage) -> str:
    """What the only CoolResource says now, "" if there is none."""
    return "".join(item["spec"]["message"] for item in items(stage, COOL))


def test_a_new_file_is_a_new_kind_and_a_removed_one_is_gone(stage: Stage, folder: Path) -> None:
    """In discovery and for kubectl, without a restart; others are as they were."""
    before = items(stage, COOL)[0]["metadata"]["resourceVersion"]
    write(folder / "jobs.yaml", named(cool_resource(), "Job"))
    wait_until("jobs", lambda: "jobs" in resources(stage, "example.com"), seconds=30)
    wait_for(stage, "example.com/v1alpha1/jobs")

    (folder / "jobs.yaml").unlink()
    wait_until("no jobs", lambda: "jobs" not in resources(stage, "example.com"), seconds=30)

    assert items(stage, COOL)[0]["metadata"]["uid"]
    assert int(items(stage, COOL)[0]["metadata"]["resourceVersion"]) >= int(before)


def test_a_changed_file_changes_its_kind(stage: Stage, folder: Path) -> None:
    """Its items, and its columns."""
    columns = [{"name": "Says", "type": "string", "jsonPath": ".spec.message"}]
    write(folder / "cool.yaml", cool_resource("Changed", additionalPrinterColumns=columns))
    wait_until("the change", lambda: message(stage) == "Changed", seconds=30)

    lines = stage.plane.kubectl("get", "coolresources.example.com", "-n", "cool").stdout.splitlines()
    assert [line.split() for line in lines] == [["NAME", "SAYS"], ["hello", "Changed"]]


@pytest.mark.parametrize(
    ("edit", "spoiled", "said"),
    [("cut", "spec: [", "cool.yaml"), ("wrong", cool_resource("Spoiled", interval="5x"), "spec.interval")],
    ids=["no YAML", "a wrong field"],
)
def test_a_bad_edit_keeps_the_last_good_version(stage: Stage, folder: Path, edit: str, spoiled: object, said: str) -> None:
    """It is told in the log, in metrics and by collectors, touches no other declaration, and is mended by the next edit."""
    plane = stage.plane
    plane.apply(_METRICS_READER)
    write(folder / "cool.yaml", cool_resource(f"Good before {edit}"))
    wait_until("the good one", lambda: message(stage) == f"Good before {edit}", seconds=30)
    write(folder / "cool.yaml", spoiled)
    write(folder / "other.yaml", named(cool_resource(f"Beside {edit}"), "Table"))
    wait_until("the other one", lambda: f"Beside {edit}" in json.dumps(items(stage, "example.com/v1alpha1/tables")), seconds=30)

    assert message(stage) == f"Good before {edit}"
    assert "a declaration cannot be taken" in stage.replicas[0].log
    assert "kubeglance_config_last_reload_successful 0.0" in stage.replicas[0].get("/metrics", token=stage.replicas[0].token).text
    invalid = [each["status"].get("invalid", "") for each in items(stage, "live.kubeglance.io/v1alpha1/collectors")]
    assert any(said in each for each in invalid)

    write(folder / "cool.yaml", cool_resource("Mended"))
    wait_until("the mended one", lambda: message(stage) == "Mended", seconds=30)


_METRICS_READER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: kubeglance-metrics-reader}
rules: [{nonResourceURLs: [/metrics], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: kubeglance-metrics-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kubeglance-metrics-reader}
subjects: [{kind: ServiceAccount, name: kubeglance, namespace: kubeglance-system}]
"""


def test_sighup_ends_nothing(stage: Stage) -> None:
    """It has all declarations read again."""
    stage.replicas[0].process.signal(signal.SIGHUP)
    wait_for(stage, COOL)

    stage.replicas[0].process.check()


def test_two_hundred_kinds_at_once(stage: Stage, folder: Path) -> None:
    """All of them are in discovery as kube-apiserver has it, each with its object; and they go together."""
    kinds = [named(cool_resource(f"I am {number}"), f"Thing{number}x", group=MANY) for number in range(200)]
    write(folder / "many.yaml", *kinds)
    wanted = {each["spec"]["names"]["plural"] for each in kinds}
    wait_until("200 kinds", lambda: set(resources(stage, MANY)) == wanted, seconds=120)

    def listed() -> bool:
        names = stage.plane.kubectl("api-resources", f"--api-group={MANY}", "-o", "name", "--no-headers").stdout.split()
        return {name.partition(".")[0] for name in names} == wanted

    wait_until("kubectl api-resources", listed, seconds=180, every=3)
    wait_for(stage, f"{MANY}/v1alpha1/thing199xs")
    explained = stage.plane.kubectl("get", "--raw", f"/openapi/v3/apis/{MANY}/v1alpha1").stdout
    assert all(f"Thing{number}x" in explained for number in range(200))
    assert message(stage) == "Mended"

    (folder / "many.yaml").unlink()
    wait_until("none of them", lambda: resources(stage, MANY) == [], seconds=60)
