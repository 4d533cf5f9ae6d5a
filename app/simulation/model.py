"""A cluster that exists only here: nodes, pods, containers, claims and what they use, the same for the same seed.

The model is what is true; app/simulation/kubelet.py shows it as a kubelet would, app/simulation/apiserver.py as a kube-apiserver would.
It is not thread-safe: one event loop (or one thread) owns it.
"""

import hashlib
import itertools
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from app.clock import Clock
from app.errors import KubeglanceError
from app.kube.records import Key
from app.simulation.curves import IDLE, PAGE, SECOND, Housekeeping, Load, Usage

EventType = Literal["ADDED", "MODIFIED", "DELETED"]
_FORGOTTEN_AFTER = 120 * SECOND  # how long a finished container can still be asked about


class SimulationError(KubeglanceError):
    """The simulated cluster was asked for something impossible, such as a pod that it does not have."""


class Fault(StrEnum):
    """What is wrong with one kubelet. Codes are answered with the text that a real kubelet would send."""

    NONE = "none"
    HANG = "hang"  # takes the request, never answers
    DRIP = "drip"  # answers one byte at a time, for ever slower than any deadline
    UNAUTHORIZED = "401"
    FORBIDDEN = "403"
    NOT_FOUND = "404"
    BROKEN = "500"
    GARBAGE = "garbage"  # 200 with a body that is neither metrics nor JSON
    REFUSE = "refuse"  # nobody listens


class ContainerSpec(Struct, frozen=True):
    """A container as declared. Requests and limits are nanocores and bytes, None where not set."""

    name: str
    load: Load = IDLE
    cpu_request: int | None = None
    cpu_limit: int | None = None
    memory_request: int | None = None
    memory_limit: int | None = None
    sidecar: bool = False


@dataclass(slots=True, eq=False)
class SimulatedContainer:
    """One run of a container: `started` and `ended` in Unix ns. A restart replaces the run; the counter begins anew at 0."""

    spec: ContainerSpec
    started: int
    usage: Usage
    housekeeping: Housekeeping
    restarts: int = 0
    ended: int | None = None

    @property
    def name(self) -> str:
        return self.spec.name

    def cpu_ns(self, t: int) -> int:
        """The CPU counter of this run at `t`, in core-nanoseconds. It stops when the run ends."""
        return self.usage.cpu_ns(t if self.ended is None else min(t, self.ended))

    def memory_at(self, t: int) -> int:
        """The working set at `t` in bytes, 0 once the run has ended."""
        return 0 if self.ended is not None and t >= self.ended else self.usage.memory_at(t)


@dataclass(slots=True, eq=False)
class SimulatedClaim:
    """A persistent volume claim. Sizes are bytes.

    `filesystem` is what a kubelet sees of its volume: of an NFS export or a local folder that is the whole export or disk. One that does
    not `report` has a driver that tells kubelets nothing. `used` bytes were in it when it was created, and each second brings `growth`.
    """

    namespace: str
    name: str
    uid: str
    labels: dict[str, str]
    created: int
    storage_class: str
    requested: int
    filesystem: int
    bound: bool
    block: bool
    reports: bool
    used: int
    growth: int
    version: int = 0

    @property
    def key(self) -> Key:
        return (self.namespace, self.name)

    def used_at(self, t: int) -> int:
        """What is stored at `t`, whole pages, never quite all that fits."""
        return min(self.used + self.growth * max(0, t - self.created) // SECOND, self.filesystem * 19 // 20) // PAGE * PAGE


@dataclass(slots=True, eq=False)
class SimulatedPod:
    """A pod that is bound to a node. `owner` is (kind, name), ("", "") for a naked pod; `past` holds earlier runs of its containers.

    `claims` are those that it mounts, by the name of its volume.
    """

    namespace: str
    name: str
    uid: str
    node: str
    labels: dict[str, str]
    owner: tuple[str, str]
    created: int
    host_network: bool
    containers: dict[str, SimulatedContainer]
    housekeeping: Housekeeping
    claims: dict[str, SimulatedClaim]
    version: int = 0
    past: list[SimulatedContainer] = field(default_factory=list)

    @property
    def key(self) -> Key:
        return (self.namespace, self.name)

    def cpu_ns(self, t: int) -> int:
        """The CPU counter of the pod's cgroup, which outlives its containers."""
        return sum(run.cpu_ns(t) for run in self.past) + sum(run.cpu_ns(t) for run in self.containers.values())

    def memory_at(self, t: int) -> int:
        """Working set of the pod's cgroup: its containers and about one MiB of the sandbox."""
        return PAUSE_MEMORY + sum(run.memory_at(t) for run in self.containers.values())


PAUSE_MEMORY = 1_101_824
SYSTEM_LOAD = Load(cpu=120_000_000, memory=900 * 2**20, cpu_swing=40_000_000, memory_swing=20 * 2**20)


@dataclass(slots=True, eq=False)
class SimulatedNode:
    """A node and its kubelet. CPU is nanocores, memory bytes, times Unix ns; `system` is what runs there beside pods.

    `pressure` is whether its kernel tells how long tasks wait (PSI): on a host of cgroup v1 kubelets report zeros.
    """

    name: str
    uid: str
    address: str
    kubelet_port: int
    labels: dict[str, str]
    created: int
    booted: int
    kubelet_started: int
    cpu_capacity: int
    memory_capacity: int
    cpu_allocatable: int
    memory_allocatable: int
    system: Usage
    housekeeping: Housekeeping
    pressure: bool
    fault: Fault = Fault.NONE
    version: int = 0
    pods: dict[Key, SimulatedPod] = field(default_factory=dict)
    carried: int = 0
    leaving: list[SimulatedPod] = field(default_factory=list)

    def pods_cpu_ns(self, t: int) -> int:
        """CPU counter of all pods that ever ran here."""
        return self.carried + sum(pod.cpu_ns(t) for pod in (*self.leaving, *self.pods.values()))

    def cpu_ns(self, t: int) -> int:
        """CPU counter of the whole node since its boot."""
        return self.system.cpu_ns(t) + self.pods_cpu_ns(t)

    def pods_memory_at(self, t: int) -> int:
        """Working set of all pods here."""
        return sum(pod.memory_at(t) for pod in self.pods.values())

    def memory_at(self, t: int) -> int:
        """Working set of the whole node."""
        return self.system.memory_at(t) + self.pods_memory_at(t)


Thing = SimulatedNode | SimulatedPod | SimulatedClaim
Listener = Callable[[EventType, Thing], None]


class SimulatedCluster:
    """All of it. Everything that changes goes through the methods here, takes a version, and is told to the listeners."""

    def __init__(self, clock: Clock, seed: int = 0) -> None:
        self.clock = clock
        self.seed = seed
        self.version = 1000
        self.nodes: dict[str, SimulatedNode] = {}
        self.pods: dict[Key, SimulatedPod] = {}
        self.claims: dict[Key, SimulatedClaim] = {}
        self._listeners: list[Listener] = []
        self._addresses = itertools.count()

    def now(self) -> int:
        """Unix ns of the injected clock."""
        return int(self.clock.wall() * 10**9)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after each change, in order. Returns the function that ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def add_node(
        self,
        name: str,
        *,
        address: str | None = None,
        uid: str | None = None,
        labels: Mapping[str, str] | None = None,
        created: int | None = None,
        kubelet_port: int = 10250,
        cpu: int = 4 * 10**9,
        memory: int = 16 * 2**30,
        system: Load = SYSTEM_LOAD,
        pressure: bool = False,
    ) -> SimulatedNode:
        """A new node, `created` (default: 30 days ago) and booted then. The default `address` is the next free one in 127.0.0.0/8."""
        if name in self.nodes:
            raise SimulationError(f'node "{name}" exists already')
        created = self.now() - 30 * 86_400 * SECOND if created is None else created
        well_known = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
        node = SimulatedNode(
            name=name,
            uid=uid or self._uid("node", name),
            address=address or loopback_address(next(self._addresses)),
            kubelet_port=kubelet_port,
            labels={**well_known, **(labels or {})},
            created=created,
            booted=created,
            kubelet_started=created,
            cpu_capacity=cpu,
            memory_capacity=memory,
            cpu_allocatable=cpu - min(cpu // 10, 80_000_000),
            memory_allocatable=memory - min(memory // 10, 1536 * 2**20) // 4096 * 4096,
            system=Usage(system, created),
            housekeeping=Housekeeping(created, self._number("node", name)),
            pressure=pressure,
        )
        self.nodes[name] = node
        self._changed("ADDED", node)
        return node

    def add_pod(
        self,
        namespace: str,
        name: str,
        node: str,
        containers: Sequence[ContainerSpec],
        *,
        uid: str | None = None,
        labels: Mapping[str, str] | None = None,
        owner: tuple[str, str] = ("", ""),
        started: int | None = None,
        host_network: bool = False,
        claims: Mapping[str, str] | None = None,
    ) -> SimulatedPod:
        """A new running pod; `started` (default: now) is when its containers began. `claims` are names of claims by volume."""
        host = self.node(node)
        if (namespace, name) in self.pods:
            raise SimulationError(f'pod "{namespace}/{name}" exists already')
        started = self.now() if started is None else started
        uid = uid or self._uid("pod", namespace, name, str(started))
        pod = SimulatedPod(
            namespace=namespace,
            name=name,
            uid=uid,
            node=node,
            labels=dict(labels or {}),
            owner=owner,
            created=started - started % SECOND,
            host_network=host_network,
            containers={},
            housekeeping=Housekeeping(started, self._number("pod", uid)),
            claims={volume: self.claim(namespace, claim) for volume, claim in (claims or {}).items()},
        )
        for spec in containers:
            pod.containers[spec.name] = self._run(pod, spec, started)
        self.pods[pod.key] = host.pods[pod.key] = pod
        self._changed("ADDED", pod)
        return pod

    def add_claim(
        self,
        namespace: str,
        name: str,
        requested: int,
        *,
        labels: Mapping[str, str] | None = None,
        created: int | None = None,
        storage_class: str = "fast",
        filesystem: int | None = None,
        bound: bool = True,
        block: bool = False,
        reports: bool = True,
        used: int = 0,
        growth: int = 0,
    ) -> SimulatedClaim:
        """A new claim, `created` (default: now); its `filesystem` is as large as was asked for if nothing else is told."""
        if (namespace, name) in self.claims:
            raise SimulationError(f'claim "{namespace}/{name}" exists already')
        created = self.now() if created is None else created
        claim = SimulatedClaim(
            namespace=namespace,
            name=name,
            uid=self._uid("claim", namespace, name, str(created)),
            labels=dict(labels or {}),
            created=created,
            storage_class=storage_class,
            requested=requested,
            filesystem=requested if filesystem is None else filesystem,
            bound=bound,
            block=block,
            reports=reports,
            used=used,
            growth=growth,
        )
        self.claims[claim.key] = claim
        self._changed("ADDED", claim)
        return claim

    def claim(self, namespace: str, name: str) -> SimulatedClaim:
        """The claim of that name. Raises SimulationError."""
        try:
            return self.claims[namespace, name]
        except KeyError:
            raise SimulationError(f'the simulated cluster has no claim "{namespace}/{name}"') from None

    def delete_claim(self, namespace: str, name: str) -> None:
        """The claim is gone."""
        claim = self.claim(namespace, name)
        del self.claims[claim.key]
        self._changed("DELETED", claim)

    def node(self, name: str) -> SimulatedNode:
        """The node of that name. Raises SimulationError."""
        try:
            return self.nodes[name]
        except KeyError:
            raise SimulationError(f'the simulated cluster has no node "{name}"') from None

    def pod(self, namespace: str, name: str) -> SimulatedPod:
        """The pod of that name. Raises SimulationError."""
        try:
            return self.pods[namespace, name]
        except KeyError:
            raise SimulationError(f'the simulated cluster has no pod "{namespace}/{name}"') from None

    def delete_pod(self, namespace: str, name: str) -> None:
        """The pod ends and is gone. The node's CPU counter keeps what it had used."""
        pod, now = self.pod(namespace, name), self.now()
        for run in pod.containers.values():
            run.ended = now if run.ended is None else run.ended
        host = self.nodes[pod.node]
        del self.pods[pod.key], host.pods[pod.key]
        host.leaving.append(pod)
        self._forget(host, now)
        self._changed("DELETED", pod)

    def delete_node(self, name: str) -> None:
        """The node is gone, and with it its pods."""
        node = self.node(name)
        for namespace, pod in list(node.pods):
            self.delete_pod(namespace, pod)
        del self.nodes[name]
        self._changed("DELETED", node)

    def kill_container(self, namespace: str, name: str, container: str) -> None:
        """The container ends and stays down (as one that waits in CrashLoopBackOff does) until it is restarted."""
        pod = self.pod(namespace, name)
        self._container(pod, container).ended = self.now()
        self._changed("MODIFIED", pod)

    def restart_container(self, namespace: str, name: str, container: str) -> SimulatedContainer:
        """The container ends, if it still ran, and starts again now: its counter begins at 0."""
        pod, now = self.pod(namespace, name), self.now()
        old = self._container(pod, container)
        old.ended = now if old.ended is None else old.ended
        pod.past.append(old)
        run = pod.containers[container] = self._run(pod, old.spec, now, old.restarts + 1, old.usage.load)
        self._changed("MODIFIED", pod)
        return run

    def set_load(self, load: Load, pods: Callable[[SimulatedPod], bool], container: str | None = None) -> int:
        """From now on the containers (or the one named) of all `pods` that the predicate picks follow `load`. How many changed."""
        now, changed = self.now(), 0
        for pod in filter(pods, self.pods.values()):
            for run in pod.containers.values():
                if container in {None, run.name} and run.ended is None:
                    run.usage.change(load, now)
                    changed += 1
        return changed

    def set_fault(self, fault: Fault, nodes: Iterable[str] | None = None) -> None:
        """Break (or mend, with Fault.NONE) the kubelets of the named nodes, of all nodes if none are named."""
        for name in list(self.nodes if nodes is None else nodes):
            self.node(name).fault = fault

    def restart_kubelet(self, name: str) -> None:
        """The kubelet of a node starts anew now. Its containers run on."""
        self.node(name).kubelet_started = self.now()

    def containers(self) -> Iterator[tuple[SimulatedPod, SimulatedContainer]]:
        """Every running container with its pod."""
        for pod in self.pods.values():
            for run in pod.containers.values():
                if run.ended is None:
                    yield pod, run

    def _container(self, pod: SimulatedPod, name: str) -> SimulatedContainer:
        try:
            return pod.containers[name]
        except KeyError:
            raise SimulationError(f'pod "{pod.namespace}/{pod.name}" has no container "{name}"') from None

    def _run(self, pod: SimulatedPod, spec: ContainerSpec, started: int, restarts: int = 0, load: Load | None = None) -> SimulatedContainer:
        housekeeping = Housekeeping(started, self._number("container", pod.uid, spec.name, str(restarts)))
        return SimulatedContainer(spec, started, Usage(load or spec.load, started), housekeeping, restarts)

    def _forget(self, node: SimulatedNode, now: int) -> None:
        """Fold pods that ended long ago into one number, so that a node with much coming and going stays cheap."""
        old = [pod for pod in node.leaving if all((run.ended or now) <= now - _FORGOTTEN_AFTER for run in pod.containers.values())]
        node.carried += sum(pod.cpu_ns(now) for pod in old)
        node.leaving = [pod for pod in node.leaving if pod not in old]

    def _changed(self, event: EventType, thing: Thing) -> None:
        self.version += 1
        thing.version = self.version
        for listener in tuple(self._listeners):
            listener(event, thing)

    def _digest(self, parts: Sequence[str]) -> bytes:
        return hashlib.blake2b("/".join((str(self.seed), *parts)).encode(), digest_size=16).digest()

    def _number(self, *parts: str) -> int:
        return int.from_bytes(self._digest(parts)[:8], "big")

    def _uid(self, *parts: str) -> str:
        return str(uuid.UUID(bytes=self._digest(parts), version=4))


def loopback_address(index: int) -> str:
    """The address of the node with that index: 127.20.0.1, 127.20.0.2, ... 127.20.0.250, 127.20.1.1, ..."""
    rest, last = divmod(index, 250)
    second, third = divmod(rest, 250)
    return f"127.{20 + second}.{third}.{last + 1}"
