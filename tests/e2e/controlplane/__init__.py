"""A real Kubernetes control plane on this machine, for tests and by hand: `python -m tests.e2e.controlplane up`."""

from tests.e2e.controlplane.cluster import NEEDED, ControlPlane, Profile

__all__ = ["NEEDED", "ControlPlane", "Profile"]
