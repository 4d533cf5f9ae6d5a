"""Kinds from ApplicationDefinitions, projected from HelmReleases, on a real control plane: they come, change and vanish without a restart.

The CustomResourceDefinitions are of this project: the groups, kinds and fields that are read, and nothing else.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import yaml

from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.custom_resources import HELM_RELEASES, crd
from tests.e2e.kubelets import SimulatedKubelets
from tests.e2e.registration import NAMESPACE, SERVICE_ACCOUNT
from tests.e2e.stage import Stage, on_stage

pytestmark = pytest.mark.e2e

GROUP = "apps.example.com"
_READER = f"""
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: kubeglance-cozystack}}
rules:
- {{apiGroups: [cozystack.io], resources: [applicationdefinitions], verbs: [list, watch]}}
- {{apiGroups: [helm.toolkit.fluxcd.io], resources: [helmreleases], verbs: [list, watch]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: kubeglance-cozystack}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kubeglance-cozystack}}
subjects: [{{kind: ServiceAccount, name: {SERVICE_ACCOUNT}, namespace: {NAMESPACE}}}]
---
apiVersion: v1
kind: Namespace
metadata: {{name: tenant-a}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: postgres-reader, namespace: tenant-a}}
rules: [{{apiGroups: [{GROUP}], resources: [postgreses], verbs: [get, list]}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: postgres-reader, namespace: tenant-a}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: postgres-reader}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: dev}}]
"""
_LOG_READER = f"""
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: log-reader, namespace: tenant-a}}
rules: [{{apiGroups: [{GROUP}], resources: [postgreses/log], verbs: [get]}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: log-reader, namespace: tenant-a}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: log-reader}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}}]
"""


def definition(kind: str, plural: str, schema: dict[str, Any]) -> dict[str, Any]:
    application = {"kind": kind, "plural": plural, "singular": kind.lower(), "openAPISchema": json.dumps(schema)}
    return {
        "apiVersion": "cozystack.io/v1alpha1",
        "kind": "ApplicationDefinition",
        "metadata": {"name": kind.lower()},
        "spec": {"application": application, "release": {"prefix": f"{kind.lower()}-"}},
    }


_UP = {"type": "Ready", "status": "True", "reason": "Up", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
POSTGRES = definition(
    "Postgres",
    "postgreses",
    {
        "type": "object",
        # What once broke clients of Cozystack's own server, or kube-controller-manager, is in it on purpose.
        "additionalProperties": True,
        "properties": {
            "replicas": {"type": "integer", "default": 2, "description": "Number of replicas."},
            "size": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
            "users": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": False}},
        },
    },
)


def release(kind: str, name: str, *, values: dict[str, Any] | None = None, labels: dict[str, str] | None = None) -> dict[str, Any]:
    own = {"apps.cozystack.io/application.kind": kind, "apps.cozystack.io/application.group": "apps.cozystack.io"}
    return {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": f"{kind.lower()}-{name}", "namespace": "tenant-a", "labels": {**own, **(labels or {})}},
        "spec": {"values": values or {}},
        "status": {
            "lastAttemptedRevision": "1.2.3+abc",
            "conditions": [_UP],
        },
    }


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    definitions = crd("cozystack.io", "v1alpha1", "ApplicationDefinition", "applicationdefinitions", namespaced=False)
    releases = HELM_RELEASES
    plane.apply([definitions, releases])
    for each in (definitions, releases):
        plane.kubectl("wait", "--for=condition=Established", "crd", each["metadata"]["name"], "--timeout=60s")
    flags = ["--cozystack", f"--cozystack-group={GROUP}"]
    with SimulatedKubelets(plane, ["cozy-0"]) as kubelets, on_stage(plane, "cozy", kubelets.certificate_authority, flags=flags) as made:
        plane.apply(_READER)
        try:
            yield made
        finally:
            plane.kubectl("delete", "apiservice", f"v1alpha1.{GROUP}", "--ignore-not-found")
            plane.kubectl("delete", "crd", definitions["metadata"]["name"], releases["metadata"]["name"])


@pytest.fixture(scope="module")
def registered(stage: Stage) -> Stage:
    """Postgres is defined, one is released, and the group is registered."""
    stage.plane.apply([POSTGRES, release("Postgres", "db", values={"size": "1Gi", "_own": 1}, labels={"apps.cozystack.io-team": "blue"})])
    register(stage)
    wait_until("postgres db", lambda: "db" in get(stage, "postgreses", "-n", "tenant-a").get("names", ()), seconds=60)
    return stage


def register(stage: Stage) -> None:
    service = stage.registration.api_service("v1.metrics.k8s.io")
    spec = {key: service["spec"][key] for key in ("caBundle", "service")}
    name = f"v1alpha1.{GROUP}"
    stage.plane.apply(
        [
            {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": name},
                "spec": {"group": GROUP, "version": "v1alpha1", "groupPriorityMinimum": 100, "versionPriority": 100, **spec},
            }
        ]
    )
    wait_until(f"APIService {name} Available", lambda: stage.registration.availability(name)[0] == "True", seconds=90)


def get(stage: Stage, *words: str, user: str = "admin") -> dict[str, Any]:
    """A list through the aggregator, with the names of its items; {} if there is none."""
    plural, *rest = words
    done = stage.plane.kubectl("get", f"{plural}.{GROUP}", *rest, "-o", "json", user=user, check=False)
    if done.returncode:
        return {}
    found: dict[str, Any] = json.loads(done.stdout)
    return {**found, "names": [item["metadata"]["name"] for item in found.get("items", ())]}


def kinds(stage: Stage) -> Sequence[str]:
    answer = json.loads(stage.replicas[0].get(f"/apis/{GROUP}/v1alpha1", token=stage.plane.token(NAMESPACE, SERVICE_ACCOUNT)).text)
    return [each["kind"] for each in answer.get("resources", ()) if "/" not in each["name"]]


def test_an_application_is_shown_as_cozystack_shows_it(registered: Stage) -> None:
    """Name without prefix, users' labels, values without the platform's own, defaults, version, conditions."""
    (item,) = get(registered, "postgreses", "-n", "tenant-a")["items"]

    assert "db" == item["metadata"]["name"]
    assert {"team": "blue"} == item["metadata"]["labels"]
    assert {"size": "1Gi", "replicas": 2} == item["spec"]
    assert ("1.2.3+abc", "Ready") == (item["status"]["version"], item["status"]["conditions"][0]["type"])
    assert "Postgres" == item["kind"]


def test_the_list_is_of_its_own_kind(registered: Stage) -> None:
    """Cozystack once answered a list of Postgreses as BootBoxList: a dynamic client then refuses it."""
    raw = json.loads(registered.plane.kubectl("get", "--raw", f"/apis/{GROUP}/v1alpha1/postgreses").stdout)

    assert ("PostgresList", f"{GROUP}/v1alpha1") == (raw["kind"], raw["apiVersion"])


def test_the_table(registered: Stage) -> None:
    """NAME, READY, AGE, VERSION."""
    lines = registered.plane.kubectl("get", f"postgreses.{GROUP}", "-n", "tenant-a").stdout.splitlines()

    assert ["NAME", "READY", "AGE", "VERSION"] == lines[0].split()
    name, ready, _, version = lines[1].split()
    assert ("db", "True", "abc") == (name, ready, version)


def test_its_identity_is_not_that_of_the_release(registered: Stage) -> None:
    """Kubernetes' garbage collector takes one uid for one object."""
    (item,) = get(registered, "postgreses", "-n", "tenant-a")["items"]
    helm = json.loads(registered.plane.kubectl("get", "helmrelease", "postgres-db", "-n", "tenant-a", "-o", "json").stdout)

    assert item["metadata"]["uid"]
    assert helm["metadata"]["uid"] != item["metadata"]["uid"]


def test_get_and_list_tell_the_same(registered: Stage) -> None:
    """Cozystack's differ in their metadata."""
    (item,) = get(registered, "postgreses", "-n", "tenant-a")["items"]

    assert item == json.loads(registered.plane.kubectl("get", f"postgreses.{GROUP}", "db", "-n", "tenant-a", "-o", "json").stdout)


def test_selectors_see_the_labels_that_are_shown(registered: Stage) -> None:
    """And field selectors the names."""
    for selector, names in (("team=blue", ["db"]), ("team=red", []), ("apps.cozystack.io/application.kind", [])):
        assert names == get(registered, "postgreses", "-n", "tenant-a", "-l", selector)["names"]
    assert [] == get(registered, "postgreses", "-n", "tenant-a", "--field-selector", "metadata.name=other")["names"]


def test_rights_are_those_of_each_kind(registered: Stage) -> None:
    """alice may read Postgreses of her namespace, bob nothing: no read goes around the check."""
    assert ["db"] == get(registered, "postgreses", "-n", "tenant-a", user="alice")["names"]
    for words in (("postgreses", "-A"), ("postgreses", "-n", "default")):
        assert {} == get(registered, *words, user="alice")
    assert {} == get(registered, "postgreses", "-n", "tenant-a", user="bob")
    denied = registered.plane.kubectl("get", f"postgreses.{GROUP}", "db", "-n", "tenant-a", user="bob", check=False)
    assert "forbidden" in denied.stderr


def test_logs_are_for_who_may_read_those_of_pods(registered: Stage) -> None:
    """The right to the kind's log alone tells nothing, not even whether there are pods."""
    path = f"/apis/{GROUP}/v1alpha1/namespaces/tenant-a/postgreses/db/log"

    def refused(user: str) -> str:
        return registered.plane.kubectl("get", "--raw", path, user=user, check=False).stderr

    assert 'cannot get resource "postgreses/log"' in refused("alice")
    registered.plane.kubectl("apply", "-f", "-", text=_LOG_READER)
    wait_until("bob may read the kind's log, and no pod's", lambda: 'cannot get resource "pods/log"' in refused("bob"), seconds=60)


def test_writes_name_the_release(registered: Stage) -> None:
    """405, with what to change instead."""
    done = registered.plane.kubectl("delete", f"postgreses.{GROUP}", "db", "-n", "tenant-a", check=False)

    assert done.returncode
    assert 'change the HelmRelease "postgres-NAME"' in done.stderr


def test_explain_and_the_merged_openapi(registered: Stage) -> None:
    """The schema is published, clean, and the cluster's own documents stay whole."""
    told = registered.plane.kubectl("explain", "postgreses.spec.replicas", f"--api-version={GROUP}/v1alpha1").stdout
    assert "Number of replicas." in told

    def merged() -> bool:
        document = json.loads(registered.plane.kubectl("get", "--raw", "/openapi/v2").stdout)
        definitions = document["definitions"]
        assert any(name.endswith("v1alpha1.Postgres") for name in definitions), "not merged yet"
        assert not [name for name in definitions if "/" in name]
        refs = set(json.dumps(document).split('"#/definitions/')[1:])
        assert {ref.split('"')[0] for ref in refs} <= set(definitions)
        return True

    wait_until("the merged OpenAPI", merged, seconds=150, every=3)


def test_an_application_changes_and_vanishes_with_its_release(registered: Stage) -> None:
    """Within seconds."""
    registered.plane.apply([release("Postgres", "second", values={"size": "2Gi"})])
    wait_until("second", lambda: ["db", "second"] == get(registered, "postgreses", "-A")["names"], seconds=30)
    registered.plane.apply([release("Postgres", "second", values={"size": "3Gi"})])
    wait_until("3Gi", lambda: "3Gi" == get(registered, "postgreses", "-A")["items"][1]["spec"]["size"], seconds=30)
    registered.plane.kubectl("delete", "helmrelease", "postgres-second", "-n", "tenant-a")
    wait_until("gone", lambda: ["db"] == get(registered, "postgreses", "-A")["names"], seconds=30)


def test_a_hundred_definitions_at_once(registered: Stage) -> None:
    """They appear, a bad one among them costs itself, one changes its plural, all vanish; the first kind is served all the while."""
    many = [definition(f"App{number}", f"app{number}s", {"type": "object"}) for number in range(100)]
    broken = definition("Broken", "brokens", {})
    broken["spec"]["application"]["openAPISchema"] = "{"
    registered.plane.apply([*many, broken])
    wait_until("100 kinds", lambda: 101 == len(kinds(registered)), seconds=60)
    assert "Broken" not in kinds(registered)

    def listed() -> bool:
        lines = registered.plane.kubectl("api-resources", f"--api-group={GROUP}", "--no-headers").stdout.splitlines()
        return 101 == len(lines)

    # What the registrar does: kube-apiserver asks for our discovery again when the APIService changes, and once a minute else.
    registered.plane.kubectl("annotate", "apiservice", f"v1alpha1.{GROUP}", "kubeglance.io/discovery=another", "--overwrite")
    wait_until("kube-apiserver's next look at our discovery", listed, seconds=120, every=1)
    assert ["db"] == get(registered, "postgreses", "-A")["names"]

    changed = definition("App0", "renamedapps", {"type": "object"})
    registered.plane.apply([changed, release("App0", "one")])
    path = f"/apis/{GROUP}/v1alpha1/namespaces/tenant-a/renamedapps/one"
    wait_until("the new plural", lambda: registered.plane.kubectl("get", "--raw", path, check=False).returncode == 0, seconds=60)

    names = [each["metadata"]["name"] for each in (*many, broken)]
    registered.plane.kubectl("delete", "applicationdefinition", *names)
    wait_until("they are gone", lambda: ["Postgres"] == list(kinds(registered)), seconds=60)
    registered.plane.kubectl("delete", "helmrelease", "app0-one", "-n", "tenant-a")


def test_a_namespace_with_applications_is_deleted(registered: Stage) -> None:
    """Read-only kinds hold up nothing."""
    registered.plane.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: tenant-gone}\n")
    gone = release("Postgres", "gone")
    gone["metadata"]["namespace"] = "tenant-gone"
    registered.plane.apply([gone])
    wait_until("it is there", lambda: ["gone"] == get(registered, "postgreses", "-n", "tenant-gone")["names"], seconds=30)
    registered.plane.kubectl("delete", "namespace", "tenant-gone", "--timeout=60s")

    assert "tenant-gone" not in yaml.safe_load(registered.plane.kubectl("get", "namespaces", "-o", "yaml").stdout).__repr__()
