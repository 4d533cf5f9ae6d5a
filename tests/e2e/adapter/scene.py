"""What all tests of an adapter's file share: the file, the objects, and a Prometheus that has scraped their series."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from app.clock import SystemClock
from tests.e2e.adapter import series
from tests.e2e.conftest import demand
from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.objects import Inventory
from tests.e2e.registration import NAMESPACE, SERVICE_ACCOUNT, grant_access
from tests.e2e.sources import prometheus
from tests.e2e.sources.exporter import Exporter
from tests.e2e.sources.prometheus import PrometheusServer

CONFIG = Path(__file__).parent / "config.yaml"
NEAR = 0.02
"""Part of a rate: one asks Prometheus a little later than the other."""

_OBJECTS = f"""
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: adapter-objects}}
rules:
- {{apiGroups: ["", apps, batch, networking.k8s.io], resources: ["*"], verbs: [get, list, watch]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: adapter-objects}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: adapter-objects}}
subjects: [{{kind: ServiceAccount, name: {SERVICE_ACCOUNT}, namespace: {NAMESPACE}}}]
"""


@contextmanager
def scraping(plane: ControlPlane) -> Iterator[PrometheusServer]:
    """Objects, the right to look at them, and a Prometheus that scrapes their series from now on."""
    demand(prometheus.skip_reason())
    grant_access(plane)
    plane.apply(_OBJECTS)
    inventory = Inventory(plane)
    with closing(inventory), Exporter(series.Told(SystemClock())) as exporter, PrometheusServer([exporter.target]) as started:
        started.start()
        series.make_objects(inventory)
        yield started


@contextmanager
def scraped(plane: ControlPlane) -> Iterator[PrometheusServer]:
    """The same, once it has scraped for long enough to know rates over 30 s."""
    with scraping(plane) as started:
        wait_until("rates over 30 s", lambda: bool(started.query("count_over_time(plain[31s]) >= 30")), seconds=90)
        yield started
