"""A real node on this machine: containerd, kubelet, containers of our own image. Needs root and what requirements.py names."""

from tests.e2e.node.real_node import RealNode
from tests.e2e.node.requirements import PROGRAMS, skip_reason

__all__ = ["PROGRAMS", "RealNode", "skip_reason"]
