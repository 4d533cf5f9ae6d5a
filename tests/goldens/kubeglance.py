"""kubeglance before the goldens' cluster: its own application in this process, in virtual time, with kubelets that are functions."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from prometheus_client import CollectorRegistry

from app.kube.config import Connection
from app.main import Kubeglance
from app.pipeline.supervise import Supervisor
from app.settings import Settings
from tests.fakes.clock import LoopClock
from tests.fakes.dialing import FunctionDialer
from tests.fakes.replay import Cluster, Stream, once
from tests.goldens import bodies, cluster
from tests.goldens.answer import Answer
from tests.goldens.protobuf import nodes_of
from tests.goldens.requests import ANONYMOUS, READER, STRANGER, WRONG, Request

VERSION = "<version>"
"""Stands for every resourceVersion."""
REASON = "<reason>"
"""Stands for the reason in the 404 of a pod or node without values."""
WITHOUT_VALUES = re.compile(r'((?:node|pod)metrics\.metrics\.k8s\.io "[^"]+" not found)(?:: .+)?')
_RECORDED_AT = cluster.START + 3700
"""When all of the goldens' measurements lie in the past."""
_FULL = 40.0
"""Seconds after which each kubelet was asked at least twice."""
_TOKENS = {READER: READER, STRANGER: STRANGER, WRONG: "of-nobody", ANONYMOUS: ""}
_PUBLIC = ("/healthz", "/livez", "/readyz", "/version")
_DISCOVERY = (*_PUBLIC, "/api", "/apis", "/openapi")


class GoldenCluster(Cluster):
    """kube-apiserver with the goldens' nodes and pods. The reader may do all; others what every cluster lets them do."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses = {f"127.40.0.{i + 1}": node for i, node in enumerate(cluster.NODES)}
        self.nodes = [_stored(cluster.node_object(node), cluster.node_status(address, 10250)) for address, node in self.addresses.items()]
        self.pods = [_stored(cluster.pod_object(pod), cluster.pod_status(pod)) for pod in cluster.PODS]

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        match request.url.path.rsplit("/", 1)[-1]:
            case "tokenreviews":
                token = json.loads(request.content)["spec"]["token"]
                known = {"username": f"system:serviceaccount:goldens:{token}", "groups": ["system:authenticated"]}
                good = token in {READER, STRANGER}
                return httpx.Response(201, json={"status": {"authenticated": good, "user": known if good else {}}})
            case "subjectaccessreviews":
                spec = json.loads(request.content)["spec"]
                return httpx.Response(201, json={"status": {"allowed": _allowed(spec)}})
        return await super().__call__(request)


class GoldenKubelets:
    """All kubelets: the first body once, the second ever after."""

    def __init__(self, cluster: GoldenCluster) -> None:
        self._nodes = cluster.addresses
        self._asked = dict.fromkeys(self._nodes, 0)

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        node = self._nodes[request.url.host]
        if not node.serves:
            return httpx.Response(404, text="404 page not found\n")
        self._asked[request.url.host] += 1
        return httpx.Response(200, stream=Stream(once(bodies.body(node, min(1, self._asked[request.url.host] - 1)))))


@asynccontextmanager
async def answering() -> AsyncIterator["Answering"]:
    """A kubeglance that has seen all of the goldens' cluster. The summary is not asked: metrics-server does not know it either."""
    clock = LoopClock(wall=_RECORDED_AT)
    world = GoldenCluster()
    server = Kubeglance(
        # What metrics-server does not have at all is not compared.
        Settings(kubelet_summary=False, kubelet_use_node_status_port=True, live_kinds=False),
        Connection(server="https://kube-apiserver.test"),
        clock=clock,
        registry=CollectorRegistry(),
        kube_dialer=FunctionDialer(world),
        kubelet_dialer=FunctionDialer(GoldenKubelets(world)),
    )
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=server.app), base_url="https://kubeglance.test") as client:
        client.headers.clear()
        async with Supervisor() as supervisor:
            server.start(supervisor)
            await asyncio.sleep(_FULL)
            yield Answering(client)
        await server.aclose()


class Answering:
    """Asks kubeglance what was asked of metrics-server."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def ask(self, request: Request) -> Answer:
        """The answer, with one text in place of every resourceVersion, continue token and reason: they are proven elsewhere."""
        headers = {"host": "kubeglance.test", **request.headers}
        if request.accept is not None:
            headers["accept"] = request.accept
        if token := _TOKENS[request.who]:
            headers["authorization"] = f"Bearer {token}"
        made = self._client.build_request(request.method, request.path, headers=headers, content=request.content or None)
        answer = Answer.of(await self._client.send(made))
        for node in nodes_of(answer.body):
            if node.get("resourceVersion"):
                node["resourceVersion"] = VERSION
            if node.get("continue"):
                node["continue"] = "<token>"
            if (text := node.get("message")) and (found := WITHOUT_VALUES.fullmatch(text)) and text != found[1]:
                node["message"] = f"{found[1]}: {REASON}"
        return answer


def _stored(made: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    """The object as kube-apiserver keeps it."""
    name = f"{made['metadata'].get('namespace', '')}/{made['metadata']['name']}"
    more = {"uid": f"uid-{name}", "resourceVersion": "1", "creationTimestamp": cluster.rfc3339(cluster.LONG_AGO)}
    return {**made, "metadata": {**made["metadata"], **more}, "status": status}


def _allowed(spec: dict[str, Any]) -> bool:
    """What RBAC would say."""
    if spec.get("user", "").endswith(f":{READER}"):
        return True
    asked = spec.get("nonResourceAttributes")
    if asked is None or asked["verb"] not in {"get", "head"}:
        return False
    roots = _PUBLIC if spec.get("user") == "system:anonymous" else _DISCOVERY
    exact = asked["path"] in _PUBLIC
    below = any(asked["path"] == root or asked["path"].startswith(f"{root}/") for root in set(roots) - set(_PUBLIC))
    return exact or below or asked["path"] == "/version/"
