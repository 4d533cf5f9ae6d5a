"""A kube-apiserver of a few lines that keeps objects: create, replace with resourceVersion, delete with a uid, get and list."""

import itertools
from typing import Any

import httpx
import msgspec

from app.kube.client import KubeClient
from tests.fakes.kube_server import client_of, refusal

Manifest = dict[str, Any]


class ObjectServer:
    """Objects by path. `refuse` maps (method, path) to the answer that is given instead; `writes` are all that were accepted, in order."""

    def __init__(self) -> None:
        self.objects: dict[str, Manifest] = {}
        self.refuse: dict[tuple[str, str], httpx.Response] = {}
        self.writes: list[str] = []
        self._versions = itertools.count(1)

    def put(self, path: str, manifest: Manifest) -> None:
        """Have an object at a path, as if somebody else had made it."""
        version = next(self._versions)
        metadata = {"uid": f"uid-{version}", **manifest["metadata"], "resourceVersion": str(version)}
        self.objects[path] = {**manifest, "metadata": metadata}

    def client(self) -> KubeClient:
        return client_of(self.handle)

    def handle(self, request: httpx.Request) -> httpx.Response:
        method, path = request.method, request.url.path
        if (method, path) in self.refuse:
            return self.refuse[method, path]
        answer = getattr(self, f"_{method.lower()}")(path, request.content)
        if method != "GET" and answer.status_code < 300:
            self.writes.append(f"{method} {path}")
        return answer  # type: ignore[no-any-return]  # each of the methods below gives a Response

    def _get(self, path: str, _content: bytes) -> httpx.Response:
        if path in self.objects:
            return httpx.Response(200, json=self.objects[path])
        below = [item for at, item in self.objects.items() if at.rsplit("/", 1)[0] == path]
        if below or path.rsplit("/", 1)[-1] in {"apiservices", "clusterroles"}:
            return httpx.Response(200, json={"items": below})
        return refusal(404, f"{path} not found", "NotFound")

    def _post(self, path: str, content: bytes) -> httpx.Response:
        manifest = msgspec.json.decode(content)
        at = f"{path}/{manifest['metadata']['name']}"
        if at in self.objects:
            return refusal(409, f"{at} exists", "AlreadyExists")
        self.put(at, manifest)
        return httpx.Response(201, json=self.objects[at])

    def _put(self, path: str, content: bytes) -> httpx.Response:
        manifest = msgspec.json.decode(content)
        if path not in self.objects:
            return refusal(404, f"{path} not found", "NotFound")
        if manifest["metadata"].get("resourceVersion") not in {None, self.objects[path]["metadata"]["resourceVersion"]}:
            return refusal(409, "the object has been modified", "Conflict")
        self.put(path, {**manifest, "metadata": {"uid": self.objects[path]["metadata"]["uid"], **manifest["metadata"]}})
        return httpx.Response(200, json=self.objects[path])

    def _delete(self, path: str, content: bytes) -> httpx.Response:
        there = self.objects.get(path)
        if there is None:
            return refusal(404, f"{path} not found", "NotFound")
        if msgspec.json.decode(content)["preconditions"]["uid"] != there["metadata"]["uid"]:
            return refusal(409, "another object has this name now", "Conflict")
        del self.objects[path]
        return httpx.Response(200, json={"kind": "Status", "status": "Success"})
