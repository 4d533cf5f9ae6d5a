"""Described objects: from the caches, the catalog, and watches of metadata that are opened when they are needed."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from app.cache.cluster import Nodes, Pods
from app.cache.collection import Collection, Item
from app.kinds import collectors
from app.kinds._catalog import Catalog, Served
from app.pipeline.supervise import Supervisor
from app.served_metrics.objects import UNUSED_S, ObjectKind, Objects, Unavailable
from app.served_metrics.values import NAMESPACES, NODES, PODS, Resource
from tests.fakes.clock import LoopClock
from tests.fakes.kube_server import client_of, event, page, refusal, watch

pytestmark = pytest.mark.looptime

INGRESSES = Resource("networking.k8s.io", "ingresses")
LIST = "PartialObjectMetadataList"


class _Cluster:
    """A kube-apiserver with ingresses and namespaces."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.accepts: list[str] = []
        self.forbidden = self.silent = False
        self.news: list[dict[str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.asked.append(path)
        if path == "/apis/networking.k8s.io":
            return httpx.Response(200, json={"preferredVersion": {"version": "v1"}})
        if path == "/apis/networking.k8s.io/v1":
            ingress = {"name": "ingresses", "singularName": "ingress", "shortNames": ["ing"], "kind": "Ingress", "namespaced": True}
            return httpx.Response(200, json={"resources": [ingress, {"name": "ingresses/status", "kind": "Ingress"}, 7]})
        if path == "/apis/networking.k8s.io/v1/ingresses":
            return self._listed(request, _ingress("web", {"app": "web"}), _ingress("db", None))
        if path == "/api/v1/namespaces":
            return self._listed(request, {"metadata": {"name": "shop", "labels": {"team": "a"}}})
        return refusal(404, "not found")

    def _listed(self, request: httpx.Request, *items: dict[str, Any]) -> httpx.Response:
        self.accepts.append(request.headers["accept"])
        if self.forbidden:
            return refusal(403, "forbidden")
        if "watch" in request.url.params:
            lines = [event("ADDED", each) for each in self.news]
            return watch(*lines, asyncio.Event().wait)
        return page(*items)


def _ingress(name: str, labels: dict[str, str] | None) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "shop", "labels": labels, "resourceVersion": "11"}}


def _objects(supervisor: Supervisor, cluster: _Cluster, *, listed: Callable[[Resource], bool] = lambda _resource: True) -> Objects:
    collection = Collection(why=lambda _key: None)
    collection.replace([Item(("", "kubelet"), (("a", "b"),), 1, None)], (), 1)
    made = Objects(
        nodes=Nodes(),
        pods=Pods(),
        catalog=Catalog([Served(collectors.KIND, collection)]),
        client=client_of(cluster),
        clock=LoopClock(),
        listed=listed,
    )
    made.tasks = supervisor.children("watch")
    return made


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (PODS, ObjectKind(PODS, "v1", "Pod", namespaced=True)),
        (Resource("", "po"), ObjectKind(PODS, "v1", "Pod", namespaced=True)),
        (Resource("", "node"), ObjectKind(NODES, "v1", "Node", namespaced=False)),
        (
            Resource("live.kubeglance.io", "col"),
            ObjectKind(Resource("live.kubeglance.io", "collectors"), "v1alpha1", "Collector", namespaced=False),
        ),
        (INGRESSES, ObjectKind(INGRESSES, "v1", "Ingress", namespaced=True)),
        (Resource("networking.k8s.io", "ing"), ObjectKind(INGRESSES, "v1", "Ingress", namespaced=True)),
        (Resource("networking.k8s.io", "ingress"), ObjectKind(INGRESSES, "v1", "Ingress", namespaced=True)),
        (Resource("networking.k8s.io", "queues"), Unavailable("the cluster serves no resource queues.networking.k8s.io")),
    ],
)
async def test_resources_are_known_by_all_their_names(asked: Resource, expected: object) -> None:
    """What every cluster has and what we serve ourselves is asked of nobody."""
    async with Supervisor() as supervisor:
        assert expected == await _objects(supervisor, _Cluster()).kind(asked)


async def test_the_plural_is_what_providers_know() -> None:
    """What nobody knows stays as it is."""
    async with Supervisor() as supervisor:
        objects = _objects(supervisor, _Cluster())
        assert INGRESSES == await objects.name(Resource("networking.k8s.io", "ing"))
        assert Resource("x.io", "odd") == await objects.name(Resource("x.io", "odd"))


async def test_a_group_is_asked_for_its_names_once_for_a_while() -> None:
    """Anew after half a minute for a name that it did not have."""
    async with Supervisor() as supervisor:
        cluster = _Cluster()
        objects = _objects(supervisor, cluster)
        for _ in range(3):
            await objects.kind(INGRESSES)
            await objects.kind(Resource("networking.k8s.io", "queues"))
        assert 2 == len(cluster.asked)
        await asyncio.sleep(31)
        await objects.kind(INGRESSES)
        assert 2 == len(cluster.asked)
        await objects.kind(Resource("networking.k8s.io", "queues"))
        assert 4 == len(cluster.asked)


async def test_metadata_is_watched_from_when_it_is_needed() -> None:
    """And nothing else of the objects is asked for."""
    async with Supervisor() as supervisor:
        cluster = _Cluster()
        objects = _objects(supervisor, cluster)
        cluster.news = [_ingress("api", {"app": "web"})]
        found = await objects.of(Resource("networking.k8s.io", "ing"))
        assert not isinstance(found, Unavailable)
        await asyncio.sleep(1)

        assert (("app", "web"),) == found.labels(("shop", "web"))
        assert () == found.labels(("shop", "db"))
        assert found.labels(("shop", "gone")) is None
        assert [("shop", "web"), ("shop", "db"), ("shop", "api")] == list(found.in_namespace("shop")) == list(found.in_namespace(""))
        assert [] == list(found.in_namespace("alpha"))
        assert LIST in cluster.accepts[0]
        assert "as=PartialObjectMetadata;" in cluster.accepts[1]
        await objects.of(INGRESSES)
        assert 2 == len(cluster.accepts)


async def test_what_is_cluster_scoped_has_no_namespace() -> None:
    """As namespaces themselves."""
    async with Supervisor() as supervisor:
        found = await _objects(supervisor, _Cluster()).of(NAMESPACES)
        assert not isinstance(found, Unavailable)
        assert (("team", "a"),) == found.labels(("", "shop"))


async def test_our_own_kinds_are_in_the_catalog() -> None:
    """They are watched nowhere."""
    async with Supervisor() as supervisor:
        cluster = _Cluster()
        found = await _objects(supervisor, cluster).of(Resource("live.kubeglance.io", "collectors"))
        assert not isinstance(found, Unavailable)
        assert (("a", "b"),) == found.labels(("", "kubelet"))
        assert [("", "kubelet")] == list(found.in_namespace(""))
        assert [] == cluster.asked


async def test_a_right_that_is_missing_is_told_with_its_rule() -> None:
    """Nobody has to guess it."""
    async with Supervisor() as supervisor:
        cluster = _Cluster()
        cluster.forbidden = True
        found = await _objects(supervisor, cluster).of(INGRESSES)
        assert isinstance(found, Unavailable)
        assert '{apiGroups: ["networking.k8s.io"], resources: [ingresses], verbs: [list, watch]}' in found.reason


async def test_before_the_first_list_nothing_is_said_of_pods() -> None:
    """That there is none would be wrong."""
    async with Supervisor() as supervisor:
        objects = _objects(supervisor, _Cluster(), listed=lambda _resource: False)
        assert Unavailable("pods were not listed yet") == await objects.of(PODS)


async def test_a_watch_that_nobody_needs_ends() -> None:
    """And begins again when somebody asks."""
    async with Supervisor() as supervisor:
        cluster = _Cluster()
        objects = _objects(supervisor, cluster)
        await objects.of(INGRESSES)
        await asyncio.sleep(UNUSED_S - 1)
        objects.expire()
        asked = len(cluster.accepts)
        await objects.of(INGRESSES)
        assert asked == len(cluster.accepts)

        await asyncio.sleep(UNUSED_S + 1)
        objects.expire()
        assert not isinstance(await objects.of(INGRESSES), Unavailable)
        assert len(cluster.accepts) > asked
