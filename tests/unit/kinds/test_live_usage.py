"""NodeStats, PodStats and ContainerStats: percent of what, words of cells, fields of objects."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cache.reasons import Trouble
from app.cache.reservations import Reserved
from app.cache.stats import NodeNow, PodNow
from app.cache.values import ContainerUsage, NodeUsage, PodUsage
from app.cache.views import ContainerView, NodeView, PodView
from app.kinds import _live as live
from app.kinds import containerstats, nodestats, podstats
from app.kinds._base import Age, Kind
from app.kube.records import ContainerRecord, NodeRecord, PodRecord, Resources
from collectors._summary_records import (
    ContainerStats,
    FsStats,
    Interface,
    NetworkStats,
    NodeStats,
    PodStats,
    Pressure,
    Pressures,
    VolumeStats,
)

SECOND, M, MI = 10**9, 10**6, 2**20
T = 1_764_500_000 * SECOND
SUMMARY = "kubelet_summary"
KINDS = (nodestats.KIND, podstats.KIND, containerstats.KIND)
RESOURCES = Resources(cpu=100 * M, memory=64 * MI, storage=100 * MI)


def container(name: str = "app", **more: Any) -> ContainerRecord:
    return ContainerRecord(name, more.pop("running", True), T, more.pop("requests", RESOURCES), more.pop("limits", RESOURCES), **more)


def pod(*containers: ContainerRecord, host_network: bool = False, **more: Any) -> PodRecord:
    return PodRecord(
        "ns", "p", "u", "u", "n1", (), "Running", True, T, ("", ""), host_network, containers or (container(),), qos="Burstable", **more
    )


def usage(*used: tuple[int, int]) -> PodUsage:
    """Of containers, in millicores and mebibytes."""
    containers = tuple(ContainerUsage(f"c{place}", cpu * M, memory * MI) for place, (cpu, memory) in enumerate(used))
    return PodUsage(containers, T, 15 * SECOND + SECOND // 2, "kubelet_resource")


def network(at: int, rx: int, tx: int) -> NetworkStats:
    return NetworkStats(T + at * SECOND, (Interface("eth0", rx, tx, 0, 0),), "eth0")


FULL = PodNow(
    PodStats(
        "u",
        T,
        rss=50 * MI,
        swap=0,
        processes=4,
        pressure=Pressures(Pressure(some_avg60=125), Pressure(), None),
        network=network(20, 40 * MI, 300),
        ephemeral=FsStats(T, used=25 * MI, inodes_used=7),
    ),
    earlier=network(0, 0, 100),
    volumes=(VolumeStats(T, 60, 100, 20, name="scratch", claim=("ns", "data")),),
)


def pod_row(view: PodView) -> dict[str, Any]:
    return dict(zip((column.name for column in podstats.KIND.columns), podstats.cells("p", view), strict=True))


def told(kind: Kind, view: Any) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(kind.json(view))
    return document


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        pytest.param(
            PodView(pod(), usage((50, 16), (1, 16)), FULL, {}),
            {
                "CPU": "51m",
                "CPU%R": "51%",
                "CPU%L": "51%",
                "Memory": "32Mi",
                "Mem%R": "50%",
                "Mem%L": "50%",
                "Rx/s": "2Mi",
                "Tx/s": "10",
                "Disk": "25Mi",
                "Disk%L": "25%",
                "Seen": Age(T),
                "Node": "n1",
                "RSS": "50Mi",
                "Swap": "0Mi",
                "Procs": "4",
                "CPU-PSI": "1.25%",
                "Mem-PSI": "0%",
                "IO-PSI": "<unknown>",
                "QoS": "Burstable",
            },
            id="all is known: usage is the sum of the containers, trap 14",
        ),
        pytest.param(
            PodView(pod(), None, None, {}, "no two samples yet"),
            {"CPU": "<unknown>", "CPU%R": "<unknown>", "Rx/s": "<unknown>", "Disk": "<unknown>", "Disk%L": "<unknown>", "Seen": Age(0)},
            id="no sample yet",
        ),
        pytest.param(
            PodView(pod(container(requests=Resources(), limits=Resources())), usage((50, 16)), FULL, {}),
            {"CPU": "50m", "CPU%R": "<none>", "CPU%L": "<none>", "Mem%R": "<none>", "Mem%L": "<none>", "Disk%L": "<none>"},
            id="nothing is requested or limited",
        ),
        pytest.param(
            PodView(pod(container(), container(limits=Resources())), usage((50, 16), (50, 16)), FULL, {}),
            {"CPU%R": "50%", "CPU%L": "<none>", "Mem%L": "<none>"},
            id="one that runs has no limit: a percentage would be of what bounds nothing",
        ),
        pytest.param(
            PodView(pod(container(), container(sidecar=True)), usage((100, 16), (100, 16)), FULL, {}),
            {"CPU%R": "100%", "CPU%L": "100%"},
            id="sidecars count",
        ),
        pytest.param(
            PodView(pod(limits=Resources(cpu=500 * M)), usage((100, 16)), FULL, {}),
            {"CPU%R": "100%", "CPU%L": "20%"},
            id="the pod's own limit wins",
        ),
        pytest.param(
            PodView(pod(host_network=True), usage((1, 1)), FULL, {}),
            {"Rx/s": "<host>", "Tx/s": "<host>"},
            id="in the host's network it has no traffic of its own",
        ),
        pytest.param(
            PodView(pod(), usage((1, 1)), PodNow(PodStats("u", T, network=network(0, 1, 1))), {}),
            {"Rx/s": "<unknown>", "RSS": "<unknown>", "CPU-PSI": "<unknown>", "Swap": "<unknown>"},
            id="one sample makes no rate; trap 16: on Windows no rss, swap or pressure",
        ),
    ],
)
def test_cells_of_pods(view: PodView, expected: dict[str, Any]) -> None:
    """What a person reads."""
    row = pod_row(view)

    assert expected == {name: row[name] for name in expected}


def test_a_pod_as_an_object() -> None:
    """Integers with the unit in their name, quantities as text, and nothing that is not known."""
    document = told(podstats.KIND, PodView(pod(), usage((50, 16)), FULL, {}))

    assert document["spec"] == {
        "nodeName": "n1",
        "qosClass": "Burstable",
        "requests": {"cpu": "100m", "ephemeral-storage": "100Mi", "memory": "64Mi"},
        "limits": {"cpu": "100m", "ephemeral-storage": "100Mi", "memory": "64Mi"},
    }
    status = document["status"]
    assert (status["observedAt"], status["windowSeconds"]) == ("2025-11-30T10:53:20Z", 16)
    assert status["cpu"] == {"usageNanoCores": 50 * M, "requestPercent": 50, "limitPercent": 50}
    assert status["memory"] == {"workingSetBytes": 16 * MI, "requestPercent": 25, "limitPercent": 25, "rssBytes": 50 * MI}
    assert status["network"]["rxBytesPerSecond"] == 2 * MI
    assert status["network"]["windowSeconds"] == 20
    assert status["pressure"]["cpu"]["someAvg60"] == "1.25"
    assert "io" not in status["pressure"]
    assert status["ephemeralStorage"] == {"observedAt": "2025-11-30T10:53:20Z", "usedBytes": 25 * MI, "inodesUsed": 7, "limitPercent": 25}
    assert [(each["name"], each["persistentVolumeClaim"], each["usedPercent"]) for each in status["volumes"]] == [("scratch", "data", 25)]
    assert status["conditions"] == [{"type": "Fresh", "status": "True", "reason": "Collected"}]
    assert told(podstats.KIND, PodView(pod(host_network=True), None, FULL, {}))["status"]["network"] == {"reason": "HostNetwork"}


def test_trends() -> None:
    """CPU of what there could be: a node's capacity, a limit; of what has none the most that was seen."""
    went = (None, 0, 50.0 * M, 100.0 * M)
    limited = PodView(pod(), usage((50, 16)), None, {}, trend=lambda _key: went)
    free = PodView(pod(container(limits=Resources())), usage((50, 16)), None, {}, trend=lambda _key: (25.0 * M, 50.0 * M))
    node = node_view(trend=lambda key: (2e9,) if key == ("", "n1") else ())
    record = container()
    of_container = ContainerView(pod(), record, None, None, None, {}, "", lambda key: (1e8,) if key == ("ns", "p.app") else ())

    assert (pod_row(limited)["Trend"], pod_row(free)["Trend"]) == ("·▁▅█", "▅█")
    assert (nodestats.cells("n1", node)[-1], containerstats.cells("p.app", of_container)[-1]) == ("▅", "█")
    assert pod_row(PodView(pod(), None, None, {}))["Trend"] == "<none>"
    assert (podstats.cpu(limited), podstats.cpu(PodView(pod(), None, None, {}))) == (50 * M, None)
    assert (nodestats.cpu(node), containerstats.cpu(of_container)) == (10**9, None)


TROUBLE = Trouble("dial", T)


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        pytest.param(PodView(pod(), usage((1, 1)), FULL, {}), ("True", "Collected", None), id="all answer"),
        pytest.param(
            PodView(pod(), usage((1, 1)), FULL, {SUMMARY: TROUBLE}),
            ("False", "CollectionFailed", "the node cannot be scraped since 2025-11-30T10:53:20Z (kubelet_summary: dial)"),
            id="a source fails: what it told is of before",
        ),
        pytest.param(
            PodView(pod(), usage((1, 1)), None, {SUMMARY: TROUBLE}),
            (
                "True",
                "Collected",
                "what else there could be cannot be scraped since 2025-11-30T10:53:20Z (kubelet_summary: dial)",
            ),
            id="one that never told anything fails: why its columns are empty",
        ),
        pytest.param(PodView(pod(), None, None, {}, "not yet"), ("Unknown", "NoUsage", "not yet"), id="nothing is known"),
        pytest.param(PodView(pod(), None, FULL, {}, "not yet"), ("False", "NoUsage", "not yet"), id="only some of it is known"),
    ],
)
def test_whether_it_is_fresh(view: PodView, expected: tuple[str, str, str | None]) -> None:
    """Old figures are shown, and said to be old."""
    (condition,) = told(podstats.KIND, view)["status"]["conditions"]

    assert (condition["status"], condition["reason"], condition.get("message")) == expected


NODE = NodeRecord("n1", "u", (), T, True, (), 0, "", Resources(4 * 10**9, 8 * 2**30), Resources(2 * 10**9, 4 * 2**30), 110)


def node_view(**more: Any) -> NodeView:
    stats = NodeStats(
        T,
        rss=MI,
        processes=192,
        most_processes=32768,
        fs=FsStats(T, 73_496_645_632, 270_553_174_016, 24_296_648_704, 100, 50, 60),
        network=network(20, 40 * MI, 300),
    )
    now = NodeNow(1, stats, network(0, 0, 100))
    known: dict[str, Any] = {
        "usage": NodeUsage(10**9, 2 * 2**30, T, 15 * SECOND, "kubelet_resource"),
        "now": now,
        "reserved": Reserved(Resources(10**9, 2**30, 0), Resources(4 * 10**9, 8 * 2**30, 0), 12),
        "troubles": {},
    }
    return NodeView(NODE, **known | more)


def test_a_node() -> None:
    """Usage is of capacity, requests and limits are of what is allocatable, the disk is as full as df says."""
    row = dict(zip((column.name for column in nodestats.KIND.columns), nodestats.cells("n1", node_view()), strict=True))

    assert (row["CPU"], row["CPU%"], row["CPU-Req%"], row["CPU-Lim%"]) == ("1000m", "25%", "50%", "200%")
    assert (row["Memory"], row["Mem%"], row["Mem-Req%"], row["Mem-Lim%"]) == ("2048Mi", "25%", "25%", "200%")
    assert (row["Disk%"], row["Inodes%"], row["Pods"], row["PIDs"]) == ("25%", "60%", "12/110", "192/32768")
    assert (row["Rx/s"], row["Tx/s"], row["Swap"], row["ImageFS%"]) == ("2Mi", "10", "<unknown>", "<unknown>")
    status = told(nodestats.KIND, node_view())["status"]
    assert (status["fs"]["usedPercent"], status["pods"], status["cpu"]["requestedPercent"]) == (25, {"running": 12, "allocatable": 110}, 50)


def test_a_node_of_which_nothing_is_told() -> None:
    """What its pods request is known from the cluster."""
    view = node_view(usage=None, now=None, why="the node was not scraped yet")
    row = dict(zip((column.name for column in nodestats.KIND.columns), nodestats.cells("n1", view), strict=True))

    assert (row["CPU"], row["CPU%"], row["CPU-Req%"], row["Disk%"], row["PIDs"]) == (
        "<unknown>",
        "<unknown>",
        "50%",
        "<unknown>",
        "<unknown>",
    )
    assert told(nodestats.KIND, view)["status"]["conditions"][0]["status"] == "Unknown"


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        pytest.param(container(restarts=3, ended="OOMKilled"), ("app", 3, "OOMKilled"), id="app"),
        pytest.param(container(sidecar=True), ("sidecar", 0, "<none>"), id="sidecar"),
        pytest.param(container(init=True), ("init", 0, "<none>"), id="init"),
        pytest.param(container(ephemeral=True), ("ephemeral", 0, "<none>"), id="to debug"),
    ],
)
def test_a_container(record: ContainerRecord, expected: tuple[str, int, str]) -> None:
    """Its own figures beside its own requests and limits, and what it is in its pod."""
    whole = usage((50, 16))
    stats = ContainerStats("app", T, T, rss=8 * MI, swap=0, rootfs=20480, logs=0, disk_time=T)
    view = ContainerView(pod(record), record, whole, whole.containers[0], stats, {})
    row = dict(zip((column.name for column in containerstats.KIND.columns), containerstats.cells("p.app", view), strict=True))
    document = told(containerstats.KIND, view)

    assert (row["Type"], row["Restarts"], row["Last"]) == expected
    assert (row["CPU"], row["CPU%R"], row["Mem%L"], row["RSS"], row["Rootfs"], row["Logs"]) == ("50m", "50%", "25%", "8Mi", "20Ki", "0")
    assert document["spec"]["type"] == expected[0]
    assert (document["status"]["restartCount"], document["status"]["rootfs"]["usedBytes"]) == (expected[1], 20480)


@pytest.mark.parametrize(
    ("used", "available", "expected"),
    [(24_296_648_704, 73_496_645_632, 25), (0, 10, 0), (1, 10_000, 1), (10, 0, 100), (0, 0, None), (None, 1, None), (1, None, None)],
)
def test_how_full_a_filesystem_is(used: int | None, available: int | None, expected: int | None) -> None:
    """As df: of used and available, rounded up; of nothing there is no percentage."""
    assert live.used_percent(used, available) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "0"),
        (1023, "1023"),
        (1024, "1Ki"),
        (1229, "1.2Ki"),
        (10 * 1024, "10Ki"),
        (45056, "44Ki"),
        (MI - 1, "1023Ki"),
        (3 * 2**29, "1.5Gi"),
        (2**63 - 1, "7.9Ei"),
        (None, "<unknown>"),
    ],
)
def test_sizes_for_people(count: int | None, expected: str) -> None:
    """Rounded down, with one decimal below ten."""
    assert live.size_cell(count) == expected


@pytest.mark.parametrize(("value", "expected"), [(0, "0"), (5, "0.05"), (50, "0.5"), (125, "1.25"), (100, "1"), (10000, "100")])
def test_hundredths(value: int, expected: str) -> None:
    """Quantities that sort as numbers."""
    assert live.hundredths(value) == expected


def test_cpu_and_memory_are_printed_as_kubectl_top_does() -> None:
    """Millicores are rounded up, mebibytes down."""
    assert [live.cpu_cell(value) for value in (1, M, M + 1, None)] == ["1m", "1m", "2m", "<unknown>"]
    assert [live.memory_cell(value) for value in (MI - 1, MI, None)] == ["0Mi", "1Mi", "<unknown>"]


def test_inodes_that_contradict_each_other_make_no_percentage() -> None:
    """More used than there are: 120 % of nothing real."""
    assert live.inodes_percent(FsStats(inodes=100, inodes_used=120)) is None
    assert live.inodes_percent(FsStats(inodes=None, inodes_used=1)) is None


def test_each_kind_and_each_subject_has_another_uid() -> None:
    """Stable, and as Kubernetes writes them."""
    uids = {live.uid_of(kind, uid) for kind in ("PodStats", "ContainerStats") for uid in ("u", "v")}

    assert len(uids) == 4
    assert live.uid_of("PodStats", "u") in uids
    assert all(re.fullmatch(r"[0-9a-f-]{36}", uid) for uid in uids)


def _keys(properties: dict[str, Any], document: dict[str, Any], path: str = "") -> list[str]:
    """The paths in a document that the schema does not have."""
    unknown = []
    for name, value in document.items():
        schema = properties.get(name)
        if schema is None:
            unknown.append(f"{path}.{name}")
        elif isinstance(value, dict) and "properties" in schema:
            unknown += _keys(schema["properties"], value, f"{path}.{name}")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            unknown += [key for each in value for key in _keys(schema["items"]["properties"], each, f"{path}.{name}[]")]
    return unknown


WHOLE = usage((50, 16))
VIEWS: list[tuple[Kind, Any]] = [
    (podstats.KIND, PodView(pod(), WHOLE, FULL, {SUMMARY: TROUBLE})),
    (podstats.KIND, PodView(pod(host_network=True), None, None, {}, "why")),
    (nodestats.KIND, node_view()),
    (
        containerstats.KIND,
        ContainerView(pod(), container(), WHOLE, WHOLE.containers[0], ContainerStats("app", T, T, 1, 1, 1, 1, 1, 1, T), {}),
    ),
]


@pytest.mark.parametrize(("kind", "view"), VIEWS, ids=lambda value: value.kind if isinstance(value, Kind) else "")
def test_objects_are_as_their_schema_says(kind: Kind, view: Any) -> None:
    """`kubectl explain` knows every field."""
    assert _keys(dict(kind.schema["properties"]), told(kind, view)) == []


def _has(schema: dict[str, Any], path: str) -> bool:
    for name in path.split("."):
        if name not in schema.get("properties", {}):
            return False
        schema = schema["properties"][name]
    return True


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.resource)
def test_columns(kind: Kind) -> None:
    """Each tells by which path its kind can be sorted, and the path is one of the schema; ages stand in columns of type date."""
    keys = {column.name: re.search(r"key: \.([\w.]+\w)", column.description) for column in kind.columns[1:-1]}

    assert [name for name, found in keys.items() if found is None] == []
    assert [name for name, found in keys.items() if found is not None and not _has(dict(kind.schema), found[1])] == []
    assert [column.name for column in kind.columns if column.type == "date"] == ["Seen"]
    assert kind.columns[-1].name == "Trend"
    assert len({column.name for column in kind.columns}) == len(kind.columns)


NUMBERS = st.none() | st.integers(0, 2**63 - 1)
FILESYSTEMS = st.none() | st.builds(FsStats, st.integers(0, 2**62), NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS)
AMOUNTS = st.builds(Resources, NUMBERS, NUMBERS, NUMBERS)
USAGES = st.none() | st.builds(
    PodUsage,
    st.lists(st.builds(ContainerUsage, st.just("app"), st.integers(0, 2**62), st.integers(0, 2**62), NUMBERS), min_size=1, max_size=2).map(
        tuple
    ),
    st.integers(0, 2**62),
    st.integers(1, 2**40),
    st.just("kubelet_resource"),
)
STATS = st.none() | st.builds(
    PodNow,
    st.builds(PodStats, st.just("u"), st.integers(0, 2**62), NUMBERS, NUMBERS, NUMBERS, st.none(), st.none(), FILESYSTEMS),
)


@given(AMOUNTS, AMOUNTS, USAGES, STATS)
def test_no_figures_crash_it(requests: Resources, limits: Resources, used: PodUsage | None, now: PodNow | None) -> None:
    """Zeros among requests and limits included; no float is ever served."""
    view = PodView(pod(container(requests=requests, limits=limits)), used, now, {})

    assert len(podstats.cells("p", view)) == len(podstats.KIND.columns)
    assert not re.search(rb":-?\d+\.\d", podstats.json(view))
