"""`python -m tests.e2e.controlplane build | up`: the control plane tool by hand."""

import argparse
import shlex
import sys
import tempfile
import time
from pathlib import Path

from tests.e2e.controlplane import network, programs
from tests.e2e.controlplane.cluster import NEEDED, ControlPlane, Profile
from tests.e2e.controlplane.processes import ProcessDied, stop_all_at_exit
from tests.e2e.controlplane.waiting import WaitedInVain


def main() -> int:
    """Exit code 0 after Ctrl-C, 1 with one line on standard error if something is missing or failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.controlplane", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="build the programs that are missing or stale (minutes when cold, nothing when warm)")
    up = commands.add_parser("up", help="start a control plane, print its kubeconfig, run until Ctrl-C")
    up.add_argument("--profile", choices=[profile.value for profile in Profile], default=Profile.LOOPBACK.value)
    up.add_argument("--namespaces", type=int, default=2, help="routed profile: network namespaces to make for replicas (default 2)")
    arguments = parser.parse_args()
    try:
        if arguments.command == "build":
            programs.build()
        else:
            _up(Profile(arguments.profile), arguments.namespaces)
    except (FileNotFoundError, programs.BuildFailed, ProcessDied, WaitedInVain, network.NetworkFailed) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _up(profile: Profile, namespaces: int) -> None:
    reason = programs.skip_reason(*NEEDED) or (network.skip_reason() if profile is Profile.ROUTED else None)
    if reason:
        raise FileNotFoundError(reason)
    stop_all_at_exit()
    with tempfile.TemporaryDirectory(prefix="kubeglance-controlplane-") as directory:
        print("starting etcd, kube-apiserver, kube-controller-manager ...", flush=True)
        try:
            with ControlPlane.start(Path(directory), profile=profile) as plane:
                print(f"ready at {plane.server}; logs and certificates in {directory}\n", flush=True)
                print(f"export KUBECONFIG={shlex.quote(str(plane.kubeconfig()))}", flush=True)
                print(f"export PATH={shlex.quote(str(programs.path('kubectl').parent))}:$PATH\n", flush=True)
                if plane.network:
                    for _ in range(namespaces):
                        name, address = plane.network.add_namespace()
                        print(f"namespace for a replica at {address}: ip netns exec {name} PROGRAM", flush=True)
                print("Ctrl-C stops all of it", flush=True)
                while True:
                    plane.check()
                    time.sleep(1)
        except KeyboardInterrupt:
            print("\nstopped", flush=True)


if __name__ == "__main__":
    sys.exit(main())
