"""The full form of /stats/summary: what is kept of it, and the traps in it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors._base import Batch, Cause, CollectError, Target
from collectors._summary_records import (
    ContainerStats,
    FsStats,
    Interface,
    NetworkStats,
    PodStats,
    Pressure,
    Pressures,
    SummaryStats,
    VolumeStats,
)
from collectors.kubelet_summary import KubeletSummary, parse

RECORDINGS = sorted((Path(__file__).parents[2] / "recordings" / "kubelet-v1.37.2").glob("*.summary.json"))
RECEIVED = 1_700_000_100.9
TIME, LATER = "2023-11-14T22:13:20Z", "2023-11-14T22:13:30Z"
NS = 1_700_000_000 * 10**9
SECOND = 10**9
WRAPPED = 2**64 - 4096

CPU = {"time": TIME, "usageNanoCores": 50_000_000, "usageCoreNanoSeconds": 123_000_000_000}
MEMORY = {"time": TIME, "workingSetBytes": 4096, "rssBytes": 2048, "availableBytes": 8192}
ZEROS = {"availableBytes": 0, "capacityBytes": 0, "usedBytes": 0, "inodesFree": 0, "inodes": 0, "inodesUsed": 0}


def psi(total: int, some60: float, full60: float = 0.0) -> dict[str, Any]:
    return {"some": {"total": total, "avg10": 0, "avg60": some60, "avg300": 0}, "full": {"total": 0, "avg60": full60}}


def container(**changes: Any) -> dict[str, Any]:
    return {"name": "c", "startTime": "2023-11-14T22:00:00Z", "cpu": CPU, "memory": MEMORY} | changes


def pod(*containers: Any, **changes: Any) -> dict[str, Any]:
    return {"podRef": {"name": "p", "namespace": "ns", "uid": "u"}, "containers": list(containers), "memory": MEMORY} | changes


def body(*pods: Any, **node: Any) -> bytes:
    return json.dumps({"node": {"nodeName": "n", "cpu": CPU, "memory": MEMORY} | node, "pods": list(pods)}).encode()


def read(*pods: Any, **node: Any) -> SummaryStats:
    stats = parse(body(*pods, **node), received=RECEIVED, full=True).stats
    assert stats is not None
    return stats


def of_pod(**changes: Any) -> PodStats:
    return read(pod(container(), **changes)).pods["ns", "p"]


def of_container(**changes: Any) -> ContainerStats:
    (stats,) = read(pod(container(**changes))).pods["ns", "p"].containers
    return stats


def of_volume(**numbers: Any) -> VolumeStats:
    (stats,) = of_pod(volume=[{"time": TIME, "name": "data", **numbers}]).volumes
    return stats


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name)
def test_what_a_real_kubelet_tells(recording: Path) -> None:
    """The samples are those of the short form; beside them everything is there that a real kubelet tells."""
    told = recording.read_bytes()
    batch, short = parse(told, received=RECEIVED, full=True), parse(told, received=RECEIVED)
    assert batch.stats is not None
    node, (host, web) = batch.stats.node, (batch.stats.pods["default", name] for name in ("burnh", "web-0"))

    assert (batch.node, batch.pods, batch.dropped) == (short.node, short.pods, 0)
    assert node is not None
    assert node.network is not None
    assert node.fs is not None
    assert (node.most_processes, node.fs.capacity, node.network.default) == (32768, 270_553_174_016, "eth0")
    assert node.image_fs is not None
    assert [each.name for each in node.network.interfaces] == ["ifb0", "ifb1", "eth0", "cni0"]
    assert {each.name for each in web.containers} == {"init", "app"}
    assert web.processes == 2
    assert host.network is not None
    assert host.network.interfaces[2] == node.network.interfaces[2], "the trap: a pod in the host's network tells the node's counters"
    assert {node.pressure, host.pressure, *(each.pressure for each in host.containers)} == {None}, "cgroup v1: zeros are no calm"


def test_a_container_in_full() -> None:
    """Of rootfs and logs only what is used is the container's own: sizes are the node's (trap 13)."""
    disk = {"time": LATER, "availableBytes": 7, "capacityBytes": 9, "usedBytes": 5, "inodesUsed": 3, "inodes": 8}
    stats = of_container(rootfs=disk, logs=disk | {"usedBytes": 1, "inodesUsed": 2}, swap={"swapUsageBytes": 512})

    expected = ContainerStats(
        name="c",
        time=NS,
        started=NS - 800 * SECOND,
        rss=2048,
        swap=512,
        rootfs=5,
        rootfs_inodes=3,
        logs=1,
        logs_inodes=2,
        disk_time=NS + 10 * SECOND,
    )
    assert stats == expected


def test_a_pod_in_full() -> None:
    """Blocks have times of their own (trap 12)."""
    stats = of_pod(
        network={"time": LATER, "name": "eth0", "rxBytes": 1, "txBytes": 2, "interfaces": [{"name": "eth0", "rxBytes": 1, "txBytes": 2}]},
        process_stats={"process_count": 4},
        swap={"swapUsageBytes": 0},
        **{"ephemeral-storage": {"time": TIME, "capacityBytes": 9, "usedBytes": 5, "inodesUsed": 3}},
    )

    assert (stats.uid, stats.time, stats.rss, stats.swap, stats.processes) == ("u", NS, 2048, 0, 4)
    assert stats.network == NetworkStats(NS + 10 * SECOND, (Interface("eth0", 1, 2, None, None),), "eth0")
    assert stats.ephemeral == FsStats(NS, used=5, inodes_used=3)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        pytest.param(ZEROS, (None, None, None, None), id="trap 1: zeros alone tell nothing"),
        pytest.param(ZEROS | {"capacityBytes": 9}, (9, None, None, None), id="trap 1: a size alone is a block device"),
        pytest.param(
            {"capacityBytes": 9, "availableBytes": 4, "usedBytes": 5, "inodes": 0, "inodesFree": 0, "inodesUsed": 0},
            (9, 4, 5, None),
            id="trap 1: a filesystem without inodes has no count of them",
        ),
        pytest.param(
            {"capacityBytes": 9, "availableBytes": 4, "usedBytes": 0, "inodes": 0},
            (9, 4, None, None),
            id="trap 1: used 0 of what is not all available was not told",
        ),
        pytest.param(
            {"capacityBytes": 9, "availableBytes": 9, "usedBytes": 0, "inodes": 8, "inodesUsed": 1}, (9, 9, 0, 1), id="an empty one uses 0"
        ),
        pytest.param(
            {"capacityBytes": 9, "availableBytes": 0, "usedBytes": 9, "inodes": 8, "inodesUsed": 8},
            (9, 0, 9, 8),
            id="a full one has 0 left",
        ),
        pytest.param(
            {"capacityBytes": 9, "availableBytes": WRAPPED, "usedBytes": 9, "inodes": 5, "inodesFree": WRAPPED, "inodesUsed": 6},
            (9, None, 9, 6),
            id="trap 2: what wrapped around is not known, the rest is",
        ),
    ],
)
def test_zeros_and_wraps_of_volumes(numbers: dict[str, int], expected: tuple[int | None, ...]) -> None:
    """Kubelets write a 0 for each number that a volume plugin did not tell."""
    stats = of_volume(**numbers)

    assert (stats.capacity, stats.available, stats.used, stats.inodes_used) == expected
    assert stats.inodes_free != WRAPPED


def test_volumes_have_times_of_their_own() -> None:
    """Trap 3: a background loop measures them every one to two minutes, some once for ever; a kubelet that has just begun tells none."""
    old = "2023-11-14T22:00:00Z"
    first, second = of_pod(volume=[{"name": "a", "time": old}, {"name": "b", "time": TIME}]).volumes

    assert (first.time, second.time) == (NS - 800 * SECOND, NS)
    assert of_pod().volumes == ()


def test_a_rate_that_is_missing_or_zero_is_told_so() -> None:
    """Trap 10: what is to be made of it is said where rates are made; a 0 is not taken for "not told", nor the other way round."""
    told = [container(cpu=CPU | {"usageNanoCores": 0}), container(name="d", cpu={"time": TIME, "usageCoreNanoSeconds": 1})]
    batch = parse(body(pod(*told)), received=RECEIVED, full=True)

    assert [sample.cpu_rate for sample in batch.pods["ns", "p"].containers] == [0, None]


def test_a_block_volume_says_so() -> None:
    """Size without anything else."""
    assert of_volume(**ZEROS | {"capacityBytes": 9}).block
    assert not of_volume(**ZEROS).block
    assert not of_volume(capacityBytes=9, availableBytes=9).block


def test_the_token_that_every_pod_has_is_no_news() -> None:
    """Kubernetes mounts it; nobody fills it."""
    volumes = of_pod(volume=[{"name": "kube-api-access-x7k2p", "usedBytes": 12288}, {"name": "data"}]).volumes

    assert [volume.name for volume in volumes] == ["data"]


def test_claims_of_volumes() -> None:
    """Trap 7: the volume of a generic ephemeral claim names its claim as others do."""
    assert of_volume(pvcRef={"name": "p-scratch", "namespace": "ns"}).claim == ("ns", "p-scratch")
    assert of_volume().claim is None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        pytest.param({"memory": MEMORY | {"rssBytes": WRAPPED}}, "rss", id="rss"),
        pytest.param({"swap": {"swapUsageBytes": WRAPPED}}, "swap", id="swap"),
        pytest.param({"logs": {"usedBytes": WRAPPED}}, "logs", id="logs: total - base is not guarded"),
        pytest.param({"rootfs": {"usedBytes": -1}}, "rootfs", id="and a negative number, from whoever writes one"),
        pytest.param({"memory": {"time": TIME, "workingSetBytes": 1}}, "rss", id="trap 16: Windows has no rss"),
        pytest.param({}, "swap", id="trap 16: and no swap"),
        pytest.param({}, "pressure", id="trap 16: and no pressure"),
    ],
)
def test_what_is_not_known_of_a_container(changes: dict[str, Any], field: str) -> None:
    """Trap 2: subtractions that went below zero inside the kubelet. Never a number where there is none."""
    assert getattr(of_container(**changes), field) is None


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        pytest.param(
            {"time": TIME, "name": "", "interfaces": [{"name": "ens5", "rxBytes": 1, "txBytes": 2}]},
            NetworkStats(NS, (Interface("ens5", 1, 2),), ""),
            id="trap 9: the kubelet looks for eth0, and finds none",
        ),
        pytest.param(
            {"time": TIME, "name": "eth0", "rxBytes": 1, "txBytes": 2},
            NetworkStats(NS, (Interface("eth0", 1, 2),), "eth0"),
            id="only the default interface is told",
        ),
        pytest.param({"time": TIME, "name": ""}, None, id="nothing is told"),
        pytest.param({"name": "eth0", "rxBytes": 1}, None, id="counters of no time make no rate"),
        pytest.param(None, None, id="no block at all"),
        pytest.param(
            {"time": TIME, "name": "eth0", "rxBytes": WRAPPED, "txBytes": 2},
            NetworkStats(NS, (Interface("eth0", None, 2),), "eth0"),
            id="trap 2: a counter that wrapped",
        ),
    ],
)
def test_networks(network: Any, expected: NetworkStats | None) -> None:
    """All interfaces are kept, and which of them the kubelet takes for the outer one."""
    assert of_pod(network=network).network == expected


@pytest.mark.parametrize(
    ("node", "told", "expected"),
    [
        pytest.param(psi(0, 0.0), psi(0, 0.0), None, id="trap 11: all zeros: this host measures none"),
        pytest.param(psi(5, 0.0), psi(0, 0.0), Pressure(), id="the node has waited: now zeros are calm"),
        pytest.param(psi(5, 0.0), psi(7, 1.25, 0.5), Pressure(some_avg60=125, full_avg60=50), id="hundredths of a percent"),
        pytest.param(psi(5, 0.0), psi(7, 101.0), None, id="more than all the time is no share"),
        pytest.param(psi(5, 0.0), None, None, id="none is told"),
        pytest.param(psi(5, 0.0), {"full": {"total": 1}}, None, id="half of it is told"),
    ],
)
def test_pressures(node: Any, told: Any, expected: Pressure | None) -> None:
    """Pressure is there where the host measures it."""
    stats = read(pod(container(cpu=CPU | {"psi": told})), cpu=CPU | {"psi": node}).pods["ns", "p"].containers[0]

    assert stats.pressure == (Pressures(cpu=expected) if expected is not None else None)


def test_equal_pressures_are_kept_once() -> None:
    """Most of most containers are zeros, and a node's containers are many."""
    cpu = CPU | {"psi": psi(5, 2.0)}
    one, other = read(pod(container(cpu=cpu), container(name="d", cpu=cpu)), cpu=cpu).pods["ns", "p"].containers

    assert one.pressure is not None
    assert other.pressure is not None
    assert one.pressure.cpu is other.pressure.cpu


def test_of_two_entries_of_one_name_the_later_start_counts() -> None:
    """As for samples."""
    old = container(startTime="2023-11-14T20:00:00Z", memory=MEMORY | {"rssBytes": 1})

    for entries in ([container(), old], [old, container()]):
        assert [each.rss for each in read(pod(*entries)).pods["ns", "p"].containers] == [2048]
    assert read(pod(container(), container())).pods["ns", "p"].containers == ()


@pytest.mark.parametrize(
    ("damage", "lost"),
    [
        pytest.param({"network": {"time": "now"}}, "network", id="a time that is none"),
        pytest.param({"network": {"time": TIME, "name": 7}}, "network", id="a name that is a number"),
        pytest.param({"ephemeral-storage": [1]}, "ephemeral", id="a list for an object"),
        pytest.param({"process_stats": {"process_count": "4"}}, "processes", id="text for a number"),
        pytest.param({"memory": MEMORY | {"rssBytes": 1.5}}, "rss", id="a fraction of a byte"),
    ],
)
def test_a_bad_block_costs_itself(damage: dict[str, Any], lost: str) -> None:
    """What else is told of the pod is kept, and the loss is counted."""
    whole = {
        "network": {"time": TIME, "name": "eth0", "rxBytes": 1, "txBytes": 2},
        "ephemeral-storage": {"time": TIME, "usedBytes": 5},
        "process_stats": {"process_count": 4},
    }
    batch = parse(body(pod(container(), **whole | damage)), received=RECEIVED, full=True)
    assert batch.stats is not None
    stats = batch.stats.pods["ns", "p"]
    known = {"network": stats.network, "ephemeral": stats.ephemeral, "processes": stats.processes, "rss": stats.rss}

    assert batch.dropped == 1
    assert [name for name, value in known.items() if value is None] == [lost]
    assert len(batch.pods["ns", "p"].containers) == 1


def test_a_bad_volume_costs_itself() -> None:
    """Others of the pod are kept."""
    batch = parse(body(pod(container(), volume=[{"name": "a"}, {"name": 7}, 8])), received=RECEIVED, full=True)
    assert batch.stats is not None

    assert [volume.name for volume in batch.stats.pods["ns", "p"].volumes] == ["a"]
    assert batch.dropped == 2


class _Kubelet:
    """Answers by path; an error is raised."""

    def __init__(self, answers: dict[str, bytes | CollectError]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def get(self, url: str, *, limit: int) -> bytes:
        path = url.removeprefix("https://k")
        self.asked.append(path)
        answer = self.answers[path]
        if isinstance(answer, CollectError):
            raise answer
        return answer


FULL, SHORT = "/stats/summary", "/stats/summary?only_cpu_and_memory=true"


async def collect(answers: dict[str, bytes | CollectError], *, full: bool = True) -> tuple[Batch | CollectError, list[str]]:
    kubelet = _Kubelet(answers)
    try:
        outcome: Batch | CollectError = await KubeletSummary(full=full).collect(Target("n", "https://k"), kubelet, received=RECEIVED)
    except CollectError as error:
        outcome = error
    return outcome, kubelet.asked


async def test_the_short_form_is_asked_without_live_kinds() -> None:
    """Nothing is read that nobody shows."""
    outcome, asked = await collect({SHORT: body(pod(container()))}, full=False)

    assert isinstance(outcome, Batch)
    assert (outcome.stats, asked) == (None, [SHORT])


@pytest.mark.parametrize("cause", [Cause.STATUS, Cause.TOO_LARGE])
async def test_a_kubelet_that_cannot_tell_all_is_asked_in_short(cause: Cause) -> None:
    """One part of the full form that fails costs all of it: 500."""
    outcome, asked = await collect({FULL: CollectError(cause, "500"), SHORT: body(pod(container()))})

    assert isinstance(outcome, Batch)
    assert (outcome.stats, asked) == (None, [FULL, SHORT])
    assert outcome.lacking is not None
    assert outcome.lacking.cause is cause


@pytest.mark.parametrize("cause", [Cause.NOT_FOUND, Cause.FORBIDDEN, Cause.DIAL, Cause.UNAUTHORIZED])
async def test_what_the_short_form_cannot_mend_is_not_asked_twice(cause: Cause) -> None:
    """A kubelet without the endpoint is served from /metrics/resource alone."""
    outcome, asked = await collect({FULL: CollectError(cause, "no")})

    assert isinstance(outcome, CollectError)
    assert asked == [FULL]


NUMBERS = st.one_of(st.none(), st.integers(-(2**64), 2**64), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=3))
TIMES = st.sampled_from([TIME, LATER, "0001-01-01T00:00:00Z", "now", "", None, 7])
NAMES = st.sampled_from(["eth0", "ens5", "c", "", "data", None, 7])
FIGURES = st.fixed_dictionaries({}, optional=dict.fromkeys(("total", "avg10", "avg60", "avg300"), NUMBERS))
PSI = st.one_of(st.none(), st.fixed_dictionaries({}, optional={"some": FIGURES, "full": FIGURES}), NUMBERS)
BLOCK = st.fixed_dictionaries(
    {},
    optional={
        "time": TIMES,
        "name": NAMES,
        "psi": PSI,
        "pvcRef": st.one_of(st.none(), st.fixed_dictionaries({"name": NAMES, "namespace": NAMES})),
        "interfaces": st.lists(st.fixed_dictionaries({"name": NAMES}, optional={"rxBytes": NUMBERS, "txBytes": NUMBERS}), max_size=2),
        **dict.fromkeys(
            [
                "usageNanoCores",
                "usageCoreNanoSeconds",
                "workingSetBytes",
                "rssBytes",
                "availableBytes",
                "capacityBytes",
                "usedBytes",
                "inodes",
                "inodesFree",
                "inodesUsed",
                "swapUsageBytes",
                "rxBytes",
                "txBytes",
                "process_count",
                "maxpid",
                "curproc",
            ],
            NUMBERS,
        ),
    },
)
ANY_BLOCK = st.one_of(BLOCK, st.none(), NUMBERS)
CONTAINER = st.fixed_dictionaries(
    {"name": NAMES}, optional={"startTime": TIMES, **dict.fromkeys(("cpu", "memory", "io", "swap", "rootfs", "logs"), ANY_BLOCK)}
)
POD = st.fixed_dictionaries(
    {"podRef": st.one_of(st.fixed_dictionaries({"name": NAMES, "namespace": NAMES}), NUMBERS)},
    optional={
        "containers": st.lists(st.one_of(CONTAINER, NUMBERS), max_size=3),
        "volume": st.lists(ANY_BLOCK, max_size=3),
        **dict.fromkeys(("cpu", "memory", "io", "swap", "network", "ephemeral-storage", "process_stats"), ANY_BLOCK),
    },
)
NODE = st.fixed_dictionaries(
    {},
    optional={
        "startTime": TIMES,
        "runtime": st.one_of(st.none(), st.fixed_dictionaries({}, optional={"imageFs": ANY_BLOCK, "containerFs": ANY_BLOCK})),
        **dict.fromkeys(("cpu", "memory", "io", "swap", "network", "fs", "rlimit"), ANY_BLOCK),
    },
)


def _numbers(value: Any) -> list[int]:
    """Every number in a tree of records."""
    if isinstance(value, int) and not isinstance(value, bool):
        return [value]
    if isinstance(value, (tuple, list)):
        return [number for each in value for number in _numbers(each)]
    if hasattr(value, "__struct_fields__"):
        return [number for name in value.__struct_fields__ for number in _numbers(getattr(value, name))]
    return []


@given(st.one_of(NODE, NUMBERS), st.lists(st.one_of(POD, NUMBERS), max_size=3))
def test_no_odd_summary_crashes_it_or_becomes_a_wild_number(node: Any, pods: list[Any]) -> None:
    """Whatever a kubelet tells: a batch whose numbers could be, or an error; and the samples are those of the short form."""
    told = json.dumps({"node": node, "pods": pods}).encode()
    try:
        batch = parse(told, received=RECEIVED, full=True)
    except CollectError as error:
        assert error.cause is Cause.PAYLOAD  # noqa: PT017
        return
    assert batch.stats is not None

    short = parse(told, received=RECEIVED)
    assert (batch.node, batch.pods) == (short.node, short.pods)
    assert all(0 <= number < 2**63 for number in _numbers((batch.stats.node, *batch.stats.pods.values())))


def _without(document: Any, path: tuple[Any, ...]) -> Any:
    if isinstance(document, dict):
        return {name: _without(value, path[1:]) if name == path[0] else value for name, value in document.items() if path != (name,)}
    return [_without(value, path[1:]) if index == path[0] else value for index, value in enumerate(document)]


def _paths(document: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    return [path for name, value in pairs for path in ((*before, name), *_paths(value, (*before, name)))]


RECORDED = json.loads(RECORDINGS[3].read_bytes())


@given(st.sampled_from([path for path in _paths(RECORDED) if isinstance(path[-1], str)]))
def test_nothing_missing_becomes_a_value(path: tuple[Any, ...]) -> None:
    """Nearly every field may be missing: whichever is taken out of a real body, what else is told stays as it was, and no number is new."""
    whole = parse(json.dumps(RECORDED).encode(), received=RECEIVED, full=True).stats
    try:
        part = parse(json.dumps(_without(RECORDED, path)).encode(), received=RECEIVED, full=True).stats
    except CollectError:
        return
    assert whole is not None
    assert part is not None

    before, after = _numbers((whole.node, *whole.pods.values())), _numbers((part.node, *part.pods.values()))
    assert set(after) - set(before) <= {0}, "0 is the time of what has none"
