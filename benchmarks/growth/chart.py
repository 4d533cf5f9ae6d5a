"""The picture of a growth run: CPU, memory, latency over the number of nodes."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LINE, OTHER, GOAL = "#2a6f97", "#c1582b", "#1b1b1b"


def series(rows: Sequence[Mapping[str, Any]], figure: str) -> dict[int, float]:
    """What the rows of a results file tell of one figure, by the number of nodes."""
    found = ((re.fullmatch(rf"growth_{figure}_(\d+)", row["name"]), row["ours"]) for row in rows)
    return {int(name[1]): value for name, value in found if name}


def draw(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write it as a PNG."""
    # Slow to import, and only needed here.
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    picture = Figure(figsize=(12, 3.6), layout="constrained")
    FigureCanvasAgg(picture)
    cpu, memory, latency = picture.subplots(1, 3)

    def line(axes: Any, figure: str, **style: Any) -> None:
        points = series(rows, figure)
        axes.plot(list(points), list(points.values()), **{"marker": "o", "color": LINE, **style})
        axes.set_xscale("log")
        axes.set_xticks(list(points), [f"{nodes:,}" for nodes in points])
        axes.minorticks_off()

    line(cpu, "cpu_per_node_scrape")
    cpu.set_title("CPU for one node and interval, ms")
    line(memory, "rss")
    memory.set_title("resident memory, MiB")
    memory.set_yscale("log")
    line(latency, "get_pod_p99", label="get a pod, p99")
    line(latency, "list_selector_p99", color=OTHER, label="list by label, p99")
    line(latency, "longest_wait", color=OTHER, marker="x", linestyle=":", label="longest of all")
    latency.axhline(50, color=GOAL, linewidth=1, linestyle="--")
    latency.set_title("latency while all is listed, ms")
    latency.legend(frameon=False)
    for axes in (cpu, memory, latency):
        axes.set_xlabel("nodes, with 30 pods of 2 containers each")
        axes.spines[["top", "right"]].set_visible(False)
    for axes in (cpu, latency):
        axes.set_ylim(bottom=0)
    picture.savefig(path, dpi=120)
