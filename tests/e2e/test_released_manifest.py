"""metrics-server's released components.yaml with only the image changed: kubeglance does metrics-server's work under its name.

The routed profile makes this exact: the Deployment's own pod gets an address, the Service selects it, the EndpointSlice is made by the
real controller. Nothing of the manifest is patched.
"""

import json
import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import yaml

from tests.e2e import pod
from tests.e2e.conftest import demand
from tests.e2e.controlplane import ControlPlane, programs
from tests.e2e.controlplane.processes import Process
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.kubelets import SimulatedKubelets, load
from tests.e2e.objects import running_status

pytestmark = pytest.mark.e2e

IMAGE = "kubeglance.test/kubeglance:test"
NODE = "released-0"
API_SERVICE = "v1beta1.metrics.k8s.io"


@dataclass(frozen=True)
class Released:
    """The manifest in the cluster and its one container at work."""

    plane: ControlPlane
    process: Process
    address: str
    container: dict[str, Any]
    pod_name: str

    def probe(self, kind: str) -> int:
        """What the kubelet would get: status of the container's probe, None-verifying as kubelets are, 0 if nobody answers."""
        get = self.container[kind]["httpGet"]
        port = next(p["containerPort"] for p in self.container["ports"] if p["name"] == get["port"])
        unverified = ssl.create_default_context()
        unverified.check_hostname = False
        unverified.verify_mode = ssl.CERT_NONE
        try:
            with httpx.Client(verify=unverified, timeout=1, trust_env=False) as client:
                return client.get(f"{get['scheme'].lower()}://{self.address}:{port}{get['path']}").status_code
        except httpx.TransportError:
            return 0


def manifest() -> list[dict[str, Any]]:
    """The released objects, the image changed and nothing else."""
    objects: list[dict[str, Any]] = list(yaml.safe_load_all(programs.released_manifest().read_text(encoding="utf-8")))
    (deployment,) = [thing for thing in objects if thing["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    container["image"] = IMAGE
    return objects


@pytest.fixture(scope="module")
def released(routed_plane: ControlPlane) -> Iterator[Released]:
    demand(pod.skip_reason())
    plane = routed_plane
    # components.yaml names no CA for kubelets: they are verified by the cluster's own.
    with SimulatedKubelets(plane, [NODE], authority=plane.pki.cluster) as kubelets:
        kubelets.inventory.namespace("work")
        kubelets.pod("work", "busy-0", NODE, {"main": load(120, 48)})
        plane.apply(manifest())
        deployment = json.loads(plane.kubectl("get", "deployment", "metrics-server", "-n", "kube-system", "-o", "json").stdout)
        spec = deployment["spec"]["template"]["spec"]
        (container,) = spec["containers"]
        process, address = pod.start_pod(
            plane,
            "released",
            [*pod.entry_point(), *container["args"]],
            namespace="kube-system",
            service_account=spec["serviceAccountName"],
            environment={},
        )
        try:
            (name,) = wait_until(
                "a pod of the Deployment",
                lambda: kubelets.adopt("kube-system", NODE, load(20, 60), ip=address, ready=False),
                seconds=60,
            )
            made = Released(plane, process, address, container, name)
            become_ready(made, kubelets)
            yield made
        finally:
            print("\n".join(process.text().splitlines()[-30:]), flush=True)
            # The APIService goes first: a group without a server would hold up the deletion of every namespace.
            plane.kubectl("delete", "apiservice", API_SERVICE, "--ignore-not-found")
            plane.kubectl("delete", "-f", "-", "--ignore-not-found", "--wait=false", text=yaml.safe_dump_all(manifest()))
            plane.kubectl("delete", "pods", "-n", "kube-system", "-l", "k8s-app=metrics-server", "--force", "--grace-period=0")
            process.stop(30)


def become_ready(made: Released, kubelets: SimulatedKubelets) -> None:
    """Probe as a kubelet does, then write the verdict where it writes it: into the pod's status."""

    def look() -> bool:
        made.process.check()
        return made.probe("livenessProbe") == 200 == made.probe("readinessProbe")

    wait_until("liveness and readiness over HTTPS", look, seconds=90)
    path = f"/api/v1/namespaces/kube-system/pods/{made.pod_name}"
    started = kubelets.inventory.get(path)["status"]["startTime"]
    kubelets.inventory.patch_status(path, running_status([made.container["name"]], started, ip=made.address))


def test_it_runs_with_exactly_the_released_arguments(released: Released) -> None:
    """The arguments are the file's; should a later release have others, this is where it shows."""
    assert [
        "--cert-dir=/tmp",
        "--secure-port=10250",
        "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
        "--kubelet-use-node-status-port",
        "--metric-resolution=15s",
    ] == released.container["args"]
    assert IMAGE == released.container["image"]


def test_its_api_service_becomes_available(released: Released) -> None:
    """Through the file's own Service and APIService; insecureSkipTLSVerify is what the file says."""
    released.plane.kubectl("wait", "--for=condition=Available", f"apiservice/{API_SERVICE}", "--timeout=90s")
    service = json.loads(released.plane.kubectl("get", "apiservice", API_SERVICE, "-o", "json").stdout)
    assert service["spec"]["insecureSkipTLSVerify"] is True
    slices = json.loads(
        released.plane.kubectl(
            "get", "endpointslices", "-n", "kube-system", "-l", "kubernetes.io/service-name=metrics-server", "-o", "json"
        ).stdout
    )["items"]
    assert [[released.address]] == [endpoint["addresses"] for each in slices for endpoint in each["endpoints"]]


def test_kubectl_top_works(released: Released) -> None:
    """Pods and nodes, with the values of the kubelet."""
    released.plane.kubectl("wait", "--for=condition=Available", f"apiservice/{API_SERVICE}", "--timeout=90s")

    def look() -> bool:
        printed = released.plane.kubectl("top", "pods", "-A", "--no-headers").stdout
        assert re.search(r"^work\s+busy-0\s+12[01]m\s+48Mi\s*$", printed, re.MULTILINE)
        return NODE in released.plane.kubectl("top", "nodes", "--no-headers").stdout

    # Without the summary a first rate needs two looks of the kubelet.
    wait_until("kubectl top prints the pod", look, seconds=120, every=1)


def test_the_role_that_is_granted_reads_it(released: Released) -> None:
    """system:aggregated-metrics-reader reaches everyone who has view."""
    released.plane.kubectl("create", "rolebinding", "alice-views", "-n", "work", "--clusterrole=view", "--user=alice")
    wait_until(
        "alice reads",
        lambda: released.plane.kubectl("top", "pods", "-n", "work", user="alice", check=False).returncode == 0,
        seconds=90,
        every=1,
    )


def test_the_summary_is_off_with_one_warning(released: Released) -> None:
    """The file grants no nodes/stats: the kubelet says 403, we say so once, and go on without."""
    lines = [line for line in released.process.text().splitlines() if "nodes/stats" in line]
    assert 1 == len(lines), lines
    assert "warn" in lines[0].lower()


def test_a_certificate_was_made_in_the_empty_folder(released: Released) -> None:
    """--cert-dir was empty; what is served is self-signed and stays in that folder."""
    files = released.process.root / "tmp"
    assert (files / "apiserver.crt").exists()
    assert 0o600 == (files / "apiserver.key").stat().st_mode & 0o777
