"""What `kubeglance serve` loads. Every module costs memory for as long as the process lives, and time before the first value."""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

_LOCK = Path(__file__).parents[2] / "requirements" / "serve.lock"

_ABSENT = {
    "aiohttp": "connections are our own (app/http1, app/kube/streams.py)",
    "app.simulation": "the simulated cluster is for the demo and for tests",
    "app.cli.manifests": "another command",
    "app.declared": "only where something is declared (app/pipeline/declarations.py)",
    "app.pipeline.live_engine": "see app.declared",
    "asyncpg": "see app.declared",
    "cel_expr_python": "see app.declared",
    "argparse": "serve's flags are read by app/cli/flags.py",
    "httpx": "the demo's and the tests' client",
    "kubernetes": "only for kubeconfigs with a program or an identity provider (app/kube/kubeconfig.py)",
    "matplotlib": "charts of benchmarks",
    "pytest": "tests",
    "sqlalchemy": "see app.declared",
    "re2": "only where there is a file of prometheus-adapter (app/adapter/naming.py)",
    "rich": "structlog takes it for tracebacks where it is installed",
    "requests": "the official client's",
    "websockets": "nothing is upgraded (app/serving/protocol.py)",
    "yaml": "only for kubeconfigs and settings files",
}
"""What must not be loaded, and who would load it or what stands in for it."""

_SCRIPT = """
import sys

class Released:
    def find_spec(self, name, path=None, target=None):
        if name in hidden:
            raise ModuleNotFoundError(name)

hidden = set(sys.argv[1:])
sys.meta_path.insert(0, Released())

from app.cli.main import main
import app.cli.serve, app.main
print(*sys.modules)
"""


@pytest.fixture(scope="module")
def loaded() -> frozenset[str]:
    """The modules of a process that is about to serve, by their full names, where nothing is installed but what serve requires."""
    required = {_normalized(name) for name in re.findall(r"^([\w.-]+)==", _LOCK.read_text(), re.MULTILINE)} | {"kubeglance"}
    installed = packages_distributions()
    hidden = [module for module, names in installed.items() if required.isdisjoint(map(_normalized, names))]
    done = subprocess.run([sys.executable, "-c", _SCRIPT, *hidden], capture_output=True, text=True, check=True)
    return frozenset(done.stdout.split())


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("module", _ABSENT)
def test_what_serve_does_not_use_is_not_loaded(module: str, loaded: frozenset[str]) -> None:
    """Each with what stands in for it."""
    found = sorted(name for name in loaded if name == module or name.startswith(f"{module}."))

    assert not found, f"{module} is loaded: {_ABSENT[module]}"


def test_all_that_serves_is_loaded_before(loaded: frozenset[str]) -> None:
    """The table above would hold for an empty process, too; and what is loaded later is not set aside by app/memory.py."""
    assert {"app.main", "app.kube.streams", "app.serving.server", "collectors.kubelet_summary", "fastapi", "uvloop"} <= loaded
