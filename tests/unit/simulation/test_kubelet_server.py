"""app/simulation/kubelet_server.py: many kubelets on loopback sockets, told apart by address, each with faults of its own."""

import asyncio
import ssl
from collections.abc import AsyncIterator

import httpx
import pytest

from app.certs import Authority
from app.clock import SystemClock
from app.simulation.generate import generate
from app.simulation.kubelet_server import KubeletServer, KubeletServerError
from app.simulation.model import Fault, SimulatedCluster


class Kubelets:
    """A running server and a client that trusts it."""

    def __init__(self, cluster: SimulatedCluster, server: KubeletServer, client: httpx.AsyncClient) -> None:
        self.cluster = cluster
        self.server = server
        self.client = client

    def url(self, node: str, path: str = "/metrics/resource") -> str:
        found = self.cluster.nodes[node]
        return f"https://{found.address}:{found.kubelet_port}{path}"


@pytest.fixture
async def kubelets() -> AsyncIterator[Kubelets]:
    clock = SystemClock()
    authority = Authority.create("kubelet-ca", clock)
    cluster = generate(clock, nodes=3, pods=4)
    server = KubeletServer(cluster, authority)
    await server.start()
    context = ssl.create_default_context(cadata=authority.certificate_pem.decode())
    async with httpx.AsyncClient(verify=context, timeout=0.3, trust_env=False) as client:
        yield Kubelets(cluster, server, client)
    await server.close()


async def test_nodes_share_a_port_and_answer_for_themselves(kubelets: Kubelets) -> None:
    """All nodes listen on one port at addresses of their own, with a certificate that names them, and report their own pods."""
    bodies = {name: (await kubelets.client.get(kubelets.url(name))).text for name in kubelets.cluster.nodes}

    assert len({node.kubelet_port for node in kubelets.cluster.nodes.values()}) == 1
    for name, body in bodies.items():
        pods = {line.split('pod="')[1].split('"')[0] for line in body.splitlines() if line.startswith("container_start_time_seconds{")}
        assert {pod for _, pod in kubelets.cluster.nodes[name].pods} == pods


async def test_connections_are_kept_alive(kubelets: Kubelets) -> None:
    """Both endpoints can be asked again and again on one connection, HEAD too."""
    streams = []
    for method, path in (("GET", "/metrics/resource"), ("HEAD", "/stats/summary"), ("GET", "/stats/summary")):
        async with kubelets.client.stream(method, kubelets.url("worker-0", path)) as response:
            await response.aread()
            streams.append(response.extensions["network_stream"].get_extra_info("client_addr"))

    assert len(set(streams)) == 1


async def test_a_refusing_kubelet_refuses_until_it_is_mended(kubelets: Kubelets) -> None:
    """Fault.REFUSE is a closed port, open connections included; only the named node is hit, and NONE mends it."""
    await kubelets.client.get(kubelets.url("worker-0"))
    await kubelets.server.set_fault(Fault.REFUSE, ["worker-0"])
    with pytest.raises(httpx.TransportError):
        await kubelets.client.get(kubelets.url("worker-0"))
    with pytest.raises(httpx.ConnectError):
        await kubelets.client.get(kubelets.url("worker-0"))
    others = (await kubelets.client.get(kubelets.url("worker-1"))).status_code
    await kubelets.server.set_fault(Fault.NONE)

    assert (others, (await kubelets.client.get(kubelets.url("worker-0"))).status_code) == (200, 200)


@pytest.mark.parametrize("fault", [Fault.HANG, Fault.DRIP])
async def test_a_hanging_or_dripping_kubelet_never_ends_its_answer(kubelets: Kubelets, fault: Fault) -> None:
    """A reader's deadline is the only thing that ends such a request."""
    await kubelets.server.set_fault(fault)
    with pytest.raises((httpx.ReadTimeout, TimeoutError)):
        async with asyncio.timeout(0.4):
            await kubelets.client.get(kubelets.url("worker-0"))


async def test_a_new_node_gets_a_listener_and_a_certificate(kubelets: Kubelets) -> None:
    """refresh() follows the cluster: new nodes are reachable under verified TLS, deleted ones are not."""
    kubelets.cluster.add_node("late", kubelet_port=kubelets.cluster.nodes["worker-0"].kubelet_port)
    gone = kubelets.url("worker-2")
    kubelets.cluster.delete_node("worker-2")
    await kubelets.server.refresh()

    assert (await kubelets.client.get(kubelets.url("late"))).status_code == 200
    with pytest.raises(httpx.ConnectError):
        await kubelets.client.get(gone)


async def test_a_token_is_checked(kubelets: Kubelets) -> None:
    """With a token set, callers without it get 401."""
    kubelets.server.token = "secret"
    answers = [await kubelets.client.get(kubelets.url("worker-0"), headers=h) for h in ({}, {"Authorization": "Bearer secret"})]

    assert [answer.status_code for answer in answers] == [401, 200]


async def test_on_one_address_the_nodes_differ_by_port() -> None:
    """Where only 127.0.0.1 exists every node has a port of its own there, and the certificate still names it."""
    clock = SystemClock()
    authority = Authority.create("kubelet-ca", clock)
    cluster = generate(clock, nodes=3, pods=2)
    server = KubeletServer(cluster, authority)
    await server.start_on_one_address()
    context = ssl.create_default_context(cadata=authority.certificate_pem.decode())
    async with httpx.AsyncClient(verify=context, trust_env=False) as client:
        urls = {f"https://{node.address}:{node.kubelet_port}/stats/summary" for node in cluster.nodes.values()}
        found = [(await client.get(url)).json()["node"]["nodeName"] for url in urls]
    await server.close()

    assert sorted(found) == ["worker-0", "worker-1", "worker-2"]


async def test_a_taken_port_is_told() -> None:
    """A wished port that is taken is an error with its reason, and nothing stays open."""
    clock = SystemClock()
    cluster = generate(clock, nodes=2, pods=0)
    authority = Authority.create("kubelet-ca", clock)
    first, second = KubeletServer(cluster, authority), KubeletServer(cluster, authority)
    port = await first.start()
    with pytest.raises(KubeletServerError, match="cannot listen: "):
        await second.start(port)
    await first.close()

    assert await second.start(port) == port
    await second.close()
