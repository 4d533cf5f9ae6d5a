"""VolumeStats: cells and fields of claims with and without figures."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from app.cache.volumes import Mount, State, VolumeNow
from app.kinds import volumestats
from app.kinds._base import Age
from app.kinds.volumestats import KIND
from collectors._summary_records import VolumeStats
from tests.unit.cache.test_claims import claim

SECOND = 10**9
T = 1_764_500_000 * SECOND
GI, MI = 2**30, 2**20
TOLD = VolumeStats(
    time=T, available=GI - 8 * MI, capacity=GI, used=8 * MI, inodes=65536, inodes_free=65500, inodes_used=36, name="v", claim=("ns", "data")
)
MOUNTS = (Mount("web-0", "n1"), Mount("web-1", "n2"), Mount("web-2", "n1"))
REPORTED = VolumeNow(claim(), State.REPORTED, "", MOUNTS, TOLD)
DEVICE = VolumeNow(
    claim(block=True), State.BLOCK, "a device", MOUNTS[:1], VolumeStats(time=T, capacity=GI, name="v", claim=("ns", "data"), block=True)
)
UNBOUND = VolumeNow(claim(volume="", storage_class="", phase="Pending"), State.UNBOUND, "no volume yet", ())
UNLISTED = VolumeNow(None, State.REPORTED, "may not list", MOUNTS[:1], TOLD)


@pytest.mark.parametrize(
    ("volume", "cells"),
    [
        pytest.param(
            REPORTED,
            (
                "data", "8Mi", "1Gi", "1%", "1%", "Reported", "web-0 (+2)", Age(T),
                "1016Mi", "1Gi", "fast", "pv-1", "Filesystem", "n1 (+1)", "36", "65500", "<none>", "<none>",
            ),
            id="measured, and mounted by three pods on two nodes",
        ),
        pytest.param(
            DEVICE,
            (
                "data", "<unknown>", "1Gi", "<unknown>", "<unknown>", "Block", "web-0", Age(T),
                "<unknown>", "1Gi", "fast", "pv-1", "Block", "n1", "<unknown>", "<unknown>", "a device", "<none>",
            ),
            id="a raw device: its size and no more",
        ),
        pytest.param(
            UNBOUND,
            (
                "data", "<unknown>", "<unknown>", "<unknown>", "<unknown>", "Unbound", "<none>", Age(0),
                "<unknown>", "1Gi", "<none>", "<none>", "Filesystem", "<none>", "<unknown>", "<unknown>", "no volume yet", "<none>",
            ),
            id="a claim without a volume",
        ),
        pytest.param(
            UNLISTED,
            (
                "data", "8Mi", "1Gi", "1%", "1%", "Reported", "web-0", Age(T),
                "1016Mi", "<unknown>", "<none>", "<none>", "<unknown>", "n1", "36", "65500", "may not list", "<none>",
            ),
            id="a claim of which only pods and kubelets tell",
        ),
    ],
)  # fmt: skip
def test_cells(volume: VolumeNow, cells: tuple[Any, ...]) -> None:
    """A cell a column, whatever is missing."""
    assert cells == volumestats.cells("data", volume)
    assert len(cells) == len(KIND.columns)


@pytest.mark.parametrize(
    ("told", "used", "inodes"),
    [
        pytest.param(TOLD, "1%", "1%", id="rounded up, as df does"),
        pytest.param(replace(TOLD, used=24_300, available=73_500, capacity=270_600), "25%", "1%", id="of what users can have, not of all"),
        pytest.param(replace(TOLD, used=0), "0%", "1%", id="empty"),
        pytest.param(replace(TOLD, available=0), "100%", "1%", id="full"),
        pytest.param(replace(TOLD, used=0, available=0), "<unknown>", "1%", id="nothing to be had"),
        pytest.param(replace(TOLD, inodes=None, inodes_free=None, inodes_used=None), "1%", "<none>", id="a file system without inodes"),
        pytest.param(replace(TOLD, inodes_used=None), "1%", "<none>", id="no word of used inodes"),
        pytest.param(replace(TOLD, inodes=10, inodes_used=12), "1%", "<none>", id="never more than all inodes"),
    ],
)
def test_percentages(told: VolumeStats, used: str, inodes: str) -> None:
    """Never NaN, never above 100 %, never made up."""
    cells = volumestats.cells("data", replace(REPORTED, stats=told))
    assert (used, inodes) == (cells[3], cells[4])


def test_a_trend_is_of_what_users_can_have() -> None:
    """Always the last column; from empty to full, a dot where nothing was seen. It is in no field: nobody sorts by glyphs."""
    filling = replace(REPORTED, trend=(None, None, 0.0, 12.5, 50.0, 74.0, 99.0, 100.0))
    assert volumestats.cells("data", filling)[-1] == "··▁▂▅▆██"
    assert KIND.columns[-1].name == "Trend"
    assert (volumestats.fullness(filling), volumestats.fullness(DEVICE), volumestats.fullness(UNBOUND)) == (1, None, None)
    assert volumestats.json(filling) == volumestats.json(REPORTED)


def test_fields() -> None:
    """Kubelet's names, integers, and the claim's own words in spec; what is not known is not there."""
    told = msgspec.json.decode(volumestats.json(REPORTED))
    assert told["spec"] == {
        "requests": {"storage": "1Gi"},
        "requestedBytes": GI,
        "storageClassName": "fast",
        "volumeName": "pv-1",
        "volumeMode": "Filesystem",
    }
    assert told["status"] == {
        "state": "Reported",
        "observedAt": "2025-11-30T10:53:20Z",
        "usedBytes": 8 * MI,
        "availableBytes": GI - 8 * MI,
        "capacityBytes": GI,
        "usedPercent": 1,
        "inodes": 65536,
        "inodesFree": 65500,
        "inodesUsed": 36,
        "inodesUsedPercent": 1,
        "mounts": [{"pod": "web-0", "node": "n1"}, {"pod": "web-1", "node": "n2"}, {"pod": "web-2", "node": "n1"}],
        "conditions": [{"type": "Fresh", "status": "True", "reason": "Collected"}],
    }
    nothing = msgspec.json.decode(volumestats.json(UNBOUND))
    assert nothing["status"] == {
        "state": "Unbound",
        "reason": "no volume yet",
        "conditions": [{"type": "Fresh", "status": "Unknown", "reason": "Unbound", "message": "no volume yet"}],
    }
    shared = msgspec.json.decode(volumestats.json(replace(REPORTED, shared=True, state=State.STALE, reason="r")))["status"]
    assert (shared["sharedFilesystem"], shared["conditions"][0]["status"]) == (True, "False")


def test_every_field_is_in_the_schema() -> None:
    """kubectl explain knows what kubectl get -o yaml shows."""
    for volume in (REPORTED, DEVICE, UNBOUND, UNLISTED, replace(REPORTED, shared=True, reason="r")):
        told = msgspec.json.decode(volumestats.json(volume))
        for part in ("spec", "status"):
            assert told[part].keys() <= KIND.schema["properties"][part]["properties"].keys()


def test_a_claim_is_itself() -> None:
    """The object is as old as its claim, and another for one that is created anew; measured when the kubelet measured."""
    again = replace(REPORTED, claim=claim(uid="another"))
    assert KIND.uid is not None
    assert KIND.measured is not None
    assert KIND.uid(("ns", "data"), REPORTED) != KIND.uid(("ns", "data"), again)
    assert KIND.uid(("ns", "data"), UNLISTED) == KIND.uid(("ns", "data"), replace(UNLISTED, reason="x"))
    assert (KIND.created(replace(REPORTED, claim=claim(created_ns=T))), KIND.created(UNLISTED)) == (T, 0)
    assert (KIND.measured(REPORTED), KIND.measured(UNBOUND)) == (T, 0)
