"""The whole server, from a real kubelet's recorded answers to what a client reads, in virtual time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry

from app.kube.config import Connection
from app.main import Kubeglance
from app.pipeline.supervise import Supervisor
from app.settings import Settings
from tests.fakes.clock import LoopClock
from tests.fakes.dialing import FunctionDialer
from tests.fakes.replay import START, Cluster, RecordedKubelet

pytestmark = pytest.mark.looptime

API = "/apis/metrics.k8s.io/v1beta1"


class Whole:
    """A running kubeglance, its world, and a client."""

    def __init__(self, server: Kubeglance, cluster: Cluster, kubelet: RecordedKubelet, client: httpx.AsyncClient) -> None:
        self.server, self.cluster, self.kubelet, self.client = server, cluster, kubelet, client

    async def usage(self) -> dict[str, dict[str, str]]:
        """Usage by "node" or "pod/container"."""
        nodes = (await self.client.get(f"{API}/nodes")).json()["items"]
        pods = (await self.client.get(f"{API}/pods")).json()["items"]
        found = {node["metadata"]["name"]: node["usage"] for node in nodes}
        return found | {f"{pod['metadata']['name']}/{each['name']}": each["usage"] for pod in pods for each in pod["containers"]}

    async def at(self, seconds: float) -> None:
        """Let time pass until so many seconds after the start."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(seconds - loop.time())


@asynccontextmanager
async def running(cluster: Cluster | None = None, **settings: Any) -> AsyncIterator[Whole]:
    clock = LoopClock(wall=START)
    cluster, kubelet = cluster or Cluster(), RecordedKubelet(clock)
    server = Kubeglance(
        Settings(**settings),
        Connection(server="https://kube-apiserver.test"),
        clock=clock,
        registry=CollectorRegistry(),
        kube_dialer=FunctionDialer(cluster),
        kubelet_dialer=FunctionDialer(kubelet),
    )
    transport = httpx.ASGITransport(app=server.app)
    headers = {"Authorization": "Bearer good"}
    async with httpx.AsyncClient(transport=transport, base_url="https://kubeglance.test", headers=headers) as client:
        async with Supervisor() as supervisor:
            server.start(supervisor)
            yield Whole(server, cluster, kubelet, client)
        await server.aclose()


async def test_the_node_is_served_after_one_scrape() -> None:
    """A second after start the node has the kubelet's own rate, and web-0, 42 s old, its average since its start.

    The sleeper in the other pod has a first rate of 0, which is not believed without the kubelet's age: that pod waits.
    """
    async with running() as whole:
        await whole.at(1)

        expected = {
            "real-0": {"cpu": "240261355n", "memory": "1847264Ki", "swap": "0"},
            "web-0/app": {"cpu": "51626204n", "memory": "52820Ki", "swap": "0"},
            "web-0/init": {"cpu": "52121959n", "memory": "52832Ki", "swap": "0"},
        }
        assert await whole.usage() == expected


async def test_rates_are_those_of_the_containers() -> None:
    """One body on, each figure is the difference of two counters over the difference of their times: burners near 50m and 52 MiB."""
    async with running() as whole:
        await whole.at(29)

        expected = {
            "real-0": {"cpu": "540707432n", "memory": "1923860Ki", "swap": "0"},
            "burnh/a": {"cpu": "49105117n", "memory": "52772Ki", "swap": "0"},
            "burnh/b": {"cpu": "0", "memory": "1000Ki", "swap": "0"},
        }
        usage = await whole.usage()
        assert expected == {name: usage[name] for name in expected}
        assert usage.keys() == {*expected, "web-0/app", "web-0/init"}


async def test_values_outlive_a_kubelet_by_their_ttl_and_readiness_stays() -> None:
    """A kubelet that is gone costs nothing for 60 s; then its values are absent. The replica stays ready: the fault is not its own."""
    async with running(kubelet_summary=False) as whole:
        await whole.at(46)
        before = await whole.usage()
        whole.kubelet.fault = lambda _request: httpx.Response(500)
        await whole.at(88)
        kept = await whole.usage()
        await whole.at(130)
        gone = await whole.usage()
        ready = await whole.client.get("/readyz")

        assert before.keys() == kept.keys() == {"real-0", "burnh/a", "burnh/b", "web-0/app", "web-0/init"}
        assert (gone, ready.status_code) == ({}, 200)


async def test_a_kubelet_without_the_light_endpoint_is_served_from_the_other() -> None:
    """404 of /metrics/resource: the summary stands in, and the light endpoint is not asked at every tick."""
    async with running() as whole:
        whole.kubelet.fault = lambda request: httpx.Response(404) if request.url.path == "/metrics/resource" else None
        await whole.at(70)
        answer = (await whole.client.get(f"{API}/nodes/real-0")).json()

        assert answer["metadata"]["annotations"] == {"kubeglance.io/source": "summary"}
        assert (await whole.usage()).keys() == {"real-0", "burnh/a", "burnh/b", "web-0/app", "web-0/init"}
        assert whole.kubelet.asked.count("/metrics/resource") == 1


async def test_a_forbidden_summary_costs_only_the_summary() -> None:
    """403 of /stats/summary, as under metrics-server's RBAC: everything is served from the light endpoint."""
    async with running() as whole:
        whole.kubelet.fault = lambda request: httpx.Response(403) if request.url.path == "/stats/summary" else None
        await whole.at(40)

        assert (await whole.usage()).keys() == {"real-0", "burnh/a", "burnh/b", "web-0/app", "web-0/init"}
        assert whole.kubelet.asked.count("/stats/summary") == 1


async def test_discovery_and_health_answer_before_the_cluster_is_known() -> None:
    """With kube-apiserver away from the start: /livez is 200, /readyz says what is missing, and no data is made up."""
    async with running() as whole:
        whole.cluster.away = True
        await whole.at(5)
        live, ready = await whole.client.get("/livez"), await whole.client.get("/readyz?verbose")

        assert (live.status_code, ready.status_code) == (200, 500)
        assert "[-]metric-informer-sync failed: reason withheld" in ready.text


async def test_known_verdicts_serve_while_authorisation_is_away() -> None:
    """For 10 s a verdict that is known goes on; then a read is a 500 Status without data, and health stays 200. Then all comes back."""
    async with running() as whole:
        await whole.at(31)
        before = await whole.client.get(f"{API}/nodes")
        whole.cluster.authorizer_away = True
        await whole.at(38)
        cached = await whole.client.get(f"{API}/nodes")
        await whole.at(60)
        failed, health = await whole.client.get(f"{API}/nodes"), await whole.client.get("/readyz")
        whole.cluster.authorizer_away = False
        after = await whole.client.get(f"{API}/nodes")

        assert (before.status_code, cached.status_code, failed.status_code, health.status_code, after.status_code) == (
            200,
            200,
            500,
            200,
            200,
        )
        assert (failed.json()["kind"], failed.json()["code"]) == ("Status", 500)


async def test_who_may_not_gets_403_and_no_data() -> None:
    """A verdict of no is a Status in kube-apiserver's words."""
    async with running() as whole:
        whole.cluster.allowed = False
        await whole.at(31)
        answer = await whole.client.get(f"{API}/nodes")

        asked = 'User "alice" cannot list resource "nodes" in API group "metrics.k8s.io" at the cluster scope'
        assert (answer.status_code, answer.json()["message"]) == (403, f"nodes.metrics.k8s.io is forbidden: {asked}")


async def test_a_wrong_token_gets_401() -> None:
    """Credentials that nobody vouches for do not make the caller anonymous."""
    async with running() as whole:
        await whole.at(1)
        answer = await whole.client.get(f"{API}/nodes", headers={"Authorization": "Bearer bad"})

        assert (answer.status_code, answer.json()["reason"]) == (401, "Unauthorized")


async def test_the_drain_withdraws_readiness_only() -> None:
    """On the way out everything is served on; only /readyz fails."""
    async with running() as whole:
        await whole.at(31)
        whole.server.readiness.drain()
        ready, data = await whole.client.get("/readyz"), await whole.client.get(f"{API}/nodes")

        assert (ready.status_code, data.status_code) == (500, 200)
