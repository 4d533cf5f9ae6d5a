"""A row of the table: what is measured, what it must reach beside metrics-server, and what each round gave."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Any


class Better(StrEnum):
    """Which way is good: fewer milliseconds and bytes, more requests a second."""

    LOWER = "lower"
    HIGHER = "higher"


@dataclass(frozen=True)
class Figure:
    """One thing that is measured. `target` bounds the ratio of kubeglance to metrics-server; None is reported and counts for nothing.

    `of_memory` figures need the full cluster: beside a small one the programs themselves are all that is seen.
    """

    name: str
    unit: str
    better: Better
    target: float | None = None
    of_memory: bool = False


@dataclass(frozen=True)
class Row:
    """A figure with the value of each round, in its unit. `peer` is empty where kubeglance was measured alone.

    `judged` False leaves `met` open although there is a target.
    """

    figure: Figure
    ours: Sequence[float]
    peer: Sequence[float] = ()
    judged: bool = True

    @property
    def ratio(self) -> float | None:
        """Median of ours to median of the peer's. None without a peer, or if that measured zero."""
        return median(self.ours) / median(self.peer) if self.peer and median(self.peer) else None

    @property
    def met(self) -> bool | None:
        """Whether the ratio is on the good side of the target; None where nothing is claimed."""
        ratio, target = self.ratio, self.figure.target
        if ratio is None or target is None or not self.judged:
            return None
        return ratio <= target if self.figure.better is Better.LOWER else ratio >= target

    def as_json(self) -> dict[str, Any]:
        """The row in a results file: medians, and every round in the order it was run."""
        return {
            "name": self.figure.name,
            "ours": _rounded(median(self.ours)),
            "peer": _rounded(median(self.peer)) if self.peer else None,
            "ratio": None if self.ratio is None else _rounded(self.ratio),
            "target": self.figure.target,
            "met": self.met,
            "unit": self.figure.unit,
            "better": self.figure.better.value,
            "rounds": {"ours": [_rounded(value) for value in self.ours], "peer": [_rounded(value) for value in self.peer]},
        }


def _rounded(value: float) -> float:
    """Five digits: more would tell of nothing."""
    return float(f"{value:.5g}")
