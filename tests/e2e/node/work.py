"""Pods of the real node, whose containers' appetite is known: what programs/workload can be told to do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.node import image

MIB = 2**20
_SLACK_CPU = 30 * 10**6
_SLACK_MEMORY = 32 * MIB
"""What starting a container and its Go run-time take at most."""


@dataclass(frozen=True)
class Work:
    """One container. CPU in millicores, memory in MiB, time in seconds.

    With `burn_high` it burns that in every second phase of `phase` seconds. `cache` is page cache, which is no working set.
    """

    burn: int = 0
    burn_high: int = 0
    phase: int = 17
    hold: int = 0
    cache: int = 0
    exit_after: float = 0
    exit_code: int = 0

    @property
    def cpu_bound(self) -> int:
        """Nanocores that it cannot exceed over any window of some seconds."""
        return int(max(self.burn, self.burn_high) * 1.1e6) + _SLACK_CPU

    @property
    def memory_bound(self) -> int:
        """Bytes that it cannot exceed."""
        return (self.hold + self.cache) * MIB + _SLACK_MEMORY

    @property
    def arguments(self) -> list[str]:
        return [
            f"-burn={self.burn}",
            f"-burn-high={self.burn_high}",
            f"-phase={self.phase}s",
            f"-hold={self.hold}",
            f"-cache={self.cache}",
            f"-exit-after={self.exit_after}s",
            f"-exit-code={self.exit_code}",
        ]


@dataclass(frozen=True)
class Pod:
    """A pod to be made; `sidecars` are native ones (KEP-753), `init` are ordinary init containers, which run first.

    `volumes` are the sources of its volumes by name; every main container mounts all of them.
    """

    name: str
    containers: Mapping[str, Work]
    init: Mapping[str, Work] = field(default_factory=dict)
    sidecars: Mapping[str, Work] = field(default_factory=dict)
    host_network: bool = False
    runtime_class: str | None = None
    volumes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def works(self) -> Mapping[str, Work]:
        """Every container by name."""
        return {**self.init, **self.sidecars, **self.containers}

    def as_object(self, node: str) -> dict[str, Any]:
        """The object; its label `app` is its name."""
        first = [_container(name, work) for name, work in self.init.items()]
        first += [{**_container(name, work), "restartPolicy": "Always"} for name, work in self.sidecars.items()]
        mounts = [{"name": name, "mountPath": f"/volumes/{name}"} for name in self.volumes]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.name, "labels": {"app": self.name}},
            "spec": {
                "nodeName": node,
                "runtimeClassName": self.runtime_class,
                "hostNetwork": self.host_network,
                "dnsPolicy": "Default",
                "tolerations": [{"operator": "Exists"}],
                "terminationGracePeriodSeconds": 3,
                "initContainers": first,
                "containers": [{**_container(name, work), "volumeMounts": mounts} for name, work in self.containers.items()],
                "volumes": [{"name": name, **source} for name, source in self.volumes.items()],
            },
        }


def _container(name: str, work: Work) -> dict[str, Any]:
    # With a request it gets its share also where others want the same CPUs.
    requests = {"cpu": f"{max(work.burn, work.burn_high, 1)}m"}
    return {
        "name": name,
        "image": image.NAME,
        "imagePullPolicy": "Never",
        "args": work.arguments,
        "resources": {"requests": requests},
    }
