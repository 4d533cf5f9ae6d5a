"""The shipped examples whose sources are of the cluster, a file or an application: as they are, through a real kube-apiserver."""

import http.server
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.programs import ROOT
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.custom_resources import HELM_RELEASES, VERTICAL_POD_AUTOSCALERS
from tests.e2e.declared import declaring, items, write
from tests.e2e.registration import NAMESPACE, SERVICE_ACCOUNT
from tests.e2e.sources.collecting import example
from tests.e2e.stage import Stage

pytestmark = pytest.mark.e2e

NAMES = ("coolresource", "helmrelease-postgres", "helmrelease-redis", "vpa-targets", "sqlite-jobs")
"""As they are shipped; podinfo's with another URL."""

_GRANTS = f"""
apiVersion: v1
kind: Namespace
metadata: {{name: team-a}}
---
apiVersion: v1
kind: Namespace
metadata: {{name: team-b}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: kubeglance-examples}}
rules:
- {{apiGroups: [helm.toolkit.fluxcd.io], resources: [helmreleases], verbs: [list, watch]}}
- {{apiGroups: [autoscaling.k8s.io], resources: [verticalpodautoscalers], verbs: [list, watch]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: kubeglance-examples}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kubeglance-examples}}
subjects: [{{kind: ServiceAccount, name: {SERVICE_ACCOUNT}, namespace: {NAMESPACE}}}]
"""


def spec_of(name: str) -> dict[str, Any]:
    """The spec of an example."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "examples" / f"{name}.yaml").read_text(encoding="utf-8"))["spec"]
    return found


def samples(name: str, kind: str) -> list[dict[str, Any]]:
    """The objects of the cluster that the example's own test starts from."""
    source = spec_of(name)["source"]["kubernetes"]
    return [{"apiVersion": source["apiVersion"], "kind": kind, **each} for each in spec_of(name)["tests"][0]["input"]["items"]]


class _Podinfo(http.server.BaseHTTPRequestHandler):
    """Answers as podinfo does."""

    def do_GET(self) -> None:
        body = json.dumps(spec_of("podinfo-instances")["tests"][0]["input"]).encode()
        self.send_response(200 if self.path == "/api/info" else 404)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the standard library's name
        """Nothing."""


@pytest.fixture(scope="module")
def application() -> Iterator[int]:
    """The port of an application."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Podinfo) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What --source-dir names, with the table of the example."""
    made = tmp_path_factory.mktemp("files")
    with closing(sqlite3.connect(made / "jobs.db")) as database, database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE jobs (name TEXT PRIMARY KEY, state TEXT NOT NULL, tries INTEGER NOT NULL, changed TEXT NOT NULL)")
        database.execute(
            "INSERT INTO jobs VALUES ('import', 'running', 1, '2026-05-01T09:59:00Z'), ('old', 'archived', 1, '2020-01-01T00:00:00Z')"
        )
    return made


@pytest.fixture(scope="module")
def stage(plane: ControlPlane, application: int, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A kubeglance with the examples."""
    declarations = tmp_path_factory.mktemp("declarations")
    for name in NAMES:
        write(declarations / f"{name}.yaml", (ROOT / "deploy" / "examples" / f"{name}.yaml").read_text(encoding="utf-8"))
    write(declarations / "podinfo.yaml", example("podinfo-instances.yaml", url=f"http://localhost:{application}/api/info"))
    definitions = [HELM_RELEASES, VERTICAL_POD_AUTOSCALERS]
    plane.apply(definitions)
    for each in definitions:
        plane.kubectl("wait", "--for=condition=Established", "crd", each["metadata"]["name"], "--timeout=60s")
    groups = [f"v1alpha1.{group}" for group in sorted({spec_of(name)["group"] for name in (*NAMES, "podinfo-instances")})]
    flags = [f"--declarations={declarations}", f"--source-dir={folder}"]
    with declaring(plane, "examples", *flags, groups=groups) as made:
        plane.apply(_GRANTS)
        try:
            yield made
        finally:
            plane.kubectl("delete", "crd", *[each["metadata"]["name"] for each in definitions])


def found(stage: Stage, name: str) -> dict[str, dict[str, Any]]:
    """The objects of an example's kind, by NAMESPACE/NAME."""
    spec = spec_of(name)
    listed = items(stage, f"{spec['group']}/{spec['version']}/{spec['names']['plural']}")
    return {f"{item['metadata']['namespace']}/{item['metadata']['name']}": item for item in listed}


def within(expected: Any, seen: Any) -> bool:
    """Whether what is expected is part of what is seen."""
    if isinstance(expected, dict):
        return isinstance(seen, dict) and all(within(part, seen.get(name)) for name, part in expected.items())
    return bool(expected == seen)


@pytest.mark.parametrize(
    ("name", "kind", "plural"),
    [
        ("helmrelease-postgres", "HelmRelease", "helmreleases"),
        ("helmrelease-redis", "HelmRelease", "helmreleases"),
        ("vpa-targets", "VerticalPodAutoscaler", "verticalpodautoscalers"),
    ],
)
def test_objects_of_the_cluster(name: str, kind: str, plural: str, stage: Stage) -> None:
    """The samples of the example's own test as real objects become what that test expects; they change and go with them."""
    expected = spec_of(name)["tests"][0]["expect"]["items"]
    objects = samples(name, kind)
    stage.plane.apply(objects)

    seen = wait_until(f"the objects of {name}", lambda: (all_of := found(stage, name)).keys() == expected.keys() and all_of, seconds=60)
    for key, wanted in expected.items():
        assert within(wanted, seen[key]), (wanted, seen[key])
        assert seen[key]["metadata"]["creationTimestamp"]
    assert "not shown" not in json.dumps(seen)

    for each in objects:
        stage.plane.kubectl("delete", plural, each["metadata"]["name"], "-n", each["metadata"]["namespace"])
    wait_until(f"no objects of {name}", lambda: not found(stage, name), seconds=60)


def test_a_release_that_becomes_ready(stage: Stage) -> None:
    """A change is seen within seconds, for the source watches, and in the columns that kubectl prints."""
    (_, new, _) = samples("helmrelease-postgres", "HelmRelease")
    stage.plane.apply([new])
    wait_until("the release", lambda: found(stage, "helmrelease-postgres").keys() == {"team-b/next"}, seconds=60)
    shown = stage.plane.kubectl("get", "postgreses.databases.example.com", "-n", "team-b").stdout.split()
    condition = {"type": "Ready", "status": "True", "reason": "InstallSucceeded", "message": "done"}
    stage.plane.apply([{**new, "status": {"history": [{"chartVersion": "16.4.1"}], "conditions": [condition]}}])

    assert ["NAME", "READY", "VERSION", "AGE", "next", "Unknown"] == shown[:6]
    wait_until(
        "the release to be ready",
        lambda: found(stage, "helmrelease-postgres")["team-b/next"].get("status", {}).get("ready") == "True",
        seconds=30,
    )
    shown = stage.plane.kubectl("get", "postgreses.databases.example.com", "-n", "team-b").stdout.split()
    assert ["next", "True", "16.4.1"] == shown[4:7]
    refused = stage.plane.kubectl("delete", "postgreses.databases.example.com", "next", "-n", "team-b", check=False)
    assert "helmrelease-postgres.yaml" in refused.stderr
    stage.plane.kubectl("delete", "helmreleases", "postgres-next", "-n", "team-b")


def test_a_file_of_sqlite(stage: Stage, folder: Path) -> None:
    """A row that an application writes is an object within seconds, beside the writer: the file is in WAL mode."""
    wait_until("the jobs", lambda: found(stage, "sqlite-jobs").keys() == {"default/import"}, seconds=60)
    with closing(sqlite3.connect(folder / "jobs.db")) as writer:
        writer.execute("INSERT INTO jobs VALUES ('nightly', 'failed', 3, '2026-05-01T02:00:00Z')")
        writer.commit()
        seen = wait_until("the job", lambda: found(stage, "sqlite-jobs").get("default/nightly"), seconds=60)

    assert within({"state": "failed", "tries": 3}, seen["status"])


def test_an_application_over_http(stage: Stage) -> None:
    """One object, of numbers that the application writes as text."""
    seen = wait_until("the application", lambda: found(stage, "podinfo-instances").get("default/podinfo"), seconds=60)

    assert within(spec_of("podinfo-instances")["tests"][0]["expect"]["items"]["default/podinfo"], seen)


def test_what_stands_in_the_declaration(stage: Stage) -> None:
    """The first kind that people make."""
    wait_until("hello", lambda: found(stage, "coolresource").get("default/hello"), seconds=60)

    assert ["NAME", "MESSAGE", "hello", "Hello", "from", "CoolResource"] == stage.plane.kubectl("get", "cr").stdout.split()
