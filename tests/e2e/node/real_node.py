"""One real node from start to end; whatever the end is, nothing of it stays on the machine."""

import atexit
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import WaitedInVain, wait_until
from tests.e2e.node import cgroups, leftovers
from tests.e2e.node.containerd import Containerd
from tests.e2e.node.kubelet import Kubelet

DISK_SIZE = 64 * 2**20

_SYSCTLS = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
"""What a kubelet sets at its start for the whole machine."""


class RealNode:
    """containerd, a kubelet and its Node, in the control plane's cluster. At the end pods, containers, mounts and network are removed."""

    def __init__(self, plane: ControlPlane, name: str) -> None:
        """Start all and wait until the node is Ready and can be reached."""
        leftovers.remove_those_of_the_dead()
        self.plane = plane
        self.name = name
        self._tag = leftovers.own_name()
        self._folder = leftovers.PARENT / self._tag
        self._folder.mkdir()
        self._sysctls = {path: path.read_text(encoding="ascii") for path in (Path("/proc/sys", each) for each in _SYSCTLS) if path.exists()}
        self._containerd: Containerd | None = None
        self._kubelet: Kubelet | None = None
        atexit.register(self.close)
        try:
            cgroups.create(self._tag)
            # Before the kubelet is started: what is mounted later it does not see.
            self.disk.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_SIZE}", "tmpfs", self.disk], check=True)
            self._containerd = Containerd(self._folder, self._tag, plane.directory / f"{name}-containerd.log")
            self._kubelet = Kubelet(plane, name, self._folder, self._containerd.socket, self._tag)
            self.authority = self._kubelet.authority
            self.start_kubelet()
        except BaseException:
            self.close()
            raise

    # The kubelet comes and goes

    @property
    def disk(self) -> Path:
        """A file system of DISK_SIZE bytes for a local volume. The kubelet alone sees it: a container that mounts the volume does not."""
        return self._folder / "disk"

    def empty_dir(self, pod: Mapping[str, Any], volume: str) -> Path:
        """The folder of an emptyDir of a pod (as an object of kube-apiserver)."""
        return self._folder / "kubelet" / "pods" / str(pod["metadata"]["uid"]) / "volumes" / "kubernetes.io~empty-dir" / volume

    def start_kubelet(self) -> None:
        """Start the kubelet, wait for its Node, give that an address, and wait until it is Ready."""
        kubelet = self._started_kubelet()
        kubelet.start()
        wait_until(f"node {self.name} registered", lambda: self._look() is not None, seconds=90)
        address = {"status": {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": self.name}]}}
        self.plane.kubectl("patch", "node", self.name, "--subresource=status", "--type=merge", "-p", json.dumps(address))
        wait_until(f"node {self.name} Ready", self.is_ready, seconds=90)

    def stop_kubelet(self) -> None:
        """Stop the kubelet; its Node and containers stay."""
        self._started_kubelet().stop()

    def is_ready(self) -> bool:
        """Whether the Node's condition says so."""
        node = self._look() or {}
        return any(each["type"] == "Ready" and each["status"] == "True" for each in node.get("status", {}).get("conditions", []))

    # Pods and containers

    def static_pod(self, pod: Mapping[str, Any]) -> None:
        """Have the kubelet run a pod from a file; kube-apiserver gets a mirror of it, named NAME-NODE."""
        (self._started_kubelet().static_pods / f"{pod['metadata']['name']}.json").write_text(json.dumps(pod), encoding="utf-8")

    def container(self, pod: Mapping[str, Any], name: str) -> cgroups.Container:
        """The kernel's side of a running container of a pod (as an object of kube-apiserver)."""
        return cgroups.container(self._tag, container_id(pod, name))

    # The end

    def close(self) -> None:
        """Remove pods and node, end kubelet and containerd, remove what is left. Doing it twice is fine."""
        atexit.unregister(self.close)
        if self._kubelet:
            try:
                self._remove_pods()
            finally:
                self._kubelet.stop()
                # Nobody is left to say that they ended: the controller that would conclude it waits longer than a namespace may take.
                self._delete_pods("--grace-period=0", "--force")
                self.plane.kubectl("delete", "node", self.name, "--ignore-not-found", check=False)
                self._kubelet = None
        if self._containerd:
            self._containerd.stop()
            self._containerd = None
        leftovers.remove(self._tag)
        for path, value in self._sysctls.items():
            if path.read_text(encoding="ascii") != value:
                path.write_text(value, encoding="ascii")

    def __enter__(self) -> "RealNode":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None and self._kubelet:
            print("the end of the kubelet's log:\n" + "\n".join(self._kubelet.text().splitlines()[-30:]), flush=True)
        self.close()

    # Private parts

    def _started_kubelet(self) -> Kubelet:
        if self._kubelet is None:
            raise ValueError("the node is closed")
        return self._kubelet

    def _look(self) -> dict[str, Any] | None:
        self._started_kubelet().check()
        done = self.plane.kubectl("get", "node", self.name, "-o", "json", check=False)
        found: dict[str, Any] | None = json.loads(done.stdout) if done.returncode == 0 else None
        return found

    def _remove_pods(self) -> None:
        """The kubelet itself takes pods apart best: containers, volumes, network. What it does not manage in time goes by force."""
        for file in self._started_kubelet().static_pods.iterdir():
            file.unlink()
        self._delete_pods("--grace-period=1")
        containerd = self._containerd
        try:
            if containerd:
                wait_until("the node's containers gone", lambda: not containerd.tasks(), seconds=30, every=0.5)
        except WaitedInVain as error:
            print(f"... {error}; removing them by force", flush=True)

    def _delete_pods(self, *how: str) -> None:
        self.plane.kubectl("delete", "pods", "-A", f"--field-selector=spec.nodeName={self.name}", "--wait=false", *how, check=False)


def container_id(pod: Mapping[str, Any], name: str) -> str:
    """The runtime's id of a container, from the pod's status. Raises OSError if it has none yet."""
    status = pod.get("status", {})
    statuses: Sequence[Mapping[str, Any]] = [*status.get("containerStatuses", []), *status.get("initContainerStatuses", [])]
    for each in statuses:
        if each["name"] == name and each.get("containerID"):
            return str(each["containerID"]).partition("://")[2]
    raise FileNotFoundError(f"container {name} of {pod['metadata']['name']} has no id yet")
