"""The control groups of one node: a parent for all of its pods, and the kernel's own figures of a container, of either cgroup version."""

import os
import signal
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path("/sys/fs/cgroup")
EMPTY_SECONDS = 5.0


class Reading(NamedTuple):
    """What the kernel says of one container: CPU used so far (ns), and memory in use that it could not simply drop (bytes)."""

    cpu: int
    memory: int


def is_v2() -> bool:
    """Whether there is one unified hierarchy."""
    return (ROOT / "cgroup.controllers").exists()


def hierarchies() -> list[Path]:
    """Where every hierarchy is mounted."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
    return [Path(fields[1]) for fields in mounts if fields[2] in {"cgroup", "cgroup2"} and fields[1].startswith(str(ROOT))]


def create(name: str) -> None:
    """Make the group in every hierarchy: a kubelet does not make its own root. Doing it twice is fine."""
    for hierarchy in hierarchies():
        group = hierarchy / name
        group.mkdir(exist_ok=True)
        # A new cpuset of version 1 allows nothing, not even to be entered.
        for file in ("cpuset.cpus", "cpuset.mems"):
            if not is_v2() and (group / file).exists():
                (group / file).write_text((hierarchy / file).read_text(encoding="ascii"), encoding="ascii")


def remove(name: str) -> None:
    """Kill whatever is left in the group, and remove it with all below. Doing it twice is fine."""
    for hierarchy in hierarchies():
        for group, _, _ in os.walk(hierarchy / name, topdown=False):
            _remove_one(Path(group))


def container(name: str, container_id: str) -> "Container":
    """The groups of one container somewhere under the group `name`. Raises OSError if it has none (it does not run)."""
    folders = []
    for controller in ("",) if is_v2() else ("cpuacct", "memory"):
        found = next((Path(folder) for folder, _, _ in os.walk(ROOT / controller / name) if container_id in Path(folder).name), None)
        if found is None:
            raise FileNotFoundError(f"no group of container {container_id} under {ROOT / controller / name}")
        folders.append(found)
    return Container(folders[0], folders[-1])


class Container:
    """Reads a container's figures; a read raises OSError once it is gone."""

    def __init__(self, cpu: Path, memory: Path) -> None:
        self._cpu = cpu
        self._memory = memory

    def read(self) -> Reading:
        """As a kubelet does: working set is what is in use without the inactive part of the page cache."""
        if is_v2():
            used = int((self._memory / "memory.current").read_text(encoding="ascii"))
            return Reading(
                _field(self._cpu / "cpu.stat", "usage_usec") * 1000, used - _field(self._memory / "memory.stat", "inactive_file")
            )
        used = int((self._memory / "memory.usage_in_bytes").read_text(encoding="ascii"))
        cpu = int((self._cpu / "cpuacct.usage").read_text(encoding="ascii"))
        return Reading(cpu, used - _field(self._memory / "memory.stat", "total_inactive_file"))

    def inactive(self) -> int:
        """Bytes of page cache that count as no use."""
        return _field(self._memory / "memory.stat", "inactive_file" if is_v2() else "total_inactive_file")

    def kill(self) -> None:
        """SIGKILL to all of its processes."""
        for pid in (self._cpu / "cgroup.procs").read_text(encoding="ascii").split():
            os.kill(int(pid), signal.SIGKILL)


def _field(file: Path, name: str) -> int:
    for line in file.read_text(encoding="ascii").splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    raise OSError(f"{file} has no {name}")


def _remove_one(group: Path) -> None:
    for _ in range(int(EMPTY_SECONDS / 0.1)):
        try:
            for pid in (group / "cgroup.procs").read_text(encoding="ascii").split():
                os.kill(int(pid), signal.SIGKILL)
            group.rmdir()
        except FileNotFoundError:
            return
        except (ProcessLookupError, OSError):
            time.sleep(0.1)  # busy: the killed are not quite gone
        else:
            return
