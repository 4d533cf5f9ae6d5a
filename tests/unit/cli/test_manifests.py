"""`kubeglance manifests`: objects that derive from the kinds, ask for the least rights and never skip verification."""

import base64
import dataclasses
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.certs import Authority
from app.cli.certs import service_names
from app.cli.manifests import base_files, run
from app.cli.objects import Manifest, Options, install
from app.kinds import load
from app.kinds._base import Kind
from tests.fakes.clock import ManualClock

ROOT = Path(__file__).parents[3]
BASE = ROOT / "deploy" / "base"


def objects(options: Options | None = None, kinds: tuple[Kind, ...] | None = None) -> list[Manifest]:
    """All objects in order."""
    groups = install(options or Options(image="kubeglance:test"), load() if kinds is None else kinds)
    return [item for group in groups.values() for item in group]


def of_kind(kind: str, **options: Any) -> list[Manifest]:
    """The objects of one kind."""
    return [item for item in objects(Options(image="kubeglance:test", **options)) if item["kind"] == kind]


def printed(capsys: pytest.CaptureFixture[str], *argv: str) -> list[Manifest]:
    """What the command prints, read again."""
    assert 0 == run(argv)
    return list(yaml.safe_load_all(capsys.readouterr().out))


def test_an_apiservice_for_each_version_of_each_kind() -> None:
    """Both versions of metrics.k8s.io, the GA version preferred."""
    services = {item["metadata"]["name"]: item["spec"] for item in of_kind("APIService")}

    assert {f"{version}.{kind.group}" for kind in load() for version in kind.versions} == set(services)
    assert services["v1.metrics.k8s.io"]["versionPriority"] > services["v1beta1.metrics.k8s.io"]["versionPriority"]
    assert {100} == {spec["groupPriorityMinimum"] for spec in services.values()}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param([], {"v1alpha1.live.kubeglance.io", "v1.metrics.k8s.io", "v1beta1.metrics.k8s.io"}, id="as it is by default"),
        pytest.param(
            ["--arg=--live-kinds=false", "--arg=--declaration-config-maps=false"],
            {"v1.metrics.k8s.io", "v1beta1.metrics.k8s.io"},
            id="an APIService that nobody answers would hold up every namespace that goes",
        ),
        pytest.param(
            ["--arg=--live-kinds=false"],
            {"v1alpha1.live.kubeglance.io", "v1.metrics.k8s.io", "v1beta1.metrics.k8s.io"},
            id="declared kinds have their sources told of",
        ),
        pytest.param(
            ["--arg=--live-kinds=false", "--arg=--declaration-config-maps=false", "--arg=--metric-routes=/etc/routes.yaml"],
            {"v1alpha1.live.kubeglance.io", "v1.metrics.k8s.io", "v1beta1.metrics.k8s.io"},
            id="and so have routes to other adapters",
        ),
    ],
)
def test_an_apiservice_for_what_is_served(arguments: list[str], expected: set[str], capsys: pytest.CaptureFixture[str]) -> None:
    """What is switched off is not registered."""
    assert expected == {item["metadata"]["name"] for item in printed(capsys, *arguments) if item["kind"] == "APIService"}


def test_names_of_the_leaf_include_the_name_that_the_aggregator_verifies() -> None:
    """certs and manifests have the same defaults."""
    (spec, *_) = [item["spec"]["service"] for item in of_kind("APIService")]

    assert f"{spec['name']}.{spec['namespace']}.svc" in service_names("kubeglance", "kube-system")


@pytest.mark.parametrize("ca", [None, b"CA"])
def test_verification_is_never_skipped(ca: bytes | None) -> None:
    """With or without a caBundle, insecureSkipTLSVerify is not written."""
    assert "insecureSkipTLSVerify" not in yaml.safe_dump(objects(Options(image="x", ca=ca)))


def test_ca_bundle_holds_the_certificates_of_the_file_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A private key in the same file does not end in an APIService."""
    authority = Authority.create("CA", ManualClock())
    (tmp_path / "ca.pem").write_bytes(authority.key_pem + authority.certificate_pem)

    bundles = {item["spec"]["caBundle"] for item in printed(capsys, f"--ca-file={tmp_path}/ca.pem") if item["kind"] == "APIService"}

    assert {base64.b64encode(authority.certificate_pem).decode()} == bundles


def test_a_new_kind_gets_its_rows(capsys: pytest.CaptureFixture[str]) -> None:
    """A kind in another group brings an APIService and a rule, with no change here."""
    pods = next(kind for kind in load() if kind.kind == "PodMetrics")
    other = dataclasses.replace(pods, group="example.com", versions=("v1",), resource="things", version_priorities=None)

    everything = objects(kinds=(*load(), other))

    assert ["v1.example.com"] == [item["metadata"]["name"] for item in everything if item.get("spec", {}).get("group") == "example.com"]
    (reader,) = [item for item in everything if item["metadata"]["name"] == "system:kubeglance:reader"]
    assert {"apiGroups": ["example.com"], "resources": ["things"], "verbs": ["get", "list"]} in reader["rules"]


def test_what_is_of_the_whole_cluster_is_not_for_viewers_of_a_namespace() -> None:
    """Nodes' figures and endpoints of sources have a role of their own that nobody is bound to; metrics.k8s.io is as in metrics-server."""
    roles = {item["metadata"]["name"]: item for item in of_kind("ClusterRole")}
    viewers, cluster = roles["system:kubeglance:reader"], roles["kubeglance-live-cluster-reader"]

    assert {rule["apiGroups"][0]: rule["resources"] for rule in viewers["rules"]} == {
        "live.kubeglance.io": ["containerstats", "podstats", "volumestats"],
        "metrics.k8s.io": ["nodes", "pods"],
    }
    assert cluster["rules"] == [
        {"apiGroups": ["live.kubeglance.io"], "resources": ["collectors", "nodestats", "servedmetrics"], "verbs": ["get", "list"]}
    ]
    assert [name for name, role in roles.items() if any("aggregate-to" in label for label in role["metadata"]["labels"])] == [
        "system:kubeglance:reader"
    ]


def test_rights_are_the_least() -> None:
    """Reading only: what is watched is listed and watched, a kubelet is asked with get, and there is no wildcard."""
    rules = [rule for item in of_kind("ClusterRole") for rule in item["rules"]]

    assert {"get", "list", "watch"} >= {verb for rule in rules for verb in rule["verbs"]}
    assert "*" not in {word for rule in rules for words in rule.values() for word in words}
    assert {"system:auth-delegator", "extension-apiserver-authentication-reader", "system:kubeglance", "kubeglance-declarations"} == {
        item["roleRef"]["name"] for item in objects() if item["kind"].endswith("Binding")
    }


def test_logs_of_pods_are_read_only_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Kinds with /log need it; nobody else gets it."""
    rule = {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}

    def rules(*argv: str) -> list[Any]:
        assert 0 == run([*argv])
        return [rule for item in yaml.safe_load_all(capsys.readouterr().out) for rule in item.get("rules", ())]

    assert (False, True) == (rule in rules(), rule in rules("--pod-logs"))


def test_the_pod_keeps_to_the_restricted_standard() -> None:
    """Pod Security Standards, level restricted, and a read-only root."""
    (deployment,) = of_kind("Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert (True, {"type": "RuntimeDefault"}) == (pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["seccompProfile"])
    assert {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}} == container[
        "securityContext"
    ]
    assert ("/livez", "/readyz") == (
        container["livenessProbe"]["httpGet"]["path"],
        container["readinessProbe"]["httpGet"]["path"],
    )


def test_options_reach_the_objects(capsys: pytest.CaptureFixture[str]) -> None:
    """Namespace, names, image, replicas, Secret and flags."""
    everything = printed(
        capsys,
        "--namespace=monitoring",
        "--service=glance",
        "--image=registry.example/k:1",
        "--replicas=3",
        "--cert-secret=mine",
        "--arg=--kubelet-insecure-tls",
    )
    by_kind = {item["kind"]: item for item in everything}
    pod = by_kind["Deployment"]["spec"]["template"]["spec"]

    assert "Namespace" == everything[0]["kind"]
    assert {"monitoring", "kube-system"} == {item["metadata"]["namespace"] for item in everything if "namespace" in item["metadata"]}
    assert {"name": "glance", "namespace": "monitoring", "port": 443} == by_kind["APIService"]["spec"]["service"]
    assert ("registry.example/k:1", 3) == (pod["containers"][0]["image"], by_kind["Deployment"]["spec"]["replicas"])
    assert "mine" == pod["volumes"][0]["secret"]["secretName"]
    assert "--kubelet-insecure-tls" == pod["containers"][0]["args"][-1]


def test_a_port_for_serve_is_that_of_the_container(capsys: pytest.CaptureFixture[str]) -> None:
    """Probes and the Service go by the port's name, which must be where serve listens."""
    (deployment,) = [item for item in printed(capsys, "--arg=--secure-port=4443") if item["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]

    assert [{"name": "https", "containerPort": 4443, "protocol": "TCP"}] == container["ports"]
    assert {"--secure-port=4443"} == {word for word in container["args"] if "secure-port" in word}


def test_names_may_be_as_long_as_kubernetes_allows(capsys: pytest.CaptureFixture[str]) -> None:
    """The Secret's name, made from the Service's, may be longer than a label and may have dots."""
    printed(capsys, f"--service={'s' * 63}")
    printed(capsys, "--cert-secret=a.b")


def test_selectors_agree() -> None:
    """Service, Deployment, PodDisruptionBudget and pod template name the same pods, and the ports meet."""
    by_kind = {item["kind"]: item["spec"] for item in objects() if item["kind"] in {"Service", "Deployment", "PodDisruptionBudget"}}
    template = by_kind["Deployment"]["template"]

    assert (
        by_kind["Service"]["selector"]
        == by_kind["Deployment"]["selector"]["matchLabels"]
        == by_kind["PodDisruptionBudget"]["selector"]["matchLabels"]
        == template["metadata"]["labels"]
    )
    assert by_kind["Service"]["ports"][0]["targetPort"] == template["spec"]["containers"][0]["ports"][0]["name"]


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        pytest.param(["--namespace=A_b"], 2, "--namespace=A_b: is not a Kubernetes name", id="namespace"),
        pytest.param(["--service="], 2, "--service=: is not a name of a Service", id="service"),
        pytest.param(["--service=1abc"], 2, "--service=1abc: is not a name of a Service", id="service-with-a-digit-first"),
        pytest.param(["--cert-secret=a..b"], 2, "--cert-secret=a..b: is not a Kubernetes name", id="secret"),
        pytest.param(["--arg=--help"], 2, "--arg: --help and --version end kubeglance serve at once", id="help-for-serve"),
        pytest.param(["--arg=--version"], 2, "--arg: --help and --version end kubeglance serve at once", id="version-for-serve"),
        pytest.param(["--arg=--settings-file=/x"], 2, "--arg: --settings-file needs a file in the pod", id="settings-file-for-serve"),
        pytest.param(["--image=a b"], 2, "--image=a b: is not an image reference", id="image"),
        pytest.param(["--replicas=-1"], 2, "--replicas=-1: must not be negative", id="replicas"),
        pytest.param(["--arg=--kubelet-prot=1"], 2, "--kubelet-prot: unknown flag; did you mean --kubelet-port?", id="flag-for-serve"),
        pytest.param(["--ca-file=/does/not/exist"], 1, "--ca-file: cannot read /does/not/exist: No such file", id="no-file"),
        pytest.param([f"--ca-file={__file__}"], 1, "has no PEM certificate; give it ca.crt", id="no-certificate"),
    ],
)
def test_wrong_use(argv: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, nothing printed that could be applied."""
    assert code == run(argv)
    out, err = capsys.readouterr()
    assert "" == out
    assert said in err


def test_without_a_ca_a_note_tells_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, so that a pipe to kubectl stays clean."""
    assert 0 == run([])
    assert "without --ca-file the APIServices have no caBundle" in capsys.readouterr().err


def test_dir_writes_a_kustomize_base(tmp_path: Path) -> None:
    """All files, and a kustomization that lists them."""
    assert 0 == run(["--dir", str(tmp_path / "base")])

    listed = yaml.safe_load((tmp_path / "base" / "kustomization.yaml").read_text())["resources"]
    assert {path.name for path in (tmp_path / "base").iterdir()} == {*listed, "kustomization.yaml"}


def test_deploy_base_is_what_the_command_writes() -> None:
    """deploy/base is derived: `make docs` writes it."""
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    files = base_files(install(Options(image=f"kubeglance:{version[1]}"), load()))

    assert files == {path.name: path.read_text() for path in BASE.iterdir()}


def kubectl() -> str:
    """A kubectl: envtest's, the one that was built, or that of the PATH. Skips (or fails, where nothing may be skipped) without one."""
    folders = [os.environ.get("KUBEBUILDER_ASSETS", ""), str(ROOT / ".controlplane" / "bin"), *os.environ.get("PATH", "").split(os.pathsep)]
    found = shutil.which("kubectl", path=os.pathsep.join(folder for folder in folders if folder))
    if found is None:
        reason = "kubectl is not here: install it or run `make controlplane`"
        if os.environ.get("KUBEGLANCE_TEST_ALL") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@pytest.mark.parametrize("folder", ["base", "overlays/cert-manager"])
def test_kustomize_renders(folder: str) -> None:
    """Both ways to install render, and hold the same APIServices."""
    done = subprocess.run([kubectl(), "kustomize", str(ROOT / "deploy" / folder)], capture_output=True, text=True, check=False)

    assert ("", 0) == (done.stderr, done.returncode)
    rendered = list(yaml.safe_load_all(done.stdout))
    assert {(item["kind"], item["metadata"]["name"]) for item in objects()} <= {
        (item["kind"], item["metadata"]["name"]) for item in rendered
    }


def test_the_cert_manager_overlay_makes_the_secret_and_injects_its_ca() -> None:
    """The Certificate's Secret is the one that the Deployment mounts; its names are the Service's."""
    documents = list(yaml.safe_load_all((ROOT / "deploy/overlays/cert-manager/certificates.yaml").read_text()))
    (leaf,) = [item["spec"] for item in documents if item["kind"] == "Certificate" and not item["spec"].get("isCA")]

    assert Options(image="x").cert_secret == leaf["secretName"]
    assert list(service_names("kubeglance", "kube-system")) == leaf["dnsNames"]


def test_the_cert_manager_overlay_injects_its_ca_into_every_apiservice(tmp_path: Path) -> None:
    """Those of the metrics APIs are no others than the built-in ones: what is done to these is done to them."""
    overlay = tmp_path / "overlays" / "cert-manager"
    shutil.copytree(ROOT / "deploy" / "overlays" / "cert-manager", overlay)
    assert 0 == run(["--metrics-api=custom", "--metrics-api=external", f"--dir={tmp_path / 'base'}"])
    done = subprocess.run([kubectl(), "kustomize", str(overlay)], capture_output=True, text=True, check=False)

    assert ("", 0) == (done.stderr, done.returncode)
    services = {item["metadata"]["name"]: item for item in yaml.safe_load_all(done.stdout) if item["kind"] == "APIService"}
    assert {"v1.metrics.k8s.io", "v1beta2.custom.metrics.k8s.io", "v1beta1.external.metrics.k8s.io"} <= services.keys()
    injected = {"cert-manager.io/inject-ca-from": "kube-system/kubeglance-tls"}
    assert [injected] * len(services) == [item["metadata"].get("annotations") for item in services.values()]
    assert 1 == len({json.dumps(item["metadata"]["labels"]) for item in services.values()})
    assert 1 == len({json.dumps(item["spec"]["service"]) for item in services.values()})


def test_declarations_in_config_maps_can_be_switched_off() -> None:
    """Then nothing of it is asked for; and a Service of another name is told to the server, which tells its own groups by it."""
    off = [item for group in install(Options(image="x", service="glance", config_maps=False), load()).values() for item in group]

    assert [] == [item for item in off if item["kind"] == "Role"]
    assert "apiservices" not in {word for item in off for rule in item.get("rules", ()) for word in rule["resources"]}
    (deployment,) = [item for item in off if item["kind"] == "Deployment"]
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "--service=glance" in arguments
    assert "--declaration-config-maps" not in arguments


@pytest.mark.parametrize(
    ("argument", "wanted"), [("--arg=--declaration-config-maps=false", 0), ("--arg=--declaration-config-maps", 1), ("--arg=--v=4", 1)]
)
def test_the_command_switches_config_maps_on_unless_told_otherwise(argument: str, wanted: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Once, with the Role that it needs."""
    assert 0 == run([argument])
    printed = list(yaml.safe_load_all(capsys.readouterr().out))

    assert wanted == len([item for item in printed if item["kind"] == "Role"])
    (deployment,) = [item for item in printed if item["kind"] == "Deployment"]
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert max(wanted, argument.count("config-maps")) == len([each for each in arguments if each.startswith("--declaration-config-maps")])


def test_rights_of_what_declarations_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Secrets and ConfigMaps by name and for get alone; resources where they are watched."""
    declaration = (ROOT / "deploy" / "examples" / "rabbitmq-queues.yaml").read_text()
    watching = yaml.safe_load((ROOT / "deploy" / "examples" / "vpa-targets.yaml").read_text())
    watching["spec"]["source"]["kubernetes"]["namespaces"] = ["shop"]
    (tmp_path / "queues.yaml").write_text(declaration)
    (tmp_path / "vpa.yaml").write_text(yaml.safe_dump(watching))

    made = printed(capsys, f"--declared={tmp_path}")

    found = {(item["kind"], item["metadata"].get("namespace")): item for item in made if item["metadata"]["name"] == "kubeglance-sources"}
    assert {("Role", "kube-system"), ("RoleBinding", "kube-system"), ("Role", "shop"), ("RoleBinding", "shop")} == set(found)
    assert [
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["rabbitmq-reader"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["rabbitmq-ca"], "verbs": ["get"]},
    ] == found["Role", "kube-system"]["rules"]
    assert [["list", "watch"]] == [rule["verbs"] for rule in found["Role", "shop"]["rules"]]
    assert "kube-system" == found["RoleBinding", "shop"]["subjects"][0]["namespace"]


def test_rights_of_what_is_watched_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A ClusterRole, for there is no namespace to keep to."""
    watching = yaml.safe_load((ROOT / "deploy" / "examples" / "vpa-targets.yaml").read_text())
    watching["spec"]["source"]["kubernetes"].pop("namespaces", None)
    (tmp_path / "vpa.yaml").write_text(yaml.safe_dump(watching))

    made = printed(capsys, f"--declared={tmp_path}")

    assert {"ClusterRole", "ClusterRoleBinding"} == {item["kind"] for item in made if item["metadata"]["name"] == "kubeglance-sources"}


def test_declarations_that_are_wrong_grant_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first fault is told, and where to see them all."""
    (tmp_path / "queues.yaml").write_text("kind: LiveResource\n")

    assert 1 == run([f"--declared={tmp_path}"])
    assert "see kubeglance check" in capsys.readouterr().err


def test_metrics_apis_are_registered_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """By name alone: another adapter of the cluster may have them. No role comes with them, and the registrar needs no such order."""

    def metrics(*argv: str) -> list[str]:
        found = [each["metadata"]["name"] for each in printed(capsys, *argv) if ".metrics.k8s.io" in each["metadata"]["name"]]
        return [name for name in found if name not in {"v1.metrics.k8s.io", "v1beta1.metrics.k8s.io"}]

    assert [] == metrics()
    assert ["v1beta2.custom.metrics.k8s.io", "v1beta1.custom.metrics.k8s.io"] == metrics("--metrics-api=custom")
    assert ["v1beta1.external.metrics.k8s.io"] == metrics("--metrics-api=external", "--metrics-api=external")
    assert [] == metrics("--metrics-api=custom", "--registrar")
