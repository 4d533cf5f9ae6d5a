"""/proc, read for a process and all that came of it."""

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.processes import ProcessTree, Stat

TICKS = os.sysconf("SC_CLK_TCK")


def stat(pid: int, parent: int, *, user: int, system: int, ended: int = 0, name: str = "server") -> str:
    """A line of proc(5), of which only what is used matters."""
    return f"{pid} ({name}) S {parent} 1 1 0 -1 4194304 1 2 3 4 {user} {system} {ended} {ended} 20 0 1 0 5000 1000 200 0 0 0\n"


def made(folder: Path, pid: int, line: str, kib: int = 0) -> None:
    """One process in a folder that stands for /proc."""
    (folder / str(pid)).mkdir()
    (folder / str(pid) / "stat").write_text(line)
    (folder / str(pid) / "smaps_rollup").write_text(f"5500-7fff ---p 00000000 00:00 0  [rollup]\nRss:{kib:>15} kB\nPss:        1 kB\n")


def test_a_name_with_brackets_and_spaces_is_only_a_name() -> None:
    """Fields are counted from behind it."""
    assert Stat(parent=7, cpu_ticks=33 + 44, start_ticks=5000) == Stat.parse(stat(9, 7, user=33, system=44, name="a) S 1 (b"))


def test_children_count_those_that_ended_and_those_that_run(tmp_path: Path) -> None:
    """User and system time; what belongs to others does not count."""
    made(tmp_path, 10, stat(10, 1, user=TICKS, system=TICKS, ended=TICKS), kib=100)
    made(tmp_path, 11, stat(11, 10, user=2 * TICKS, system=0), kib=20)
    made(tmp_path, 12, stat(12, 11, user=0, system=3 * TICKS), kib=3)
    made(tmp_path, 13, stat(13, 1, user=100 * TICKS, system=0), kib=100_000)
    (tmp_path / "self").mkdir()

    tree = ProcessTree(10, tmp_path)

    assert 4 + 2 + 3 == tree.cpu_seconds()
    assert 123 * 1024 == tree.resident_bytes()


def test_a_process_that_ends_meanwhile_is_left_out(tmp_path: Path) -> None:
    """Its folder is there, its files are not."""
    made(tmp_path, 10, stat(10, 1, user=TICKS, system=0))
    (tmp_path / "11").mkdir()

    assert 1 == ProcessTree(10, tmp_path).cpu_seconds()


def test_the_real_proc_is_read() -> None:
    """This process, and one of its own."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        tree = ProcessTree(os.getpid())
        assert tree.resident_bytes() > ProcessTree(child.pid).resident_bytes() > 0
        assert tree.cpu_seconds() > 0
        assert tree.age_seconds() >= ProcessTree(child.pid).age_seconds() >= 0
    finally:
        child.communicate(b"\n")
