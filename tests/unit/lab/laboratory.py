"""A whole kubeglance between scripted kubelets and a scripted cluster, in virtual time, and the rows that are played to it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, NamedTuple

import httpx
import pytest
from prometheus_client import CollectorRegistry

from app.kube.config import Connection
from app.main import Kubeglance
from app.pipeline.supervise import Supervisor
from app.settings import Settings
from tests.fakes.clock import LoopClock
from tests.fakes.dialing import FunctionDialer
from tests.unit.lab import bodies, kubelets
from tests.unit.lab.bodies import NODE, START
from tests.unit.lab.cluster import Object, ScriptedCluster
from tests.unit.lab.kubelets import FULL, LIGHT, Answer, Kubelets

API = "/apis/metrics.k8s.io/v1beta1"
ADDRESS = "10.0.0.1"


class Lab:
    """A running kubeglance and its world: one node and one pod with one container, unless the script says otherwise."""

    def __init__(self, server: Kubeglance, clock: LoopClock, cluster: ScriptedCluster, fleet: Kubelets, client: httpx.AsyncClient) -> None:
        self.server, self.clock, self.cluster, self.kubelets, self.client = server, clock, cluster, fleet, client
        self._version = 0
        self.set_back = False
        """Whether the script set a kubelet's clock back: after the end of what it told before, its time may be an earlier one."""
        self._times: dict[str, str] = {}

    async def at(self, second: float) -> None:
        """Let time pass until that second."""
        await asyncio.sleep(max(0.0, second - asyncio.get_running_loop().time()))

    async def look(self) -> dict[str, str]:
        """What a client reads of every node ("node NAME") and pod now, in words; what is absent with its 404's reason.

        Whatever the script was, some things must hold: lists tell the same as gets, no pod is partial, nothing is negative, versions
        rise, and the time of what is served never goes back.
        """
        seen = {f"node {name}": await self._read(f"{API}/nodes/{name}") for name in self.cluster.names("nodes")}
        seen |= {name: await self._read(f"{API}/namespaces/default/pods/{name}") for name in self.cluster.names("pods")}
        listed = {f"node {item['metadata']['name']}": item for item in await self._list("nodes")}
        listed |= {item["metadata"]["name"]: item for item in await self._list("pods")}
        assert {name for name, words in seen.items() if not words.startswith("404")} == listed.keys()
        for name, item in listed.items():
            assert seen[name] == describe(item)
            self._check(name, item)
        return seen

    def _check(self, name: str, item: Object) -> None:
        containers = item.get("containers", [{"name": "", "usage": item.get("usage")}])
        for container in containers:
            assert all(quantity[0].isdigit() for quantity in container["usage"].values()), item
        subject = name
        if "containers" in item:
            found = self.cluster.get("pods", name)
            assert found is not None
            assert running(found) == [container["name"] for container in containers], item
            subject = found["metadata"]["uid"]
        assert self.set_back or self._times.get(subject, "") <= item["timestamp"]
        self._times[subject] = item["timestamp"]

    async def _read(self, path: str) -> str:
        answer = await self.client.get(path)
        if answer.status_code == 200:
            return describe(answer.json())
        assert answer.status_code == 404, answer.text
        message: str = answer.json()["message"]
        assert "10.0.0." not in message
        return f"404:{message.partition(' not found')[2].lstrip(':')}"

    async def _list(self, resource: str) -> list[Object]:
        answer = (await self.client.get(f"{API}/{resource}")).json()
        version = int(answer["metadata"]["resourceVersion"])
        if resource == "pods":
            assert version >= self._version
            self._version = version
        items: list[Object] = answer["items"]
        return items


def running(found: Object) -> list[str]:
    """The containers of a pod that its status says are running: main ones, then those that began before."""
    status = found["status"]
    entries = [*status.get("containerStatuses", []), *status.get("initContainerStatuses", [])]
    if "containerStatuses" not in status:
        return [container["name"] for container in found["spec"]["containers"]]
    return [entry["name"] for entry in entries if "running" in entry["state"]]


def describe(item: Object) -> str:
    """An object in a line: "app 250m 8Mi @15 over 15s"."""
    measured = datetime.fromisoformat(item["timestamp"]).timestamp() - int(START)
    usages = [("", item["usage"])] if "usage" in item else [(f"{entry['name']} ", entry["usage"]) for entry in item["containers"]]
    figures = ", ".join(f"{name}{usage['cpu']} {usage['memory']}" for name, usage in usages)
    source = item["metadata"].get("annotations", {}).get("kubeglance.io/source", "")
    return f"{figures} @{measured:.0f} over {item['window']}{f' from {source}' if source else ''}"


Act = Callable[[Lab], object]


class Row(NamedTuple):
    """One rule as a timeline. Acts of second t are done just before the scrape of t, looks at t just after it.

    `expected` has what is looked for by name; what a moment does not name may be anything.
    """

    rule: str
    acts: Sequence[tuple[float, Act]]
    expected: Mapping[float, Mapping[str, str]]
    settings: Mapping[str, Any]


def row(name: str, rule: str, acts: Sequence[tuple[float, Act]], expected: Mapping[float, Mapping[str, str]], **settings: Any) -> Any:
    """A row of a table; `settings` are the server's, by default without /stats/summary."""
    return pytest.param(Row(rule, acts, expected, {"kubelet_summary": False, **settings}), id=name)


async def play(played: Row) -> None:
    """Play a row, and hold what is seen against what it expects."""
    begin = [act for at, act in played.acts if at <= 0]
    moments = sorted({*(at - 0.5 for at, _ in played.acts if at > 0), *(at + 0.5 for at in played.expected)})
    seen: dict[float, dict[str, str]] = {}
    async with laboratory(begin, **played.settings) as lab:
        for moment in moments:
            await lab.at(moment)
            for at, act in played.acts:
                if at > 0 and at - 0.5 == moment:
                    act(lab)
            if moment - 0.5 in played.expected:
                look = await lab.look()
                seen[moment - 0.5] = {name: look.get(name, "404") for name in played.expected[moment - 0.5]}

    differences = [
        f"  {at:g} s, {name}: {words!r}, not {seen[at][name]!r}"
        for at, names in played.expected.items()
        for name, words in names.items()
        if seen[at][name] != words
    ]
    assert not differences, "\n".join([played.rule, *differences])


@asynccontextmanager
async def laboratory(begin: Sequence[Act] = (), **settings: Any) -> AsyncIterator[Lab]:
    """A kubeglance that has just started in a world to which `begin` was done."""
    clock = LoopClock(wall=START)
    cluster, fleet, registry = ScriptedCluster(), Kubelets(), CollectorRegistry()
    server = Kubeglance(
        Settings(**settings),
        Connection(server="https://kube-apiserver.test"),
        clock=clock,
        registry=registry,
        kube_dialer=FunctionDialer(cluster),
        kubelet_dialer=FunctionDialer(fleet),
    )
    transport = httpx.ASGITransport(app=server.app)
    headers = {"Authorization": "Bearer good"}
    async with httpx.AsyncClient(transport=transport, base_url="https://kubeglance.test", headers=headers) as client:
        lab = Lab(server, clock, cluster, fleet, client)
        cluster.put("nodes", bodies.node())
        cluster.put("pods", bodies.pod())
        for act in begin:
            act(lab)
        async with Supervisor() as supervisor:
            server.start(supervisor)
            yield lab
        await server.aclose()


def tell(*lines: str, address: str = ADDRESS) -> Act:
    """From now on /metrics/resource has these lines."""
    return answer(kubelets.body("".join(lines)), LIGHT, address=address)


def tell_summary(content: bytes, *, address: str = ADDRESS) -> Act:
    """From now on /stats/summary is that."""
    return answer(kubelets.body(content), FULL, address=address)


def answer(how: Answer, *paths: str, address: str = ADDRESS) -> Act:
    """From now on the kubelet answers so, on all paths or those given."""

    def act(lab: Lab) -> None:
        for path in paths or (LIGHT, FULL):
            lab.kubelets.answers[address, path] = how

    return act


def put(item: Object) -> Act:
    """A pod or node comes or changes."""
    resource = "pods" if "nodeName" in item.get("spec", {}) else "nodes"
    return lambda lab: lab.cluster.put(resource, item)


def delete(name: str, resource: str = "pods") -> Act:
    """A pod or node goes."""
    return lambda lab: lab.cluster.remove(resource, name)


def jump(seconds: float) -> Act:
    """Our own wall clock is set."""
    return lambda lab: lab.clock.jump(seconds)


__all__ = ["NODE", "Lab", "Row", "answer", "delete", "jump", "laboratory", "play", "put", "row", "tell", "tell_summary"]
