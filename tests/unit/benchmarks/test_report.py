"""The table of a run, the file that is kept, and the command that makes both."""

import json
import re
import sys
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks import chart, report, results, workloads
from benchmarks.rows import Better, Figure, Row
from benchmarks.scenarios import FULL, QUICK

ROWS = [
    Row(Figure("list_pods_json", "requests/s", Better.HIGHER, 10), [300.0, 320.0, 310.0], [20.0, 22.0, 21.0]).as_json(),
    Row(Figure("rss_idle", "MiB", Better.LOWER, 0.75), [110.0], [140.0]).as_json(),
    Row(Figure("growth", "ms", Better.LOWER), [0.61]).as_json(),
]


def test_a_table_has_medians_spreads_ratio_target_and_verdict() -> None:
    """What has no peer has empty cells."""
    assert [
        ["row", "unit", "kubeglance (spread)", "metrics-server (spread)", "ratio", "target", "met"],
        ["list_pods_json", "requests/s", "310 (300 to 320)", "21.0 (20.0 to 22.0)", "14.8", ">= 10", "yes"],
        ["rss_idle", "MiB", "110 (110 to 110)", "140 (140 to 140)", "0.786", "<= 0.75", "NO"],
        ["growth", "ms", "0.610 (0.610 to 0.610)"],
    ] == [re.split(r" {2,}", line) for line in report.table({"peer": "metrics-server", "rows": ROWS}).splitlines()]


def test_the_verdict_names_what_is_missed() -> None:
    """Rows that are only reported do not count."""
    assert "1 of 2 targets are met; missed: rss_idle" == report.verdict(ROWS)
    assert "1 of 1 targets are met" == report.verdict(ROWS[:1])


def test_the_readme_has_the_rows_with_targets_and_where_they_come_from() -> None:
    """Units stand with the values."""
    found = {
        "peer": "metrics-server",
        "rows": ROWS,
        "machine": {"processors": 2, "processor": "Some CPU"},
        "versions": {"commit": "abc", "python": "3.11", "metrics-server": "v0.9.0", "go": "1.26", "kubernetes": "v1.37.2"},
        "started": "2026-11-30T12:00:00Z",
        "nodes": 100,
        "pods": 7000,
        "containers": 14000,
    }

    *table, _, where = report.markdown(found).splitlines()

    assert [
        "| row | kubeglance | metrics-server | ratio | target |",
        "|---|---|---|---|---|",
        "| `list_pods_json` | 310 requests/s | 21.0 requests/s | 14.8 | >= 10 |",
        "| `rss_idle` | 110 MiB | 140 MiB | 0.786 | <= 0.75 (missed) |",
    ] == table
    assert where.startswith(
        "Medians of one run on 2 processors (Some CPU), 2026-11-30: kubeglance at abc on Python 3.11, metrics-server v0.9.0"
    )


def test_the_chart_turns_over_what_costs_less() -> None:
    """A bar to the right of 1 is better, whichever way the row goes; a target is turned with it."""
    rate, cost = chart.bars(ROWS)

    assert ("list_pods_json", 10, True) == (rate.name, rate.target, rate.met)
    assert [310 / 21, 140 / 110, 1 / 0.75] == pytest.approx([rate.times, cost.times, cost.target], rel=1e-3)
    assert cost.met is False


TARGETS = {
    "cpu_per_node_scrape": 0.7,
    "cpu_per_node_scrape_both": 1.2,
    "rss_idle": 0.75,
    "rss_idle_both": 0.75,
    "rss_after_lists": 0.5,
    "list_pods_json": 10,
    "list_pods_protobuf": 10,
    "list_pods_table": 10,
    "list_pods_selector": 5,
    "list_nodes": 2,
    "get_pod": 1.2,
    "get_pod_p99_while_scraping": 1.0,
    "first_value_after_start": 0.2,
    "through_aggregator_list_selector": 1.0,
}


def test_targets_are_those_that_were_set() -> None:
    """Rates are better when higher, all else when lower; names are unique."""
    figures = workloads.FIGURES

    assert TARGETS == {figure.name: figure.target for figure in figures if figure.target is not None}
    assert all((figure.better is Better.HIGHER) == (figure.unit == "requests/s") for figure in figures)
    assert len(figures) == len({figure.name for figure in figures})


def test_only_a_full_run_judges_memory() -> None:
    """A small cluster has the same rows."""
    of_memory = {figure.name for figure in workloads.FIGURES if not QUICK.judges(figure)}

    assert {"rss_idle", "rss_idle_both", "rss_idle_live", "rss_after_lists"} == of_memory
    assert all(FULL.judges(figure) for figure in workloads.FIGURES)
    assert FULL.rounds >= 5
    assert FULL.windows >= 5
    assert max(FULL.seconds, FULL.many_seconds, FULL.span_seconds) <= 5


def test_a_gos_own_record_is_read(tmp_path: Path) -> None:
    """As debug/buildinfo lays it out; what was not built by Go has none."""
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF..." + b"\xff Go buildinf:\x08\x02".ljust(32, b"\0") + b"\x08go1.26.1" + b"path\tsigs.k8s.io")

    assert "1.26.1" == results.go_version(program)
    assert "unknown" == results.go_version(Path(sys.executable).resolve())


def test_an_unknown_row_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """With the names that there are."""
    assert 2 == command.main(["--only=list_pods_jason"])
    assert capsys.readouterr().err.startswith("error: no row is named list_pods_jason; there are ")


def test_the_latest_results_are_whole() -> None:
    """Of a full run: every row that has a target, every round, and where it was made."""
    latest = json.loads(results.LATEST.read_text(encoding="utf-8"))
    rows = {row["name"]: row for row in latest["rows"]}

    assert "full" == latest["scenario"]
    assert {"processor", "processors", "memoryGiB", "system"} == latest["machine"].keys()
    assert {"kubeglance", "commit", "python", "go", "metrics-server", "kubernetes"} == latest["versions"].keys()
    assert TARGETS == {name: row["target"] for name, row in rows.items() if row["target"] is not None}
    for row in rows.values():
        assert {"name", "ours", "peer", "ratio", "target", "met", "unit", "better", "rounds"} == row.keys()
        assert (row["target"] is None) == (row["met"] is None)
        assert row["target"] is None or min(len(values) for values in row["rounds"].values()) >= 5
