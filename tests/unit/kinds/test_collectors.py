"""Collector: how each source is, in words, cells and fields."""

import msgspec
import pytest
from msgspec.structs import replace

from app.cache.reports import Report, TargetReport
from app.kinds import collectors
from app.kinds._base import Age
from app.kinds.collectors import KIND, state

SECOND = 10**9
T = 1_764_500_000 * SECOND
KUBELETS = Report(
    name="kubelet-summary",
    source="kubelet",
    targets=100,
    healthy=97,
    items=3000,
    dropped=0,
    interval=30.0,
    ttl=120.0,
    last=T,
    took=0.0381,
    failures=4,
    endpoint="/stats/summary",
    error="dial 2, deadline 1: node a: refused",
    failing=tuple(TargetReport(f"n{number:02}", "dial", "refused", T, 4) for number in range(25)),
)
QUEUES = Report(
    name="queues.msg.example.com",
    source="http",
    targets=1,
    healthy=1,
    items=7,
    dropped=0,
    interval=15.0,
    ttl=60.0,
    last=T,
    took=1.5,
    next=T + 15 * SECOND,
    size=2048,
    endpoint="https://mq:15671/api/queues",
    file="queues.yaml:1",
)


@pytest.mark.parametrize(
    ("report", "word"),
    [
        pytest.param(QUEUES, "Healthy", id="all is well"),
        pytest.param(KUBELETS, "Degraded", id="some fail"),
        pytest.param(replace(QUEUES, healthy=0, failures=1), "Failing", id="all fail"),
        pytest.param(replace(QUEUES, healthy=0, pending=1, last=0), "Pending", id="not asked yet"),
        pytest.param(replace(KUBELETS, healthy=60, pending=40, failures=0), "Pending", id="some not asked yet, none fails"),
        pytest.param(replace(KUBELETS, healthy=60, pending=37), "Degraded", id="some not asked yet, some fail"),
        pytest.param(replace(KUBELETS, targets=0, healthy=0, failures=0), "Pending", id="nothing to ask: no nodes"),
        pytest.param(replace(QUEUES, dropped=2), "Degraded", id="two items that cannot be used"),
        pytest.param(replace(QUEUES, invalid="queues.yaml:3:1: no such field"), "Invalid", id="a bad edit, the last good one goes on"),
        pytest.param(replace(QUEUES, healthy=0, failures=1, invalid="x"), "Invalid", id="a bad edit of one that fails"),
    ],
)
def test_how_a_source_is(report: Report, word: str) -> None:
    """One word for each; the condition Healthy says the same to kubectl wait."""
    assert word == state(report)
    (condition,) = msgspec.json.decode(collectors.json(report))["status"]["conditions"]
    assert condition["reason"] == word
    assert condition["status"] == {"Healthy": "True", "Pending": "Unknown"}.get(word, "False")
    assert condition["message"]


def test_cells() -> None:
    """A cell a column; what is not known or not set says so."""
    assert collectors.cells("queues.msg.example.com", QUEUES) == (
        "queues.msg.example.com", "http", "1/1", 7, "15s", Age(T), "1500ms", "Healthy", "<none>",
        "https://mq:15671/api/queues", "2025-11-30T10:53:35Z", 0, "1m0s", "2Ki", "queues.yaml:1",
    )  # fmt: skip
    assert collectors.cells("kubelet-summary", KUBELETS) == (
        "kubelet-summary", "kubelet", "97/100", 3000, "30s", Age(T), "38ms", "Degraded", "dial 2, deadline 1: node a: refused",
        "/stats/summary", "<none>", 4, "2m0s", "<unknown>", "<none>",
    )  # fmt: skip
    assert len(KIND.columns) == len(collectors.cells("x", QUEUES))


def test_an_error_is_one_short_line_in_a_table() -> None:
    """kubectl cuts a cell at a line end, and a table is for looking at; the object has all of it."""
    long = replace(QUEUES, healthy=0, failures=1, error="line one\nline two " + "x" * 100)
    cell = collectors.cells("x", long)[8]
    assert isinstance(cell, str)
    assert (len(cell), cell[:19], cell[-1]) == (80, "line one line two x", "…")
    assert msgspec.json.decode(collectors.json(long))["status"]["lastError"] == long.error


def test_a_file_is_told_without_its_folder() -> None:
    """In a table, of a file on disk; the object has the whole path. A ConfigMap's name is its namespace's too."""
    fault = "/etc/kinds/queues.yaml:3:1: spec.sourc: unknown field"
    invalid = Report("bad", "", 0, 0, 0, 0, 0, 0, file="/etc/kinds/queues.yaml:2", invalid=fault)
    cells = collectors.cells("bad", invalid)
    assert (cells[8], cells[14]) == ("queues.yaml:3:1: spec.sourc: unknown field", "queues.yaml:2")
    assert (cells[1], cells[4], cells[12]) == ("<none>", "<none>", "<none>")
    told = msgspec.json.decode(collectors.json(invalid))
    assert (told["spec"], told["status"]["invalid"]) == ({"file": "/etc/kinds/queues.yaml:2"}, fault)
    of_map = replace(invalid, file="configmap shop/kinds:queues.yaml:2")
    assert collectors.cells("bad", of_map)[14] == "configmap shop/kinds:queues.yaml:2"


def test_fields() -> None:
    """Numbers are integers with the unit in their name; of the targets that fail twenty are told."""
    told = msgspec.json.decode(collectors.json(KUBELETS))
    assert told["spec"] == {"source": "kubelet", "interval": "30s", "ttl": "2m0s", "endpoint": "/stats/summary"}
    assert len(told["status"]["targets"]) == 20
    assert told["status"]["targets"][0] == {
        "name": "n00",
        "cause": "dial",
        "message": "refused",
        "since": "2025-11-30T10:53:20Z",
        "consecutiveFailures": 4,
    }
    queues = msgspec.json.decode(collectors.json(QUEUES))["status"]
    del queues["conditions"]
    assert queues == {
        "state": "Healthy",
        "targetCount": 1,
        "healthyTargetCount": 1,
        "items": 7,
        "droppedItems": 0,
        "consecutiveFailures": 0,
        "observedAt": "2025-11-30T10:53:20Z",
        "nextAt": "2025-11-30T10:53:35Z",
        "tookMilliseconds": 1500,
        "bytes": 2048,
    }


def test_every_field_is_in_the_schema() -> None:
    """kubectl explain knows what kubectl get -o yaml shows."""
    for report in (QUEUES, KUBELETS, replace(QUEUES, error="e", invalid="i")):
        told = msgspec.json.decode(collectors.json(report))
        for part in ("spec", "status"):
            assert told[part].keys() <= KIND.schema["properties"][part]["properties"].keys()
