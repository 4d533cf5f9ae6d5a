"""Looks at the metrics as every kind of consumer does, twice a second, and holds each answer to the invariants."""

import os
import re
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from app.clock import SystemClock
from app.wire.quantity import parse_bytes, parse_cpu
from tests.e2e import invariants
from tests.e2e.controlplane import ControlPlane
from tests.e2e.invariants import LAG, Snapshot
from tests.e2e.measurement import Measured
from tests.e2e.node.work import Pod, Work
from tests.e2e.peer import MetricsServer

PERIOD = 0.5
API = "/apis/metrics.k8s.io/v1beta1"
TOP_EVERY = 6
_NOTHING = re.compile(r"metrics not available yet|Metrics not available for pod|No resources found")


@dataclass(frozen=True)
class Seen:
    """What one look found: at `time` (Unix seconds), by name. Absent is not in it."""

    time: float
    pods: Mapping[str, Measured]
    nodes: Mapping[str, Measured]


@dataclass(frozen=True)
class _Look:
    """An answer to be judged once a later snapshot of the pods is there."""

    time: float
    consumer: str
    items: list[Measured]


@dataclass
class _Findings:
    seen: list[Seen] = field(default_factory=list)
    peer: list[Seen] = field(default_factory=list)
    breaches: list[str] = field(default_factory=list)
    tops: int = 0


class Observer:
    """Observes one namespace in a thread. Consumers: lists of pods and nodes, a list by label as an HPA's, `kubectl top`."""

    def __init__(self, plane: ControlPlane, namespace: str, peer: MetricsServer) -> None:
        self._plane = plane
        self._namespace = namespace
        self._peer = peer
        self._clock = SystemClock()
        self._client = plane.client()
        self._works: dict[str, Mapping[str, Work]] = {}
        self._findings = _Findings()
        self._snapshots: deque[Snapshot] = deque()
        self._pending: list[_Look] = []
        self._newest: dict[tuple[str, str], float] = {}
        self._memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        self._cpus = os.cpu_count() or 1
        self._error: BaseException | None = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="observer")
        self._thread.start()

    def expect(self, pod: Pod) -> None:
        """A pod of this name may come."""
        self._works = {**self._works, pod.name: pod.works}

    @property
    def seen(self) -> list[Seen]:
        """All looks at kubeglance so far, oldest first."""
        return list(self._findings.seen)

    @property
    def peer(self) -> list[Seen]:
        """All looks at metrics-server so far, oldest first. They are noted, not judged."""
        return list(self._findings.peer)

    @property
    def tops(self) -> int:
        """How often `kubectl top` was run."""
        return self._findings.tops

    def now(self) -> Seen:
        """The newest look."""
        if self._error is not None:
            raise RuntimeError("the observer ended") from self._error
        if not self._findings.seen:
            raise OSError("nothing was looked at yet")
        return self._findings.seen[-1]

    def breaches(self) -> list[str]:
        """What broke an invariant since this was last asked."""
        if self._error is not None:
            raise RuntimeError("the observer ended") from self._error
        found, self._findings.breaches = self._findings.breaches, []
        return found

    def close(self) -> None:
        """Stop looking."""
        self._end.set()
        self._thread.join()
        self._client.close()

    def __enter__(self) -> "Observer":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # In the thread

    def _run(self) -> None:
        try:
            rounds = 0
            while not self._end.wait(PERIOD):
                self._round(with_top=rounds % TOP_EVERY == 0)
                rounds += 1
        except BaseException as error:  # noqa: BLE001  # told to whoever asks next
            self._error = error

    def _round(self, *, with_top: bool) -> None:
        self._look_at_pods()
        self._judge()
        path = f"namespaces/{self._namespace}/pods"
        pods = self._list("pods", path)
        nodes = self._list("nodes", "nodes")
        for name in self._works:
            self._list("an HPA", f"{path}?labelSelector=app%3D{name}")
        self._findings.seen.append(Seen(self._clock.wall(), {each.name: each for each in pods}, {each.name: each for each in nodes}))
        theirs = [Measured.of(item) for item in self._peer.items(path)]
        self._findings.peer.append(Seen(self._clock.wall(), {each.name: each for each in theirs}, {}))
        if with_top:
            self._top()

    def _look_at_pods(self) -> None:
        begin = self._clock.wall()
        items = self._get(f"/api/v1/namespaces/{self._namespace}/pods")["items"]
        self._snapshots.append(Snapshot(begin, self._clock.wall(), {each["metadata"]["name"]: each for each in items}))
        # Those looks that are not judged yet are at most one round old.
        while self._snapshots[0].end < begin - 4 * LAG:
            self._snapshots.popleft()

    def _list(self, consumer: str, path: str) -> list[Measured]:
        items = [Measured.of(item) for item in self._get(f"{API}/{path}")["items"]]
        self._pending.append(_Look(self._clock.wall(), consumer, items))
        return items

    def _get(self, path: str) -> dict[str, Any]:
        answer = self._client.get(path, headers={"Accept": "application/json"})
        if answer.is_error:
            self._findings.breaches.append(f"{path}: {answer.status_code} {answer.text[:200]}")
            return {"items": []}
        found: dict[str, Any] = answer.json()
        return found

    def _judge(self) -> None:
        snapshots = list(self._snapshots)
        for look in self._pending:
            for item in look.items:
                if look.consumer == "nodes":
                    found = list(invariants.of_node(item, look.time, self._cpus, self._memory))
                else:
                    found = list(invariants.of_pod(item, look.time, snapshots, self._works.get(item.name, {})))
                key = (look.consumer, item.name)
                if item.time < self._newest.get(key, 0.0):
                    found.append(f"went back by {self._newest[key] - item.time:.3f} s")
                self._newest[key] = item.time
                self._findings.breaches.extend(f"{look.time:.1f} {look.consumer}: {item.name} {words}" for words in found)
        self._pending.clear()

    def _top(self) -> None:
        """Only what its text can be wrong in: whether the columns are there and possible."""
        done = self._plane.kubectl("top", "pods", "-n", self._namespace, "--containers", "--no-headers", check=False)
        self._findings.tops += 1
        if done.returncode:
            if not _NOTHING.search(done.stderr):
                self._findings.breaches.append(f"kubectl top: {done.stderr.strip()}")
            return
        for line in done.stdout.splitlines():
            pod, container, cpu, memory = line.split()
            work = self._works[pod][container]
            if not 0 <= parse_cpu(cpu) <= work.cpu_bound + 10**6 or not 0 <= parse_bytes(memory) <= work.memory_bound:
                self._findings.breaches.append(f"kubectl top: {line}")
