"""A real kubelet, registered under a name of its own and reached through loopback."""

import os
from pathlib import Path

import yaml

from tests.e2e.controlplane import ControlPlane, programs
from tests.e2e.controlplane.processes import Process, free_port, plain_environment
from tests.e2e.node import cgroups

# A kubelet's cAdvisor looks for containerd at this one place. Not finding it, it would ask containerd for fresh figures with every scrape,
# where the usual kubelet tells those of its last look, 10 to 20 s ago. And a kubelet has a control group of its own, which is as old as it
# is: so its statistics tell when it was started. $1 is the folder of the socket, $2 the group, the rest is the command. Where no service of
# containerd ever ran, that place is still to be made.
_SURROUNDINGS = """
set -e
mkdir -p /run/containerd
mount --bind "$1" /run/containerd
for group in /sys/fs/cgroup/*/"$2" /sys/fs/cgroup/"$2"; do
  if [ -e "$group/cgroup.procs" ]; then echo $$ > "$group/cgroup.procs"; fi
done
shift 2
exec "$@"
"""
CRASH_LOOP_SECONDS = 4
"""The longest back-off between restarts (KEP-4603): some rounds of a crash loop fit into a test."""


class Kubelet:
    """A kubelet that can be stopped and started again on the same port, as after an upgrade of a node."""

    def __init__(self, plane: ControlPlane, name: str, folder: Path, runtime: Path, cgroup: str) -> None:
        """Write its files; `runtime` is containerd's socket, `cgroup` the parent of all pods' groups. See `start`."""
        self.port = free_port()
        self.authority = plane.pki.kubelets.certificate
        self._log = plane.directory / f"{name}-kubelet.log"
        self._cgroup = f"{cgroup}/kubelet"
        self._process: Process | None = None
        self.static_pods = folder / "static-pods"
        self.static_pods.mkdir(exist_ok=True)
        serving = plane.pki.kubelets.server(f"{name}-serving", f"system:node:{name}", dns=[name], ips=["127.0.0.1"])
        # Subject and group are what makes it a node: the Node authoriser lets it at its own objects only.
        kubeconfig = plane.add_user(f"kubelet-{name}", groups=["system:nodes"], common_name=f"system:node:{name}")
        config = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": "127.0.0.1",
            "port": self.port,
            "healthzPort": 0,
            "tlsCertFile": str(serving.certificate),
            "tlsPrivateKeyFile": str(serving.key),
            # As in a cluster: who may read nodes/metrics and nodes/stats is asked of kube-apiserver.
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(plane.pki.cluster.certificate)},
            },
            "authorization": {"mode": "Webhook"},
            "containerRuntimeEndpoint": f"unix://{runtime}",
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{cgroup}",
            "kubeletCgroups": f"/{self._cgroup}",
            "failCgroupV1": False,
            "failSwapOn": False,
            "resolvConf": "",
            "staticPodPath": str(self.static_pods),
            "podLogsDir": str(folder / "pod-logs"),
            "volumePluginDir": str(folder / "volume-plugins"),
            "makeIPTablesUtilChains": False,
            # Usually a minute, and up to as much again.
            "volumeStatsAggPeriod": "10s",
            # The machine's disk is not what is tested.
            "evictionHard": {"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%", "nodefs.inodesFree": "0%"},
            "imageGCHighThresholdPercent": 100,
            "crashLoopBackOff": {"maxContainerRestartPeriod": f"{CRASH_LOOP_SECONDS}s"},
            "featureGates": {"KubeletCrashLoopBackOffMax": True},
        }
        file = folder / "kubelet.yaml"
        file.write_text(yaml.safe_dump(config), encoding="utf-8")
        # In mounts of its own: emptyDirs are plain folders, and no pod writes into its other volumes, which do not reach containerd.
        surroundings: list[str | Path] = [
            "unshare",
            "--mount",
            "--propagation",
            "slave",
            "sh",
            "-c",
            _SURROUNDINGS,
            "sh",
            runtime.parent,
            self._cgroup,
        ]
        self._argv: list[str | Path] = [
            *surroundings,
            programs.path("kubelet"),
            f"--config={file}",
            f"--kubeconfig={kubeconfig}",
            f"--root-dir={folder / 'kubelet'}",
            f"--hostname-override={name}",
            # Addresses are somebody else's to write: a kubelet itself refuses loopback.
            "--cloud-provider=external",
            "--v=2",
        ]

    def start(self) -> None:
        """Start it; what it does is seen in its Node."""
        cgroups.create(self._cgroup)
        self._process = Process("kubelet", self._argv, self._log, env=plain_environment(PATH=f"{os.environ['PATH']}:/usr/sbin:/sbin"))

    def stop(self) -> None:
        """End it; containers run on."""
        if self._process:
            self._process.stop()
            self._process = None
            cgroups.remove(self._cgroup)

    def check(self) -> None:
        """Raise ProcessDied if it ended by itself."""
        if self._process:
            self._process.check()

    def text(self) -> str:
        """All that it has logged."""
        return self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""
