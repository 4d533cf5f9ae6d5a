"""Everything up: simulated kubelets, kubeglance under its ServiceAccount, and its registration, in either profile."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.controlplane import ControlPlane, Profile
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.endpoints import Prober
from tests.e2e.kubeglance import Kubeglance
from tests.e2e.registration import API_SERVICES, Registration, grant_access

API = "/apis/metrics.k8s.io/v1"


@dataclass(frozen=True)
class Stage:
    """What a test acts on. `prober` is None in the loopback profile, which has one replica."""

    plane: ControlPlane
    replicas: Sequence[Kubeglance]
    registration: Registration
    prober: Prober | None

    def items(self, path: str, *, user: str = "admin") -> list[dict[str, Any]]:
        """The items of a list through the aggregator: `items("pods")`, `items("namespaces/shop/pods")`."""
        found: list[dict[str, Any]] = json.loads(self.plane.kubectl("get", "--raw", f"{API}/{path}", user=user).stdout)["items"]
        return found

    def wait_for_pods(self, namespace: str, count: int, *, seconds: float = 120) -> None:
        """Until so many pods of the namespace have metrics."""

        def look() -> bool:
            found = len(self.items(f"namespaces/{namespace}/pods"))
            assert count == found, f"{found} pods have metrics, {count} are awaited"
            return True

        wait_until(f"metrics of {count} pods in {namespace}", look, seconds=seconds, every=1)


@contextmanager
def on_stage(
    plane: ControlPlane,
    name: str,
    kubelet_authority: Path,
    *,
    replicas: int = 1,
    flags: Sequence[str] = (),
    names: Sequence[str] = API_SERVICES,
) -> Iterator[Stage]:
    """Start kubeglance and register it under these APIServices; at the end unregister it first, then end it."""
    grant_access(plane)
    with ExitStack() as stack:
        started = [
            stack.enter_context(Kubeglance(plane, f"{name}-{i}", kubelet_authority=kubelet_authority, flags=flags)) for i in range(replicas)
        ]
        for replica in started:
            replica.wait_ready()
        if plane.profile is Profile.LOOPBACK:
            registration = stack.enter_context(Registration(plane, port=started[0].port, names=names))
            prober = None
        else:
            registration = Registration(plane, names=names)
            prober = stack.enter_context(Prober(plane, started))
            # Registered last so that it goes first: endpoints that are gone must find no APIService that needs them.
            stack.enter_context(registration)
        registration.wait_available()
        yield Stage(plane, started, registration, prober)
