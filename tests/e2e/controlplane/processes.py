"""Child processes that never outlive the one that started them, and free ports for them to listen on."""

import atexit
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

_running: list["Process"] = []
_given: set[int] = set()

STOP_SECONDS = 20.0


class ProcessDied(RuntimeError):
    """A program ended although it should run. The message holds the end of its log."""


def free_port(address: str = "127.0.0.1") -> int:
    """A port that nothing listens on now, never given out before by this process.

    Taken from below the kernel's range for outgoing connections: a port inside it could be borrowed by any client between
    this look and the program's bind, or while a program that will come back on the same port is away.
    """
    try:
        first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    except OSError:
        first = 32768
    candidates = list(range(min(20000, first - 2000), first))
    random.shuffle(candidates)
    for port in candidates:
        if port in _given:
            continue
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
            try:
                probe.bind((address, port))
            except OSError:
                continue
        _given.add(port)
        return port
    raise OSError(f"no free port on {address}")


class Process:
    """One running program with a log file of its own."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str | Path],
        log: Path,
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        netns: str | None = None,
    ) -> None:
        """Start it. `env` replaces the whole environment if given. `netns` is a network namespace made by `ip netns`."""
        self.name = name
        self.log = log
        command = [str(part) for part in argv]
        if netns is not None:
            command = ["ip", "netns", "exec", netns, *command]
        if setpriv := shutil.which("setpriv"):
            # The kernel then ends the program even if this process is killed with -9 and can run no code of its own.
            command = [setpriv, "--pdeathsig", "KILL", *command]
        with log.open("ab") as out:
            self._popen = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env, cwd=cwd)
        _running.append(self)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def root(self) -> Path:
        """Its file system as it sees it, mounts of its own included, while it runs."""
        return Path("/proc", str(self.pid), "root")

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._popen.poll()

    def text(self) -> str:
        """All that it has written so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def check(self) -> None:
        """Raise ProcessDied if it ended."""
        if self.exit_code is not None:
            end = "\n".join(self.text().splitlines()[-20:])
            raise ProcessDied(f"{self.name} ended with {self.exit_code}; the end of {self.log}:\n{end}")

    def signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.exit_code is None:
            self._popen.send_signal(number)

    def wait(self, seconds: float) -> int:
        """Its exit code. Raises subprocess.TimeoutExpired."""
        return self._popen.wait(seconds)

    def stop(self, seconds: float = STOP_SECONDS) -> int:
        """End it: politely, and by force after `seconds`. Answers its exit code; stopping twice is fine."""
        self.signal(signal.SIGTERM)
        try:
            code = self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            code = self._popen.wait()
        if self in _running:
            _running.remove(self)
        return code


def stop_all() -> None:
    """End all that still runs, the youngest first: controllers, then kube-apiserver, then etcd."""
    for process in reversed(_running[:]):
        process.stop()


def stop_all_at_exit() -> None:
    """Call once from a main program: whatever way it ends, its programs end with it."""
    atexit.register(stop_all)

    def leave(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)  # runs finally blocks and atexit, which the signal's default action would not

    signal.signal(signal.SIGTERM, leave)


def plain_environment(**more: str) -> dict[str, str]:
    """The environment without anything that would send programs to another cluster or through a proxy."""
    kept = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy") and not k.startswith(("KUBE", "POD_"))}
    return {**kept, **more}
