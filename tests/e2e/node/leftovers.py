"""The end of a node, also of one whose process was killed: everything of it hangs on one folder and one control group of the same name."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from tests.e2e.node import cgroups

PARENT = Path("/run")
"""Short, for the path of a socket has at most 107 bytes, and no overlay file system itself."""
PREFIX = "kgnode"
_LOGS = Path("/var/log/containers")
_NETWORK_RESULTS = Path("/var/lib/cni/results")


def own_name() -> str:
    """The name of this process's node: folder, control group and bridge have it."""
    return f"{PREFIX}{os.getpid():x}"


def remove_those_of_the_dead() -> None:
    """Remove what processes left that were killed with -9: the names tell whose it was."""
    names = {folder.name for parent in (PARENT, *cgroups.hierarchies()) for folder in parent.glob(f"{PREFIX}*")}
    for name in sorted(names):
        owner = re.fullmatch(f"{PREFIX}([0-9a-f]+)", name)
        if owner and not Path("/proc", str(int(owner[1], 16))).exists():
            print(f"... removing the node {name}, whose test run was killed", flush=True)
            remove(name)


def remove(name: str) -> None:
    """Remove a node whose containerd and kubelet have ended. Doing it twice is fine."""
    folder = PARENT / name
    cgroups.remove(name)
    _end_shims(folder)
    _unmount_below(folder)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["ip", "link", "del", name], capture_output=True, check=False)
    for result in _NETWORK_RESULTS.glob(f"{name}-*-eth0"):
        sandbox = result.name.removeprefix(f"{name}-").removesuffix("-eth0")
        (_NETWORK_RESULTS / f"cni-loopback-{sandbox}-lo").unlink(missing_ok=True)
        result.unlink()
    for link in _LOGS.glob("*.log"):
        if link.is_symlink() and str(link.readlink()).startswith(f"{folder}/"):
            link.unlink()
    # What a kubelet makes at fixed places. A folder with anything in it is somebody else's and stays.
    for made in (_LOGS, Path("/var/lib/kubelet/device-plugins"), Path("/var/lib/kubelet"), _NETWORK_RESULTS, _NETWORK_RESULTS.parent):
        with contextlib.suppress(OSError):
            made.rmdir()


def shims(folder: Path) -> list[int]:
    """The processes that hold containers of this node's containerd."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            command = (process / "cmdline").read_bytes().split(b"\0") if process.name.isdigit() else []
        except OSError:
            continue  # ended meanwhile
        if command and b"containerd-shim" in command[0] and any(part.startswith(os.fsencode(folder) + b"/") for part in command):
            found.append(int(process.name))
    return found


def _end_shims(folder: Path) -> None:
    """With their containers dead they have nothing to do, but nobody who would tell them."""
    sockets = [file.read_text(encoding="utf-8").removeprefix("unix://") for file in folder.glob("containerd-state/*/*/*/address")]
    for pid in shims(folder):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    for _ in range(50):
        if not shims(folder):
            break
        time.sleep(0.1)
    for socket in sockets:
        Path(socket).unlink(missing_ok=True)


def _unmount_below(folder: Path) -> None:
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()]
    for mount in sorted((path for path in mounts if path.startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", "--lazy", mount], capture_output=True, check=False)
