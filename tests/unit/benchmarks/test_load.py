"""What wrk prints through load.lua, read back."""

import stat
from pathlib import Path

import pytest

from benchmarks import load
from benchmarks.load import Load, LoadFailed

PRINTED = """Running 2s test @ https://127.0.0.1:4443
  1 threads and 4 connections
  40 requests in 2.00s, 4.00MB read
Requests/sec:     20.00
totals: requests=40 microseconds=2000000 connect=0 read=0 write=0 status=0 timeout=0
latencies: 1000:30 2000:8 500000:2
"""

WRK = """#!/bin/sh
for last; do :; done
printf '%s\\n' "$@" > {folder}/said
cp "$last" {folder}/paths
cat <<'END'
{printed}END
"""


def test_rate_and_percentiles_are_those_of_all_requests() -> None:
    """The nearest rank, in milliseconds."""
    seen = Load.parse(PRINTED)

    assert (40, 2.0, 20.0) == (seen.requests, seen.seconds, seen.rate)
    assert [1.0, 1.0, 2.0, 500.0, 500.0] == [seen.percentile(part) for part in (0.5, 0.75, 0.95, 0.99, 1.0)]


def test_runs_are_merged_by_requests_not_by_percentiles() -> None:
    """A percentile of three runs is not the mean of three percentiles."""
    slow = Load(requests=4, seconds=3.0, latencies={1000: 1, 9000: 3})

    merged = Load.merged([Load.parse(PRINTED), slow])

    assert (44, 5.0) == (merged.requests, merged.seconds)
    assert {1000: 31, 2000: 8, 9000: 3, 500000: 2} == merged.latencies


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        pytest.param(PRINTED.replace("status=0", "status=3"), "3 answers that are no 2xx of 40", id="a refused request"),
        pytest.param(PRINTED.replace("read=0 write=0", "read=1 write=2"), "1 read errors, 2 write errors", id="cut connections"),
        pytest.param("unable to connect to 127.0.0.1:4443 Connection refused\n", "unable to connect", id="no server at all"),
        pytest.param("", "said nothing", id="nothing"),
    ],
)
def test_a_load_that_was_not_answered_is_no_measurement(printed: str, said: str) -> None:
    """One refused request is enough: what is fast because it refuses has not done the work."""
    with pytest.raises(LoadFailed, match=said):
        Load.parse(printed)


def test_a_server_that_finishes_nothing_has_a_rate_of_zero_and_no_percentile() -> None:
    """It was not refused either."""
    nothing = Load.parse("totals: requests=0 microseconds=2000000 connect=0 read=0 write=0 status=0 timeout=0\nlatencies: \n")

    assert 0 == nothing.rate
    with pytest.raises(LoadFailed, match="no request was answered in time"):
        nothing.percentile(0.5)


def test_wrk_is_given_paths_and_headers(tmp_path: Path) -> None:
    """A program in its place tells what it was called with."""
    wrk = tmp_path / "wrk"
    wrk.write_text(WRK.format(folder=tmp_path, printed=PRINTED))
    wrk.chmod(wrk.stat().st_mode | stat.S_IXUSR)

    load.run("https://localhost:1", ["/a", "/b"], {"Accept": "x"}, connections=4, seconds=2, program=str(wrk))

    assert {"--connections=4", "--duration=2s", "Accept: x", "https://localhost:1"} <= set((tmp_path / "said").read_text().splitlines())
    assert "/a\n/b\n" == (tmp_path / "paths").read_text()
