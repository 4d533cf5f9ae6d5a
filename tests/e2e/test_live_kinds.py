"""The built-in live kinds through a real kube-apiserver: kubectl's tables and words, and the reader roles that the manifests have."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import kinds
from app.cli.objects import Options, install
from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.kubelets import SimulatedKubelets, load
from tests.e2e.stage import Stage, on_stage

pytestmark = pytest.mark.e2e

NAMESPACE = "live-shop"
OTHER = "live-bank"
GROUP = "live.kubeglance.io"
CLUSTER_READER = "kubeglance-live-cluster-reader"
CLAIMS = f"""
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: waits, namespace: {NAMESPACE}, labels: {{app: cart}}}}
spec: {{accessModes: [ReadWriteOnce], storageClassName: none-such, resources: {{requests: {{storage: 1Gi}}}}}}
"""
VIEWER = f"""
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: alice-views, namespace: {NAMESPACE}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}}]
"""


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    with SimulatedKubelets(plane, ("live-0", "live-1")) as kubelets:
        for namespace in (NAMESPACE, OTHER):
            kubelets.inventory.namespace(namespace)
        kubelets.pod(NAMESPACE, "cart-0", "live-0", {"main": load(50, 52), "sidecar": load(5, 10)}, labels={"app": "cart"})
        kubelets.pod(NAMESPACE, "search-0", "live-1", {"main": load(100, 128)}, labels={"app": "search"})
        kubelets.pod(OTHER, "ledger-0", "live-1", {"main": load(250, 64)})
        plane.apply(CLAIMS)
        readers = [role for role in install(Options(image="x"), kinds.load())["rbac"] if role["metadata"]["name"].endswith("reader")]
        plane.apply([role for role in readers if role["kind"] == "ClusterRole"])
        with on_stage(plane, "live", kubelets.certificate_authority) as made:
            made.wait_for_pods(NAMESPACE, 2)
            wait_until("figures of the full summary", lambda: has_figures(made), seconds=60)
            yield made


def has_figures(stage: Stage) -> bool:
    return "rssBytes" in stage.plane.kubectl("get", "podstats", "cart-0", "-n", NAMESPACE, "-o", "json").stdout


def names(stage: Stage, *arguments: str, user: str = "admin") -> list[str]:
    """The first column of a table, without its heading."""
    return [line.split()[0] for line in stage.plane.kubectl("get", *arguments, "--no-headers", user=user).stdout.splitlines()]


def test_kubectl_lists_them_by_every_name(stage: Stage, tmp_path: Path) -> None:
    """Plural, short name, category; namespaced kinds with -n and by label, those of the cluster without."""
    assert names(stage, "podstats", "-n", NAMESPACE) == ["cart-0", "search-0"]
    assert names(stage, "pst", "-n", NAMESPACE, "-l", "app=cart") == ["cart-0"]
    assert names(stage, "cst", "-n", NAMESPACE) == ["cart-0.main", "cart-0.sidecar", "search-0.main"]
    assert names(stage, "nst") == ["live-0", "live-1"]
    assert names(stage, "vst", "-n", NAMESPACE) == ["waits"]
    assert names(stage, "collectors") == ["kubelet-resource", "kubelet-summary"]

    def category() -> set[str]:
        # What kubectl and kube-apiserver remember of groups that other tests had would be looked up too.
        listed = stage.plane.kubectl("get", "live", "-n", NAMESPACE, "-o", "name", f"--cache-dir={tmp_path}").stdout.splitlines()
        return {line.partition("/")[0].removesuffix(f".{GROUP}") for line in listed}

    built_in = {"collector", "containerstats", "nodestats", "podstats", "servedmetric", "volumestats"}
    wait_until("the category live", lambda: category() == built_in, seconds=90, every=3)


def test_a_claim_without_a_volume_says_so(stage: Stage) -> None:
    """Also to who asks for yaml; `kubectl wait` knows its condition."""
    claim = json.loads(stage.plane.kubectl("get", "vst", "waits", "-n", NAMESPACE, "-o", "json").stdout)
    assert (claim["status"]["state"], claim["metadata"]["labels"]) == ("Unbound", {"app": "cart"})
    assert claim["status"]["reason"] == "the claim is Pending: it has no volume yet, and no pod mounts it"
    assert claim["spec"]["requestedBytes"] == 2**30


def test_every_source_is_healthy(stage: Stage) -> None:
    """And kubectl can wait for it."""
    stage.plane.kubectl("wait", "collectors", "--all", "--for=condition=Healthy", "--timeout=30s")


def test_numbers_can_be_sorted_by(stage: Stage) -> None:
    """kubectl ends with an error where a field is 3 in one row and 3.5 in another: all that are keys are whole numbers."""
    for resource, path in (
        ("podstats", ".status.memory.workingSetBytes"),
        ("podstats", ".status.cpu.usageNanoCores"),
        ("containerstats", ".status.restartCount"),
        ("nodestats", ".status.fs.usedPercent"),
        ("volumestats", ".status.usedPercent"),
        ("collectors", ".status.consecutiveFailures"),
    ):
        stage.plane.kubectl("get", resource, "-A", f"--sort-by={path}")
    assert names(stage, "podstats", "-n", NAMESPACE, "--sort-by=.status.cpu.usageNanoCores") == ["cart-0", "search-0"]


def test_kubectl_explains_them(stage: Stage) -> None:
    """Every field has its sentence."""
    assert "Used of used + available" in stage.plane.kubectl("explain", "volumestats.status.usedPercent").stdout
    assert "Targets that fail" in stage.plane.kubectl("explain", "collector.status.targets").stdout


def test_they_are_read_only(stage: Stage) -> None:
    """405, in words that say what to change instead."""
    for resource, words in (("vst/waits", "PersistentVolumeClaim of the same name"), ("collector/kubelet-summary", "change its flags")):
        done = stage.plane.kubectl("delete", resource, "-n", NAMESPACE, check=False)
        assert done.returncode
        assert words in done.stderr, done.stderr


def test_who_may_view_a_namespace_may_view_its_live_kinds(stage: Stage) -> None:
    """Those of the cluster take the role that is made for them; nothing of another namespace is seen."""
    plane = stage.plane
    plane.apply(VIEWER)
    try:
        wait_until("alice may view", lambda: names(stage, "podstats", "-n", NAMESPACE, user="alice") == ["cart-0", "search-0"], seconds=60)
        assert names(stage, "volumestats", "-n", NAMESPACE, user="alice") == ["waits"]
        assert len(names(stage, "containerstats", "-n", NAMESPACE, user="alice")) == 3
        for elsewhere in (("podstats", "-n", OTHER), ("volumestats", "-A"), ("nodestats",), ("collectors",)):
            assert "Forbidden" in plane.kubectl("get", *elsewhere, user="alice", check=False).stderr, elsewhere
        plane.kubectl("create", "clusterrolebinding", "alice-reads-live", f"--clusterrole={CLUSTER_READER}", "--user=alice")
        wait_until("alice may read nodestats", lambda: names(stage, "nodestats", user="alice") == ["live-0", "live-1"], seconds=60)
        assert names(stage, "collectors", user="alice") == ["kubelet-resource", "kubelet-summary"]
    finally:
        plane.kubectl("delete", "clusterrolebinding", "alice-reads-live", "--ignore-not-found")
        plane.kubectl("delete", "-f", "-", text=VIEWER)
