"""`python -m benchmarks`: the side-by-side run, as `make bench` calls it."""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

from app.clock import SystemClock
from benchmarks import load, report, results, side_by_side
from benchmarks.answers import WrongAnswer
from benchmarks.load import LoadFailed
from benchmarks.progress import elapsed, say
from benchmarks.scenarios import FULL, QUICK, Scenario
from benchmarks.workloads import FIGURES
from tests.e2e.controlplane import programs
from tests.e2e.controlplane.processes import ProcessDied, stop_all_at_exit
from tests.e2e.controlplane.waiting import WaitedInVain
from tests.e2e.objects import stamp

NEEDED = ("etcd", "kube-apiserver", "kubectl", "metrics-server")


def main(argv: Sequence[str] | None = None) -> int:
    """0 if all targets that count are met, 1 if one is missed, 2 with one line if nothing could be measured."""
    arguments = _parser().parse_args(argv)
    scenario = _scenario(arguments)
    chosen = frozenset(arguments.only.split(",")) if arguments.only else frozenset(figure.name for figure in FIGURES)
    if unknown := chosen - {figure.name for figure in FIGURES}:
        print(
            f"error: no row is named {', '.join(sorted(unknown))}; there are {', '.join(figure.name for figure in FIGURES)}",
            file=sys.stderr,
        )
        return 2
    if reason := programs.skip_reason(*NEEDED) or (load.MISSING if shutil.which("wrk") is None else None):
        print(f"error: {reason}", file=sys.stderr)
        return 2
    stop_all_at_exit()
    directory = Path(tempfile.mkdtemp(prefix="kubeglance-bench-"))
    started = stamp(SystemClock().wall())
    try:
        with redirect_stdout(sys.stderr):  # what is waited for; the table alone is the output
            rows = side_by_side.run(scenario, chosen, directory)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    except (AssertionError, FileNotFoundError, LoadFailed, ProcessDied, WaitedInVain, WrongAnswer) as error:
        print(f"error: {str(error).partition(chr(10))[0]}; logs are in {directory}", file=sys.stderr)
        return 2
    shutil.rmtree(directory, ignore_errors=True)
    found = results.document(scenario, rows, started=started, seconds=elapsed())
    whole = scenario is FULL and not arguments.only
    path = results.LATEST if whole else results.FOLDER / f"{'part' if arguments.only else scenario.name}.json"
    results.write(path, found)
    print(report.table(found["rows"]))
    print(report.verdict(found["rows"]))
    say(f"written to {path}")
    return 0


def _scenario(arguments: argparse.Namespace) -> Scenario:
    scenario = QUICK if arguments.quick else FULL
    changed = {name: value for name in ("rounds", "served") if (value := getattr(arguments, name)) is not None}
    return replace(scenario, **changed, is_full=False) if changed else scenario


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small cluster and few rounds, four minutes")
    parser.add_argument("--only", default="", metavar="ROW,...", help="only the workloads that have these rows")
    parser.add_argument("--rounds", type=int, help="other than the scenario has; such a run is not kept as the latest")
    parser.add_argument("--served", type=int, metavar="SECONDS", help="how long servers run before the first round, likewise")
    return parser


if __name__ == "__main__":
    sys.exit(main())
