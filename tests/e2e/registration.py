"""What a cluster administrator makes so that kube-apiserver forwards what is built in to kubeglance: Service, APIServices, least RBAC."""

import base64
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import yaml

from tests.e2e.controlplane import ControlPlane, Profile
from tests.e2e.controlplane.waiting import wait_until

NAMESPACE = "kubeglance-system"
SERVICE = "kubeglance"
SERVICE_ACCOUNT = "kubeglance"
PORT_NAME = "https"
SERVICE_PORT = 443
API_SERVICES = ("v1.metrics.k8s.io", "v1beta1.metrics.k8s.io", "v1alpha1.live.kubeglance.io")

ACCESS = f"""
apiVersion: v1
kind: Namespace
metadata: {{name: {NAMESPACE}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: {SERVICE_ACCOUNT}, namespace: {NAMESPACE}}}
---
# TokenReview and SubjectAccessReview: who calls, and may they.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: kubeglance-auth-delegator}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:auth-delegator"}}
subjects: [{{kind: ServiceAccount, name: {SERVICE_ACCOUNT}, namespace: {NAMESPACE}}}]
---
# The certificate authorities of clients and of the aggregator.
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: kubeglance-auth-reader, namespace: kube-system}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}}
subjects: [{{kind: ServiceAccount, name: {SERVICE_ACCOUNT}, namespace: {NAMESPACE}}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: kubeglance-collector}}
rules:
- {{apiGroups: [""], resources: [nodes, persistentvolumeclaims, pods], verbs: [list, watch]}}
- {{apiGroups: [""], resources: [nodes/metrics, nodes/stats], verbs: [get]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: kubeglance-collector}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kubeglance-collector}}
subjects: [{{kind: ServiceAccount, name: {SERVICE_ACCOUNT}, namespace: {NAMESPACE}}}]
"""


RIGHTS = ("kubeglance-auth-delegator", "kubeglance-collector")
"""The cluster-wide ones among them, by name."""


def grant_access(plane: ControlPlane) -> None:
    """Namespace, ServiceAccount and the least rights; to be done before kubeglance starts. Doing it twice is fine."""
    plane.apply(ACCESS)


def api_service(name: str, ca_bundle: bytes, port: int) -> dict[str, Any]:
    """The APIService of that name, VERSION.GROUP, verified by a CA. insecureSkipTLSVerify is never used in these tests but where a foreign
    manifest has it.
    """
    version, _, group = name.partition(".")
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": name},
        "spec": {
            "group": group,
            "version": version,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "caBundle": base64.b64encode(ca_bundle).decode("ascii"),
            "service": {"namespace": NAMESPACE, "name": SERVICE, "port": port},
        },
    }


class Registration:
    """The Service and APIServices in kube-apiserver, from making them until `close` removes them.

    Loopback profile: `port` is where kubeglance listens on localhost. Routed: endpoints are written by tests/e2e/endpoints.py.
    """

    def __init__(self, plane: ControlPlane, *, port: int = SERVICE_PORT, names: Sequence[str] = API_SERVICES) -> None:
        """`names` are those of the APIServices."""
        self._plane = plane
        self.names = names
        self.point_at(port)

    def point_at(self, port: int) -> None:
        """Write Service and APIServices; again, to send the aggregator to another server."""
        plane = self._plane
        service: dict[str, Any] = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE, "namespace": NAMESPACE}}
        if plane.profile is Profile.LOOPBACK:
            # kube-apiserver refuses loopback addresses as endpoints. A name that means loopback is the way around that.
            service["spec"] = {"type": "ExternalName", "externalName": "localhost", "ports": [{"name": PORT_NAME, "port": port}]}
        else:
            # No selector: the endpoints are not made from pods but by the prober.
            service["spec"] = {"type": "ClusterIP", "ports": [{"name": PORT_NAME, "port": port, "targetPort": PORT_NAME}]}
        plane.apply([service, *(api_service(name, plane.pki.serving.pem, port) for name in self.names)])

    def wait_available(self, *, seconds: float = 120) -> None:
        """Until kube-apiserver calls every APIService Available."""
        for name in self.names:
            wait_until(f"APIService {name} Available", lambda name=name: self.availability(name)[0] == "True", seconds=seconds)  # type: ignore[misc]  # mypy cannot infer a lambda with a default

    def availability(self, name: str) -> tuple[str, str]:
        """Status and reason of condition Available: ("False", "MissingEndpoints")."""
        conditions = self.api_service(name).get("status", {}).get("conditions", [])
        found = next((condition for condition in conditions if condition["type"] == "Available"), None)
        return (found["status"], found.get("reason", "")) if found else ("Unknown", "")

    def api_service(self, name: str) -> dict[str, Any]:
        """The APIService as kube-apiserver has it now."""
        found: dict[str, Any] = yaml.safe_load(self._plane.kubectl("get", "apiservice", name, "-o", "yaml").stdout)
        return found

    def close(self) -> None:
        """Remove the APIServices first: a group without a server would hold up the deletion of every namespace."""
        self._plane.kubectl("delete", "apiservice", *self.names, "--ignore-not-found")
        self._plane.kubectl("delete", "service", SERVICE, "-n", NAMESPACE, "--ignore-not-found")

    def __enter__(self) -> "Registration":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
