"""What the cluster serves beside us: groups by whose they are, and the names that kubectl knows."""

from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.declared.served_names import ServedNames, served_names
from app.errors import KubeError
from tests.fakes.kube_server import client_of


def api_service(group: str, service: dict[str, str] | None) -> dict[str, Any]:
    """An APIService; without a service kube-apiserver itself serves the group."""
    return {"metadata": {"name": f"v1.{group}"}, "spec": {"group": group, "version": "v1", "service": service}}


def resources(*each: dict[str, Any]) -> dict[str, Any]:
    """The resources of a group version."""
    return {"kind": "APIResourceList", "resources": list(each)}


OURS = {"namespace": "kube-system", "name": "kubeglance"}
ANSWERS: dict[str, Any] = {
    "/apis/apiregistration.k8s.io/v1/apiservices": {
        "items": [
            api_service("", None),
            api_service("apps", None),
            api_service("crds.example.com", None),
            api_service("msg.example.com", OURS),
            api_service("other.example.com", {"namespace": "monitoring", "name": "adapter"}),
            api_service("mixed.example.com", OURS),
            api_service("mixed.example.com", {"namespace": "x", "name": "kubeglance"}),
        ]
    },
    "/apis": {
        "groups": [
            {"name": "apps", "preferredVersion": {"groupVersion": "apps/v1"}},
            {"name": "msg.example.com", "preferredVersion": {"groupVersion": "msg.example.com/v1"}},
            {"name": "other.example.com", "preferredVersion": {"groupVersion": "other.example.com/v1"}},
        ]
    },
    "/api/v1": resources({"name": "pods", "singularName": "pod", "shortNames": ["po"]}, {"name": "pods/log", "singularName": ""}),
    "/apis/apps/v1": resources({"name": "deployments", "singularName": "deployment", "shortNames": ["deploy"]}),
}


async def asked(answers: dict[str, Any]) -> ServedNames:
    """What is read from a server with these answers, and 503 for all else."""

    def answer(request: httpx.Request) -> httpx.Response:
        found = answers.get(request.url.path)
        return httpx.Response(503) if found is None else httpx.Response(200, json=found)

    async with client_of(answer) as client:
        return await served_names(client, namespace="kube-system", service="kubeglance")


async def test_groups_are_told_by_who_serves_them() -> None:
    """Ours are those that lead to our own Service, and to no other."""
    here = "kube-apiserver (built in, or by a CustomResourceDefinition)"

    assert {
        "apps": here,
        "crds.example.com": here,
        "other.example.com": "the Service monitoring/adapter",
        "mixed.example.com": "the Service x/kubeglance",
    } == (await asked(ANSWERS)).groups


async def test_names_are_those_that_kubectl_knows() -> None:
    """Plurals, singulars and short names, ours left out; a group that does not answer now has none."""
    assert {
        "pods": "pods",
        "pod": "pods",
        "po": "pods",
        "deployments": "deployments.apps",
        "deployment": "deployments.apps",
        "deploy": "deployments.apps",
    } == (await asked(ANSWERS)).names


async def test_a_cluster_that_does_not_tell_is_an_error() -> None:
    """Nothing is guessed."""
    with pytest.raises(KubeError, match="apiservices"):
        await asked({})


@given(
    st.dictionaries(
        st.sampled_from(sorted(ANSWERS)),
        st.recursive(
            st.none() | st.text(max_size=3),
            lambda inner: (
                st.lists(inner)
                | st.dictionaries(
                    st.sampled_from(
                        [
                            "items",
                            "groups",
                            "resources",
                            "spec",
                            "group",
                            "service",
                            "name",
                            "preferredVersion",
                            "groupVersion",
                            "shortNames",
                        ]
                    ),
                    inner,
                )
            ),
            max_leaves=8,
        ),
    )
)
async def test_no_answer_crashes_the_reader(answers: dict[str, Any]) -> None:
    """Whatever a server says: names, or the error of the client."""
    try:
        found = await asked({**ANSWERS, **answers})
    except KubeError:
        return
    assert all(isinstance(text, str) for text in [*found.groups, *found.groups.values(), *found.names, *found.names.values()])
