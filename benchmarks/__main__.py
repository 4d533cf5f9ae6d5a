"""`python -m benchmarks`, as `make bench` calls it: runs suites, prints the table, keeps what was found."""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import aiohttp
import httpx

from app.clock import SystemClock
from benchmarks import micro, report, results, side_by_side
from benchmarks.answers import WrongAnswer
from benchmarks.growth import suite as growth
from benchmarks.growth.pace import Unanswered
from benchmarks.hpa import suite as hpa
from benchmarks.load import LoadFailed
from benchmarks.progress import elapsed, say
from benchmarks.rows import Row
from benchmarks.scenarios import FULL, QUICK, Scenario
from benchmarks.workloads import FIGURES
from tests.e2e.controlplane.processes import ProcessDied, stop_all_at_exit
from tests.e2e.controlplane.waiting import WaitedInVain
from tests.e2e.objects import stamp
from tests.e2e.peer import MetricsServer, PrometheusAdapter
from tests.unit.docs import derived

_CALM = 0.5
"""Processes that run on an idle machine, on average."""


class Suite(NamedTuple):
    """What gives rows.

    `run` takes the scenario, the names of rows that are wanted (none: all) and a folder for logs. `missing` tells in one line what the
    machine lacks for it, and how to get that. `fitted` makes the scenario that of the suite. `kept` names the file of a
    whole run: suites beside one `peer` share it. Only those of the latest run where none is named.
    """

    run: Callable[[Scenario, frozenset[str], Path], list[Row]]
    missing: Callable[[], str | None] = lambda: None
    fitted: Callable[[Scenario], Scenario] = lambda scenario: scenario
    peer: str = MetricsServer.name
    kept: str = "latest"


SUITES: Mapping[str, Suite] = {
    "peer": Suite(side_by_side.run, side_by_side.missing),
    "growth": Suite(growth.run),
    "hpa": Suite(hpa.run, hpa.missing, hpa.fitted, PrometheusAdapter.name, "hpa"),
}
"""In the order in which they run."""

FAILURES = (AssertionError, OSError, httpx.HTTPError, aiohttp.ClientError, LoadFailed, ProcessDied, Unanswered, WaitedInVain, WrongAnswer)
"""What can go wrong with programs and machine; anything else is a mistake of ours."""


def main(argv: Sequence[str] | None = None) -> int:
    """0 once all is measured, 1 if a full run missed a target, 2 with one line if nothing could be measured, 130 after Ctrl-C."""
    arguments = _parser().parse_args(argv)
    if arguments.suite == "micro":
        return micro.run()
    only = frozenset(filter(None, arguments.only.split(",")))
    known = [figure.name for figure in FIGURES]
    if unknown := only.difference(known):
        return _refuse(f"no row is named {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    suites = [suite for name, suite in SUITES.items() if arguments.suite == name or (arguments.suite == "all" and suite.kept == "latest")]
    if lacking := next(filter(None, (suite.missing() for suite in suites)), None):
        return _refuse(lacking)
    scenario = _scenario(arguments)
    if (busy := os.getloadavg()[0]) > _CALM:
        say(f"this machine is busy (a load of {busy:.1f}): figures will tell of that too")
    started = stamp(SystemClock().wall())
    stop_all_at_exit()
    directory = Path(tempfile.mkdtemp(prefix="kubeglance-bench-"))
    try:
        with redirect_stdout(sys.stderr):  # what is waited for; the table alone is the output
            rows = [row for suite in suites for row in suite.run(suite.fitted(scenario), only, directory)]
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        shutil.rmtree(directory, ignore_errors=True)
        return 130
    except FAILURES as error:
        lines = (str(error) or repr(error)).splitlines()  # of a program that died: what happened, and the end of its log
        return _refuse(f"{' '.join(dict.fromkeys([lines[0], lines[-1]]))} (logs are in {directory})")
    shutil.rmtree(directory, ignore_errors=True)
    suite = suites[0]
    found = results.document(suite.fitted(scenario), rows, suite.peer, started=started, seconds=elapsed())
    is_whole = scenario is FULL and arguments.suite in {"all", suite.kept} and not only
    print(report.table(found))
    print(report.verdict(found["rows"]))
    say(f"written to {results.keep(found, suite.kept if is_whole else scenario.name)}")
    if is_whole:
        derived.main()  # pages have the latest figures
    return int(is_whole and any(row["met"] is False for row in found["rows"]))


def _refuse(why: str) -> int:
    print(f"error: {why}", file=sys.stderr)
    return 2


def _scenario(arguments: argparse.Namespace) -> Scenario:
    changed = {name: value for name in ("rounds", "served") if (value := getattr(arguments, name)) is not None}
    scenario = QUICK if arguments.quick else FULL
    return replace(scenario, **changed) if changed else scenario


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--suite",
        choices=["all", *SUITES, "micro"],
        default="all",
        help="all: what gives a row beside metrics-server, and growth (default)",
    )
    parser.add_argument("--quick", action="store_true", help="a small cluster and few rounds: the same rows in four minutes")
    parser.add_argument("--only", default="", metavar="ROW,...", help="only the workloads that have these rows")
    parser.add_argument("--rounds", type=int, help="other than the scenario has; such a run is not kept as the latest")
    parser.add_argument("--served", type=int, metavar="SECONDS", help="how long servers run before the first round, likewise")
    return parser


if __name__ == "__main__":
    sys.exit(main())
