"""The control plane tool itself, with a server as small as an aggregated server can be."""

import base64
import json
from collections.abc import Iterator

import pytest

from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import wait_until
from tests.fakes.kubelet_server import NOT_FOUND, KubeletAnswer, KubeletRequest, KubeletServer

pytestmark = pytest.mark.e2e

GROUP = "small.kubeglance.test"
RESOURCES = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": f"{GROUP}/v1",
    "resources": [{"name": "pebbles", "singularName": "pebble", "namespaced": False, "kind": "Pebble", "verbs": ["get", "list"]}],
}


def _answer(asked: KubeletRequest) -> KubeletAnswer:
    if asked.path.startswith(f"/apis/{GROUP}/v1"):
        return KubeletAnswer(200, "application/json", json.dumps(RESOURCES).encode())
    return NOT_FOUND


@pytest.fixture(params=["plane", "routed_plane"])
def either(request: pytest.FixtureRequest) -> ControlPlane:
    """Both profiles, one after the other."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, ControlPlane)
    return found


@pytest.fixture
def small(either: ControlPlane) -> Iterator[tuple[KubeletServer, str]]:
    address = either.network.add_kubelet_address() if either.network else "127.0.0.1"
    pair = either.pki.serving.server("small", "small.default.svc", dns=["small.default.svc"], ips=[address])
    with KubeletServer(_answer, *pair, address=address) as server:
        yield server, address


def test_an_aggregated_server_becomes_available_in_either_profile(either: ControlPlane, small: tuple[KubeletServer, str]) -> None:
    """A server behind the Service of the profile is verified by its caBundle, found Available, and listed by discovery."""
    server, address = small
    service: dict[str, object] = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "small", "namespace": "default"}}
    objects = [service]
    if either.network:
        service["spec"] = {"ports": [{"name": "https", "port": server.port}]}
        objects.append(
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {"name": "small", "namespace": "default", "labels": {"kubernetes.io/service-name": "small"}},
                "addressType": "IPv4",
                "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
                "ports": [{"name": "https", "port": server.port}],
            }
        )
    else:
        service["spec"] = {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": server.port}]}
    objects.append(
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"v1.{GROUP}"},
            "spec": {
                "group": GROUP,
                "version": "v1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "caBundle": base64.b64encode(either.pki.serving.pem).decode(),
                "service": {"namespace": "default", "name": "small", "port": server.port},
            },
        }
    )
    try:
        either.apply(objects)
        either.kubectl("wait", "--for=condition=Available", f"apiservice/v1.{GROUP}", "--timeout=60s")
        wait_until(
            "pebbles in discovery",
            lambda: (
                either.kubectl("api-resources", "--api-group", GROUP, "--no-headers", "-o", "name").stdout.split() == [f"pebbles.{GROUP}"]
            ),
            seconds=60,
        )
    finally:
        either.kubectl("delete", "apiservice", f"v1.{GROUP}")
        either.kubectl("delete", "service/small", "endpointslice/small", "-n", "default", "--ignore-not-found")


def test_users_are_who_their_files_say(plane: ControlPlane) -> None:
    """Certificates and ServiceAccount tokens log in as different users, with their groups."""
    plane.kubectl("create", "serviceaccount", "whoami", "-n", "default")
    plane.token_kubeconfig("default", "whoami")
    try:
        said = {
            user: json.loads(plane.kubectl("auth", "whoami", "-o", "json", user=user).stdout)["status"]["userInfo"]
            for user in ("admin", "alice", "default-whoami")
        }
    finally:
        plane.kubectl("delete", "serviceaccount", "whoami", "-n", "default")
    assert tuple(user["username"] for user in said.values()) == ("admin", "alice", "system:serviceaccount:default:whoami")
    assert "system:masters" in said["admin"]["groups"]
    assert "dev" in said["alice"]["groups"]


def test_kube_apiserver_goes_away_and_comes_back_with_all_it_knew(plane: ControlPlane) -> None:
    """An outage keeps the data and the port."""
    plane.kubectl("create", "configmap", "before", "-n", "default")
    plane.stop_apiserver()
    try:
        assert plane.kubectl("get", "configmaps", "-n", "default", check=False).returncode != 0
    finally:
        plane.start_apiserver()
    assert "configmap/before" in plane.kubectl("get", "configmap", "before", "-n", "default", "-o", "name").stdout
    plane.kubectl("delete", "configmap", "before", "-n", "default")
