"""The cluster that is measured: which nodes, pods and containers it has and what they use, the same in every process that is told so.

Nothing here is drawn at random or kept: each thing follows from its place, so that the process that plays kubelets, the one that makes
the objects and the one that checks answers need share nothing but the few numbers of a Plan.
"""

import argparse
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from zlib import crc32

from msgspec import Struct

from app.simulation.model import loopback_address

SECOND = 10**9
PAGE = 4096
NAMESPACE_PODS = 700
SELECTED_APP = "web"
"""`app=web` is on 4 of 7 pods: 400 of the 700 of a namespace."""

_APPS = ("web", "web", "web", "web", "cart", "worker", "mail")
_CONTAINERS = ("app", "proxy", "agent", "log")
_OLDEST_S = 86_400
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIXES = len(_LETTERS) ** 5


class Load(Struct, frozen=True, gc=False):
    """What a container uses: `cpu` nanocores, steadily; a working set of `memory` bytes and up to MEMORY_SWING more at each stat."""

    cpu: int
    memory: int


MEMORY_SWING = 31 * PAGE


def load(namespace: str, pod: str, container: str) -> Load:
    """The load of a container, known to whoever knows its name: 1 to 100 millicores, 8 to 264 MiB."""
    number = crc32(f"{namespace}/{pod}/{container}".encode())
    return Load(cpu=1_000_000 + number % 99_000_000, memory=(2048 + (number >> 16)) * PAGE)


class Capacity(Struct, frozen=True, gc=False):
    """What a node has, all of it allocatable: nanocores and bytes."""

    cpu: int
    memory: int


class PlannedPod(Struct, frozen=True, gc=False):
    """A running pod. `labels` are in order and shared by all pods of its Deployment; `started` is Unix seconds."""

    namespace: str
    name: str
    node: int
    labels: dict[str, str]
    deployment: str
    containers: tuple[str, ...]
    started: int

    @property
    def uid(self) -> str:
        """The uid where nobody else gives one; a real kube-apiserver does."""
        return str(uuid.UUID(bytes=blake2b(f"{self.namespace}/{self.name}".encode(), digest_size=16).digest(), version=4))

    def load(self, container: str) -> Load:
        """What that container uses."""
        return load(self.namespace, self.name, container)

    def memory_limit(self, container: str) -> int | None:
        """The first container has one, with room to spare; the others have none."""
        return 512 * 2**20 if container == self.containers[0] else None

    def created_ns(self, container: str) -> int:
        """When a container was created, as its kubelet tells it: in the second in which its status says it was started."""
        return self.started * SECOND + crc32(f"{container}/{self.name}".encode()) % SECOND


@dataclass(frozen=True)
class Plan:
    """`nodes` x `pods` x `containers`. All of it began in the day before `since` (Unix seconds)."""

    nodes: int
    pods: int
    containers: int
    since: int

    @property
    def namespaces(self) -> Sequence[str]:
        """As many as there are 700 pods."""
        return [f"team-{number}" for number in range(max(1, self.nodes * self.pods // NAMESPACE_PODS))]

    @property
    def booted(self) -> int:
        """When the nodes and their kubelets began, Unix seconds: before all pods."""
        return self.since - 2 * _OLDEST_S

    def node_name(self, node: int) -> str:
        return f"node-{node:04d}"

    def address(self, node: int) -> str:
        """The node's InternalIP, a loopback address that no other node has."""
        return loopback_address(node)

    @property
    def capacity(self) -> Capacity:
        """Of each node."""
        return Capacity(cpu=16 * 10**9, memory=64 * 2**30)

    @property
    def system_load(self) -> Load:
        """What runs on each node beside pods."""
        return Load(cpu=120_000_000, memory=900 * 2**20)

    def node_load(self, node: int) -> Load:
        """All that runs on a node."""
        loads = [self.system_load, *(pod.load(container) for pod in self.pods_of(node) for container in pod.containers)]
        return Load(cpu=sum(each.cpu for each in loads), memory=sum(each.memory for each in loads))

    def pods_of(self, node: int) -> Iterator[PlannedPod]:
        """The pods of a node. Those of one namespace are spread over all nodes."""
        for number in range(node * self.pods, (node + 1) * self.pods):
            serial, home = divmod(number, len(self._labels))
            labels = self._labels[home][serial % len(_APPS)]
            app = labels["app"]
            yield PlannedPod(
                namespace=f"team-{home}",
                name=f"{app}-{labels['pod-template-hash']}-{_suffix(number)}",
                node=node,
                labels=labels,
                deployment=app,
                containers=self._containers,
                started=self.since - crc32(number.to_bytes(4, "big")) % _OLDEST_S,
            )

    def all_pods(self) -> Iterator[PlannedPod]:
        """Every pod, node by node."""
        for node in range(self.nodes):
            yield from self.pods_of(node)

    @cached_property
    def _containers(self) -> tuple[str, ...]:
        return tuple(_CONTAINERS[i] if i < len(_CONTAINERS) else f"sidecar-{i}" for i in range(self.containers))

    @cached_property
    def _labels(self) -> list[list[dict[str, str]]]:
        """By namespace and place among the apps. Equal ones are one object."""
        return [[by_app[app] for app in _APPS] for by_app in ({app: _labels(name, app) for app in _APPS} for name in self.namespaces)]


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags that tell a process which plan it is about."""
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--pods", type=int, default=70, help="on each node")
    parser.add_argument("--containers", type=int, default=2, help="in each pod")
    parser.add_argument("--since", type=int, required=True, help="Unix seconds, a minute ago or more, before which everything began")


def plan_of(arguments: argparse.Namespace) -> Plan:
    """The plan that those flags name."""
    return Plan(arguments.nodes, arguments.pods, arguments.containers, arguments.since)


def plan_arguments(plan: Plan) -> list[str]:
    """The flags that name `plan`."""
    return [f"--nodes={plan.nodes}", f"--pods={plan.pods}", f"--containers={plan.containers}", f"--since={plan.since}"]


def _labels(namespace: str, app: str) -> dict[str, str]:
    return {
        "app": app,
        "app.kubernetes.io/instance": f"{app}-{namespace}",
        "app.kubernetes.io/managed-by": "Helm",
        "app.kubernetes.io/name": app,
        "app.kubernetes.io/part-of": namespace,
        "pod-template-hash": blake2b(f"{namespace}/{app}".encode(), digest_size=5).hexdigest(),
    }


def _suffix(number: int) -> str:
    """Five letters as a ReplicaSet appends them, another for each number: the factor shares no divisor with their count."""
    number, letters = number * 1_000_003 % _SUFFIXES, ""
    for _ in range(5):
        number, letter = divmod(number, len(_LETTERS))
        letters += _LETTERS[letter]
    return letters
