"""Whole objects of the cluster, kept by watches within limits, as the source `kubernetes` reads them."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

import httpx
import msgspec
import pytest
from msgspec import Raw

from app.errors import KubeError
from app.kube.objects import ClusterWatches, KeptObjects, WatchedObjects, decode_object, objects_of
from app.pipeline.supervise import Supervisor
from collectors import kubernetes_objects
from collectors._base import Cause, CollectError
from collectors._source import Limits
from tests.fakes.clock import LoopClock
from tests.fakes.kube_server import client_of, event, page, refusal, watch

pytestmark = pytest.mark.looptime


def _object(name: str, namespace: str = "shop", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "resourceVersion": "11", "managedFields": [{"manager": "x"}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, **more}


def _record(name: str, **more: Any) -> Any:
    return decode_object(Raw(msgspec.json.encode(_object(name, **more))))


def test_objects_are_whole_but_for_who_wrote_which_field() -> None:
    """managedFields are half of many objects, and nobody's data."""
    record = _record("a", spec={"x": [1, {"y": None}]})

    assert record.key == ("shop", "a")
    assert record.object["spec"] == {"x": [1, {"y": None}]}
    assert "managedFields" not in record.object["metadata"]
    assert record.size > 0


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"metadata": {}}', b'{"metadata": {"name": 7}}', b"{"])
def test_what_is_no_object_is_told(body: bytes) -> None:
    """It costs itself only: the reflector leaves it out."""
    with pytest.raises(KubeError):
        decode_object(Raw(body))


def test_of_more_than_there_is_room_for_only_names_are_kept() -> None:
    """Items and bytes; what is deleted makes room again."""
    event = asyncio.Event()
    store = KeptObjects(Limits(items=2, body_bytes=10_000), event)
    store.apply([_record("a"), _record("b")], [])
    assert (len(store), store.is_whole, event.is_set()) == (2, True, True)

    store.apply([_record("c")], [])
    assert (len(store), store.is_whole, store.has_room) == (3, False, False)
    assert store.keys() == {("shop", "a"), ("shop", "b"), ("shop", "c")}

    store.apply([], [("shop", "a")])
    assert (store.is_whole, store.has_room) == (False, True)
    store.apply([], [("shop", "b"), ("shop", "c")])
    assert (store.is_whole, store.size) == (True, 0)

    store.apply([_record("big", text="x" * 20_000)], [])
    assert (store.is_whole, store.has_room) == (False, False)


@pytest.mark.parametrize(
    ("api_version", "namespace", "path"),
    [
        ("v1", "", "/api/v1/services"),
        ("v1", "shop", "/api/v1/namespaces/shop/services"),
        ("apps/v1", "", "/apis/apps/v1/services"),
        ("helm.toolkit.fluxcd.io/v2", "shop", "/apis/helm.toolkit.fluxcd.io/v2/namespaces/shop/services"),
    ],
)
def test_where_a_resource_is_watched(api_version: str, namespace: str, path: str) -> None:
    """As kube-apiserver has it; selectors are its own, and the missing right is told as a rule."""
    watched = objects_of(api_version, "services", namespace, "app=web", "")

    assert (watched.path, dict(watched.params)) == (path, {"labelSelector": "app=web"})
    assert "verbs: [list, watch]" in watched.grant
    assert ("a Role " in watched.grant) == bool(namespace)


class _Cluster:
    """A kube-apiserver of a few lines, and the watches of one declaration on it."""

    def __init__(self, supervisor: Supervisor, *answers: httpx.Response, namespace: str = "") -> None:
        self._answers = list(answers)
        self.paths: list[str] = []
        self.changed = asyncio.Event()
        self.running: set[Hashable] = set()
        self._children = supervisor.children("watch")
        self.watches = ClusterWatches(client_of(self._answer), LoopClock(), self, declaration="d", namespace=namespace)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.paths.append(request.url.path)
        if self._answers:
            return self._answers.pop(0)
        return watch(asyncio.Event().wait) if "watch" in request.url.params else page()

    def start(self, key: Hashable, run: Callable[[], Awaitable[None]]) -> None:
        self.running.add(key)
        self._children.start(key, run)

    def stop(self, key: Hashable) -> None:
        self.running.discard(key)
        self._children.stop(key)

    def watch(self, namespace: str = "", *, limits: Limits = Limits(), resource: str = "services") -> WatchedObjects:  # noqa: B008
        return self.watches.watch("v1", resource, namespace=namespace, labels="", fields="", limits=limits, changed=self.changed)


def _cause(objects: WatchedObjects) -> Cause:
    with pytest.raises(CollectError) as caught:
        objects.objects()
    return caught.value.cause


def _names(objects: WatchedObjects) -> list[str]:
    return [each["metadata"]["name"] for each in objects.objects()]


async def test_objects_are_had_once_they_were_listed_and_follow_the_watch() -> None:
    """By namespace and name; each change is news; nothing runs once it is closed."""
    async with Supervisor() as supervisor:
        news = watch(lambda: asyncio.sleep(5), event("ADDED", _object("c")), event("DELETED", _object("b")), asyncio.Event().wait)
        cluster = _Cluster(supervisor, page(_object("b"), _object("a")), news)
        objects = cluster.watch()
        assert _cause(objects) is Cause.NO_DATA
        await objects.tried()
        assert _names(objects) == ["a", "b"]
        assert objects.size > 0

        cluster.changed.clear()
        await asyncio.wait_for(cluster.changed.wait(), 10)
        assert _names(objects) == ["a", "c"]
        await objects.aclose()
        assert cluster.running == set()


@pytest.mark.parametrize(("code", "cause"), [(403, Cause.FORBIDDEN), (404, Cause.NOT_FOUND), (500, Cause.STATUS)])
async def test_what_cannot_be_watched_says_why_and_is_tried_again(code: int, cause: Cause) -> None:
    """A resource whose CustomResourceDefinition comes later is found then."""
    async with Supervisor() as supervisor:
        cluster = _Cluster(supervisor, refusal(code), refusal(code), page(_object("a")))
        objects = cluster.watch()
        await objects.tried()
        assert _cause(objects) is cause
        await asyncio.sleep(60)
        assert _names(objects) == ["a"]


async def test_a_watch_that_is_broken_for_long_tells_nothing_any_more() -> None:
    """A moment is no matter; then what was seen is old, and nobody knows how old."""
    async with Supervisor() as supervisor:
        cluster = _Cluster(supervisor, page(_object("a")), *[refusal(500) for _ in range(20)])
        objects = cluster.watch()
        await asyncio.sleep(5)
        assert _names(objects) == ["a"]
        await asyncio.sleep(20)
        assert _cause(objects) is Cause.STATUS


async def test_where_pods_are_is_watched_too() -> None:
    """With the same failures, and of a tenant in its own namespace only."""
    pod = {"metadata": {"namespace": "shop", "name": "web", "uid": "u"}, "status": {"podIP": "10.0.0.7"}}
    async with Supervisor() as supervisor:
        cluster = _Cluster(supervisor, refusal(403), page(pod), namespace="shop")
        with pytest.raises(CollectError):
            cluster.watches.pods(namespace="bank", labels="")
        found = cluster.watches.pods(namespace="", labels="app=web")
        await found.tried()
        with pytest.raises(CollectError) as caught:
            found.pods()
        assert caught.value.cause is Cause.FORBIDDEN
        await asyncio.sleep(60)
        assert [(each.name, each.address) for each in found.pods()] == [("web", "10.0.0.7")]
        assert set(cluster.paths) == {"/api/v1/namespaces/shop/pods"}
        await found.aclose()
        assert cluster.running == set()


async def test_every_object_says_what_it_is() -> None:
    """Items of lists of kube-apiserver's own kinds do not, objects of events do: here it makes no difference how one came."""
    bare = {name: part for name, part in _object("a").items() if name not in {"apiVersion", "kind"}}
    listed = httpx.Response(200, json={"kind": "ServiceList", "metadata": {"resourceVersion": "10"}, "items": [bare]})
    async with Supervisor() as supervisor:
        cluster = _Cluster(supervisor, listed, watch(event("ADDED", _object("b")), asyncio.Event().wait))
        objects = cluster.watch()
        await asyncio.sleep(1)

        assert [(each["apiVersion"], each["kind"]) for each in objects.objects()] == [("v1", "Service")] * 2


async def test_too_many_objects_are_an_error_until_there_is_room() -> None:
    """Then they are listed anew."""
    async with Supervisor() as supervisor:
        gone = watch(lambda: asyncio.sleep(5), event("DELETED", _object("a")), asyncio.Event().wait)
        cluster = _Cluster(supervisor, page(_object("a"), _object("b"), _object("c")), gone, page(_object("b"), _object("c")))
        objects = cluster.watch(limits=Limits(items=2))
        await objects.tried()
        assert _cause(objects) is Cause.TOO_LARGE
        await asyncio.sleep(10)
        assert _cause(objects) is Cause.TOO_LARGE
        await objects.tried()
        assert _names(objects) == ["b", "c"]


async def test_a_tenant_sees_its_own_namespace_and_nobody_sees_secrets() -> None:
    """Whatever the check let through."""
    async with Supervisor() as supervisor:
        tenant = _Cluster(supervisor, namespace="shop")
        await tenant.watch().tried()
        assert set(tenant.paths) == {"/api/v1/namespaces/shop/services"}
        with pytest.raises(CollectError, match="may not look into namespace bank"):
            tenant.watch("bank")
        with pytest.raises(CollectError, match="never a source"):
            _Cluster(supervisor).watch(resource="secrets")


class _Means:
    def __init__(self, cluster: Any, limits: Limits) -> None:
        self.cluster, self.limits = cluster, limits


async def test_the_source_gives_the_objects_of_all_its_namespaces() -> None:
    """As one list, with one event for the news of all, and closes all of its watches."""
    spec = kubernetes_objects.KubernetesSpec.model_validate({"apiVersion": "v1", "resource": "services", "namespaces": ["a", "b"]})
    async with Supervisor() as supervisor:
        cluster = _Cluster(supervisor, page(_object("x", "a")), page(_object("y", "b")))
        source = kubernetes_objects.SOURCE.open(spec, _Means(cluster.watches, Limits()))  # type: ignore[arg-type]
        response = await source.collect()

        assert [each["metadata"]["namespace"] for each in response.value["items"]] == ["a", "b"]
        assert response.size > 0
        assert source.changed is not None
        assert source.changed.is_set()
        await source.aclose()
        assert cluster.running == set()


async def test_limits_are_those_of_all_namespaces_together() -> None:
    """Two halves are one whole."""
    spec = kubernetes_objects.KubernetesSpec.model_validate({"apiVersion": "v1", "resource": "services", "namespaces": ["a", "b"]})
    async with Supervisor() as supervisor:
        cluster = _Cluster(supervisor, page(_object("x", "a")), page(_object("y", "b")))
        source = kubernetes_objects.SOURCE.open(spec, _Means(cluster.watches, Limits(items=1)))  # type: ignore[arg-type]
        with pytest.raises(CollectError, match=r"2 objects, and limits\.items is 1"):
            await source.collect()


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({"apiVersion": "v1", "resource": "secrets"}, id="Secrets"),
        pytest.param({"apiVersion": "v1", "resource": "pods/log"}, id="a subresource"),
        pytest.param({"apiVersion": "v1", "resource": "Pod"}, id="a kind"),
        pytest.param({"apiVersion": "../v1", "resource": "pods"}, id="another path"),
        pytest.param({"apiVersion": "v1", "resource": "pods", "namespaces": ["a/b"]}, id="another path by a namespace"),
        pytest.param({"resource": "pods"}, id="no apiVersion"),
    ],
)
def test_what_the_source_refuses(said: dict[str, Any]) -> None:
    """Where it would lead elsewhere than it seems."""
    with pytest.raises(ValueError, match="validation error"):
        kubernetes_objects.KubernetesSpec.model_validate(said)
