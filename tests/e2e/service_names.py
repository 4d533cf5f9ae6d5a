"""Names of Services without a cluster DNS: a file of hosts that one program alone sees, as a pod has one of its own."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.controlplane import ControlPlane, Profile

_LOOPBACK = "127.0.0.1"
_SURROUNDINGS = """
set -e
mount --make-rprivate /
mount --bind "$1" /etc/hosts
shift
exec "$@"
"""


def skip_reason() -> str | None:
    """One line if this machine cannot make mount namespaces, else None."""
    missing = [name for name in ("mount", "unshare") if shutil.which(name) is None]
    if missing:
        return f"no {', '.join(missing)}: install util-linux"
    return "mount namespaces need root: run the tests as root, or in a container that has CAP_SYS_ADMIN" if os.geteuid() else None


def make_service(plane: ControlPlane, namespace: str, name: str, port: int) -> None:
    """A Service that leads to a port of this machine."""
    if plane.profile is not Profile.LOOPBACK:
        raise ValueError("on this profile Services have endpoints: see endpoints.py")
    spec = {"type": "ExternalName", "externalName": "localhost", "ports": [{"name": "https", "port": port}]}
    plane.apply([{"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": namespace, "name": name}, "spec": spec}])


def write_hosts(plane: ControlPlane, namespaces: Sequence[str], file: Path) -> None:
    """Write what a cluster DNS would say of the Services of these namespaces: NAME.NAMESPACE.svc is where its external name leads."""
    lines = [f"{_LOOPBACK} localhost"]
    for namespace in namespaces:
        services: list[dict[str, Any]] = yaml.safe_load(plane.kubectl("get", "services", "-n", namespace, "-o", "yaml").stdout)["items"]
        led = [each["metadata"]["name"] for each in services if each["spec"].get("externalName") == "localhost"]
        lines += [f"{_LOOPBACK} {name}.{namespace}.svc" for name in led]
    file.write_text("\n".join(lines) + "\n", encoding="ascii")


def seeing(hosts: Path) -> list[str]:
    """What a command is run by for it to have `hosts` as its own; later changes of the file are seen too."""
    return ["unshare", "--mount", "sh", "-c", _SURROUNDINGS, "sh", str(hosts)]
