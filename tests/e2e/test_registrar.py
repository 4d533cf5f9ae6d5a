"""`kubeglance registrar` on a real control plane, with the rights that `kubeglance manifests --registrar` gives it and no more."""

import base64
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from app.cli.objects import Options
from app.cli.registrar_objects import registrar as registrar_objects
from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.processes import Process, free_port, plain_environment
from tests.e2e.controlplane.programs import ROOT
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.kubeglance import Kubeglance
from tests.e2e.kubelets import SimulatedKubelets, load
from tests.e2e.registration import NAMESPACE, SERVICE, grant_access

pytestmark = pytest.mark.e2e

_COOL = """
apiVersion: kubeglance.io/v1alpha1
kind: LiveResource
metadata: {{name: coolresources.{group}}}
spec:
  group: {group}
  version: v1alpha1
  scope: Namespaced
  names: {{kind: CoolResource, plural: coolresources, singular: coolresource}}
  source: {{static: {{items: [{{name: hello, namespace: default, message: Hello}}]}}}}
  items: response.items
  object: {{name: item.name, namespace: item.namespace, spec: {{message: item.message}}}}
  allowNamespaces: [default]
  schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, properties: {{message: {{type: string}}}}}}}}}}}}
"""
_FOREIGN = """
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.taken.example.com}
spec:
  group: taken.example.com
  version: v1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {namespace: default, name: somebody-else, port: 443}
"""
_METRICS = """
apiVersion: kubeglance.io/v1alpha1
kind: LiveMetric
metadata: {name: registrar-hits}
spec:
  api: custom
  name: hits
  describes: {resource: pods}
  source: {static: {items: [{pod: web-0, value: 7}]}}
  items: response.items
  sample: {object: {namespace: "'registrar'", name: item.pod}, value: item.value}
---
apiVersion: kubeglance.io/v1alpha1
kind: LiveMetric
metadata: {name: registrar-depth}
spec:
  api: external
  name: depth
  namespaces: [registrar]
  source: {static: {items: [{value: 9}]}}
  items: response.items
  sample: {value: item.value}
"""
_METRICS_APIS = {
    "v1beta1.custom.metrics.k8s.io": ("custom.metrics.k8s.io/v1beta1/namespaces/registrar/pods/web-0/hits", "7"),
    "v1beta2.custom.metrics.k8s.io": ("custom.metrics.k8s.io/v1beta2/namespaces/registrar/pods/web-0/hits", "7"),
    "v1beta1.external.metrics.k8s.io": ("external.metrics.k8s.io/v1beta1/namespaces/registrar/depth", "9"),
}
"""APIServices, what is asked of each, and its value."""
_VIEWER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: viewer-of-cool, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: dev}]
"""
LIFE = ("--ca-lifetime=108s", "--certificate-lifetime=45s", "--overlap=12s")
"""A step of a rotation must be longer than it takes a new certificate to be served: 1 s until the files follow, 5 s until they are read."""


class Mount:
    """What a kubelet does with the Secret of a pod's volume: its files follow it, some time later."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self._plane = plane
        self.folder = folder
        self.issuers: list[str] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def follow(self) -> bool:
        """Write the files as the Secret is now; False if there is none."""
        answer = self._plane.kubectl("get", "secret", f"{SERVICE}-tls", "-n", NAMESPACE, "-o", "json", "--ignore-not-found").stdout
        if not answer.strip():
            return False
        data = {key: base64.b64decode(value) for key, value in json.loads(answer)["data"].items()}
        issuer = x509.load_pem_x509_certificate(data["tls.crt"]).issuer.rfc4514_string()
        if issuer not in self.issuers:
            self.issuers.append(issuer)
        for name in ("tls.key", "tls.crt"):
            path = self.folder / name
            if not path.exists() or path.read_bytes() != data[name]:
                path.write_bytes(data[name])
        return True

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join(30)

    def _run(self) -> None:
        while not self._ended.wait(1):
            self.follow()


class Stage:
    """A registrar and the kubeglance that it registers."""

    def __init__(self, plane: ControlPlane, kubeglance: Kubeglance, mount: Mount, declarations: Path, registrar: Process) -> None:
        self.plane = plane
        self.kubeglance = kubeglance
        self.mount = mount
        self.declarations = declarations
        self.registrar = registrar

    def declare(self, group: str) -> Path:
        path = self.declarations / f"{group}.yaml"
        path.write_text(_COOL.format(group=group), encoding="utf-8")
        return path

    def get(self, *words: str) -> dict[str, Any] | None:
        """An object, None if there is none."""
        text = self.plane.kubectl("get", *words, "-o", "json", "--ignore-not-found").stdout
        return json.loads(text) if text.strip() else None

    def available(self, name: str) -> bool:
        service = self.get("apiservice", name) or {}
        return any(each["type"] == "Available" and each["status"] == "True" for each in service.get("status", {}).get("conditions", ()))

    def values(self, question: str) -> list[str]:
        """What kube-apiserver hands on of a metric, nothing where it is refused."""
        answer = self.plane.kubectl("get", "--raw", f"/apis/{question}", check=False)
        return [each["value"] for each in json.loads(answer.stdout)["items"]] if answer.returncode == 0 else []

    def authorities(self) -> int:
        """How many CAs kube-apiserver trusts now."""
        service = self.get("apiservice", "v1.metrics.k8s.io") or {"spec": {"caBundle": ""}}
        return base64.b64decode(service["spec"]["caBundle"]).count(b"BEGIN CERTIFICATE")

    def refusals(self) -> str:
        """What the registrar and kubeglance say of groups that they do not take."""
        return self.status().get("state.yaml", "") + self.plane.kubectl("get", "collectors", "-o", "yaml", check=False).stdout

    def status(self) -> dict[str, str]:
        config_map = self.get("configmap", f"{SERVICE}-registrar", "-n", NAMESPACE) or {"data": {}}
        return dict(config_map["data"])


@pytest.fixture(scope="module")
def stage(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    grant_access(plane)
    rights = registrar_objects(Options("unused", namespace=NAMESPACE, service=SERVICE), ["example.com"])
    plane.apply([each for each in rights if each["kind"] != "Deployment"])
    port = free_port()
    external = {"type": "ExternalName", "externalName": "localhost", "ports": [{"name": "https", "port": port}]}
    plane.apply([{"apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE, "namespace": NAMESPACE}, "spec": external}])
    plane.apply(_VIEWER)
    folder = tmp_path_factory.mktemp("registrar")
    mount, declarations = Mount(plane, folder), folder / "declarations"
    declarations.mkdir()
    kubeconfig = plane.token_kubeconfig(NAMESPACE, f"{SERVICE}-registrar", name="registrar")
    command = [sys.executable, "-m", "app", "registrar", f"--kubeconfig={kubeconfig}", f"--namespace={NAMESPACE}", f"--service={SERVICE}"]
    command += [f"--port={port}", f"--url=https://127.0.0.1:{port}", *LIFE]
    environment = plain_environment(HOME=str(folder), PYTHONUNBUFFERED="1")
    with ExitStack() as stack:
        kubelets = stack.enter_context(SimulatedKubelets(plane, ["registrar-0"]))
        kubelets.inventory.namespace("registrar")
        kubelets.pod("registrar", "web-0", "registrar-0", {"main": load(100, 64)})
        registrar = Process("registrar", command, folder / "registrar.log", env=environment, cwd=ROOT)
        stack.callback(registrar.stop, 30)
        wait_until("the serving certificate", mount.follow, seconds=60)
        flags = [f"--tls-cert-file={folder}/tls.crt", f"--tls-private-key-file={folder}/tls.key", f"--secure-port={port}"]
        flags += [f"--declarations={declarations}"]
        kubeglance = Kubeglance(plane, "registered", kubelet_authority=kubelets.certificate_authority, flags=flags)
        stack.enter_context(kubeglance)
        mount.start()
        stack.callback(mount.close)
        made = Stage(plane, kubeglance, mount, declarations, registrar)
        wait_until("metrics.k8s.io", lambda: made.available("v1.metrics.k8s.io"), seconds=120)
        yield made
        registrar.stop(30)
        subprocess.run([*command, "--remove"], env=environment, cwd=ROOT, check=True, timeout=60)
        assert "v1.metrics.k8s.io" not in plane.kubectl("get", "apiservices", "-o", "name").stdout, "--remove takes all away"


def test_a_rotation_of_the_authority_is_never_noticed(stage: Stage) -> None:
    """Through a whole rotation every look finds the APIService Available, and every list through the aggregator is answered."""
    failures, looks = [], 0

    def look() -> bool:
        nonlocal looks
        looks += 1
        answer = stage.plane.kubectl("get", "--raw", "/apis/metrics.k8s.io/v1/nodes", check=False)
        if answer.returncode or not stage.available("v1.metrics.k8s.io"):
            failures.append(f"look {looks}: {answer.stderr}")
        return len(stage.mount.issuers) > 1 and stage.authorities() == 1

    wait_until("a rotation", look, seconds=240, every=1)

    assert [] == failures
    assert looks > 20


def test_a_declared_group_comes_with_its_role_and_goes_with_it(stage: Stage) -> None:
    """APIService Available, and whoever may view the namespace may list; when the file goes both go, the APIService first."""
    path = stage.declare("example.com")
    wait_until("v1alpha1.example.com", lambda: stage.available("v1alpha1.example.com"), seconds=60)
    wait_until(
        "the role in view",
        lambda: "hello" in stage.plane.kubectl("get", "coolresources.example.com", "-n", "default", user="alice", check=False).stdout,
        seconds=60,
    )

    path.unlink()
    wait_until("no APIService", lambda: stage.get("apiservice", "v1alpha1.example.com") is None, seconds=60)
    wait_until("no role", lambda: stage.get("clusterrole", f"{SERVICE}:reader:example.com") is None, seconds=30)
    log = stage.registrar.text()
    assert log.index("v1alpha1.example.com", log.index("removed")) < log.rindex(f"{SERVICE}:reader:example.com")


def test_the_metrics_apis_are_registered_while_there_are_metrics(stage: Stage) -> None:
    """Each in all of its versions, Available, and answered through the aggregator; nobody is given a role for them.

    That of custom metrics stays when the declared ones go: some of pods are built in.
    """
    path = stage.declarations / "metrics.yaml"
    path.write_text(_METRICS, encoding="utf-8")
    try:
        for name, (question, value) in _METRICS_APIS.items():
            wait_until(name, lambda name=name: stage.available(name), seconds=60)  # type: ignore[misc]  # mypy cannot infer a lambda with a default
            wait_until(question, lambda question=question, value=value: stage.values(question) == [value], seconds=30)  # type: ignore[misc]  # as above
        roles = stage.plane.kubectl("get", "clusterroles", "-o", "name").stdout
        assert f"{SERVICE}:reader:custom.metrics.k8s.io" not in roles
    finally:
        path.unlink()
    wait_until("no external metrics", lambda: stage.get("apiservice", "v1beta1.external.metrics.k8s.io") is None, seconds=60)
    assert stage.available("v1beta2.custom.metrics.k8s.io")


def test_a_group_of_somebody_else_is_refused(stage: Stage) -> None:
    """Theirs stays as it is, and it is said who serves it: by kubeglance, or if it looked before, by the registrar."""
    stage.plane.apply(_FOREIGN)
    before = stage.get("apiservice", "v1.taken.example.com")
    path = stage.declare("taken.example.com")
    try:
        wait_until("the refusal", lambda: "Service default/somebody-else" in stage.refusals(), seconds=60)
        after = stage.get("apiservice", "v1.taken.example.com")
        assert before is not None
        assert after is not None
        assert before["spec"] == after["spec"]
        assert stage.get("apiservice", "v1alpha1.taken.example.com") is None
    finally:
        path.unlink()
        stage.plane.kubectl("delete", "apiservice", "v1.taken.example.com")


def test_a_role_that_it_may_not_grant_is_printed(stage: Stage) -> None:
    """A group that was not named at install: registered, with the role for an administrator to apply; applied, it is complete."""
    path = stage.declare("ungranted.example.org")
    try:
        wait_until("v1alpha1.ungranted.example.org", lambda: stage.available("v1alpha1.ungranted.example.org"), seconds=60)
        wait_until("the role in the status", lambda: "todo.yaml" in stage.status(), seconds=30)
        role = yaml.safe_load(stage.status()["todo.yaml"])
        assert f"{SERVICE}:reader:ungranted.example.org" == role["metadata"]["name"]
        assert "administrator must make this role" in stage.registrar.text()
        stage.plane.apply([role])
        wait_until("nothing to do", lambda: "todo.yaml" not in stage.status(), seconds=30)
    finally:
        path.unlink()
