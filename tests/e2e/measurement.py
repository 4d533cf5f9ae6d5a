"""What an answer of metrics.k8s.io says of a pod or node, in numbers; and what the kernel says of a container over the same time."""

import bisect
import contextlib
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.clock import SystemClock
from app.wire.quantity import parse_bytes, parse_cpu
from tests.e2e.node.cgroups import Container, Reading

PERIOD = 0.2
SHORT = 2.0
"""Seconds under which a window is short."""
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


@dataclass(frozen=True)
class Usage:
    """CPU in nanocores and memory in bytes."""

    cpu: int
    memory: int


@dataclass(frozen=True)
class Measured:
    """One item: times are Unix seconds. `usages` has each container of a pod, or "" for a node."""

    name: str
    time: float
    window: float
    source: str
    usages: Mapping[str, Usage]

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> "Measured":
        """From an item of a list."""
        own = [{"name": "", "usage": item["usage"]}] if "usage" in item else item["containers"]
        return cls(
            name=item["metadata"]["name"],
            time=datetime.fromisoformat(item["timestamp"]).timestamp(),
            window=seconds(item["window"]),
            source=item["metadata"].get("annotations", {}).get("kubeglance.io/source", "resource"),
            usages={each["name"]: Usage(parse_cpu(each["usage"]["cpu"]), parse_bytes(each["usage"]["memory"])) for each in own},
        )


def seconds(duration: str) -> float:
    """A duration in Go's notation, such as "1m10.5s"."""
    return sum(float(number) * _UNITS[unit] for number, unit in re.findall(r"([\d.]+)(h|ms|us|µs|ns|m|s)", duration))


@dataclass
class Truth:
    """The kernel's own readings of one container, a few a second, from its start until it is gone."""

    times: list[float] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)

    def add(self, time: float, reading: Reading) -> None:
        self.times.append(time)
        self.readings.append(reading)

    def rate(self, start: float, end: float) -> float:
        """Nanocores between two times. Raises ValueError where there are no readings on both sides of both."""
        return (self._at(end, lambda reading: reading.cpu) - self._at(start, lambda reading: reading.cpu)) / (end - start)

    def memory(self, time: float) -> float:
        """Bytes in use."""
        return self._at(time, lambda reading: reading.memory)

    def _at(self, time: float, value: Callable[[Reading], int]) -> float:
        after = bisect.bisect_left(self.times, time)
        if not 0 < after < len(self.times):
            raise ValueError("outside of what was read")
        before, (t0, t1) = after - 1, self.times[after - 1 : after + 1]
        v0, v1 = value(self.readings[before]), value(self.readings[after])
        return v0 + (v1 - v0) * (time - t0) / (t1 - t0)


@dataclass(frozen=True)
class Compared:
    """CPU and memory of a container's value as a part of the kernel's figures over the same window and at the same time."""

    value: Measured
    cpu: float
    memory: float

    def __str__(self) -> str:
        return f"CPU {self.cpu:.1%}, memory {self.memory:.1%} over {self.value.window:.1f} s ({self.value.source})"

    @property
    def is_right(self) -> bool:
        """CPU within 10 %, memory within 5 %.

        In its first seconds a container's figures come of two hands, containerd and cAdvisor, whose clocks differ by up to 0.1 s: that
        is much of a window that short.
        """
        return abs(self.cpu - 1) <= (0.1 if self.value.window >= SHORT else 0.25) and abs(self.memory - 1) <= 0.05


def compare(truth: Truth, name: str, value: Measured) -> Compared | None:
    """A value beside what was read; None if that does not reach as far.

    On the wire times are whole seconds, rounded down, while windows are exact: so of the windows that end within that second it is the
    one that fits best. A kubelet states no window for its own rate (source summary): any of up to 25 s will do.
    """
    usage = value.usages[name]
    ends = [value.time + tenths / 10 for tenths in range(11)]
    windows = [float(each) for each in range(1, 26)] if value.source == "summary" else [value.window]
    rates, memories = [], []
    for end in ends:
        with contextlib.suppress(ValueError):
            memories.append(truth.memory(end))
        for window in windows:
            with contextlib.suppress(ValueError):
                rates.append(truth.rate(end - window, end))
    if not rates or (value.source != "summary" and len(rates) < len(ends)):
        return None
    return Compared(
        value,
        usage.cpu / min(rates, key=lambda rate: abs(rate - usage.cpu)),
        usage.memory / min(memories, key=lambda held: abs(held - usage.memory)),
    )


class Recorder:
    """Reads containers in a thread until it is closed; what is gone is no longer read."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._watched: dict[tuple[str, str], tuple[Container, Truth]] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="recorder")
        self._thread.start()

    def watch(self, pod: str, name: str, container: Container) -> None:
        """Read this container from now on."""
        self._watched = {**self._watched, (pod, name): (container, Truth())}

    @property
    def watched(self) -> list[tuple[str, str]]:
        """Pod and container of all that were ever read."""
        return list(self._watched)

    def truth(self, pod: str, name: str) -> Truth:
        """What was read so far."""
        return self._watched[pod, name][1]

    def close(self) -> None:
        """Stop reading."""
        self._end.set()
        self._thread.join()

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        while not self._end.wait(PERIOD):
            for container, truth in self._watched.values():
                try:
                    reading = container.read()
                except OSError:
                    continue
                truth.add(self._clock.wall(), reading)
