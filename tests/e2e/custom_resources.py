"""CustomResourceDefinitions of other projects, as far as kubeglance reads their objects: groups, kinds, and open schemas."""

from typing import Any

_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def crd(group: str, version: str, kind: str, plural: str, *, namespaced: bool = True) -> dict[str, Any]:
    """A definition whose objects have any spec and status. kube-apiserver wants a word about groups that are of Kubernetes."""
    approved = {"api-approved.kubernetes.io": "unapproved, made for tests"} if group.endswith(".k8s.io") else {}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": _OPEN, "status": _OPEN}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": approved},
        "spec": {
            "group": group,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


HELM_RELEASES = crd("helm.toolkit.fluxcd.io", "v2", "HelmRelease", "helmreleases")
VERTICAL_POD_AUTOSCALERS = crd("autoscaling.k8s.io", "v1", "VerticalPodAutoscaler", "verticalpodautoscalers")
