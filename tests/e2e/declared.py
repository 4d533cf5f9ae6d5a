"""A kubeglance whose kinds are declared, with what an administrator grants it and registers for it."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.kubelets import SimulatedKubelets
from tests.e2e.registration import API_SERVICES, NAMESPACE, SERVICE_ACCOUNT
from tests.e2e.stage import Stage, on_stage

_GRANTS = f"""
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: kubeglance-declarations}}
rules:
- {{apiGroups: [apiregistration.k8s.io], resources: [apiservices], verbs: [list]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: kubeglance-declarations}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kubeglance-declarations}}
subjects: [{{kind: ServiceAccount, name: {SERVICE_ACCOUNT}, namespace: {NAMESPACE}}}]
"""


def cool_resource(message: str = "Hello from CoolResource", **spec: Any) -> dict[str, Any]:
    """The kind that every introduction to operators makes, as a declaration; `spec` replaces fields of its spec."""
    properties = {"spec": {"type": "object", "required": ["message"], "properties": {"message": _MESSAGE}}}
    return {
        "apiVersion": "kubeglance.io/v1alpha1",
        "kind": "LiveResource",
        "metadata": {"name": "coolresources.example.com"},
        "spec": {
            "group": "example.com",
            "version": "v1alpha1",
            "scope": "Namespaced",
            "names": {"kind": "CoolResource", "plural": "coolresources", "singular": "coolresource", "shortNames": ["cr"]},
            "source": {"static": {"items": [{"name": "hello", "namespace": "cool", "message": message}]}},
            "items": "response.items",
            "object": {"name": "item.name", "namespace": "item.namespace", "spec": {"message": "item.message"}},
            "allowNamespaces": ["cool"],
            "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
            "additionalPrinterColumns": [
                {"name": "Message", "type": "string", "jsonPath": ".spec.message"},
                {"name": "Length", "type": "integer", "priority": 1, "cel": "size(spec.message)"},
            ],
            **spec,
        },
    }


_MESSAGE = {"type": "string", "maxLength": 140, "description": "What it has to say."}


def named(declaration: dict[str, Any], kind: str, *, group: str = "", namespace: str = "") -> dict[str, Any]:
    """The same declaration for another kind, such as Cart; its objects in another namespace."""
    spec, plural = declaration["spec"], f"{kind.lower()}s"
    group = group or spec["group"]
    changed = {**spec, "group": group, "names": {"kind": kind, "plural": plural}}
    if namespace:
        items = [{**item, "namespace": namespace} for item in spec["source"]["static"]["items"]]
        changed |= {"source": {"static": {"items": items}}, "allowNamespaces": [namespace]}
    return {**declaration, "metadata": {"name": f"{plural}.{group}"}, "spec": changed}


def write(path: Path, *documents: Any) -> None:
    """A file of declarations, put into place whole; text stays as it is."""
    text = "---\n".join(each if isinstance(each, str) else yaml.safe_dump(each, sort_keys=False) for each in documents)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text)
    fresh.replace(path)


@contextmanager
def declaring(plane: ControlPlane, name: str, *flags: str, groups: Sequence[str]) -> Iterator[Stage]:
    """A kubeglance with these flags. `groups` are registered, each as VERSION.GROUP."""
    names = [*API_SERVICES, *groups]
    plane.apply(_GRANTS)
    with (
        SimulatedKubelets(plane, [f"{name}-node"]) as kubelets,
        on_stage(plane, name, kubelets.certificate_authority, flags=[f"--namespace={NAMESPACE}", *flags], names=names) as stage,
    ):
        yield stage


def resources(stage: Stage, group: str, version: str = "v1alpha1") -> list[str]:
    """The plurals that kubeglance itself says it serves in a group, none where it does not serve the group."""
    answer = stage.replicas[0].get(f"/apis/{group}/{version}", token=stage.replicas[0].token)
    if answer.status_code == 404:
        return []
    return [each["name"] for each in answer.json()["resources"]]


def items(stage: Stage, path: str) -> list[dict[str, Any]]:
    """The items of a list through the aggregator, by its path below /apis; none where there is no such list."""
    done = stage.plane.kubectl("get", "--raw", f"/apis/{path}", check=False)
    return [] if done.returncode else json.loads(done.stdout)["items"]


def wait_for(stage: Stage, path: str, count: int = 1, *, seconds: float = 60) -> list[dict[str, Any]]:
    """Until a list has so many items; they are the answer."""
    wait_until(f"{count} of {path}", lambda: len(items(stage, path)) == count, seconds=seconds)
    return items(stage, path)
