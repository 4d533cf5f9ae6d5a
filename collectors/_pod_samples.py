"""From a pod's own metrics to figures: which lines of its answer count, and how counters become rates. Pure."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from collectors._prometheus_text import read_samples
from collectors._source import Unusable

Type = Literal["counter", "gauge"]

MIN_WINDOW_S = 1.0
"""Two samples nearer than this give a wild rate, and are taken for one."""
_ANOTHER_CLOCK_S = 60.0
"""A time that goes back by more than this is of another clock, and not of a sample that was told late."""
_SUFFIXES = ("_total", "_sum", "_count")


class Told(NamedTuple):
    """One sample. `time` is the pod's own (Unix seconds), None where it tells none."""

    metric: str
    labels: Mapping[str, str]
    value: int | float
    time: float | None
    counter: bool


class Metrics:
    """The metrics that are wanted, by the names of samples or of their families, each with its type, None for what the pod says."""

    def __init__(self, wanted: Mapping[str, Type | None]) -> None:
        self._wanted = wanted
        names = "|".join(re.escape(name) for name in sorted(wanted))
        families = "|".join(re.escape(name) for name in sorted({*wanted, *map(_base, wanted)}))
        self._lines = re.compile(
            rf"^[ \t]*(?:#[ \t]+TYPE[ \t]+({families})[ \t]+([a-z]+)[ \t]*\r?|(?:{names})(?:{'|'.join(_SUFFIXES)})?[ \t]*[{{ \t].*)\n",
            re.MULTILINE,
        )

    def read(self, text: str) -> tuple[list[Told], list[Unusable]]:
        """The samples of a body that count, and what of the wanted ones cannot be used. A line costs itself only.

        Of histograms and summaries these are _sum and _count, both counters: buckets and quantiles are no figures of a pod.
        """
        types: dict[str, str] = {}
        lines: list[str] = []
        for line in self._lines.finditer(text):
            if line[1] is not None:
                types[line[1]] = line[2]
            else:
                lines.append(line[0])
        if text.rstrip().endswith("# EOF"):
            lines.append("# EOF\n")  # OpenMetrics, whose times are seconds
        samples, unusable = read_samples("".join(lines))
        if text and not text.endswith("\n"):
            unusable.append(Unusable(len(lines), "", "the last line has no line feed: it may have been cut"))
        told: list[Told] = []
        for index, sample in enumerate(samples):
            name: str = sample["name"]
            kind = self._type(name, types)
            if kind in {"counter", "gauge"}:
                time = datetime.fromisoformat(sample["timestamp"]).timestamp() if "timestamp" in sample else None
                told.append(Told(name, sample["labels"], sample["value"], time, kind == "counter"))
            elif kind == "":
                unusable.append(Unusable(index, name, "its type is not told: declare type: counter or gauge"))
        return told, unusable

    def _type(self, name: str, types: Mapping[str, str]) -> str:
        """counter or gauge; "" if nobody says it, another word for what is no figure."""
        base = _base(name)
        declared = self._wanted.get(name) or self._wanted.get(base)
        if declared is not None:
            return declared
        own, family = types.get(name, ""), types.get(base, "")
        if base != name and not own:
            if name.endswith("_total"):
                return "counter" if family == "counter" else ""
            return "counter" if family in {"histogram", "summary"} else ""
        return "" if own in {"unknown", "untyped"} else own


def _base(name: str) -> str:
    """The family that a sample is of: http_request_seconds of http_request_seconds_sum."""
    return next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name)


class Step(NamedTuple):
    """Where a counter stands after a sample: its value and time (Unix seconds), and the rate over the `window` s before, if there is one.

    A sample that cannot be used changes nothing: the rate of before stays, with its time.
    """

    value: int | float
    time: float
    rate: float | None = None
    window: float = 0.0


def step(last: Step | None, value: int | float, time: float) -> Step:
    """The step that a sample makes: the difference of two values over the difference of their own times.

    A counter that went back was started again, and gives no rate for this sample; neither does a first one.
    """
    if last is None or value < last.value or time < last.time - _ANOTHER_CLOCK_S:
        return Step(value, time) if last is None or time > last.time or time < last.time - _ANOTHER_CLOCK_S else last
    window = time - last.time
    if window < MIN_WINDOW_S:
        return last
    return Step(value, time, (value - last.value) / window, window)


Series = tuple[str, tuple[tuple[str, str], ...]]
"""(metric, its labels in order)."""


class Counters:
    """The counters of one instance of a pod."""

    def __init__(self, instance: str) -> None:
        self.instance = instance
        self._steps: dict[Series, Step] = {}

    def take(self, told: Sequence[Told], asked: float) -> list[tuple[Told, Step]]:
        """The figures of an answer that was asked for at `asked` (Unix seconds), which is the time of samples without their own.

        A gauge is what it is, a counter its rate. Series that are not told any more are forgotten.
        """
        steps: dict[Series, Step] = {}
        figures: list[tuple[Told, Step]] = []
        for each in told:
            time = each.time if each.time is not None else asked
            if not each.counter:
                figures.append((each, Step(each.value, time, each.value)))
                continue
            series = (each.metric, tuple(sorted(each.labels.items())))
            if series in steps:
                continue  # told twice in one answer: the first counts
            now = steps[series] = step(self._steps.get(series), each.value, time)
            if now.rate is not None:
                figures.append((each, now))
        self._steps = steps
        return figures
