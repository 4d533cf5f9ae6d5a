"""`kubeglance version`: which kubeglance this is."""

import platform
import sys
from collections.abc import Sequence

from app import __version__

_USAGE = "Usage: kubeglance version\n\nPrints the version of kubeglance, of Python and of the machine."


def run(argv: Sequence[str]) -> int:
    """Print the version; the answer is the exit code."""
    if argv and argv[0] in {"-h", "--help"}:
        print(_USAGE)
        return 0
    if argv:
        print(f"kubeglance version: {argv[0]}: takes no arguments; see kubeglance version --help", file=sys.stderr)
        return 2
    print(version_line())
    return 0


def version_line() -> str:
    """What `kubeglance version` prints."""
    return f"kubeglance {__version__} (Python {platform.python_version()}, {platform.system().lower()}/{platform.machine()})"
