"""HPAs of every type that kubeglance feeds, on a real controller: up, down, and what they do where values are missing.

A small HTTP server is the source of all declared metrics, so that a test says what is measured, and when nothing is.
All targets are average values of 10, so a total of 40 makes four replicas.
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import pytest

from app.clock import SystemClock
from tests.e2e.controlplane import ControlPlane
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.declared import write
from tests.e2e.kubelets import SimulatedKubelets, load
from tests.e2e.registration import API_SERVICES, SERVICE_ACCOUNT
from tests.e2e.registration import NAMESPACE as OWN_NAMESPACE
from tests.e2e.stage import Stage, on_stage

pytestmark = pytest.mark.e2e

NAMESPACE, CONTAINERS = "autoscaled", "autoscaled-containers"
NODE = "autoscaled-0"
GROUP = "scaled.example.com"
REGISTERED = [
    "v1beta1.custom.metrics.k8s.io",
    "v1beta2.custom.metrics.k8s.io",
    "v1beta1.external.metrics.k8s.io",
    f"v1.{GROUP}",
]
PATIENCE = 240.0
"""Seconds. The HPA looks every 2 s, kubeglance at the source every second; a kubelet looks at a container every 10 to 20 s. The controller
learns every 30 s of new kinds.
"""
SEVERAL_SYNCS = 7.0
"""Seconds in which the HPA decides three times."""
HELD = 20
"""Seconds that policy Hold keeps a value: longer than the time to live of 5 s, with room for the HPA to be seen in between."""
TARGET = {"type": "AverageValue", "averageValue": "10"}
OBJECTS = {
    "live-kind": {"apiVersion": f"{GROUP}/v1", "kind": "Queue", "name": "orders"},
    "cluster-live-kind": {"apiVersion": f"{GROUP}/v1", "kind": "Region", "name": "eu"},
    "ingress": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "shop"},
    "node": {"apiVersion": "v1", "kind": "Node", "name": NODE},
    "namespace": {"apiVersion": "v1", "kind": "Namespace", "name": NAMESPACE},
}
"""What HPAs of type Object are about, by the name of the HPA. The metric's name is that of the HPA with _ for -."""
POLICIES: Mapping[str, Mapping[str, Any]] = {
    "omit": {"policy": "Omit"},
    "hold": {"policy": "Hold", "for": f"{HELD}s"},
    "constant": {"policy": "Constant", "value": 20},
}
REASONS = {
    "pods": "FailedGetPodsMetric",
    "live-kind": "FailedGetObjectMetric",
    "ingress": "FailedGetObjectMetric",
    "external": "FailedGetExternalMetric",
}
"""The reason that an HPA gives where all of its values are missing."""
METRIC_OF = {"pods": "hits", "external": "depth"}
"""The metrics of HPAs that do not bear its name."""


class Source:
    """An HTTP server whose /NAME answers `items[NAME]`, and 503 for the names that are `down`."""

    def __init__(self) -> None:
        self.items: dict[str, Sequence[Mapping[str, Any]]] = {}
        self.down: set[str] = set()
        source = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.strip("/")
                body = json.dumps({"items": source.items.get(name, [])}).encode()
                self.send_response(503 if name in source.down else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name of the base class
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _collected(source: Source, name: str) -> dict[str, Any]:
    """The part of a declaration that says where its items are; they outlive an outage by 5 s."""
    return {
        "source": {"http": {"url": f"{source.url}/{name}"}},
        "interval": "1s",
        "timeout": "900ms",
        "ttl": "5s",
        "items": "response.items",
    }


def _metric(source: Source, name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubeglance.io/v1alpha1",
        "kind": "LiveMetric",
        "metadata": {"name": name},
        "spec": {"name": name.replace("-", "_"), **_collected(source, name), **spec},
    }


def _custom(source: Source, name: str, resource: str, *, group: str = "", namespaced: bool) -> dict[str, Any]:
    described = {"name": "item.name", **({"namespace": f"'{NAMESPACE}'"} if namespaced else {})}
    sample = {"object": described, "value": "item.value"}
    return _metric(source, name, api="custom", describes={"group": group, "resource": resource}, sample=sample)


def _external(source: Source, name: str, **spec: Any) -> dict[str, Any]:
    labels = {"queue": "item.queue", "region": "item.region"}
    return _metric(source, name, api="external", namespaces=[NAMESPACE], sample={"value": "item.value", "labels": labels}, **spec)


def _live_kind(source: Source, name: str, kind: str, *, namespaced: bool) -> dict[str, Any]:
    """A kind whose status.load is the metric, as a field of its own declaration."""
    status = {"type": "object", "properties": {"load": {"type": "integer"}}}
    where: dict[str, Any] = {"scope": "Namespaced", "allowNamespaces": [NAMESPACE]} if namespaced else {"scope": "Cluster"}
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "kubeglance.io/v1alpha1",
        "kind": "LiveResource",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "version": "v1",
            **where,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            **_collected(source, name),
            "object": {
                "name": "item.name",
                **({"namespace": f"'{NAMESPACE}'"} if namespaced else {}),
                "status": {"load": "item.value"},
            },
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"status": status}}},
            "metrics": [{"name": name.replace("-", "_"), "value": "status.load", "apis": ["custom"]}],
        },
    }


def _declarations(source: Source) -> list[dict[str, Any]]:
    return [
        _custom(source, "hits", "pods", namespaced=True),
        _live_kind(source, "live-kind", "Queue", namespaced=True),
        _live_kind(source, "cluster-live-kind", "Region", namespaced=False),
        _custom(source, "ingress", "ingresses", group="networking.k8s.io", namespaced=True),
        _custom(source, "node", "nodes", namespaced=False),
        _custom(source, "namespace", "namespaces", namespaced=False),
        _external(source, "depth"),
        *(_external(source, name, missing=policy) for name, policy in POLICIES.items()),
    ]


def _scaled(name: str, metric: Mapping[str, Any], *, namespace: str = NAMESPACE, most: int = 6) -> list[dict[str, Any]]:
    """A Deployment and its HPA, which may go up and down at once.

    The second container asks for ten times as much: what scales on the whole pod sees little of what the first one does.
    """
    labels = {"app": name}
    containers = [
        {"name": container, "image": "kubeglance.test/none:1", "resources": {"requests": {"cpu": cpu}}}
        for container, cpu in (("main", "100m"), ("sidecar", "1"))
    ]
    at_once = {"stabilizationWindowSeconds": 0, "policies": [{"type": "Pods", "value": 10, "periodSeconds": 1}]}
    metadata = {"name": name, "namespace": namespace}
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"terminationGracePeriodSeconds": 0, "containers": containers}},
            },
        },
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": metadata,
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
                "minReplicas": 1,
                "maxReplicas": most,
                "metrics": [metric],
                "behavior": {"scaleUp": at_once, "scaleDown": at_once},
            },
        },
    ]


def _object_metric(name: str) -> dict[str, Any]:
    named = {"metric": {"name": name.replace("-", "_")}, "describedObject": OBJECTS[name], "target": TARGET}
    return {"type": "Object", "object": named}


def _external_metric(name: str, **labels: str) -> dict[str, Any]:
    selector = {"selector": {"matchLabels": labels}} if labels else {}
    return {"type": "External", "external": {"metric": {"name": name, **selector}, "target": TARGET}}


UTILIZATION = {"type": "Utilization", "averageUtilization": 50}
CLUSTER: list[dict[str, Any]] = [
    *_scaled("pods", {"type": "Pods", "pods": {"metric": {"name": "hits"}, "target": TARGET}}),
    *(each for name in OBJECTS for each in _scaled(name, _object_metric(name))),
    *_scaled("external", _external_metric("depth", region="eu")),
    *(each for name in POLICIES for each in _scaled(name, _external_metric(name))),
    *_scaled(
        "container",
        {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "main", "target": UTILIZATION}},
        namespace=CONTAINERS,
        most=3,
    ),
    {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "shop", "namespace": NAMESPACE},
        "spec": {"defaultBackend": {"service": {"name": "shop", "port": {"number": 80}}}},
    },
]
RIGHTS = [
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "kubeglance-autoscaled"},
        "rules": [
            {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list", "watch"]},
            {"apiGroups": ["networking.k8s.io"], "resources": ["ingresses"], "verbs": ["list", "watch"]},
            {"apiGroups": ["apiregistration.k8s.io"], "resources": ["apiservices"], "verbs": ["list"]},
        ],
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "kubeglance-autoscaled"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kubeglance-autoscaled"},
        "subjects": [{"kind": "ServiceAccount", "name": SERVICE_ACCOUNT, "namespace": OWN_NAMESPACE}],
    },
]


class World:
    """What a test steers, the source and the pods, and what it sees of HPAs."""

    def __init__(self, stage: Stage, kubelets: SimulatedKubelets, source: Source) -> None:
        self.stage = stage
        self.source = source
        self._kubelets = kubelets
        self._idle = load(50, 40)

    def run_pods(self, namespace: str = NAMESPACE) -> list[str]:
        """Play the kubelet for new pods; the names of all there are."""
        return self._kubelets.adopt(namespace, NODE, self._idle)

    def pods(self) -> list[str]:
        """Those of the HPA of type Pods."""
        self.run_pods()
        found = self._kubelets.inventory.get(f"/api/v1/namespaces/{NAMESPACE}/pods", labelSelector="app=pods")["items"]
        return [pod["metadata"]["name"] for pod in found if not pod["metadata"].get("deletionTimestamp")]

    def burn(self, millicores: int) -> None:
        """What each container of the HPA of type ContainerResource uses from now on, also those of pods to come."""
        self._idle = load(millicores, 40)
        self._kubelets.set_load(CONTAINERS, self._idle)

    def share(self, total: float) -> None:
        """A load that all pods share."""
        names = self.pods()
        self.source.items["hits"] = [{"name": name, "value": total / len(names)} for name in names]

    def tell(self, name: str, total: float) -> None:
        """Of the object of an HPA of type Object."""
        self.source.items[name] = [{"name": OBJECTS[name]["name"], "value": total}]

    def tell_external(self, metric: str, *values: float) -> None:
        """A series for each value, in region eu; and one of another region, which the HPA that selects must not add."""
        series = [{"queue": f"q{number}", "region": "eu", "value": value} for number, value in enumerate(values)]
        elsewhere = [{"queue": "q0", "region": "us", "value": 1000}] if metric == "depth" else []
        self.source.items[metric] = series + elsewhere

    def status(self, hpa: str, namespace: str = NAMESPACE) -> dict[str, Any]:
        path = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers/{hpa}"
        found: dict[str, Any] = self._kubelets.inventory.get(path)["status"]
        return found

    def active(self, hpa: str) -> tuple[str, str]:
        """Status and reason of condition ScalingActive."""
        conditions = self.status(hpa).get("conditions", [])
        return next(((each["status"], each["reason"]) for each in conditions if each["type"] == "ScalingActive"), ("Unknown", ""))

    def replicas(self, hpa: str, namespace: str = NAMESPACE) -> int:
        """What the HPA has set the Deployment to."""
        count: int = self._kubelets.inventory.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/{hpa}")["spec"]["replicas"]
        return count

    def settles(self, hpa: str, count: int, *, total: float | None = None, namespace: str = NAMESPACE) -> None:
        """Until the HPA wants so many, has them, and knows a value; `total` is what pods share meanwhile."""

        def look() -> bool:
            self.run_pods(namespace)
            if total is not None:
                self.share(total)
            status = self.status(hpa, namespace)
            conditions = [each.get("message") for each in status.get("conditions", [])]
            assert count == status.get("desiredReplicas") == status.get("currentReplicas"), (status.get("currentMetrics"), conditions)
            assert ("True", "ValidMetricFound") in [(each["status"], each["reason"]) for each in status["conditions"]], conditions
            return True

        wait_until(f"{count} replicas of {hpa}", look, seconds=PATIENCE)

    def stays(self, **counts: int) -> None:
        """These HPAs leave their Deployments as they are while they decide several times."""
        clock = SystemClock()
        end = clock.monotonic() + SEVERAL_SYNCS
        while clock.monotonic() < end:
            for hpa, count in counts.items():
                assert count == self.replicas(hpa)
            time.sleep(0.5)

    def fails(self, hpa: str, reason: str) -> None:
        """Until the HPA says that it cannot scale, and why."""

        def look() -> bool:
            said = self.active(hpa)
            assert said == ("False", reason), said
            return True

        wait_until(f"{hpa} to fail", look, seconds=PATIENCE)

    def rescales(self, hpa: str) -> list[str]:
        """What the events of an HPA say of the sizes that it chose, in no order."""
        about = f"involvedObject.kind=HorizontalPodAutoscaler,involvedObject.name={hpa},reason=SuccessfulRescale"
        events = self._kubelets.inventory.get(f"/api/v1/namespaces/{NAMESPACE}/events", fieldSelector=about)["items"]
        return [event["message"] for event in events]

    def values(self, path: str) -> list[str]:
        """The values below the namespace in custom.metrics.k8s.io."""
        base = f"/apis/custom.metrics.k8s.io/v1beta2/namespaces/{NAMESPACE}"
        return [item["value"] for item in json.loads(self.stage.plane.kubectl("get", "--raw", f"{base}/{path}").stdout)["items"]]


@pytest.fixture(scope="module")
def world(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    file = tmp_path_factory.mktemp("autoscaled") / "declarations.yaml"
    with Source() as source, SimulatedKubelets(plane, [NODE]) as kubelets:
        kubelets.inventory.namespace(NAMESPACE)
        kubelets.inventory.namespace(CONTAINERS)
        write(file, *_declarations(source))
        plane.apply(RIGHTS)
        flags = [
            f"--namespace={OWN_NAMESPACE}",
            f"--declarations={file}",
            "--metric-resolution=10s",
            "--kubelet-request-timeout=5s",
        ]
        names = [*API_SERVICES, *REGISTERED]
        try:
            with on_stage(plane, "autoscaled", kubelets.certificate_authority, flags=flags, names=names) as stage:
                plane.apply(CLUSTER)
                made = World(stage, kubelets, source)
                made.run_pods(CONTAINERS)
                yield made
                plane.kubectl("delete", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": CLUSTER}))
        finally:
            plane.kubectl("delete", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": RIGHTS}))


def test_pods(world: World) -> None:
    """A load that the pods share makes as many as it needs; the samples of pods that are gone do not count, whatever they say."""
    wait_until("a pod", world.pods, seconds=PATIENCE)
    world.settles("pods", 4, total=40)
    former = world.pods()
    world.settles("pods", 3, total=30)

    living = wait_until("three pods", lambda: names if len(names := world.pods()) == 3 else None, seconds=PATIENCE)
    told = [(name, 10 if name in living else 1000) for name in former]
    world.source.items["hits"] = [{"name": name, "value": value} for name, value in told]
    world.stays(pods=3)
    assert ["10", "10", "10"] == world.values("pods/*/hits")


def test_pods_of_which_some_have_no_value(world: World) -> None:
    """Those without one are taken to be at the target: no fewer replicas than that makes. Half of four at zero make two, and not one.

    That this was its choice is told by its event: of the two that are left it takes another one away.
    """
    world.settles("pods", 4, total=40)
    names = world.pods()
    world.source.items["hits"] = [{"name": names[0], "value": 7}]
    wait_until("the HPA to see 7", lambda: _average(world.status("pods")) == "7", seconds=PATIENCE)
    world.stays(pods=4)

    world.source.items["hits"] = [{"name": name, "value": 0} for name in names[:2]]
    wait_until("half of them", lambda: "New size: 2; reason: All metrics below target" in world.rescales("pods"), seconds=PATIENCE)


def _average(status: Mapping[str, Any]) -> str:
    current = (status.get("currentMetrics") or [{}])[0]
    return str(current.get("pods", {}).get("current", {}).get("averageValue"))


def test_objects(world: World) -> None:
    """The HPA asks for all of them by a path with its namespace, also where the kind has none."""
    for total, count in ((40, 4), (20, 2)):
        for name in OBJECTS:
            world.tell(name, total)
        for name in OBJECTS:
            world.settles(name, count)


def test_external(world: World) -> None:
    """The HPA adds the series that its selector takes."""
    world.tell_external("depth", 15, 15, 10)
    world.settles("external", 4)
    world.tell_external("depth", 15, 5)
    world.settles("external", 2)


@pytest.mark.parametrize("how", ["no item", "outage"])
def test_where_all_values_are_missing_the_hpa_holds(world: World, how: str) -> None:
    """Nothing is a zero: an HPA says that it cannot scale, leaves the replicas, and goes on when values are back."""
    for name in ("live-kind", "ingress"):
        world.tell(name, 30)
    world.tell_external("depth", 10, 20)
    for hpa in REASONS:
        world.settles(hpa, 3, total=30 if hpa == "pods" else None)

    sources = {METRIC_OF.get(hpa, hpa) for hpa in REASONS}
    if how == "outage":
        world.source.down |= sources
    else:
        world.source.items |= {name: [] for name in sources}
    for hpa, reason in REASONS.items():
        world.fails(hpa, reason)
    world.stays(**dict.fromkeys(REASONS, 3))

    world.source.down -= sources
    world.tell("live-kind", 20)
    world.settles("live-kind", 2)


def test_policies_for_missing_values(world: World) -> None:
    """Through an outage: Omit gives nothing, Hold the last value for its time and then nothing, Constant its number."""
    for name in POLICIES:
        world.tell_external(name, 40)
    for name in POLICIES:
        world.settles(name, 4)

    world.source.down |= set(POLICIES)
    world.fails("omit", "FailedGetExternalMetric")
    assert ("True", "ValidMetricFound") == world.active("hold")
    world.settles("constant", 2)
    assert (4, 4) == (world.replicas("omit"), world.replicas("hold"))
    world.fails("hold", "FailedGetExternalMetric")
    world.stays(omit=4, hold=4, constant=2)

    world.source.down -= set(POLICIES)
    for name in POLICIES:
        world.tell_external(name, 30)
    for name in POLICIES:
        world.settles(name, 3)


def test_container(world: World) -> None:
    """The container that is named counts, by what it asks for itself: half of its 100m is the target. Three is its maximum."""
    world.settles("container", 1, namespace=CONTAINERS)
    world.burn(200)
    world.settles("container", 3, namespace=CONTAINERS)
    world.burn(5)
    world.settles("container", 1, namespace=CONTAINERS)
