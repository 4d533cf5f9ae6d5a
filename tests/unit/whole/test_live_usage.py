"""nodestats, podstats and containerstats of a real kubelet's recorded answers, as clients read them."""

from typing import Any

import httpx
import pytest

from tests.unit.whole.test_replay import Whole, running

pytestmark = pytest.mark.looptime

API = "/apis/live.kubeglance.io/v1alpha1"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
METRICS = "/apis/metrics.k8s.io/v1beta1"


async def one(whole: Whole, path: str) -> Any:
    return (await whole.client.get(f"{API}{path}")).json()


async def rows(whole: Whole, path: str) -> dict[str, dict[str, Any]]:
    """The cells of a Table by name and column."""
    table = (await whole.client.get(f"{API}{path}", headers=TABLE)).json()
    columns = [column["name"] for column in table["columnDefinitions"]]
    return {row["cells"][0]: dict(zip(columns, row["cells"], strict=True)) for row in table["rows"]}


async def test_a_node() -> None:
    """Usage is of capacity, requests are of what is allocatable, and the disk is as full as df says: 25 %, not 9."""
    async with running() as whole:
        await whole.at(100)
        row = (await rows(whole, "/nodestats"))["real-0"]
        status = (await one(whole, "/nodestats/real-0"))["status"]

        assert (row["CPU"], row["CPU%"], row["CPU-Req%"]) == ("218m", "10%", "5%")
        assert (row["Memory"], row["Mem%"], row["Mem-Req%"]) == ("1835Mi", "7%", "0%")
        assert (row["Disk%"], row["Pods"], row["PIDs"], row["Seen"]) == ("25%", "2/110", "200/32768", "29s")
        assert (row["CPU-PSI"], "pressure" in status) == ("<unknown>", False), "cgroup v1: there is none, which is not calm"
        assert (status["fs"]["usedPercent"], status["network"]["rxBytesPerSecond"], status["pods"]["running"]) == (25, 0, 2)
        assert [interface["name"] for interface in status["network"]["interfaces"]] == ["ifb0", "ifb1", "eth0", "cni0"]
        assert status["conditions"] == [{"type": "Fresh", "status": "True", "reason": "Collected"}]


async def test_pods() -> None:
    """CPU and memory are those of `kubectl top`; a pod in the host's network has none of its own; a sidecar without limits unbounds it."""
    async with running() as whole:
        await whole.at(100)
        found = await rows(whole, "/podstats")
        web, host = [await one(whole, f"/namespaces/default/podstats/{name}") for name in ("web-0", "burnh")]
        top = (await whole.client.get(f"{METRICS}/namespaces/default/pods/web-0")).json()

        assert list(found) == ["burnh", "web-0"]
        assert (found["web-0"]["CPU"], found["web-0"]["CPU%R"], found["web-0"]["CPU%L"]) == ("101m", "201%", "<none>")
        assert (found["web-0"]["Memory"], found["web-0"]["Mem%R"], found["web-0"]["Mem%L"]) == ("103Mi", "161%", "<none>")
        assert (found["burnh"]["Rx/s"], found["web-0"]["Rx/s"], found["web-0"]["Disk"]) == ("<host>", "0", "56Ki")
        assert host["status"]["network"] == {"reason": "HostNetwork"}
        assert web["status"]["cpu"]["usageNanoCores"] == sum(int(each["usage"]["cpu"].rstrip("n")) for each in top["containers"])
        assert [(volume["name"], volume["usedBytes"]) for volume in web["status"]["volumes"]] == [("scratch", 4096)]
        assert (web["spec"]["requests"], web["metadata"]["labels"]) == ({"cpu": "50m", "memory": "64Mi"}, {"app": "web"})
        assert web["metadata"]["creationTimestamp"] == "2026-11-30T09:53:05Z"


async def test_containers() -> None:
    """One row for each, named after its pod and itself; selected by pod or node."""
    async with running() as whole:
        await whole.at(100)
        found = await rows(whole, "/containerstats")
        selected = await rows(whole, "/containerstats?fieldSelector=spec.podName%3Dweb-0%2Cspec.nodeName%3Dreal-0")
        other = await rows(whole, "/containerstats?fieldSelector=spec.nodeName%3Dother")

        assert list(found) == ["burnh.a", "burnh.b", "web-0.app", "web-0.init"]
        assert (found["web-0.app"]["CPU%L"], found["web-0.app"]["Mem%L"], found["web-0.app"]["Restarts"]) == ("24%", "40%", 1)
        assert (found["web-0.init"]["Type"], found["web-0.init"]["CPU%R"], found["web-0.init"]["Rootfs"]) == ("sidecar", "<none>", "20Ki")
        assert (list(selected), other) == (["web-0.app", "web-0.init"], {})


async def test_before_anything_was_told() -> None:
    """What is there has an object at once, which says why there are no figures; what is not has none."""
    async with running() as whole:
        whole.kubelet.fault = lambda _request: httpx.Response(500)
        await whole.at(20)
        row = (await rows(whole, "/podstats"))["web-0"]
        status = (await one(whole, "/namespaces/default/podstats/web-0"))["status"]
        missing = await one(whole, "/namespaces/default/containerstats/web-0.other")

        assert (row["CPU"], row["CPU%R"], row["Disk"], row["Seen"]) == ("<unknown>", "<unknown>", "<unknown>", "<unknown>")
        assert status.keys() == {"conditions"}
        (fresh,) = status["conditions"]
        assert (fresh["status"], fresh["reason"]) == ("Unknown", "NoUsage")
        assert "its node real-0 cannot be scraped since" in fresh["message"]
        assert (missing["code"], missing["message"].partition(": ")[2]) == (404, "pod web-0 has no container other")


async def test_a_kubelet_that_goes_away() -> None:
    """What was told stays and is said to be old, until its time ends; then it is not known. Versions only rise."""
    async with running() as whole:
        await whole.at(70)
        versions, conditions = [], []
        whole.kubelet.fault = lambda _request: httpx.Response(503)
        for second in (71, 110, 300):
            await whole.at(second)
            found = await one(whole, "/namespaces/default/podstats/web-0")
            listed = await one(whole, "/podstats")
            versions += [int(found["metadata"]["resourceVersion"]), int(listed["metadata"]["resourceVersion"])]
            conditions.append((found["status"]["conditions"][0]["status"], "cpu" in found["status"], "processes" in found["status"]))

        assert conditions == [("True", True, True), ("False", True, True), ("Unknown", False, False)]
        assert versions == sorted(versions)


async def test_a_kubelet_that_cannot_tell_all() -> None:
    """500 of the full form: the short one is asked, so that what stands in for /metrics/resource stays."""
    async with running(kubelet_resource=False) as whole:
        whole.kubelet.fault = lambda request: None if request.url.query or request.url.path != "/stats/summary" else httpx.Response(500)
        await whole.at(70)
        row = (await rows(whole, "/podstats"))["web-0"]
        (condition,) = (await one(whole, "/namespaces/default/podstats/web-0"))["status"]["conditions"]

        assert (row["CPU"], row["Disk"], row["Procs"]) == ("101m", "<unknown>", "<unknown>")
        assert (condition["status"], "(kubelet_summary in full: status)" in condition["message"]) == ("True", True)


async def test_without_live_kinds() -> None:
    """Their group is not served at all, and the summary is asked in short."""
    async with running(live_kinds=False) as whole:
        queries = []
        whole.kubelet.fault = lambda request: queries.append(request.url.query) if request.url.path == "/stats/summary" else None
        await whole.at(70)
        answer = await whole.client.get(f"{API}/podstats")
        groups = (await whole.client.get("/apis")).json()["groups"]

        assert answer.status_code == 404
        assert [group["name"] for group in groups] == ["metrics.k8s.io"]
        assert set(queries) == {b"only_cpu_and_memory=true"}
