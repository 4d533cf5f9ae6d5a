"""The picture of a run: for each row that has a target, how many times better kubeglance is than its peer."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

BETTER, WORSE, GOAL = "#2a6f97", "#c1582b", "#1b1b1b"


class Bar(NamedTuple):
    """`times` and `target` are above 1 where kubeglance is, or must be, better: what costs less is turned over."""

    name: str
    times: float
    target: float
    met: bool | None


def bars(rows: Sequence[Mapping[str, Any]]) -> list[Bar]:
    """Of the rows of a results file, those with a target."""
    return [
        Bar(row["name"], row["ratio"], row["target"], row["met"])
        if row["better"] == "higher"
        else Bar(row["name"], 1 / row["ratio"], 1 / row["target"], row["met"])
        for row in rows
        if row["target"] is not None and row["ratio"]
    ]


def draw(found: Mapping[str, Any], path: Path) -> None:
    """Write it as a PNG."""
    # Slow to import, and only needed here.
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    shown = bars(found["rows"])
    picture = Figure(figsize=(9, 0.4 * len(shown) + 1.4), layout="constrained")
    FigureCanvasAgg(picture)
    axes = picture.add_subplot()
    places = range(len(shown))
    axes.barh(places, [bar.times - 1 for bar in shown], left=1, color=[WORSE if bar.met is False else BETTER for bar in shown], height=0.6)
    axes.scatter([bar.target for bar in shown], places, marker="|", s=260, linewidths=2, color=GOAL, label="target", zorder=3)
    for place, bar in zip(places, shown, strict=True):
        axes.annotate(f"{bar.times:.1f}x", (max(bar.times, bar.target, 1), place), xytext=(8, 0), textcoords="offset points", va="center")
    axes.axvline(1, color=GOAL, linewidth=1)
    axes.set_xscale("log")
    axes.set_xlim(right=2 * max(max(bar.times, bar.target) for bar in shown))
    axes.set_yticks(places, [bar.name for bar in shown])
    axes.invert_yaxis()
    axes.set_xlabel("times better (logarithmic)")
    axes.xaxis.set_major_formatter("{x:g}x")
    peer = f"{found['peer']} {found['versions'][found['peer']]}"
    axes.set_title(f"kubeglance beside {peer}, {found['nodes']} nodes, {found['pods']:,} pods")
    axes.legend(loc="lower right", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    picture.savefig(path, dpi=120)
