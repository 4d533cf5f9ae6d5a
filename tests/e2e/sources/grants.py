"""What a cluster needs for declarations whose sources have credentials: namespaces, Secrets, and the right to read these."""

import base64
from collections.abc import Sequence
from typing import Any

from tests.e2e.registration import NAMESPACE, SERVICE_ACCOUNT

_RBAC = "rbac.authorization.k8s.io"


def grants(name: str, *, namespaces: Sequence[str], secrets: Sequence[str], config_maps: Sequence[str]) -> list[dict[str, Any]]:
    """Namespaces for the objects, and a Role `name` that lets kubeglance read these Secrets and ConfigMaps of its own namespace."""
    rules = [
        {"apiGroups": [""], "resources": [resource], "resourceNames": [*names], "verbs": ["get"]}
        for resource, names in (("secrets", secrets), ("configmaps", config_maps))
    ]
    metadata = {"name": name, "namespace": NAMESPACE}
    return [
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}} for namespace in namespaces),
        {"apiVersion": f"{_RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": rules},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": SERVICE_ACCOUNT, "namespace": NAMESPACE}],
        },
    ]


def secret(name: str, **texts: str) -> dict[str, Any]:
    """A Secret in kubeglance's namespace."""
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE}, "data": data}


def trusted(name: str, authority: bytes) -> dict[str, Any]:
    """A ConfigMap there with the certificate of an authority (PEM) as ca.crt."""
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"ca.crt": authority.decode()}}
