"""Makes a whole cluster up from a few numbers: realistic names, owners, labels, requests and loads, the same for the same seed."""

import random

from msgspec import Struct

from app.clock import Clock
from app.simulation.curves import MINUTE, SECOND, Load
from app.simulation.model import ContainerSpec, SimulatedCluster

_MI = 2**20
_GI = 2**30
_MILLI = 10**6
_DAY = 86_400 * SECOND
_SAFE = "bcdfghjklmnpqrstvwxz2456789"  # the letters of Kubernetes' generated names: no vowels, nothing that looks like another


class Workload(Struct, frozen=True):
    """Something that owns pods: `cpu` in millicores and `memory` in MiB are the mean of one pod's main container."""

    namespace: str
    name: str
    tier: str
    kind: str
    cpu: int
    memory: int


class Disk(Struct, frozen=True):
    """A claim of a workload's pods for `gibibytes`: one for each pod, or one for all (`shared`).

    `export` is the size in GiB of the file system that it is a part of, 0 where it has one of its own. See SimulatedClaim for the rest.
    """

    volume: str
    gibibytes: int
    storage_class: str = "fast"
    shared: bool = False
    export: int = 0
    block: bool = False
    reports: bool = True


_DAEMONS = (
    Workload("kube-system", "kube-proxy", "node", "DaemonSet", 3, 24),
    Workload("monitoring", "node-exporter", "node", "DaemonSet", 6, 18),
)
_WORKLOADS = (
    Workload("shop", "frontend", "web", "ReplicaSet", 120, 180),
    Workload("shop", "cart", "backend", "ReplicaSet", 60, 130),
    Workload("shop", "checkout", "backend", "ReplicaSet", 45, 150),
    Workload("shop", "catalog", "backend", "ReplicaSet", 80, 220),
    Workload("kube-system", "coredns", "system", "ReplicaSet", 5, 20),
    Workload("data", "postgres", "database", "StatefulSet", 150, 640),
    Workload("data", "redis", "cache", "StatefulSet", 25, 90),
    Workload("payments", "gateway", "backend", "ReplicaSet", 70, 160),
    Workload("payments", "ledger", "backend", "ReplicaSet", 55, 210),
    Workload("monitoring", "grafana", "web", "ReplicaSet", 12, 110),
    Workload("monitoring", "prometheus", "database", "StatefulSet", 180, 900),
    Workload("data", "rabbitmq", "queue", "StatefulSet", 40, 260),
    Workload("identity", "keycloak", "web", "ReplicaSet", 35, 520),
    Workload("media", "transcoder", "worker", "ReplicaSet", 400, 380),
    Workload("media", "thumbnails", "worker", "ReplicaSet", 150, 140),
    Workload("search", "indexer", "worker", "ReplicaSet", 110, 300),
    Workload("search", "query", "backend", "ReplicaSet", 95, 410),
    Workload("mail", "sender", "worker", "ReplicaSet", 8, 60),
    Workload("ci", "runner", "worker", "ReplicaSet", 220, 330),
    Workload("web", "landing", "web", "ReplicaSet", 15, 48),
)
_DISKS = {
    ("data", "postgres"): Disk("data", 20),
    ("data", "redis"): Disk("data", 4),
    ("data", "rabbitmq"): Disk("data", 8),
    ("monitoring", "prometheus"): Disk("data", 50),
    ("shop", "frontend"): Disk("uploads", 10, "nfs", shared=True, export=500),
    ("search", "indexer"): Disk("index", 16, block=True),
    ("media", "transcoder"): Disk("cache", 2, "local", reports=False),
}
_SIDECARS = (("proxy", 8, 42), ("log-shipper", 4, 28), ("metrics-exporter", 2, 16))
_REPLICAS = 70  # how many pods a workload gets before a further team's copy of it is made up


def generate(clock: Clock, nodes: int = 3, pods: int = 10, containers: int = 1, seed: int = 0) -> SimulatedCluster:
    """A cluster of `nodes` nodes with `pods` pods on each, `containers` containers in each pod, all running for hours or days."""
    if nodes < 0 or pods < 0 or containers < 1:
        raise ValueError(f"a cluster cannot have {nodes} nodes, {pods} pods a node, {containers} containers a pod")
    cluster = SimulatedCluster(clock, seed)
    chance = random.Random(seed)  # noqa: S311  # a simulation must be repeatable, not secret
    daemons = _DAEMONS[: max(0, min(len(_DAEMONS), pods - 1))]
    plan = [(workload, number) for number in range(nodes) for workload in daemons]
    replicas = _replicas(nodes * (pods - len(daemons)))
    chance.shuffle(replicas)  # else node and workload go in step, and one node gets all the databases
    plan += replicas
    cores = _cores(sum(workload.cpu + 14 for workload, _ in plan) // max(nodes, 1))
    gibibytes = _gibibytes(sum(workload.memory + 86 for workload, _ in plan) // max(nodes, 1))
    names = [f"worker-{index}" for index in range(nodes)]
    for index, name in enumerate(names):
        labels = {"topology.kubernetes.io/zone": f"zone-{'abc'[index % 3]}", "node.kubernetes.io/instance-type": f"sim.{cores}x"}
        cluster.add_node(name, labels=labels, cpu=cores * 1000 * _MILLI, memory=gibibytes * 1024 * _MI, pressure=True)
    hashes: dict[tuple[str, str], str] = {}
    for index, (workload, number) in enumerate(plan):
        owner = (workload.namespace, workload.name)
        template = hashes.setdefault(owner, _letters(chance, 10))
        name = _pod_name(workload, template, number, chance)
        while (workload.namespace, name) in cluster.pods:  # five letters recur in a big cluster; Kubernetes draws again, too
            name = _pod_name(workload, template, number, chance)
        made = [_container(workload, position, chance) for position in range(containers)]
        started = cluster.now() - chance.randrange(_DAY // 24, 20 * _DAY)
        cluster.add_pod(
            workload.namespace,
            name,
            names[number if workload.kind == "DaemonSet" else index % nodes],
            made,
            labels={"app": workload.name, "tier": workload.tier, "app.kubernetes.io/part-of": workload.namespace},
            owner=(workload.kind, f"{workload.name}-{template}" if workload.kind == "ReplicaSet" else workload.name),
            started=started,
            host_network=workload.kind == "DaemonSet",
            claims=_claims(cluster, workload, name, started),
        )
    if plan:
        # What nobody mounts, and what has no volume: each a row of volumestats that says why it is empty.
        cluster.add_claim("data", "backup-of-spring", 100 * _GI, labels={"app": "backup"})
        cluster.add_claim("ci", "build-cache", 30 * _GI, storage_class="not-yet-there", bound=False)
    return cluster


def _claims(cluster: SimulatedCluster, workload: Workload, pod: str, started: int) -> dict[str, str]:
    """The claims of a new pod by volume, made if they are not there."""
    disk = _DISKS.get((workload.namespace, workload.name))
    if disk is None:
        return {}
    name = disk.volume if disk.shared else f"{disk.volume}-{pod}"
    if (workload.namespace, name) not in cluster.claims:
        size, filesystem = disk.gibibytes * _GI, (disk.export or disk.gibibytes) * _GI
        cluster.add_claim(
            workload.namespace,
            name,
            size,
            labels={"app": workload.name},
            created=started,
            storage_class=disk.storage_class,
            filesystem=filesystem,
            block=disk.block,
            reports=disk.reports,
            # The older, the fuller.
            used=filesystem // 20,
            growth=filesystem // (30 * _DAY // SECOND),
        )
    return {disk.volume: name}


def _pod_name(workload: Workload, template: str, number: int, chance: random.Random) -> str:
    """A name as the workload's controller gives it; only a StatefulSet's is not drawn."""
    match workload.kind:
        case "ReplicaSet":
            return f"{workload.name}-{template}-{_letters(chance, 5)}"
        case "StatefulSet":
            return f"{workload.name}-{number}"
        case _:
            return f"{workload.name}-{_letters(chance, 5)}"


def _replicas(total: int) -> list[tuple[Workload, int]]:
    """`total` pods as (workload, ordinal), spread evenly over the workloads; big clusters get further teams with the same software."""
    kinds: list[Workload] = []
    for copy in range(1 + total // (_REPLICAS * len(_WORKLOADS))):
        for workload in _WORKLOADS:
            namespace = f"{workload.namespace}-{copy + 1}" if copy else workload.namespace
            kinds.append(Workload(namespace, workload.name, workload.tier, workload.kind, workload.cpu, workload.memory))
    return [(kinds[index % len(kinds)], index // len(kinds)) for index in range(total)]


def _container(workload: Workload, position: int, chance: random.Random) -> ContainerSpec:
    if position == 0:
        name, cpu, memory = workload.name, workload.cpu, workload.memory
    else:
        name, cpu, memory = _SIDECARS[(position - 1) % len(_SIDECARS)]
        name = name if position <= len(_SIDECARS) else f"{name}-{position}"
    mean, resident = int(cpu * _MILLI * chance.uniform(0.6, 1.4)), int(memory * _MI * chance.uniform(0.8, 1.2))
    load = Load(
        cpu=mean,
        memory=resident,
        cpu_swing=mean * chance.randrange(10, 50) // 100,
        memory_swing=resident * chance.randrange(1, 8) // 100,
        period=chance.randrange(2, 15) * MINUTE,
        phase=chance.random(),
    )
    return ContainerSpec(
        name=name,
        load=load,
        cpu_request=cpu * _MILLI,
        memory_request=memory * _MI,
        memory_limit=2 * memory * _MI if position == 0 else None,
    )


def _cores(millicores: int) -> int:
    """A machine size on which that load is about half."""
    return next((size for size in (2, 4, 8, 16, 32, 64, 96) if size * 500 >= millicores), 128)


def _gibibytes(mebibytes: int) -> int:
    return next((size for size in (8, 16, 32, 64, 128, 256) if size * 512 >= mebibytes), 512)


def _letters(chance: random.Random, count: int) -> str:
    return "".join(chance.choice(_SAFE) for _ in range(count))
