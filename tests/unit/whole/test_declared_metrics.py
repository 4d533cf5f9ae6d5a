"""A declaration in a file becomes a metric that an HPA can ask for, in the whole server and in virtual time."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.unit.whole.test_replay import running

pytestmark = pytest.mark.looptime

CUSTOM, EXTERNAL = "/apis/custom.metrics.k8s.io/v1beta2", "/apis/external.metrics.k8s.io/v1beta1"
LIVE = "/apis/live.kubeglance.io/v1alpha1"

# Sources are asked by the hour: virtual hours pass while threads, whose time is real, read and check.
DECLARED = """\
apiVersion: kubeglance.io/v1alpha1
kind: LiveMetric
metadata: {name: requests}
spec:
  api: custom
  name: http_requests
  describes: {resource: pods}
  source: {static: {items: [{pod: web-0, value: 1.5}, {pod: gone-0, value: 7}]}}
  items: response.items
  interval: 1h
  sample: {object: {namespace: "'default'", name: item.pod}, value: item.value}
---
apiVersion: kubeglance.io/v1alpha1
kind: LiveMetric
metadata: {name: orders}
spec:
  api: external
  name: orders_waiting
  source: {static: {items: [{region: eu, waiting: "1000000000000000000000"}, {region: us, waiting: null}]}}
  items: response.items
  interval: 1h
  sample: {value: item.waiting, labels: {region: item.region}}
  namespaces: [default]
---
apiVersion: kubeglance.io/v1alpha1
kind: LiveResource
metadata: {name: queues.msg.example.com}
spec:
  group: msg.example.com
  version: v1
  scope: Namespaced
  names: {kind: Queue, plural: queues, singular: queue, shortNames: [q]}
  source: {static: {items: [{name: orders, ready: 12}]}}
  items: response.items
  interval: 1h
  object: {name: item.name, namespace: "'default'", labels: {tier: "'gold'"}, status: {ready: item.ready}}
  allowNamespaces: [default]
  schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {ready: {type: integer}}}}}}
  metrics: [{name: queue_ready, value: status.ready, apis: [custom, external]}]
"""


async def _values(client: httpx.AsyncClient, path: str) -> list[tuple[str, str]] | str:
    """What is described (or the labels) and the values; or why there are none."""
    answer = await client.get(path)
    body: dict[str, Any] = answer.json()
    if answer.status_code != 200:
        return str(body["message"])
    return [
        (each["describedObject"]["name"] if "describedObject" in each else ",".join(each["metricLabels"].values()), each["value"])
        for each in body["items"]
    ]


async def _first(client: httpx.AsyncClient, path: str) -> list[tuple[str, str]]:
    """The same once there are some: files are read and checked in threads, which take their own time."""
    for _ in range(100_000):
        found = await _values(client, path)
        if not isinstance(found, str):
            return found
        await asyncio.sleep(1)
    raise AssertionError(found)


async def test_declared_metrics_are_served(tmp_path: Path) -> None:
    """Custom, external and those of a live kind; and the catalogue of all."""
    file = tmp_path / "metrics.yaml"
    file.write_text(DECLARED)
    async with running(declarations=(file,)) as whole:
        client = whole.client
        assert [("orders", "12")] == await _first(client, f"{CUSTOM}/namespaces/default/queues.msg.example.com/orders/queue_ready")
        assert [("web-0", "1500m")] == await _first(client, f"{CUSTOM}/namespaces/default/pods/*/http_requests")
        assert [("eu", "1000E")] == await _first(client, f"{EXTERNAL}/namespaces/default/orders_waiting?labelSelector=region=eu")

        assert "there is no gone-0" in await _values(client, f"{CUSTOM}/namespaces/default/pods/gone-0/http_requests")
        assert "not served in namespace shop" in await _values(client, f"{EXTERNAL}/namespaces/shop/orders_waiting")
        for name in ("q.msg.example.com", "queue.msg.example.com"):
            assert [("orders", "12")] == await _values(client, f"{CUSTOM}/namespaces/default/{name}/orders/queue_ready")
        assert [("orders,gold", "12")] == await _values(client, f"{EXTERNAL}/namespaces/default/queue_ready?labelSelector=name=orders")
        served = (await client.get(f"{LIVE}/servedmetrics")).json()["items"]

    told = {item["metadata"]["name"]: item["status"].get("series") for item in served}
    names = ("http-requests.pods", "orders-waiting", "queue-ready", "queue-ready.queues.msg.example.com")
    assert [2, 1, 1, 1] == [told[name] for name in names]
