"""resourceRules feed metrics.k8s.io where no kubelet is asked: the same figures as the real prometheus-adapter's."""

from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.clock import SystemClock
from app.wire.quantity import parse_bytes, parse_cpu
from tests.e2e.adapter import series
from tests.e2e.conftest import demand
from tests.e2e.controlplane import ControlPlane, programs
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.kubeglance import Kubeglance
from tests.e2e.objects import Inventory
from tests.e2e.peer import PrometheusAdapter
from tests.e2e.registration import grant_access
from tests.e2e.sources import prometheus
from tests.e2e.sources.exporter import Exporter
from tests.e2e.sources.prometheus import PrometheusServer

pytestmark = pytest.mark.e2e

LABELS = "{overrides: {node: {resource: node}, namespace: {resource: namespace}, pod: {resource: pod}}}"
CONFIG = f"""
resourceRules:
  cpu:
    containerQuery: 'sum(rate(container_cpu_usage_seconds_total{{<<.LabelMatchers>>,container!="POD"}}[30s])) by (<<.GroupBy>>)'
    nodeQuery: 'sum(node_load1{{<<.LabelMatchers>>}}) by (<<.GroupBy>>)'
    resources: {LABELS}
    containerLabel: container
  memory:
    containerQuery: 'sum(container_memory_working_set_bytes{{<<.LabelMatchers>>}}) by (<<.GroupBy>>)'
    nodeQuery: '1e9 * sum(node_load1{{<<.LabelMatchers>>}}) by (<<.GroupBy>>)'
    resources: {LABELS}
    containerLabel: container
  window: 30s
"""
PODS = f"/apis/metrics.k8s.io/v1beta1/namespaces/{series.SHOP}/pods"
NODE = f"/apis/metrics.k8s.io/v1beta1/nodes/{series.NODE}"


def usages(body: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """CPU (cores) and memory (bytes) by pod and container."""
    return {
        f"{item['metadata']['name']}/{container['name']}": numbers(container["usage"])
        for item in body["items"]
        for container in item["containers"]
    }


def numbers(usage: dict[str, str]) -> tuple[float, float]:
    return parse_cpu(usage["cpu"]) / 1e9, float(parse_bytes(usage["memory"]))


def test_usages_are_those_of_the_adapter(plane: ControlPlane, tmp_path: Path) -> None:
    """Of nodes and of containers, with the window of the file; rates within a scrape."""
    demand(prometheus.skip_reason() or programs.skip_reason(PrometheusAdapter.name))
    grant_access(plane)
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    inventory = Inventory(plane)
    with closing(inventory), Exporter(series.Told(SystemClock())) as exporter, PrometheusServer([exporter.target]) as server:
        server.start()
        series.make_objects(inventory)
        wait_until("rates over 30 s", lambda: bool(server.query("count_over_time(plain[31s]) >= 30")), seconds=90)
        arguments = [f"--config={config}", f"--prometheus-url={server.url}/"]
        ours = [*arguments, "--kubelet-resource=false", "--kubelet-summary=false", "--metric-resolution=2s", "--kubelet-request-timeout=1s"]
        reader = plane.pki.cluster.client("rules-reader", "rules-reader", ["system:masters"])
        with (
            PrometheusAdapter(plane, arguments=arguments) as adapter,
            Kubeglance(plane, "adapter-resource-rules", kubelet_authority=plane.pki.kubelets.certificate, flags=ours) as kubeglance,
        ):
            adapter.wait_alive()
            with kubeglance.wait_ready().client(certificate=reader) as client:
                wait_until("the same usages", lambda: look(adapter, client), seconds=30)


def look(adapter: PrometheusAdapter, client: httpx.Client) -> bool:
    pods = client.get(PODS).json()
    theirs, mine = usages(adapter.get(PODS).json()), usages(pods)
    assert len(theirs) == 3
    assert theirs == {name: pytest.approx(usage, rel=0.02) for name, usage in mine.items()}
    assert {"30s"} == {item["window"] for item in pods["items"]}
    assert numbers(client.get(NODE).json()["usage"]) == numbers(adapter.get(NODE).json()["usage"]) == (1.5, 1.5e9)
    return True
