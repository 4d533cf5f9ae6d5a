"""`make bench SUITE=micro`: the CPU time of each step between a kubelet's answer and a client's list, in one process, with no network.

For comparing one commit with another on one machine, and for nothing else: a claim against a peer needs both in one run.
"""

import subprocess
import sys
from pathlib import Path

_HERE = Path(__file__).parent


def run() -> int:
    """Print a table of all steps; answers pytest's exit code."""
    return subprocess.run([sys.executable, "-m", "pytest", "-c", _HERE / "pytest.ini", _HERE], check=False).returncode
