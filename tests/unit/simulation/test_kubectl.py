"""app/simulation/kubectl.py: the demo's tables are those of kubectl v1.37, to the blank."""

import ssl
from typing import Any

import httpx
import pytest

from app.simulation.kubectl import Kubectl, KubectlError

NODES = {"items": [{"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1920m", "memory": "8Gi"}}}]}
NODE_METRICS = {
    "items": [
        {"metadata": {"name": "unknown-node"}, "usage": {"cpu": "1", "memory": "3Mi"}},
        {"metadata": {"name": "n"}, "usage": {"cpu": "783379851n", "memory": "2905184Ki"}},
    ]
}
POD_METRICS = {
    "items": [
        {
            "metadata": {"namespace": "data", "name": "postgres-0"},
            "containers": [
                {"name": "a", "usage": {"cpu": "160107838n", "memory": "739156Ki"}},
                {"name": "b", "usage": {"cpu": "0", "memory": "1Mi"}},
            ],
        }
    ]
}
DISCOVERY = {"items": [{"metadata": {"name": "metrics.k8s.io"}, "versions": [{"version": "v1"}, {"version": "v1beta1"}]}]}


def row(namespace: str, *cells: str) -> dict[str, Any]:
    return {"cells": list(cells), "object": {"metadata": {"namespace": namespace}}}


def page(number: int) -> dict[str, Any]:
    columns = [{"name": name, "priority": priority} for name, priority in (("Name", 0), ("cpu", 0), ("Hidden", 1), ("Window", 0))]
    if number == 1:
        return {"metadata": {"continue": "next"}, "columnDefinitions": columns, "rows": [row("ci", "runner", "211987816n", "x", "20s")]}
    return {"metadata": {}, "columnDefinitions": [], "rows": [row("kube-system", "p", "1m", "x", "11.706s")]}


def answer(request: httpx.Request) -> httpx.Response:
    accept, path = request.headers["accept"], request.url.path
    if path == "/apis":
        return httpx.Response(200, json=DISCOVERY)
    if path == "/api/v1/nodes":
        return httpx.Response(200, json=NODES)
    if path == "/apis/metrics.k8s.io/v1/nodes":
        return httpx.Response(200, json=NODE_METRICS)
    if path == "/apis/metrics.k8s.io/v1/pods":
        return httpx.Response(200, json=page(2 if "continue" in request.url.params else 1) if "as=Table" in accept else POD_METRICS)
    return httpx.Response(404)


def kubectl(handler: Any = answer) -> Kubectl:
    return Kubectl("https://simulated", "token", ssl.create_default_context(), httpx.MockTransport(handler))


async def test_top_nodes() -> None:
    """Millicores rounded up, whole MiB, whole per cent of allocatable, <unknown> without it; the last column is padded too."""
    async with kubectl() as user:
        assert await user.top_nodes() == (
            "NAME           CPU(cores)   CPU(%)      MEMORY(bytes)   MEMORY(%)   \n"
            "n              784m         40%         2837Mi          34%         \n"
            "unknown-node   1000m        <unknown>   3Mi             <unknown>   "
        )


async def test_top_pods() -> None:
    """A pod is the sum of its containers, each rounded up to millicores."""
    async with kubectl() as user:
        assert await user.top_pods() == (
            "NAMESPACE   NAME         CPU(cores)   MEMORY(bytes)   \n"
            "data        postgres-0   161m         722Mi           "
        )  # fmt: skip


async def test_get_podmetrics() -> None:
    """The server's Table over all pages: headers in capitals, columns of priority 0, no blanks after the last."""
    async with kubectl() as user:
        assert await user.get("pods", "metrics.k8s.io") == (
            "NAMESPACE     NAME     CPU          WINDOW\n"
            "ci            runner   211987816n   20s\n"
            "kube-system   p        1m           11.706s"
        )  # fmt: skip


async def test_what_is_not_answered_is_told() -> None:
    """A refusal names the request, the code and the body; a missing group is told in kubectl's words."""
    async with kubectl(lambda _: httpx.Response(503, text="service unavailable")) as user:
        with pytest.raises(KubectlError, match="GET /apis: 503 service unavailable"):
            await user.top_pods()
    async with kubectl(lambda _: httpx.Response(200, json={"items": []})) as user:
        with pytest.raises(KubectlError, match="Metrics API not available"):
            await user.top_pods()
    async with kubectl(lambda _: httpx.Response(200, content=b"k8s\x00\x92", headers={"content-type": "application/x"})) as user:
        with pytest.raises(KubectlError, match="GET /apis: the answer is not JSON but application/x"):
            await user.top_pods()
