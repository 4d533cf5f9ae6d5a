"""What a real node needs of the machine."""

import os
import shutil
from pathlib import Path

PROGRAMS = ("kubelet", "workload", "metrics-server")
"""What `make controlplane` builds for it."""

CNI_FOLDERS = ("/usr/lib/cni", "/opt/cni/bin")
CNI_PLUGINS = ("bridge", "host-local", "loopback")


def cni_folder() -> Path | None:
    """Where the CNI plugins are: Debian's folder or that of their own releases."""
    return next((Path(folder) for folder in CNI_FOLDERS if all(os.access(Path(folder, name), os.X_OK) for name in CNI_PLUGINS)), None)


def skip_reason() -> str | None:
    """One line if this machine cannot run containers, else None."""
    missing = [name for name in ("containerd", "runc", "ctr", "unshare", "mount") if shutil.which(name) is None]
    if cni_folder() is None:
        missing.append("CNI plugins")
    if missing:
        return f"no {', '.join(missing)} for a real node: install the Debian packages containerd, runc and containernetworking-plugins"
    if os.geteuid() != 0:
        return "a real node needs root: run the tests as root"
    if not os.access("/sys/fs/cgroup", os.W_OK):
        return "a real node needs a writable /sys/fs/cgroup: run the tests in a machine of their own, or in a privileged container"
    return None
