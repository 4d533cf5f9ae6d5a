"""What must stand in the cluster for what kubeglance serves, and what has to be done to get there. Pure.

The registrar touches only what it made, which it knows by two labels. A group of which anybody else serves a version is refused as a whole:
its kinds would appear and vanish with who answers first.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from app.wire.metric_values import VERSIONS

Manifest = dict[str, Any]
Ref = tuple[str, str]
"""(kind, name) of a cluster-scoped object."""

API_SERVICE, CLUSTER_ROLE = "APIService", "ClusterRole"
MANAGED_BY = "app.kubernetes.io/managed-by"
INSTANCE = "app.kubernetes.io/instance"
MANAGER = "kubeglance-registrar"
DISCOVERY = "kubeglance.io/discovery"
_READABLE = ("history",)
"""Subresources that whoever reads an object may read too; /raw and /log are granted by name."""


class Resource(NamedTuple):
    """A resource as discovery tells it. `subresources` are their last names."""

    name: str
    namespaced: bool
    subresources: tuple[str, ...] = ()


class Group(NamedTuple):
    """A group that is served: its versions, preferred first, its resources, and a mark that changes when anything in its discovery does.

    The mark stands at the APIServices: kube-apiserver asks for a group's discovery again when its APIService changes, and every 60 s else.
    """

    name: str
    versions: tuple[str, ...]
    resources: tuple[Resource, ...]
    mark: str = ""


@dataclass(frozen=True)
class Install:
    """Which kubeglance it is about: its Service, and the groups whose roles came with its manifests.

    What is not `managed` is made by others than the registrar, which leaves it alone.
    """

    namespace: str
    service: str
    port: int = 443
    built_in: frozenset[str] = frozenset()
    managed: bool = True

    @property
    def labels(self) -> dict[str, str]:
        """What an object of this install bears: the registrar knows its own by it."""
        if not self.managed:
            return {"app.kubernetes.io/name": self.service}
        return {MANAGED_BY: MANAGER, INSTANCE: f"{self.namespace}.{self.service}"}


class Action(NamedTuple):
    """One write: `create` or `replace` with the whole object, `delete` with the object as it is there."""

    verb: str
    manifest: Manifest


class Refusal(NamedTuple):
    """A group that is not registered, and why."""

    group: str
    reason: str


class Plan(NamedTuple):
    """What to do, in this order, and what is refused."""

    actions: list[Action]
    refused: list[Refusal]


def ref(manifest: Mapping[str, Any]) -> Ref:
    """What an object is found by."""
    return manifest["kind"], manifest["metadata"]["name"]


def is_ours(manifest: Mapping[str, Any], install: Install) -> bool:
    """Whether this registrar made it."""
    labels = manifest.get("metadata", {}).get("labels") or {}
    return all(labels.get(key) == value for key, value in install.labels.items())


def plan(groups: Iterable[Group], existing: Mapping[Ref, Manifest], install: Install, bundle: bytes, *, keep: bool = False) -> Plan:
    """From what is served and what is there to what has to be done. With `keep` nothing is deleted.

    Roles come before the APIServices that make them of use. What goes loses its APIService first: one that points to nothing holds up the
    deletion of every namespace.
    """
    wanted: dict[Ref, Manifest] = {}
    refused = []
    for group in groups:
        reason = _foreign(group.name, existing, install)
        if reason:
            refused.append(Refusal(group.name, reason))
            continue
        wanted.update({ref(manifest): manifest for manifest in objects(group, install, bundle)})
    order = sorted(existing, key=lambda key: key[0] != API_SERVICE)
    gone = [Action("delete", existing[key]) for key in order if not keep and key not in wanted and is_ours(existing[key], install)]
    writes = []
    for key, manifest in wanted.items():
        there = existing.get(key)
        if there is None:
            writes.append(Action("create", manifest))
        elif not is_ours(there, install):
            refused.append(Refusal(key[1], f"a {key[0]} of this name exists and was not made by this registrar: rename or delete it"))
        elif not _covers(there, manifest):
            version = there["metadata"].get("resourceVersion", "")
            writes.append(Action("replace", {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": version}}))
    return Plan(gone + writes, refused)


def objects(group: Group, install: Install, bundle: bytes | None) -> Iterator[Manifest]:
    """All objects of one group. Without a bundle the APIServices have no caBundle: cert-manager or an administrator puts it in.

    Metrics have no reader roles: the HPA has its rights from Kubernetes, and who else may read which metric is for an administrator to say.
    """
    if group.name not in install.built_in and group.name not in VERSIONS:
        yield from reader_roles(group, install)
    for place, version in enumerate(group.versions):
        ca = {} if bundle is None else {"caBundle": base64.b64encode(bundle).decode()}
        yield {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": API_SERVICE,
            "metadata": {"name": f"{version}.{group.name}", "labels": install.labels, **_marked(group)},
            "spec": {
                "group": group.name,
                "version": version,
                "groupPriorityMinimum": 100,
                "versionPriority": 100 * (len(group.versions) - place),
                "service": {"name": install.service, "namespace": install.namespace, "port": install.port},
                **ca,
            },
        }


def _marked(group: Group) -> Manifest:
    return {"annotations": {DISCOVERY: group.mark}} if group.mark else {}


def reader_roles(group: Group, install: Install) -> Iterator[Manifest]:
    """Who may view a namespace may view what is served in it. Cluster-scoped kinds are granted by name: they tell of the whole cluster."""
    views = {f"rbac.authorization.k8s.io/aggregate-to-{role}": "true" for role in ("view", "edit", "admin")}
    for namespaced, suffix, labels in ((True, "reader", views), (False, "cluster-reader", {})):
        resources = [resource for resource in group.resources if resource.namespaced is namespaced]
        if resources:
            yield {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": CLUSTER_ROLE,
                "metadata": {"name": f"{install.service}:{suffix}:{group.name}", "labels": {**install.labels, **labels}},
                "rules": [{"apiGroups": [group.name], "resources": list(_readable(resources)), "verbs": ["get", "list"]}],
            }


def _readable(resources: Sequence[Resource]) -> Iterator[str]:
    for resource in sorted(resources):
        yield resource.name
        yield from (f"{resource.name}/{name}" for name in resource.subresources if name in _READABLE)


def _foreign(group: str, existing: Mapping[Ref, Manifest], install: Install) -> str:
    """Why a group must be left alone, "" if nothing speaks against it."""
    for (kind, name), manifest in existing.items():
        spec = manifest.get("spec", {})
        if kind != API_SERVICE or spec.get("group") != group or is_ours(manifest, install):
            continue
        service = spec.get("service") or {}
        if (service.get("namespace"), service.get("name")) == (install.namespace, install.service):
            return f"APIService {name} points to this kubeglance already and was made by somebody else, who keeps it"
        who = f"Service {service.get('namespace')}/{service.get('name')}" if service else "kube-apiserver (a CustomResourceDefinition?)"
        return f"APIService {name} is served by {who}: choose another group, or remove what serves it first"
    return ""


def _covers(there: Any, wanted: Any) -> bool:
    """Whether all of `wanted` stands in what is there; the server adds fields of its own."""
    if isinstance(wanted, dict):
        return isinstance(there, dict) and all(_covers(there.get(key), value) for key, value in wanted.items())
    return bool(there == wanted)


def groups_of(discovery: Mapping[str, Any]) -> list[Group]:
    """The groups of an APIGroupDiscoveryList (apidiscovery.k8s.io/v2). A group without resources is none."""
    found = []
    for item in discovery.get("items") or ():
        versions = item.get("versions") or ()
        resources = {
            resource["resource"]: Resource(
                resource["resource"],
                resource.get("scope") == "Namespaced",
                tuple(sorted(sub["subresource"] for sub in resource.get("subresources") or ())),
            )
            for version in versions
            for resource in version.get("resources") or ()
        }
        if resources:
            name, served = item["metadata"]["name"], tuple(version["version"] for version in versions)
            # Metrics come and go with what an adapter's rules find, and the HPA asks for them by name without looking there.
            told = served if name in VERSIONS else item
            mark = sha256(msgspec.json.encode(told, order="deterministic")).hexdigest()[:16]
            found.append(Group(name, served, tuple(resources.values()), mark))
    return found


def of_existing(existing: Mapping[Ref, Manifest], install: Install) -> list[Group]:
    """The groups that are registered already, as their APIServices and roles tell: what to keep going while kubeglance does not answer."""
    versions: dict[str, list[tuple[int, str]]] = {}
    marks: dict[str, str] = {}
    for (kind, _), manifest in existing.items():
        if kind == API_SERVICE and is_ours(manifest, install):
            spec = manifest["spec"]
            versions.setdefault(spec["group"], []).append((-spec["versionPriority"], spec["version"]))
            marks[spec["group"]] = (manifest["metadata"].get("annotations") or {}).get(DISCOVERY, "")
    return [
        Group(group, tuple(version for _, version in sorted(found)), tuple(_of_roles(group, existing, install)), marks[group])
        for group, found in versions.items()
    ]


def _of_roles(group: str, existing: Mapping[Ref, Manifest], install: Install) -> Iterator[Resource]:
    for namespaced, suffix in ((True, "reader"), (False, "cluster-reader")):
        role = existing.get((CLUSTER_ROLE, f"{install.service}:{suffix}:{group}"), {})
        names = [name for rule in role.get("rules") or () for name in rule["resources"]] if is_ours(role, install) else []
        for parent in names:
            if "/" not in parent:
                yield Resource(parent, namespaced, tuple(name.split("/", 1)[1] for name in names if name.startswith(f"{parent}/")))
