"""`python -m benchmarks.growth [NODES ...]`: one line for each size, nothing kept. For work on what limits it."""

import sys
import tempfile
from pathlib import Path

from benchmarks.growth.cluster import grown
from benchmarks.growth.suite import CONTAINERS, PODS, measure, summary
from tests.e2e.controlplane.processes import stop_all_at_exit


def main() -> None:
    """Measure the sizes named, 10 and 100 if none is."""
    stop_all_at_exit()
    with tempfile.TemporaryDirectory(prefix="kubeglance-growth-") as folder:
        for nodes in [int(argument) for argument in sys.argv[1:]] or [10, 100]:
            with grown(nodes, PODS, CONTAINERS, Path(folder) / str(nodes)) as cluster:
                print(summary(measure(cluster)), flush=True)


if __name__ == "__main__":
    main()
