"""kubeglance as its image has it: the packages that serve.lock names and no others, on a Python that was built with optimisation.

An environment for development has more: structlog, for one, loads whatever it finds that could print tracebacks in colour, 3 MiB of it. And
a Python that was compiled where it is used is seldom optimised by a profile, as those of distributions and of the official images are. The
peers are measured as they are released too.
"""

import subprocess
from functools import cache
from pathlib import Path

from tests.e2e.controlplane.programs import ROOT

PYTHON: Path = ROOT / ".venv" / "released" / "bin" / "python"
"""Runs `-m app` in the checkout. `make bench` makes it."""


@cache
def python_version() -> str:
    """That of PYTHON, as in 3.11.2. Raises OSError, CalledProcessError if there is none that runs."""
    command = [str(PYTHON), "-c", "import platform; print(platform.python_version())"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
