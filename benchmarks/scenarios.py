"""The named sizes of a run. Whatever is measured is measured in both; only a full run is judged whole and kept."""

from dataclasses import dataclass

from benchmarks.rows import Figure


@dataclass(frozen=True)
class Scenario:
    """How large the cluster is and how long is looked. All times are seconds.

    `served`: all servers have been up for so long before the first round; in less than three intervals metrics-server has not all values.
    `windows` windows of `window` tell the CPU time; `scrapes` rounds of scraping lie before the idle memory is read. Loads are repeated
    `rounds` times and last `seconds` on few connections, which decide, and `many_seconds` on many, which are reported; one that must meet
    scrapes is made of `spans` loads of `span_seconds`, to fill an interval. Servers are started `starts` times. `growth` are numbers of
    nodes; growing takes a minute and a half for each. A run that `is_full` is judged whole, and kept as the latest.
    """

    name: str
    nodes: int
    pods: int
    containers: int
    served: int
    windows: int
    window: int
    scrapes: int
    rounds: int
    starts: int
    seconds: int
    many_seconds: int
    spans: int
    span_seconds: int
    growth: tuple[int, ...]
    is_full: bool = False

    def judges(self, figure: Figure) -> bool:
        """Whether a figure of this run can meet or miss its target."""
        return self.is_full or not figure.of_memory


FULL = Scenario(
    name="full",
    nodes=100,
    pods=70,
    containers=2,
    served=120,
    windows=5,
    window=30,
    scrapes=20,
    rounds=5,
    starts=5,
    seconds=2,
    many_seconds=2,
    spans=3,
    span_seconds=5,
    growth=(10, 100, 1000, 5000),
    is_full=True,
)

QUICK = Scenario(
    name="quick",
    nodes=20,
    pods=70,
    containers=2,
    served=36,
    windows=2,
    window=15,
    scrapes=4,
    rounds=1,
    starts=1,
    seconds=1,
    many_seconds=1,
    spans=3,
    span_seconds=5,
    growth=(),
)

FEW, MANY = 4, 32
"""Connections of a load."""

RESOLUTION = 15
"""Seconds from one scrape of a node to the next, of both servers."""
