"""What a run has found, as a file: benchmarks/results/latest.json of a full run, hpa.json of one beside prometheus-adapter; others are
kept out of git."""

import json
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app import __version__
from benchmarks import chart, released
from benchmarks.rows import Row
from benchmarks.scenarios import Scenario
from tests.e2e.controlplane import programs

LATEST = Path(__file__).with_name("results") / "latest.json"
HPA = LATEST.with_name("hpa.json")
PEERS = {"metrics-server": programs.METRICS_SERVER, "prometheus-adapter": programs.PROMETHEUS_ADAPTER}
_BUILD_INFO = b"\xff Go buildinf:"
"""debug/buildinfo: the mark before a Go program's own record, whose version stands 32 bytes on, behind its length."""


def document(scenario: Scenario, rows: Sequence[Row], peer: str, *, started: str, seconds: float) -> dict[str, Any]:
    """All of a run beside that program. `started` is RFC 3339."""
    return {
        "scenario": scenario.name,
        "peer": peer,
        "nodes": scenario.nodes,
        "pods": scenario.nodes * scenario.pods,
        "containers": scenario.nodes * scenario.pods * scenario.containers,
        "started": started,
        "seconds": round(seconds),
        "machine": machine(),
        "versions": versions(peer),
        "rows": [row.as_json() for row in rows],
    }


def keep(found: dict[str, Any], name: str) -> Path:
    """Write it, and draw it, under this name. Answers where."""
    path = LATEST.with_name(f"{name}.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    chart.draw(found, path.with_suffix(".png"))
    return path


def machine() -> dict[str, Any]:
    """What the figures were made on."""
    model = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    processors = re.findall(r"^processor\s*:", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    kib = re.search(r"^MemTotal:\s+(\d+) kB$", Path("/proc/meminfo").read_text(encoding="ascii"), re.MULTILINE)
    return {
        "processor": model[1] if model else platform.machine(),
        "processors": len(processors),
        "memoryGiB": round(int(kib[1]) / 2**20) if kib else None,
        "system": f"{platform.system()} {platform.release()}",
    }


def versions(peer: str) -> dict[str, str]:
    """Of all programs that took part."""
    return {
        "kubeglance": __version__,
        "commit": commit(),
        "python": released.python_version(),
        peer: PEERS[peer],
        "go": go_version(programs.path(peer)),
        "kubernetes": programs.KUBERNETES,
    }


def commit() -> str:
    """Which kubeglance is measured: "-dirty" where the program is not as it was committed; what a run itself writes does not count."""
    changed = _git("status", "--porcelain", "--", "app", "collectors")
    return (_git("rev-parse", "--short=12", "HEAD") or "unknown") + ("-dirty" if changed else "")


def _git(*arguments: str) -> str:
    if shutil.which("git") is None:
        return ""
    return subprocess.run(["git", *arguments], cwd=programs.ROOT, capture_output=True, text=True, check=False).stdout.strip()


def go_version(program: Path) -> str:
    """Which Go has built a program, by its own record; "unknown" without one."""
    binary = program.read_bytes()
    at = binary.find(_BUILD_INFO)
    if at < 0:
        return "unknown"
    length = binary[at + 32]
    return binary[at + 33 : at + 33 + length].decode("ascii", "replace").removeprefix("go")
