"""What /proc says of a program that is measured: the CPU time and the memory of all its processes together (proc(5))."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Stat:
    """The part of /proc/PID/stat that is used. `cpu_ticks` is user and system time, of children that ended and were waited for too."""

    parent: int
    cpu_ticks: int
    start_ticks: int

    @classmethod
    def parse(cls, text: str) -> "Stat":
        """The name of a program may hold spaces and brackets: what counts stands behind the last bracket."""
        fields = text[text.rindex(")") + 2 :].split()
        return cls(parent=int(fields[1]), cpu_ticks=sum(int(field) for field in fields[11:15]), start_ticks=int(fields[19]))


class ProcessTree:
    """A process and its descendants. Raises OSError once the process is gone."""

    def __init__(self, pid: int, proc: Path = PROC) -> None:
        self.pid = pid
        self._proc = proc

    def cpu_seconds(self) -> float:
        """User and system time since the start."""
        return sum(self._stat(pid).cpu_ticks for pid in self._pids()) / _TICKS

    def resident_bytes(self) -> int:
        """RSS of now. From smaps_rollup, which counts pages; the figure in status may be stale by some hundred KiB."""
        return sum(_resident((self._proc / str(pid) / "smaps_rollup").read_text(encoding="ascii")) for pid in self._pids())

    def age_seconds(self) -> float:
        """How long ago the process was started."""
        return time.clock_gettime(time.CLOCK_BOOTTIME) - self._stat(self.pid).start_ticks / _TICKS

    def _pids(self) -> Iterator[int]:
        children: dict[int, list[int]] = {}
        for folder in self._proc.iterdir():
            if folder.name.isdigit():
                try:
                    children.setdefault(self._stat(int(folder.name)).parent, []).append(int(folder.name))
                except OSError:
                    continue  # it ended while we looked
        waiting = [self.pid]
        while waiting:
            pid = waiting.pop()
            yield pid
            waiting.extend(children.get(pid, ()))

    def _stat(self, pid: int) -> Stat:
        return Stat.parse((self._proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace"))


def _resident(rollup: str) -> int:
    line = next(line for line in rollup.splitlines() if line.startswith("Rss:"))
    return int(line.split()[1]) * 1024
