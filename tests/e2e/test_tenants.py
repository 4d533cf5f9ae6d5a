"""Declarations in labelled ConfigMaps: kubeglance's own, and those of a tenant, within what the operator allows it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.declared import cool_resource, declaring, items, named, resources, wait_for
from tests.e2e.registration import NAMESPACE, SERVICE_ACCOUNT
from tests.e2e.stage import Stage

pytestmark = pytest.mark.e2e

OWN, SHOP, BANK = "example.com", "shop.example.com", "bank.example.com"
_TENANTS = f"tenant-shop: {{groups: [{SHOP}], hosts: ['*.tenant-shop.svc']}}\n"


def _grant(namespace: str) -> str:
    return f"""
apiVersion: v1
kind: Namespace
metadata: {{name: {namespace}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: kubeglance-declarations, namespace: {namespace}}}
rules: [{{apiGroups: [""], resources: [configmaps], verbs: [list, watch]}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: kubeglance-declarations, namespace: {namespace}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: kubeglance-declarations}}
subjects: [{{kind: ServiceAccount, name: {SERVICE_ACCOUNT}, namespace: {NAMESPACE}}}]
"""


def config_map(namespace: str, name: str, *documents: dict[str, Any], label: bool = True) -> dict[str, Any]:
    labels = {"kubeglance.io/declarations": "true"} if label else {}
    text = yaml.safe_dump_all(documents, sort_keys=False)
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"kinds.yaml": text}}


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tenants") / "tenants.yaml"
    made.write_text(_TENANTS)
    return made


@pytest.fixture(scope="module")
def stage(plane: ControlPlane, tenants: Path) -> Iterator[Stage]:
    for namespace in (NAMESPACE, "tenant-shop"):
        plane.apply(_grant(namespace))
    for namespace in ("tenant-bank", "cool"):
        plane.kubectl("create", "namespace", namespace, check=False)
    plane.apply([config_map(NAMESPACE, "cool", cool_resource()), config_map("tenant-shop", "carts", cart())])
    groups = [f"v1alpha1.{group}" for group in (OWN, SHOP)]
    flags = ["--declaration-config-maps", f"--tenants={tenants}"]
    with declaring(plane, "tenants", *flags, groups=groups) as made:
        yield made


def cart(kind: str = "Cart", *, group: str = SHOP, namespace: str = "tenant-shop", **spec: Any) -> dict[str, Any]:
    """What a tenant may declare, if nothing else is said."""
    declared = named(cool_resource(), kind, group=group, namespace=namespace)
    return {**declared, "spec": {**declared["spec"], **spec}}


def test_labelled_config_maps_are_declarations(stage: Stage) -> None:
    """From kubeglance's own namespace and from a tenant's, from the first answer on: it was not ready before."""
    assert resources(stage, OWN) == ["coolresources"]
    assert resources(stage, SHOP) == ["carts"]
    (found,) = wait_for(stage, f"{SHOP}/v1alpha1/carts")
    assert found["metadata"]["namespace"] == "tenant-shop"


def test_a_config_map_without_the_label_is_none(stage: Stage) -> None:
    """Nor one that loses it."""
    plane = stage.plane
    plane.apply([config_map(NAMESPACE, "tables", named(cool_resource(), "Table"))])
    wait_until("tables", lambda: "tables" in resources(stage, OWN), seconds=30)

    plane.kubectl("label", "configmap", "tables", "-n", NAMESPACE, "kubeglance.io/declarations-")
    wait_until("no tables", lambda: "tables" not in resources(stage, OWN), seconds=30)


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        pytest.param(cart(group=BANK), "group bank.example.com is not listed", id="a group of others"),
        pytest.param(cart(group=OWN), "group example.com is not listed", id="kubeglance's own group"),
        pytest.param(cart("Ware", namespace="tenant-bank"), "put objects there only", id="objects elsewhere"),
        pytest.param(
            cart("Ware", source={"kubernetes": {"apiVersion": "v1", "resource": "services", "namespaces": ["kube-system"]}}),
            "see no objects of kube-system",
            id="objects of other namespaces",
        ),
        pytest.param(cart("Ware", source={"http": {"url": "https://10.96.0.1/api"}}), "may not reach 10.96.0.1:443", id="a host"),
    ],
)
def test_a_tenant_may_not(stage: Stage, declared: dict[str, Any], said: str) -> None:
    """It is refused with the reason, and costs the tenant's other kinds nothing."""
    stage.plane.apply([config_map("tenant-shop", "more", declared)])
    try:
        wait_until(f"refused: {said}", lambda: said in stage.replicas[0].log, seconds=30)
        assert "wares" not in resources(stage, SHOP)
        assert resources(stage, SHOP) == ["carts"]
        assert resources(stage, OWN) == ["coolresources"]
    finally:
        stage.plane.kubectl("delete", "configmap", "more", "-n", "tenant-shop")


def test_a_namespace_that_is_not_listed_declares_nothing(stage: Stage) -> None:
    """Its ConfigMaps are not even read."""
    stage.plane.apply([config_map("tenant-bank", "carts", cart(group=BANK, namespace="tenant-bank"))])
    stage.plane.apply([config_map("tenant-shop", "wares", cart("Ware"))])
    wait_until("wares", lambda: "wares" in resources(stage, SHOP), seconds=30)

    assert resources(stage, BANK) == []
    stage.plane.kubectl("delete", "configmap", "wares", "-n", "tenant-shop")


def test_a_tenant_sees_the_cluster_as_its_own_namespace(stage: Stage) -> None:
    """A source of Kubernetes objects without namespaces means the tenant's; kubeglance needs the right there only."""
    plane = stage.plane
    source = {"kubernetes": {"apiVersion": "v1", "resource": "services"}}
    plane.apply(
        [
            config_map("tenant-shop", "endpoints", cart("Door", source=source, object={
                "name": "item.metadata.name", "namespace": "item.metadata.namespace", "spec": {"message": "item.spec.type"},
            })),
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front", "namespace": "tenant-shop"},
             "spec": {"type": "ExternalName", "externalName": "localhost"}},
        ]
    )  # fmt: skip
    wait_until("a named cause", lambda: "services" in stage.replicas[0].log and "tenant-shop" in stage.replicas[0].log, seconds=60)
    assert items(stage, f"{SHOP}/v1alpha1/doors") == []

    plane.kubectl("create", "role", "kubeglance-services", "-n", "tenant-shop", "--verb=list,watch", "--resource=services")
    plane.kubectl(
        "create", "rolebinding", "kubeglance-services", "-n", "tenant-shop", "--role=kubeglance-services",
        f"--serviceaccount={NAMESPACE}:{SERVICE_ACCOUNT}",
    )  # fmt: skip
    (door,) = wait_for(stage, f"{SHOP}/v1alpha1/doors", seconds=120)
    assert (door["metadata"]["name"], door["spec"]["message"]) == ("front", "ExternalName")

    plane.kubectl("delete", "service", "front", "-n", "tenant-shop")
    wait_for(stage, f"{SHOP}/v1alpha1/doors", 0)
    plane.kubectl("delete", "configmap", "endpoints", "-n", "tenant-shop")


def test_a_tenant_that_is_struck_off_the_list_serves_nothing_any_more(stage: Stage, tenants: Path) -> None:
    """Last of all: its kinds go at once, whatever is in its ConfigMaps."""
    tenants.write_text("{}\n")
    wait_until("no carts", lambda: resources(stage, SHOP) == [], seconds=30)

    assert resources(stage, OWN) == ["coolresources"]
