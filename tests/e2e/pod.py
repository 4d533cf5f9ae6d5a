"""A pod's surroundings without a container engine: network and mount namespaces, the ServiceAccount's files, an empty /tmp."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.processes import Process, plain_environment
from tests.e2e.controlplane.programs import ROOT

# $1 is the folder of the ServiceAccount's files; then folders under /tmp that the program itself is made of, "--", the command.
_SURROUNDINGS = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mkdir -p /run/secrets/kubernetes.io/serviceaccount /run/tmp
mount --bind "$1" /run/secrets/kubernetes.io/serviceaccount
mount -t tmpfs -o mode=1777 tmpfs /run/tmp
shift
while [ "$1" != "--" ]; do mkdir -p "/run$1"; mount --bind "$1" "/run$1"; shift; done
shift
mount --rbind /run/tmp /tmp
exec "$@"
"""


def skip_reason() -> str | None:
    """One line if this machine cannot make mount namespaces with mount and unshare, else None."""
    missing = [name for name in ("mount", "unshare") if shutil.which(name) is None]
    return f"no {', '.join(missing)}: install util-linux" if missing else None


def start_pod(
    plane: ControlPlane, name: str, command: Sequence[str], *, namespace: str, service_account: str, environment: Mapping[str, str]
) -> tuple[Process, str]:
    """Run a command as if in a pod, in a network namespace of the plane's bridge. Answers the process and the pod's address.

    /var/run/secrets/kubernetes.io/serviceaccount holds token, ca.crt and namespace; KUBERNETES_SERVICE_HOST and PORT name kube-apiserver;
    /tmp is empty but for the Python that runs us, should it live there. /var/run is /run, as on every current Linux.
    """
    if plane.network is None:
        raise ValueError("a pod needs the routed profile: on loopback it would have no address of its own")
    netns, address = plane.network.add_namespace()
    files = plane.directory / f"{name}-serviceaccount"
    files.mkdir()
    (files / "token").write_text(plane.token(namespace, service_account), encoding="ascii")
    (files / "namespace").write_text(namespace, encoding="ascii")
    (files / "ca.crt").write_bytes(plane.pki.cluster.pem)
    kept = {str(Path(folder).resolve()) for folder in (sys.prefix, sys.base_prefix, ROOT)}
    under_tmp = sorted(folder for folder in kept if folder.startswith("/tmp/"))
    surroundings = ["unshare", "--mount", "sh", "-c", _SURROUNDINGS, "sh", str(files), *under_tmp, "--"]
    cluster = {"KUBERNETES_SERVICE_HOST": plane.address, "KUBERNETES_SERVICE_PORT": str(plane.port)}
    process = Process(
        name,
        [*surroundings, *command],
        plane.directory / f"{name}.log",
        env=plain_environment(HOME="/nonexistent", PYTHONUNBUFFERED="1", TMPDIR="/tmp", **cluster, **environment),
        cwd=ROOT,
        netns=netns,
    )
    return process, address


def entry_point() -> list[str]:
    """What the image runs before a Deployment's args: `kubeglance serve`."""
    return [os.fspath(sys.executable), "-m", "app", "serve"]
