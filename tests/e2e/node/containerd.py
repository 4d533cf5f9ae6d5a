"""containerd for one node: its own folders, socket, network configuration and image; nothing of a system's containerd is touched."""

import json
import shutil
import subprocess
from pathlib import Path

from tests.e2e.controlplane import programs
from tests.e2e.controlplane.processes import Process, plain_environment
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.node import image
from tests.e2e.node.requirements import cni_folder

_CONFIG = """
version = 2
root = "{folder}/containerd"
state = "{folder}/containerd-state"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.tracing.processor.v1.otlp", "io.containerd.internal.v1.tracing",
]

[grpc]
address = "{folder}/socket/containerd.sock"

[plugins."io.containerd.internal.v1.opt"]
path = "{folder}/containerd-opt"

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{image}"
# Without CAP_SYS_RESOURCE no sandbox could lower its score.
restrict_oom_score_adj = true
# Network namespaces in our own folder: so whatever happens it is known whose they are.
netns_mounts_under_state_dir = true
stream_server_address = "127.0.0.1"
stream_server_port = "0"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.{slow}]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.{slow}.options]
BinaryName = "{folder}/slow-runc"

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{plugins}"
conf_dir = "{folder}/cni"
"""

NAMESPACE = "k8s.io"
SLOW = "slow"
"""A handler for RuntimeClasses: between creating a container and starting it there are SLOW_SECONDS."""
SLOW_SECONDS = 5
_SLOW_RUNC = f"""#!/bin/sh
for word in "$@"; do [ "$word" = start ] && sleep {SLOW_SECONDS} && break; done
exec runc "$@"
"""


class Containerd:
    """A running containerd that has our image."""

    def __init__(self, folder: Path, bridge: str, log: Path) -> None:
        """Start it and wait until the image is in."""
        self.socket = folder / "socket" / "containerd.sock"
        plugins = cni_folder()
        config = folder / "containerd.toml"
        config.write_text(_CONFIG.format(folder=folder, image=image.NAME, plugins=plugins, slow=SLOW), encoding="utf-8")
        slow = folder / "slow-runc"
        slow.write_text(_SLOW_RUNC, encoding="ascii")
        slow.chmod(0o755)
        (folder / "cni").mkdir(exist_ok=True)
        (folder / "cni" / "10-node.conflist").write_text(json.dumps(_network(folder, bridge)), encoding="ascii")
        self.process = Process("containerd", [_program("containerd"), "--config", config], log, env=plain_environment())
        wait_until("containerd answers", self._answers, seconds=60)
        image.write(programs.path("workload"), folder / "image.tar")
        self.ctr("images", "import", str(folder / "image.tar"))

    def ctr(self, *args: str) -> str:
        """Run ctr. Raises AssertionError with its words."""
        command = [_program("ctr"), "--address", str(self.socket), "--namespace", NAMESPACE, *args]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode:
            raise AssertionError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def tasks(self) -> list[str]:
        """The ids of containers that run, pods' sandboxes among them."""
        return self.ctr("tasks", "ls", "-q").split()

    def stop(self) -> None:
        """End it; its containers run on, as they would on a node."""
        self.process.stop()

    def _answers(self) -> bool:
        self.process.check()
        return bool(self.ctr("version"))


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name} is not installed")
    return found


def _network(folder: Path, bridge: str) -> dict[str, object]:
    """Pods get an address on a bridge, and no way out: nothing here needs one."""
    return {
        "cniVersion": "0.4.0",
        "name": bridge,
        "plugins": [
            {
                "type": "bridge",
                "bridge": bridge,
                "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.78.0.0/24"}]], "dataDir": f"{folder}/addresses"},
            }
        ],
    }
