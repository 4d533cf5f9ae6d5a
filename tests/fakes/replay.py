"""A real kubelet's recorded answers and the cluster they came from, played at their own pace to a whole kubeglance, in virtual time."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx

from app.clock import Clock

RECORDING = Path(__file__).parent.parent / "recordings" / "kubelet-v1.37.2"
START = 1_796_032_439.851
"""When the first body was received, Unix seconds."""
STEP = 15.0
_RESTARTED_LATER = ("web-0", "app", "2026-11-30T09:53:05Z")


class Stream(httpx.AsyncByteStream):
    """A body that comes in pieces; an endless one sleeps (in virtual time) between them."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces


async def once(body: bytes) -> AsyncIterator[bytes]:
    """A body in one piece."""
    yield body


async def _silence(seconds: float) -> AsyncIterator[bytes]:
    await asyncio.sleep(seconds)
    yield b""


def node() -> dict[str, Any]:
    """The recorded Node."""
    found: dict[str, Any] = json.loads((RECORDING / "node.json").read_text())
    return found


def pods() -> list[dict[str, Any]]:
    """The recorded Pods as they were when the bodies were recorded."""
    found: list[dict[str, Any]] = json.loads((RECORDING / "pods.json").read_text())["items"]
    pod_name, container_name, started = _RESTARTED_LATER
    for pod in found:
        for status in pod["status"].get("containerStatuses", []):
            if (pod["metadata"]["name"], status["name"]) == (pod_name, container_name):
                status["state"]["running"]["startedAt"] = started
                status["lastState"] = {}
    return found


class RecordedKubelet:
    """A kubelet that answers with the body of the moment; `fault`, if set, is asked for an answer first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.fault: Callable[[httpx.Request], httpx.Response | None] = lambda _request: None
        self.asked: list[str] = []

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.path)
        answer = self.fault(request)
        if answer is not None:
            return answer
        moment = min(5, max(0, int((self._clock.wall() - START) / STEP)))
        name = f"{moment:02}.summary.json" if request.url.path == "/stats/summary" else f"{moment:02}.resource.txt"
        return httpx.Response(200, stream=Stream(once((RECORDING / name).read_bytes())))


class Cluster:
    """As much of kube-apiserver as a kubeglance needs. Token "good" is alice, who may do everything while `allowed`.

    `claims` are the persistent volume claims, None where kubeglance may not list them.
    """

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = [node()]
        self.pods = pods()
        self.claims: list[dict[str, Any]] | None = []
        self.allowed = True
        self.away = False
        self.authorizer_away = False

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.away:
            raise ConnectionRefusedError(111, "Connection refused")
        match request.url.path.rsplit("/", 1)[-1]:
            case "tokenreviews":
                good = json.loads(request.content)["spec"]["token"] == "good"
                user = {"username": "alice", "groups": ["dev"]} if good else {}
                return httpx.Response(201, json={"status": {"authenticated": good, "user": user}})
            case "subjectaccessreviews" if self.authorizer_away:
                return httpx.Response(503, json={"kind": "Status", "message": "no webhook answers", "reason": "ServiceUnavailable"})
            case "subjectaccessreviews":
                return httpx.Response(201, json={"status": {"allowed": self.allowed}})
            case "nodes":
                return self._list(request, "v1", "NodeList", self.nodes)
            case "pods":
                return self._list(request, "v1", "PodList", self.pods)
            case "configmaps":
                return self._list(request, "v1", "ConfigMapList", [])
            case "persistentvolumeclaims" if self.claims is None:
                message = "persistentvolumeclaims is forbidden"
                return httpx.Response(403, json={"kind": "Status", "code": 403, "message": message, "reason": "Forbidden"})
            case "persistentvolumeclaims":
                return self._list(request, "v1", "PersistentVolumeClaimList", self.claims or [])
        return httpx.Response(404, json={"kind": "Status", "message": f"no {request.url.path} here", "reason": "NotFound"})

    @staticmethod
    def _list(request: httpx.Request, version: str, kind: str, items: list[dict[str, Any]]) -> httpx.Response:
        if request.url.params.get("watch"):
            return httpx.Response(200, stream=Stream(_silence(float(request.url.params["timeoutSeconds"]))))
        return httpx.Response(200, json={"kind": kind, "apiVersion": version, "metadata": {"resourceVersion": "1"}, "items": items})
