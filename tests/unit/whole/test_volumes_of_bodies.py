"""From what a kubelet says of a volume to what a row of volumestats shows: every trap of the summary's volumes, and any body at all."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cache.claims import Claims
from app.cache.cluster import Nodes, Pods
from app.cache.stats import Stats
from app.cache.versions import Versions
from app.cache.volumes import Volumes
from app.kinds import volumestats
from app.kube.records import NodeRecord, Resources
from collectors._base import CollectError
from collectors.kubelet_summary import parse
from tests.fakes.clock import EPOCH, ManualClock
from tests.unit.cache.test_claims import claim, mounting

GI = 2**30
WRAPPED = 2**64 - 4096
"""What a kubelet writes for -4096."""
TIME = "2025-11-30T10:52:00Z"
FULL: dict[str, Any] = {
    "time": TIME,
    "availableBytes": 3 * GI // 4,
    "capacityBytes": GI,
    "usedBytes": GI // 4,
    "inodesFree": 60_000,
    "inodes": 65_536,
    "inodesUsed": 5_536,
    "name": "v",
    "pvcRef": {"name": "data", "namespace": "ns"},
}


class World:
    """A node with a pod that mounts the claim, for an hour now."""

    def __init__(self) -> None:
        clock = ManualClock()
        versions = Versions(clock, instance=1)
        nodes, self.pods = Nodes(), Pods()
        self.stats = Stats(nodes=nodes, pods=self.pods, versions=versions, clock=clock, ttl=120.0)
        self.claims = Claims(self.pods, versions)
        nodes.apply([NodeRecord("n1", "u", (), 0, True, (), 0, "", Resources(), Resources())], ())
        self.pods.apply([mounting("data", uid="u", created_ns=int(EPOCH - 3600) * 10**9)], ())
        self.claims.apply([claim()], ())
        self.claims.listed()
        self._scrapes = 0

    def scrape(self, *volumes: Any) -> None:
        self._scrapes += 1
        body = {
            "node": {"memory": {"time": f"2025-11-30T10:53:{self._scrapes:02}Z", "workingSetBytes": 1}},
            "pods": [{"podRef": {"name": "p", "namespace": "ns", "uid": "u"}, "volume": list(volumes)}],
        }
        self.stats.publish("n1", "kubelet_summary", parse(msgspec.json.encode(body), received=EPOCH, full=True))

    def row(self) -> tuple[Any, ...]:
        """Used, Size, Use%, IUse%, State."""
        member = self.claims.members.get(("ns", "data"))
        assert member is not None
        value, _ = Volumes(self.pods, self.stats.node, lambda: False).join(member)
        assert msgspec.json.decode(volumestats.json(value))["status"]["state"] == value.state
        return volumestats.cells("data", value)[1:6]


UNKNOWN = "<unknown>"
MEASURED = ("256Mi", "1Gi", "25%", "9%", "Reported")


@pytest.mark.parametrize(
    ("volumes", "row"),
    [
        pytest.param([FULL], MEASURED, id="all is told"),
        pytest.param(
            [{**FULL, "availableBytes": 0, "usedBytes": 0, "inodesFree": 0, "inodes": 0, "inodesUsed": 0}],
            (UNKNOWN, "1Gi", UNKNOWN, UNKNOWN, "Block"),
            id="a device: its size, and zeros for what is not known",
        ),
        pytest.param(
            [{**FULL, "inodesFree": 0, "inodes": 0, "inodesUsed": 0}], ("256Mi", "1Gi", "25%", "<none>", "Reported"), id="no inodes (NFS)"
        ),
        pytest.param([{**FULL, "inodesFree": WRAPPED}], MEASURED, id="free inodes below zero"),
        pytest.param([{**FULL, "inodesUsed": WRAPPED}], ("256Mi", "1Gi", "25%", "<none>", "Reported"), id="used inodes below zero"),
        pytest.param([{**FULL, "availableBytes": WRAPPED}], ("256Mi", "1Gi", UNKNOWN, "9%", "Reported"), id="free bytes below zero"),
        pytest.param([{**FULL, "availableBytes": 0}], ("256Mi", "1Gi", "100%", "9%", "Reported"), id="full to the last byte"),
        pytest.param([{**FULL, "usedBytes": 0}], ("0", "1Gi", "0%", "9%", "Reported"), id="empty"),
        pytest.param(
            [{name: 0 if isinstance(value, int) else value for name, value in FULL.items()}],
            (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, "NoStats"),
            id="zeros only: a driver that tells nothing",
        ),
        pytest.param([], (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, "NoStats"), id="no entry: hostPath"),
        pytest.param([{**FULL, "pvcRef": None}], (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, "NoStats"), id="an entry of no claim"),
        pytest.param(
            [{**FULL, "time": "2025-11-30T10:51:00Z", "usedBytes": 1}, FULL],
            ("256Mi", "1Gi", "25%", "9%", "Reported"),
            id="the newer of two",
        ),
        pytest.param(
            [{**FULL, "volumeHealthStats": {"abnormal": True}}], ("256Mi", "1Gi", "25%", "9%", "Reported"), id="of kubelets before 1.37"
        ),
        pytest.param(["x", FULL], MEASURED, id="a bad entry costs itself only"),
        pytest.param([{**FULL, "usedBytes": "many"}], (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, "NoStats"), id="an entry that cannot be read"),
    ],
)
def test_what_a_kubelet_says_and_what_is_shown(volumes: list[Any], row: tuple[str, ...]) -> None:
    """Zero means missing, huge means below zero, nothing is NaN, and nothing is more than 100 %."""
    world = World()
    world.scrape(*volumes)
    assert row == world.row()


def test_a_crashing_pod_keeps_its_last_figures() -> None:
    """Some runtimes' kubelets drop the volumes of a pod in CrashLoopBackOff: what was told last stays, and says so."""
    world = World()
    world.scrape(FULL)
    world.scrape()
    assert world.row() == (*MEASURED[:-1], "Stale")
    world.scrape({**FULL, "usedBytes": GI // 2, "availableBytes": GI // 2})
    assert world.row() == ("512Mi", "1Gi", "50%", "9%", "Reported")


_number = st.one_of(st.integers(-1, 2**64), st.sampled_from([0, 1, GI, WRAPPED]), st.none(), st.text(max_size=3))
_entry = st.fixed_dictionaries(
    {"name": st.just("v"), "pvcRef": st.just(FULL["pvcRef"])},
    optional={**{name: _number for name, value in FULL.items() if isinstance(value, int)}, "time": st.sampled_from([TIME, "", None])},
)


@given(st.lists(_entry, max_size=3))
def test_no_entries_crash_it(volumes: list[Any]) -> None:
    """Whatever a kubelet tells, there is a row; percentages are 0 to 100, or unknown."""
    world = World()
    try:
        world.scrape(*volumes)
    except CollectError:
        return
    for cell in world.row()[2:4]:
        assert cell in {UNKNOWN, "<none>"} or 0 <= int(cell.removesuffix("%")) <= 100
