"""What is below an application: the logs of its release's pods."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, cast

from app.auth.identity import Attributes, User
from app.cache.reports import Reports
from app.cache.versions import Versions
from app.cozystack.follower import OWNER, Follower
from app.declared.pod_logs import PodLogs
from app.kinds._base import Asked
from app.kinds._catalog import Served
from tests.fakes.clock import ManualClock
from tests.unit.cozystack.test_projection import definition, release

POD = {"metadata": {"name": "postgres-db-1", "namespace": "tenant-a"}, "spec": {"containers": [{"name": "postgres"}]}}


class _Watch:
    """Objects of the cluster that do not change."""

    size = 0

    def __init__(self, *found: dict[str, Any]) -> None:
        self._found = found

    def objects(self) -> Sequence[Mapping[str, Any]]:
        return self._found


class _Pods:
    """One pod, its log, and who asked for that."""

    def __init__(self) -> None:
        self.selected: list[Any] = []
        self.checked: list[Attributes] = []

    async def get_json(self, path: str, params: Mapping[str, str | int] | None = None) -> Any:
        assert path.endswith("/tenant-a/pods")
        self.selected.append((params or {}).get("labelSelector"))
        return {"items": [POD]}

    async def stream(self, path: str, params: Mapping[str, str | int], *, patience: float | None = 0.0) -> AsyncGenerator[bytes, None]:
        assert (path.split("/")[-2:], params["container"], patience) == (["postgres-db-1", "log"], "postgres", 0.0)
        yield b""
        yield b"ready\n"

    async def check(self, user: User, attributes: Attributes) -> None:
        assert user.name == "ann"
        self.checked.append(attributes)


async def test_the_log_of_an_application_is_that_of_its_releases_pods() -> None:
    """For who may read the logs of each of these pods: the right to the kind does not tell."""
    clock, pods = ManualClock(), _Pods()
    put: dict[str, Sequence[Served]] = {}
    follower = Follower(
        cast("Any", None),
        put.update,
        group="apps.example.com",
        logs=PodLogs(pods, pods),
        versions=Versions(clock, 1),
        reports=Reports(),
        clock=clock,
    )
    flux = {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease"}
    follower.refresh(cast("Any", _Watch(definition())), cast("Any", _Watch({**release(), **flux})))
    (served,) = put[OWNER]
    (log,) = served.kind.subresources
    item = served.collection.get(("tenant-a", "db"))
    assert item is not None

    body = (await log.answer(Asked(item, {}, User("ann")))).body

    assert not isinstance(body, bytes)
    assert b"ready\n" == b"".join([piece async for piece in body])
    assert ["app.kubernetes.io/instance=postgres-db"] == pods.selected
    assert [("log", "tenant-a", "postgres-db-1")] == [(each.subresource, each.namespace, each.name) for each in pods.checked]
