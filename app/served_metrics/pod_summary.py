"""Metrics of pods that nobody has to declare: what full summaries of kubelets tell of network, disk, processes, memory and pressure.

Read from the cache when somebody asks, so that they cost nothing until then. What a kubelet does not tell is not there: it never
becomes 0, and the network of a pod in its node's network is not the pod's.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal

from app.cache.collection import Collection, Item
from app.cache.network import rates
from app.cache.stats import NodeNow, PodNow, Stats
from app.kube.records import Key, PodRecord
from app.served_metrics.values import PODS, Absent, Answer, Entry, Question, Series, State
from collectors._summary_records import Pressure, Pressures

_PRESSURE_WINDOW = 60 * 10**9
"""Pressures are averages over the last minute."""

_Figure = tuple[Decimal, int, int | None]
"""(value, when it was measured (Unix ns), over which time (ns), None if it is of a moment)."""
_Read = Callable[[PodNow], _Figure | None]


def _of_moment(value: int | None, time: int) -> _Figure | None:
    return (Decimal(value), time, None) if value is not None and time else None


def _received(now: PodNow) -> _Figure | None:
    rate = rates(now.earlier, now.stats.network)
    return (Decimal(rate.rx), now.stats.network.time, rate.window) if rate is not None and now.stats.network is not None else None


def _sent(now: PodNow) -> _Figure | None:
    rate = rates(now.earlier, now.stats.network)
    return (Decimal(rate.tx), now.stats.network.time, rate.window) if rate is not None and now.stats.network is not None else None


def _disk(now: PodNow) -> _Figure | None:
    disk = now.stats.ephemeral
    return _of_moment(disk.used, disk.time or now.stats.time) if disk is not None else None


def _pressure(resource: Callable[[Pressures], Pressure | None], average: Callable[[Pressure], int]) -> _Read:
    """The share of time, 0 to 1; it is kept in hundredths of a percent."""

    def read(now: PodNow) -> _Figure | None:
        told = resource(now.stats.pressure) if now.stats.pressure is not None else None
        return (Decimal(average(told)).scaleb(-4), now.stats.time, _PRESSURE_WINDOW) if told is not None and now.stats.time else None

    return read


METRICS: Mapping[str, _Read] = {
    "cpu_pressure_some_ratio": _pressure(lambda told: told.cpu, lambda each: each.some_avg60),
    "ephemeral_storage_used_bytes": _disk,
    "io_pressure_full_ratio": _pressure(lambda told: told.io, lambda each: each.full_avg60),
    "io_pressure_some_ratio": _pressure(lambda told: told.io, lambda each: each.some_avg60),
    "memory_pressure_full_ratio": _pressure(lambda told: told.memory, lambda each: each.full_avg60),
    "memory_pressure_some_ratio": _pressure(lambda told: told.memory, lambda each: each.some_avg60),
    "memory_rss_bytes": lambda now: _of_moment(now.stats.rss, now.stats.time),
    "network_receive_bytes_per_second": _received,
    "network_transmit_bytes_per_second": _sent,
    "processes": lambda now: _of_moment(now.stats.processes, now.stats.time),
    "swap_usage_bytes": lambda now: _of_moment(now.stats.swap, now.stats.time),
}
"""Names in Prometheus' base units: a rate ends in _per_second, a fraction in _ratio."""

_NETWORK = frozenset({"network_receive_bytes_per_second", "network_transmit_bytes_per_second"})


class PodSummary:
    """Implements Provider."""

    name = "pod summary"

    def __init__(self, pods: Collection, stats: Stats) -> None:
        """`pods` has the PodRecord of each pod that is on a node."""
        self._pods = pods
        self._stats = stats
        self._entries = tuple(Entry("custom", metric, PODS, True, self.name, "kubelet_summary") for metric in METRICS)

    def entries(self) -> Sequence[Entry]:
        """See Provider."""
        return self._entries

    def state(self, entry: Entry) -> State:  # noqa: ARG002 -- all are alike
        """See Provider. How many series there are is known only when somebody asks."""
        return State(None, 0, "")

    async def answer(self, question: Question) -> Answer | Absent | None:
        """See Provider. It never waits."""
        read = METRICS.get(question.metric)
        if read is None or question.resource != PODS:
            return None
        members = self._asked_for(question)
        if isinstance(members, Absent):
            return members
        if not question.series.matches(()):
            return Absent("no series fulfils the metric selector: these have no labels")
        series, lacking = [], ""
        for member in members:
            pod: PodRecord = member.value
            node = self._stats.node(pod.node)
            now = node.pods.get(pod.key) if node is not None else None
            figure = read(now) if now is not None else None
            if figure is not None:
                series.append(Series(pod.key, (), *figure))
            else:
                lacking = lacking or _why(question.metric, pod, node, now)
        return Answer(series) if series else Absent(lacking or "no pod on a node fulfils the selector")

    def _asked_for(self, question: Question) -> Iterable[Item] | Absent:
        """The pods that a question is about, by namespace and name."""
        if question.name is None:
            members = self._pods.snapshot(question.namespace or None)
            return (member for member in members if question.objects.matches(member.labels))
        key: Key = (question.namespace, question.name)
        member = self._pods.get(key)
        return [member] if member is not None else Absent(self._pods.why(key) or _no_pod(key))


def _no_pod(key: Key) -> str:
    return f"there is no {key[1]} among the pods in namespace {key[0]}"


def _why(metric: str, pod: PodRecord, node: NodeNow | None, now: PodNow | None) -> str:
    """Why there is no figure of a pod."""
    if metric in _NETWORK and pod.host_network:
        return f"pod {pod.name} is in the network of its node: it has no traffic of its own"
    trouble = next(iter(node.troubles.values()), None) if node is not None else None
    if trouble is not None:
        return f"the kubelet of node {pod.node} cannot be asked ({trouble.cause})"
    if now is None:
        return f"the kubelet of node {pod.node} told nothing of pod {pod.name} yet"
    if metric in _NETWORK and now.stats.network is not None:
        return f"there are no two samples of the network of pod {pod.name} yet that a rate can be made of"
    return f"the kubelet of node {pod.node} does not tell it of pod {pod.name}"
