"""What a kubelet with webhook authentication and authorisation does: it asks kube-apiserver who calls and whether they may."""

import threading

from tests.e2e.controlplane import ControlPlane


class Reviewer:
    """Verdicts on bearer tokens, for nodes/metrics and nodes/stats. A verdict is kept for ever: a test that revokes makes a new one."""

    def __init__(self, plane: ControlPlane) -> None:
        self._client = plane.client()
        self._lock = threading.Lock()
        self._verdicts: dict[tuple[str, str, str], int] = {}

    def close(self) -> None:
        self._client.close()

    def status(self, authorization: str, node: str, path: str) -> int:
        """200, 401 or 403, as a kubelet would answer."""
        subresource = "stats" if path.startswith("/stats") else "metrics"
        key = (authorization, node, subresource)
        with self._lock:
            if key not in self._verdicts:
                self._verdicts[key] = self._ask(authorization.removeprefix("Bearer "), node, subresource)
            return self._verdicts[key]

    def _ask(self, token: str, node: str, subresource: str) -> int:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        said = self._client.post("/apis/authentication.k8s.io/v1/tokenreviews", json=review).json()["status"]
        if not said.get("authenticated"):
            return 401
        user = said["user"]
        wanted = {"verb": "get", "version": "v1", "resource": "nodes", "subresource": subresource, "name": node}
        access = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user["username"], "uid": user.get("uid", ""), "groups": user.get("groups", []), "resourceAttributes": wanted},
        }
        verdict = self._client.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", json=access).json()["status"]
        return 200 if verdict["allowed"] else 403
