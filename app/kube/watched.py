"""The kinds that are watched: their path, what is asked of it, how it is read, and the RBAC that it needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from msgspec import Raw

from app.kube import decode
from app.kube.decode import ConfigMapRecord

R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True)
class Watched(Generic[R_co]):
    """One kind. `grant` says in a sentence which RBAC rule is needed. `accept` are the forms that a list and the events of a watch are
    asked in.

    `piece` objects are decoded and applied between two turns of the loop: some milliseconds at most, also when all of them are deleted.
    """

    name: str
    path: str
    decode: Callable[[Raw], R_co]
    grant: str
    params: Mapping[str, str | int] = field(default_factory=dict)
    piece: int = 100
    accept: tuple[str, str] = ("application/json", "application/json")


def _cluster_rule(resource: str) -> str:
    return (
        f'grant it with a ClusterRole {{apiGroups: [""], resources: [{resource}], verbs: [get, list, watch]}} '
        "and a ClusterRoleBinding to our ServiceAccount (kubeglance manifests prints both)"
    )


NODES = Watched(
    name="nodes",
    path="/api/v1/nodes",
    decode=decode.node,
    grant=_cluster_rule("nodes"),
    piece=10,  # a node takes all its pods' values along
)

PODS = Watched(
    name="pods",
    path="/api/v1/pods",
    decode=decode.pod,
    grant=_cluster_rule("pods"),
    # Finished pods have no usage and can be many (Jobs); the server tells us of one that finishes as if it were deleted.
    params={"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"},
)

CLAIMS = Watched(
    name="persistentvolumeclaims",
    path="/api/v1/persistentvolumeclaims",
    decode=decode.claim,
    grant=_cluster_rule("persistentvolumeclaims"),
)


_BIND_READER = (
    "kubectl -n kube-system create rolebinding kubeglance-auth-reader --role=extension-apiserver-authentication-reader "
    "--serviceaccount=NAMESPACE:NAME"
)


def one_config_map(namespace: str, name: str) -> Watched[ConfigMapRecord]:
    """One ConfigMap, by name: a Role that names it is enough."""
    return Watched(
        name=f"configmap {namespace}/{name}",
        path=f"/api/v1/namespaces/{namespace}/configmaps",
        decode=decode.config_map,
        grant=f"grant get, list and watch on configmap {name} in namespace {namespace}"
        + (f": {_BIND_READER}" if name == "extension-apiserver-authentication" else ""),
        params={"fieldSelector": f"metadata.name={name}"},
    )
