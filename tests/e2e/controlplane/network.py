"""A bridge and network namespaces, so that replicas have addresses of their own, as pods have.

Needed by the routed profile: with --enable-aggregator-routing kube-apiserver dials endpoints, and endpoints on loopback are refused by
validation. Needs root and the `ip` program (iproute2). All names carry the process id; all is removed at the end.
"""

import atexit
import ipaddress
import os
import re
import shutil
import subprocess
from pathlib import Path


class NetworkFailed(RuntimeError):
    """`ip` refused. The message holds its words."""


def skip_reason() -> str | None:
    """One line if this machine cannot make network namespaces, else None."""
    if shutil.which("ip") is None:
        return "no `ip` program for network namespaces: install iproute2"
    if os.geteuid() != 0:
        return "network namespaces need root: run the tests as root, or in a container that has CAP_NET_ADMIN and CAP_SYS_ADMIN"
    return None


def _ip(*args: str) -> str:
    done = subprocess.run(["ip", *args], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NetworkFailed(f"ip {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout


def _remove_leftovers() -> None:
    """Remove what a process left behind that was killed with -9: the names tell whose it was."""
    names = [(line.split()[0], ("netns", "del")) for line in _ip("netns", "list").splitlines()]
    names += [(line.split(": ")[1].split("@")[0], ("link", "del")) for line in _ip("-o", "link", "show", "type", "bridge").splitlines()]
    for name, command in names:
        owner = re.fullmatch(r"kg([0-9a-f]+)(?:n\d+|br)", name)
        if owner and not Path("/proc", str(int(owner[1], 16))).exists():
            subprocess.run(["ip", *command, name], capture_output=True, check=False)


class Network:
    """One bridge with a /24 of its own: .1 is the machine (kube-apiserver), .2 and on are namespaces, .101 and on are kubelets."""

    def __init__(self) -> None:
        _remove_leftovers()
        self.subnet = self._free_subnet()
        self.address = str(self.subnet[1])
        self._namespaces: list[str] = []
        self._kubelets = 0
        self._tag = f"kg{os.getpid():x}"
        self.bridge = f"{self._tag}br"
        atexit.register(self.remove)
        _ip("link", "add", self.bridge, "type", "bridge")
        _ip("addr", "add", f"{self.address}/24", "dev", self.bridge)
        _ip("link", "set", self.bridge, "up")

    def add_namespace(self) -> tuple[str, str]:
        """A new namespace: its name for `ip netns exec`, and the address it has on the bridge."""
        number = len(self._namespaces)
        name, outer, inner = f"{self._tag}n{number}", f"{self._tag}v{number}", f"{self._tag}p{number}"
        address = str(self.subnet[2 + number])
        _ip("netns", "add", name)
        self._namespaces.append(name)
        _ip("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", name)
        _ip("link", "set", outer, "master", self.bridge, "up")
        _ip("-n", name, "link", "set", "lo", "up")
        _ip("-n", name, "addr", "add", f"{address}/24", "dev", inner)
        _ip("-n", name, "link", "set", inner, "up")
        return name, address

    def add_kubelet_address(self) -> str:
        """One more address of the machine itself, for a simulated node."""
        address = str(self.subnet[101 + self._kubelets])
        self._kubelets += 1
        _ip("addr", "add", f"{address}/24", "dev", self.bridge)
        return address

    def remove(self) -> None:
        """Remove all of it; a veth pair goes with its namespace. Doing it twice is fine."""
        atexit.unregister(self.remove)
        for name in self._namespaces:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        self._namespaces.clear()
        subprocess.run(["ip", "link", "del", self.bridge], capture_output=True, check=False)

    @staticmethod
    def _free_subnet() -> ipaddress.IPv4Network:
        routes = _ip("-4", "route", "show") + _ip("-4", "addr", "show")
        for third in range(256):
            if f" 10.77.{third}." not in f" {routes}" and f"\n10.77.{third}." not in routes:
                return ipaddress.IPv4Network(f"10.77.{third}.0/24")
        raise NetworkFailed("no free /24 in 10.77.0.0/16")
