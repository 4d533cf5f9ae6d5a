"""volumestats and collectors in the whole server, over a real kubelet's recorded answers, in virtual time."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes.replay import Cluster
from tests.unit.whole.test_replay import Whole, running

pytestmark = pytest.mark.looptime

LIVE = "/apis/live.kubeglance.io/v1alpha1"


def claim(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": {"app": "web"}},
        "spec": {"resources": {"requests": {"storage": "1Gi"}}, "volumeName": "pv-1", **spec},
        "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}},
    }


async def items(whole: Whole, resource: str) -> dict[str, dict[str, Any]]:
    answer = await whole.client.get(f"{LIVE}/{resource}")
    assert answer.status_code == 200
    return {item["metadata"]["name"]: item for item in answer.json()["items"]}


def states(found: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: item["status"]["state"] for name, item in found.items()}


async def test_a_claim_that_no_kubelet_tells_of_has_a_row_that_says_why() -> None:
    """web-0 mounts a claim on a hostPath volume, of which kubelets tell nothing; nobody mounts the other one."""
    cluster = Cluster()
    cluster.claims = [claim("data-web-0"), claim("spare")]
    async with running(cluster) as whole:
        await whole.at(29)
        found = await items(whole, "volumestats")
        selected = (await whole.client.get(f"{LIVE}/namespaces/default/volumestats?labelSelector=app=web")).json()["items"]

    told = {name: (item["status"]["state"], item["status"].get("mounts")) for name, item in found.items()}
    assert told == {"data-web-0": ("NoStats", [{"pod": "web-0", "node": "real-0"}]), "spare": ("NotMounted", None)}
    assert (
        found["data-web-0"]["status"]["reason"]
        == "web-0, which mounts it, has just started: kubelets measure volumes every one to two minutes"
    )
    assert found["spare"]["spec"]["requestedBytes"] == 2**30
    assert len(selected) == 2


async def test_without_the_right_to_list_claims_all_else_works() -> None:
    """What is mounted has a row all the same, which names the missing right; the replica is ready."""
    cluster = Cluster()
    cluster.claims = None
    async with running(cluster) as whole:
        await whole.at(29)
        found = await items(whole, "volumestats")
        ready = await whole.client.get("/readyz")
        absent = (await whole.client.get(f"{LIVE}/namespaces/default/volumestats/spare")).json()
        usage = await whole.usage()

    assert list(found) == ["data-web-0"]
    assert found["data-web-0"]["status"]["reason"].endswith("; kubeglance may not list persistentvolumeclaims")
    assert "the persistent volume claims of the cluster were not listed yet" in absent["message"]
    assert (ready.status_code, "real-0" in usage) == (200, True)


async def test_collectors_tell_how_kubelets_answer() -> None:
    """One object for each collector; one that begins to fail says so at once, with the cause."""
    async with running() as whole:
        await whole.at(29)
        healthy = await items(whole, "collectors")
        whole.kubelet.fault = lambda request: httpx.Response(403) if request.url.path == "/stats/summary" else None
        await whole.at(75)
        failing = await items(whole, "collectors")

    assert {name: item["status"]["state"] for name, item in healthy.items()} == {
        "kubelet-resource": "Healthy",
        "kubelet-summary": "Healthy",
    }
    assert healthy["kubelet-summary"]["status"]["items"] == 3
    assert {name: item["status"]["state"] for name, item in failing.items()} == {
        "kubelet-resource": "Healthy",
        "kubelet-summary": "Failing",
    }
    (target,) = failing["kubelet-summary"]["status"]["targets"]
    assert (target["name"], target["cause"]) == ("real-0", "forbidden")
    assert failing["kubelet-summary"]["metadata"]["resourceVersion"] > healthy["kubelet-summary"]["metadata"]["resourceVersion"]


@pytest.mark.parametrize(
    ("settings", "kinds"),
    [
        ({}, ["collectors", "containerstats", "nodestats", "podstats", "servedmetrics", "volumestats"]),
        ({"live_kinds": False}, []),
        ({"live_kinds": False, "declarations": ("/nowhere",)}, ["collectors", "servedmetrics"]),
    ],
)
async def test_what_is_served_of_the_group(settings: dict[str, Any], kinds: list[str]) -> None:
    """Without live kinds and declarations discovery is metrics-server's own; with either sources and metrics have their kinds."""
    async with running(**settings) as whole:
        answer = await whole.client.get(LIVE)

    found = answer.json().get("resources", []) if answer.status_code == 200 else []
    assert [each["name"] for each in found] == kinds


async def test_what_is_served_of_the_group_with_routes(tmp_path: Path) -> None:
    """How they are is told where nothing else live is served."""
    file = tmp_path / "routes.yaml"
    file.write_text("routes: []", encoding="utf-8")
    async with running(live_kinds=False, metric_routes=file) as whole:
        answer = await whole.client.get(LIVE)
        found = await items(whole, "collectors")

    assert ["collectors", "servedmetrics"] == [each["name"] for each in answer.json()["resources"]]
    assert {"kubelet-resource", "kubelet-summary"} == found.keys()
