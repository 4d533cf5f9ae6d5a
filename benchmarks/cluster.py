"""What the servers work on: a real kube-apiserver that knows all planned nodes and pods, their kubelets, and who may read."""

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import httpx

from app.clock import SystemClock
from benchmarks.plan import Plan, PlannedPod, plan_arguments
from benchmarks.scenarios import Scenario
from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.processes import Process, free_port, plain_environment
from tests.e2e.controlplane.programs import ROOT
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.objects import NodeObject, PodObject, running_status, stamp
from tests.e2e.registration import grant_access

_CONNECTIONS = 16
_YOUNGEST = 600
"""Seconds for which even the youngest pod has run: both servers know it in full."""

_READER = """
apiVersion: v1
kind: Namespace
metadata: {name: benchmarks}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: benchmarks}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: benchmarks-reader}
rules:
- {apiGroups: [metrics.k8s.io], resources: [nodes, pods], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: benchmarks-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: benchmarks-reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: benchmarks}]
"""


@dataclass(frozen=True)
class Cluster:
    """All that is there before a server is started. `token` is one of a ServiceAccount that may read all metrics."""

    plane: ControlPlane
    plan: Plan
    kubelets: "Kubelets"
    token: str

    @classmethod
    @contextmanager
    def up(cls, scenario: Scenario, directory: Path) -> Iterator["Cluster"]:
        """Start it and end it. Nothing acts on pods here, so that kube-controller-manager would only cost."""
        plan = Plan(scenario.nodes, scenario.pods, scenario.containers, since=int(SystemClock().wall()) - _YOUNGEST)
        with ExitStack() as stack:
            plane = stack.enter_context(ControlPlane.start(directory, controllers=False))
            grant_access(plane)
            plane.apply(_READER)
            port = free_port()
            uids = asyncio.run(_fill(plane, plan, port))
            kubelets = stack.enter_context(Kubelets(plane, plan, port, uids))
            yield cls(plane, plan, kubelets, plane.token("benchmarks", "reader"))

    def check(self) -> None:
        """Raise ProcessDied if any of it ended by itself."""
        self.plane.check()
        self.kubelets.process.check()


class Kubelets:
    """The process that plays all kubelets (benchmarks/kubelets.py), and its counts."""

    def __init__(self, plane: ControlPlane, plan: Plan, port: int, uids: Mapping[str, str]) -> None:
        """Start it and wait until it answers."""
        file = plane.directory / "uids.json"
        file.write_text(json.dumps(uids), encoding="utf-8")
        control = free_port()
        authority = plane.pki.kubelets
        command = [sys.executable, "-m", "benchmarks.kubelets", *plan_arguments(plan)]
        command += [f"--port={port}", f"--control-port={control}", f"--uids={file}"]
        command += [f"--ca-certificate={authority.certificate}", f"--ca-key={authority.key}"]
        self.process = Process("kubelets", command, plane.directory / "kubelets.log", env=plain_environment(), cwd=ROOT)
        self._client = httpx.Client(base_url=f"http://127.0.0.1:{control}", trust_env=False)
        wait_until("simulated kubelets answer", self._is_up, seconds=60, every=0.1)

    def scrapes(self, token: str) -> int:
        """How many times /metrics/resource was asked for with this token: once a node and interval."""
        return sum(row["answers"] for row in self._answered() if row["path"] == "/metrics/resource" and token.endswith(row["token"]))

    def close(self) -> None:
        """End it."""
        self._client.close()
        self.process.stop()

    def __enter__(self) -> "Kubelets":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answered(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._client.get("/").json()["answered"]
        return found

    def _is_up(self) -> bool:
        self.process.check()
        try:
            self._answered()
        except httpx.TransportError as error:
            raise OSError(str(error)) from error
        return True


async def _fill(plane: ControlPlane, plan: Plan, kubelet_port: int) -> dict[str, str]:
    """Make all nodes and pods, with the status that their kubelets would have written; answers the uids of pods by namespace/name.

    Where tests make a few objects one after the other, thousands want many connections.
    """
    now = stamp(SystemClock().wall())
    uids: dict[str, str] = {}
    limit = asyncio.Semaphore(_CONNECTIONS)

    async def call(method: str, path: str, body: Mapping[str, Any], content_type: str = "application/json") -> dict[str, Any]:
        async with session.request(method, path, json=body, headers={"Content-Type": content_type}) as answer:
            if answer.status >= 300:
                raise AssertionError(f"{method} {path}: {answer.status} {(await answer.text())[:300]}")
            made: dict[str, Any] = await answer.json()
            return made

    async def make(path: str, thing: Mapping[str, Any], status: Mapping[str, Any]) -> str:
        async with limit:
            made = await call("POST", path, thing)
            await call("PATCH", f"{path}/{thing['metadata']['name']}/status", {"status": status}, "application/merge-patch+json")
        return str(made["metadata"]["uid"])

    async def node(number: int) -> None:
        made = NodeObject(plan.node_name(number), plan.address(number), kubelet_port)
        await make("/api/v1/nodes", made.as_object(), made.as_status(now))

    async def pod(planned: PlannedPod) -> None:
        made = PodObject(planned.namespace, planned.name, plan.node_name(planned.node), planned.containers, planned.labels)
        status = running_status(planned.containers, stamp(planned.started))
        path = f"/api/v1/namespaces/{planned.namespace}/pods"
        uids[f"{planned.namespace}/{planned.name}"] = await make(path, made.as_object(), status)

    connector = aiohttp.TCPConnector(ssl=plane.tls(), limit=_CONNECTIONS)
    async with aiohttp.ClientSession(plane.server, connector=connector) as session:
        for name in plan.namespaces:
            await call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        await asyncio.gather(*map(node, range(plan.nodes)))
        await asyncio.gather(*map(pod, plan.all_pods()))
    return uids
