"""Load on one server, by wrk: how many requests it answers a second, and how long each takes."""

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

_SCRIPT = Path(__file__).with_name("load.lua")
_SOCKET_TIMEOUT_S = 20


class LoadFailed(RuntimeError):
    """The load was not answered as it must be: what was measured is worth nothing."""


@dataclass(frozen=True)
class Load:
    """What a run of wrk saw. `latencies` counts requests by their microseconds."""

    requests: int
    seconds: float
    latencies: Mapping[int, int] = field(repr=False)

    @classmethod
    def parse(cls, output: str) -> Self:
        """From the lines that load.lua prints. Raises LoadFailed if there are none, or if any request was not answered with 2xx.

        What was still under way at the end does not count: on many connections a slow server may have finished nothing.
        """
        totals = re.search(
            r"^totals: requests=(\d+) microseconds=(\d+) connect=(\d+) read=(\d+) write=(\d+) status=(\d+) timeout=(\d+)$",
            output,
            re.MULTILINE,
        )
        if totals is None:
            raise LoadFailed(f"wrk said nothing that can be read: {output.strip()[-300:]}")
        requests, microseconds, *faults = (int(group) for group in totals.groups())
        if any(faults):
            names = ("connect errors", "read errors", "write errors", "answers that are no 2xx", "time-outs")
            raise LoadFailed(
                ", ".join(f"{count} {name}" for count, name in zip(faults, names, strict=True) if count) + f" of {requests} requests"
            )
        counts = re.findall(r"(\d+):(\d+)", output.partition("\nlatencies: ")[2])
        return cls(requests, microseconds / 1e6, {int(latency): int(count) for latency, count in counts})

    @classmethod
    def merged(cls, runs: Sequence["Load"]) -> "Load":
        """Several runs as if they had been one."""
        latencies: Counter[int] = Counter()
        for run in runs:
            latencies.update(run.latencies)
        return Load(sum(run.requests for run in runs), sum(run.seconds for run in runs), latencies)

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.requests / self.seconds

    def percentile(self, part: float) -> float:
        """Milliseconds within which this part of all requests was answered, such as 0.99: the nearest rank."""
        rank, seen = part * sum(self.latencies.values()), 0
        for latency in sorted(self.latencies):
            seen += self.latencies[latency]
            if seen >= rank:
                return latency / 1000
        raise LoadFailed("no request was answered in time")


def missing() -> str | None:
    """One line if there is no wrk."""
    return None if shutil.which("wrk") else "no wrk, which makes the load: run `sudo apt-get install wrk`, or install your system's package"


def run(url: str, paths: Sequence[str], headers: Mapping[str, str], *, connections: int, seconds: int, program: str = "wrk") -> Load:
    """Ask for `paths`, one after the other, on so many connections at once, each waiting for its answer before it asks again.

    wrk runs in one thread: what it needs is taken from both servers alike. Raises LoadFailed; FileNotFoundError if there is no wrk.
    """
    with TemporaryDirectory(prefix="kubeglance-load-") as folder:
        file = Path(folder) / "paths"
        file.write_text("".join(f"{path}\n" for path in paths), encoding="ascii")
        command = [
            program,
            "--threads=1",
            f"--connections={connections}",
            f"--duration={seconds}s",
            f"--timeout={_SOCKET_TIMEOUT_S}s",
        ]
        command += [part for name, value in headers.items() for part in ("--header", f"{name}: {value}")]
        command += ["--script", str(_SCRIPT), url, "--", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds + 2 * _SOCKET_TIMEOUT_S)
    if done.returncode:
        raise LoadFailed(f"wrk ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
    return Load.parse(done.stdout)
