"""CoolResource, the kind of every introduction to operators, declared in a file and served through a real kube-apiserver."""

import json
from collections.abc import Iterator

import pytest
import yaml

from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.declared import cool_resource, declaring, wait_for, write
from tests.e2e.stage import Stage

pytestmark = pytest.mark.e2e

GROUP = "v1alpha1.example.com"
LIVE = "v1alpha1.live.kubeglance.io"
COOL = "coolresources.example.com"
LIST = "example.com/v1alpha1/namespaces/cool/coolresources"
_READER = """
apiVersion: v1
kind: Namespace
metadata: {name: cool}
---
apiVersion: v1
kind: Namespace
metadata: {name: warm}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: cool-reader, namespace: cool}
rules: [{apiGroups: [example.com], resources: [coolresources], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: cool-reader, namespace: cool}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: cool-reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: dev}]
"""


@pytest.fixture(scope="module")
def stage(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("declarations")
    both = [{"name": name, "namespace": where, "message": f"Hello from {name}"} for name, where in (("hello", "cool"), ("there", "warm"))]
    write(folder / "cool.yaml", cool_resource(source={"static": {"items": both}}, allowNamespaces=["cool", "warm"]))
    with declaring(plane, "declared", f"--declarations={folder}", groups=[GROUP, LIVE]) as made:
        plane.apply(_READER)
        wait_for(made, LIST)
        yield made


def test_its_apiservice_is_available_over_verified_tls(stage: Stage) -> None:
    """As of any group: no insecureSkipTLSVerify."""
    spec = stage.registration.api_service(GROUP)["spec"]

    assert stage.registration.availability(GROUP)[0] == "True"
    assert spec["caBundle"]
    assert "insecureSkipTLSVerify" not in spec


def test_kubectl_knows_it_by_all_its_names(stage: Stage) -> None:
    """Plural, singular, short name, with group and without."""
    words = (COOL, "coolresources", "coolresource", "cr")
    seen = {word: stage.plane.kubectl("get", word, "-n", "cool", "-o", "name").stdout.strip() for word in words}

    assert seen == dict.fromkeys(words, "coolresource.example.com/hello")
    listed = stage.plane.kubectl("api-resources", "--api-group=example.com", "--no-headers").stdout.split()
    assert listed == ["coolresources", "cr", "example.com/v1alpha1", "true", "CoolResource"]


def test_it_has_its_own_columns(stage: Stage) -> None:
    """With -o wide those of priority 1 too; with -A the namespace."""
    plain = stage.plane.kubectl("get", "cr", "-n", "cool").stdout.splitlines()
    wide = stage.plane.kubectl("get", "cr", "-n", "cool", "-o", "wide").stdout.splitlines()
    everywhere = stage.plane.kubectl("get", "cr", "-A", "--no-headers").stdout.splitlines()

    assert [line.split(maxsplit=1) for line in plain] == [["NAME", "MESSAGE"], ["hello", "Hello from hello"]]
    assert (wide[0].split(), wide[1].split()[-1]) == (["NAME", "MESSAGE", "LENGTH"], "16")
    assert [line.split()[:2] for line in everywhere] == [["cool", "hello"], ["warm", "there"]]


def test_objects_are_ordinary_objects(stage: Stage) -> None:
    """YAML, JSONPath, one by name, and selected by name."""
    found = yaml.safe_load(stage.plane.kubectl("get", "cr", "hello", "-n", "cool", "-o", "yaml").stdout)
    path = stage.plane.kubectl("get", "cr", "-n", "cool", "-o", "jsonpath={.items[*].spec.message}").stdout
    selected = stage.plane.kubectl("get", "cr", "-A", "--field-selector=metadata.name=there", "-o", "name").stdout

    assert (found["apiVersion"], found["kind"], found["spec"]) == ("example.com/v1alpha1", "CoolResource", {"message": "Hello from hello"})
    assert found["metadata"]["uid"]
    assert path == "Hello from hello"
    assert selected.strip() == "coolresource.example.com/there"


def test_it_is_explained(stage: Stage) -> None:
    """From its schema, once kube-apiserver has fetched the OpenAPI document of the group, which it does each minute."""

    def explained() -> bool:
        done = stage.plane.kubectl("explain", "coolresource.spec.message", check=False)
        return "What it has to say." in done.stdout and "<string>" in done.stdout

    wait_until("coolresource explained", explained, seconds=120, every=2)


def test_who_may_see_it_is_rbac(stage: Stage) -> None:
    """Of one namespace by a Role; nobody else, and nothing elsewhere."""
    plane = stage.plane

    assert plane.kubectl("get", "cr", "-n", "cool", "-o", "name", user="alice").stdout.strip() == "coolresource.example.com/hello"
    for user, words in (("alice", ["-n", "warm"]), ("alice", ["-A"]), ("bob", ["-n", "cool"])):
        refused = plane.kubectl("get", "cr", *words, user=user, check=False)
        assert refused.returncode != 0
        assert "Forbidden" in refused.stderr


def test_writes_say_what_to_edit_instead(stage: Stage) -> None:
    """405 on create, apply and delete, naming the declaration."""
    plane = stage.plane
    text = json.dumps(
        {
            "apiVersion": "example.com/v1alpha1",
            "kind": "CoolResource",
            "metadata": {"name": "x", "namespace": "cool"},
            "spec": {"message": "x"},
        }
    )
    for words in (["create", "-f", "-"], ["apply", "--validate=false", "-f", "-"], ["delete", "cr", "hello", "-n", "cool"]):
        done = plane.kubectl(*words, text=text, check=False)
        assert done.returncode != 0
        assert "MethodNotAllowed" in done.stderr
        assert "coolresources.example.com is declared by" in done.stderr
        assert "cool.yaml" in done.stderr


def test_a_namespace_with_such_objects_is_deleted_in_seconds(stage: Stage) -> None:
    """They cannot be deleted, and claim not to: so nobody waits until they are."""
    plane = stage.plane
    plane.kubectl("delete", "namespace", "warm", "--timeout=60s")

    assert "NotFound" in plane.kubectl("get", "namespace", "warm", check=False).stderr


def test_collectors_shows_its_source(stage: Stage) -> None:
    """By the declaration's name: what is asked, how it is, and where it is written."""
    found = json.loads(stage.plane.kubectl("get", "collectors.live.kubeglance.io", COOL, "-o", "json").stdout)
    line = stage.plane.kubectl("get", "collectors.live.kubeglance.io", COOL, "--no-headers").stdout

    assert found["spec"]["file"].endswith("cool.yaml:1")
    assert "static" in line
    assert "Healthy" in line
