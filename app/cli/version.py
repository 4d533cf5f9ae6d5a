"""`kubeglance version`: which kubeglance this is."""

import platform

from app import __version__


def version_line() -> str:
    """What `kubeglance version` prints."""
    return f"kubeglance {__version__} (Python {platform.python_version()}, {platform.system().lower()}/{platform.machine()})"
