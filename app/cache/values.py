"""What was used, as it is served: a container's is made in app/cache/rates.py, a pod's and a node's in app/cache/usage.py."""

from msgspec import Struct


class ContainerUsage(Struct, frozen=True, gc=False):
    """One container: CPU in nanocores, memory and swap in bytes; `swap` is None where the kubelet reports none."""

    name: str
    cpu: int
    memory: int
    swap: int | None = None


class PodUsage(Struct, frozen=True, gc=False):
    """A whole pod. `time` (Unix ns) and `window` (ns) are those of the container measured earliest; `source` is the source's name."""

    containers: tuple[ContainerUsage, ...]
    time: int
    window: int
    source: str


class NodeUsage(Struct, frozen=True, gc=False):
    """A node: CPU in nanocores over the `window` ns that ended at `time` (Unix ns), memory and swap in bytes; see ContainerUsage."""

    cpu: int
    memory: int
    time: int
    window: int
    source: str
    swap: int | None = None
