"""The horizontal pod autoscaler of a real kube-controller-manager lives on kubeglance's values."""

import json
from collections.abc import Iterator

import pytest

from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.kubelets import SimulatedKubelets, load
from tests.e2e.stage import Stage, on_stage

pytestmark = pytest.mark.e2e

NAMESPACE = "scaled"
NODE = "hpa-0"
# Half of the 100m that each pod asks for is the target.
OBJECTS = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: {NAMESPACE}}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{{name: main, image: "kubeglance.test/none:1", resources: {{requests: {{cpu: 100m}}}}}}]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: web, namespace: {NAMESPACE}}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}
  minReplicas: 1
  maxReplicas: 3
  metrics: [{{type: Resource, resource: {{name: cpu, target: {{type: Utilization, averageUtilization: 50}}}}}}]
  behavior: {{scaleDown: {{stabilizationWindowSeconds: 0}}}}
"""
PATIENCE = 240.0
"""Seconds. A kubelet looks at a container every 10 to 20 s, kubeglance at the kubelet every 10 s, the HPA every 2 s."""


@pytest.fixture(scope="module")
def kubelets(plane: ControlPlane) -> Iterator[SimulatedKubelets]:
    with SimulatedKubelets(plane, [NODE]) as made:
        made.inventory.namespace(NAMESPACE)
        yield made


@pytest.fixture(scope="module")
def stage(plane: ControlPlane, kubelets: SimulatedKubelets) -> Iterator[Stage]:
    with on_stage(plane, "hpa", kubelets.certificate_authority, flags=["--metric-resolution=10s", "--kubelet-request-timeout=5s"]) as made:
        plane.apply(OBJECTS)
        yield made
        plane.kubectl("delete", "-f", "-", text=OBJECTS)


def test_an_hpa_goes_up_with_the_load_and_down_again(stage: Stage, kubelets: SimulatedKubelets) -> None:
    """One pod at its target stays one; at four times the target the HPA makes three, its maximum; idle pods are taken away again."""

    def settles_at(count: int, millicores: int) -> None:
        def look() -> bool:
            pods = kubelets.adopt(NAMESPACE, NODE, load(millicores, 40))
            hpa = json.loads(stage.plane.kubectl("get", "hpa", "web", "-n", NAMESPACE, "-o", "json").stdout)["status"]
            current = hpa.get("currentMetrics") or [{}]
            usage = current[0].get("resource", {}).get("current", {})
            assert count == len(pods) == hpa.get("desiredReplicas"), f"{len(pods)} pods, wanted {hpa.get('desiredReplicas')}, usage {usage}"
            assert usage, [condition.get("message") for condition in hpa.get("conditions", [])]
            return True

        wait_until(f"{count} replicas at {millicores}m a pod", look, seconds=PATIENCE, every=1)

    settles_at(1, 50)
    kubelets.set_load(NAMESPACE, load(200, 40))
    settles_at(3, 200)
    kubelets.set_load(NAMESPACE, load(5, 40))
    settles_at(1, 5)


def test_the_hpa_says_it_can_read(stage: Stage) -> None:
    """The condition that tells users whether metrics work is True."""
    conditions = json.loads(stage.plane.kubectl("get", "hpa", "web", "-n", NAMESPACE, "-o", "json").stdout)["status"]["conditions"]
    assert next((c["status"], c["reason"]) for c in conditions if c["type"] == "ScalingActive") == ("True", "ValidMetricFound")
