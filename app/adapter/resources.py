"""The resources of the cluster by their names in any group, as rules write them: pod, deployment of apps, job of no group."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from app.adapter.naming import Known
from app.errors import KubeError
from app.served_metrics.values import Resource

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"

_BUILT_IN = {
    "": "pods nodes* namespaces* services persistentvolumes* persistentvolumeclaims replicationcontrollers endpoints:endpoints configmaps"
    " secrets serviceaccounts resourcequotas",
    "apps": "deployments statefulsets daemonsets replicasets",
    "batch": "jobs cronjobs",
    "autoscaling": "horizontalpodautoscalers",
    "networking.k8s.io": "ingresses:ingress networkpolicies:networkpolicy ingressclasses:ingressclass*",
    "storage.k8s.io": "storageclasses:storageclass*",
    "policy": "poddisruptionbudgets",
}
"""What every cluster has: PLURAL, :SINGULAR where it is not the plural without s, * where it is cluster-scoped."""


class Client(Protocol):
    """A kube-apiserver."""

    async def get_json(self, path: str, params: Any = None, *, accept: str = ...) -> Any: ...


class Resources:
    """Finds resources. Until the cluster was asked, and where none is at hand, it knows those that every cluster has."""

    def __init__(self, known: Sequence[Known] | None = None) -> None:
        self._use(built_in() if known is None else known)

    def find(self, group: str, name: str) -> Known | None:
        """The resource of that singular or plural name: of the group; else of one that begins so; of any group for "", the core first."""
        named = self._by_name.get(name.lower(), ())
        exact = [known for known in named if known.resource.group == group]
        near = [known for known in named if known.resource.group.startswith(group)]
        return next(iter((*exact, *near)), None)

    async def refresh(self, client: Client) -> None:
        """Ask the cluster. Raises KubeError, and then knows what it knew."""
        found: list[Known] = []
        for path in ("/api", "/apis"):
            found += _aggregated(await client.get_json(path, accept=_AGGREGATED))
        if not found:
            raise KubeError("the cluster does not tell its resources in one document (aggregated discovery, since Kubernetes 1.27)")
        self._use(found)

    def _use(self, found: Sequence[Known]) -> None:
        self._by_name: dict[str, list[Known]] = {}
        for known in found:
            for name in {known.resource.name, known.singular}:
                self._by_name.setdefault(name, []).append(known)


def built_in() -> list[Known]:
    """The resources that every cluster has."""
    found = []
    for group, words in _BUILT_IN.items():
        for word in words.split():
            plural, _, singular = word.rstrip("*").partition(":")
            found.append(Known(Resource(group, plural), singular or plural.removesuffix("s"), namespaced=not word.endswith("*")))
    return found


def _aggregated(answer: Any) -> Iterable[Known]:
    """The resources of an APIGroupDiscoveryList, of each group those of its first version that has them."""
    for item in _objects(answer, "items"):
        metadata = item.get("metadata")
        group = str(metadata.get("name", "")) if isinstance(metadata, dict) else ""
        seen: set[str] = set()
        for version in _objects(item, "versions"):
            for each in _objects(version, "resources"):
                plural, singular = each.get("resource"), each.get("singularResource")
                if isinstance(plural, str) and "/" not in plural and plural not in seen:
                    seen.add(plural)
                    kind = each.get("responseKind")
                    guess = str(kind.get("kind", plural)).lower() if isinstance(kind, dict) else plural
                    name = singular if isinstance(singular, str) and singular else guess
                    yield Known(Resource(group, plural), name, namespaced=each.get("scope") != "Cluster")


def _objects(answer: Any, field: str) -> list[dict[str, Any]]:
    found = answer.get(field) if isinstance(answer, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
