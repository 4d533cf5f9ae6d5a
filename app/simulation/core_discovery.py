"""The kinds of the core group that the simulated kube-apiserver has, and how it tells of them."""

from app.simulation.objects import Object

KINDS = {
    "nodes": ("Node", False, "no"),
    "pods": ("Pod", True, "po"),
    "namespaces": ("Namespace", False, "ns"),
    "configmaps": ("ConfigMap", True, "cm"),
    "persistentvolumeclaims": ("PersistentVolumeClaim", True, "pvc"),
}
_SINGULAR = {name: kind.lower() for name, (kind, _, _) in KINDS.items()}


def core_resources() -> list[Object]:
    """The resources of an APIResourceList."""
    return [
        {
            "name": name,
            "singularName": _SINGULAR[name],
            "namespaced": namespaced,
            "kind": kind,
            "verbs": ["get", "list", "watch"],
            "shortNames": [short],
        }
        for name, (kind, namespaced, short) in sorted(KINDS.items())
    ]


def core_group() -> Object:
    """The core group in an APIGroupDiscoveryList."""
    resources = [
        {
            "resource": name,
            "responseKind": {"group": "", "version": "v1", "kind": kind},
            "scope": "Namespaced" if namespaced else "Cluster",
            "singularResource": _SINGULAR[name],
            "verbs": ["get", "list", "watch"],
            "shortNames": [short],
        }
        for name, (kind, namespaced, short) in sorted(KINDS.items())
    ]
    return {
        "metadata": {"name": "", "creationTimestamp": None},
        "versions": [{"version": "v1", "freshness": "Current", "resources": resources}],
    }


def discovery_list(items: list[Object]) -> Object:
    """An APIGroupDiscoveryList (apidiscovery.k8s.io/v2)."""
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}
