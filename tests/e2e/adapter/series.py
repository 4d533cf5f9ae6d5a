"""What Prometheus scrapes for config.yaml, and the objects that it is about."""

from typing import Any

from app.clock import Clock
from tests.e2e.objects import Inventory, NodeObject, PodObject

SHOP, MAIL = "adapter-shop", "adapter-mail"
NODE = "adapter-0"
PODS = ((SHOP, "web-0", "web"), (SHOP, "web-1", "web"), (SHOP, "worker-0", "worker"), (MAIL, "web-0", "web"))
"""Namespace, name and label `app`."""

SERVICE, INGRESS, DEPLOYMENT, VOLUME = "web", "entry", "web", "adapter-volume"


def gauges() -> str:
    """What stands still."""
    lines = [
        f'node_load1{{node="{NODE}"}} 1.5',
        f'volume_used_bytes{{persistentvolume="{VOLUME}"}} 1073741824',
        f'sales{{kube_apps_deployment="{DEPLOYMENT}",space="{SHOP}"}} 12.25',
        f'response_seconds{{microservice="{DEPLOYMENT}",namespace="{SHOP}",shard="a"}} 0.25',
        f'response_seconds{{microservice="{DEPLOYMENT}",namespace="{SHOP}",shard="b"}} 0.75',
        f'cheddar{{brand="{SERVICE}",namespace="{SHOP}",sharp="true"}} 7',
        f'odd_nan{{namespace="{SHOP}",pod="web-0"}} NaN',
        f'odd_nan{{namespace="{SHOP}",pod="web-1"}} 30',
        f'odd_infinite{{namespace="{SHOP}",pod="web-0"}} +Inf',
        f'odd_infinite{{namespace="{SHOP}",pod="web-1"}} 30',
        f'odd_large{{namespace="{SHOP}",pod="web-0"}} 1e+18',
        f'odd_small{{namespace="{SHOP}",pod="web-0"}} 0.123456',
        f'odd_negative{{namespace="{SHOP}",pod="web-0"}} -2.5',
        f'queue_consumer_lag{{name="orders",namespace="{SHOP}"}} 40',
        f'queue_consumer_lag{{name="bills",namespace="{SHOP}"}} 2',
        f'queue_consumer_lag{{name="orders",namespace="{MAIL}"}} 3',
        'queue_depth{name="orders",topic="a",namespace="elsewhere"} 11',
        'queue_depth{name="orders",topic="b",namespace="elsewhere"} 4',
        'queue_depth{name="bills",topic="a",namespace="elsewhere"} NaN',
        'backlog{name="orders"} 5',
        'backlog{name="bills"} 6',
        'as_it_is{name="orders",urgent="yes"} 1',
        'as_it_is{name="bills"} 2',
        'homeless{name="orders"} 9',
    ]
    for number, (namespace, pod, app) in enumerate(PODS, 1):
        own = f'namespace="{namespace}",pod="{pod}"'
        lines += [
            f"queue_length{{{own}}} {number}",
            f"plain{{{own}}} {10 * number}",
            f'app_ready_workers{{{own},kind="{app}"}} {number}.5',
            f'app_busy_workers{{{own},kind="{app}"}} {number}00',
            f"app_idle_workers{{{own}}} {number}",
            f'container_memory_working_set_bytes{{{own},container="main"}} {number}000000',
        ]
    return "\n".join(lines) + "\n"


def counters(seconds: float) -> str:
    """What grows, each at a pace of its own, for so long now."""
    lines = [f'ext_mails_total{{name="out",namespace="{MAIL}"}} {8 * seconds}']
    for number, (namespace, pod, _) in enumerate(PODS, 1):
        own = f'namespace="{namespace}",pod="{pod}"'
        lines += [
            f'container_cpu_usage_seconds_total{{{own},container="main"}} {number / 4 * seconds}',
            f'container_cpu_usage_seconds_total{{{own},container="POD"}} {100 * seconds}',
            f'container_network_packets_total{{{own},container="main"}} {100 * number * seconds}',
            f'shop_orders_total{{kubernetes_namespace="{namespace}",kubernetes_pod_name="{pod}",method="GET"}} {number * seconds}',
        ]
        for verb, pace in (("GET", 10), ("POST", 2)):
            at = f'{own},service="{SERVICE}",ingress="{INGRESS}",verb="{verb}"'
            lines.append(f"http_requests_total{{{at}}} {pace * number * seconds}")
    return "\n".join(lines) + "\n"


class Told:
    """All of it, as an exporter tells it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start = clock.monotonic()

    def __call__(self) -> str:
        return gauges() + counters(self._clock.monotonic() - self._start)


def make_objects(inventory: Inventory) -> None:
    """Nodes, pods and the rest."""
    inventory.node(NodeObject(NODE, "127.0.0.1", 1))
    for namespace in (SHOP, MAIL):
        inventory.namespace(namespace)
    for namespace, name, app in PODS:
        inventory.pod(PodObject(namespace, name, NODE, labels={"app": app, "app.kubernetes.io/name": app}))
    for path, thing in _others():
        inventory.post(path, thing)


def _others() -> list[tuple[str, dict[str, Any]]]:
    backend = {"service": {"name": SERVICE, "port": {"number": 80}}}
    template = {"metadata": {"labels": {"app": "none"}}, "spec": {"containers": [{"name": "main", "image": "kubeglance.test/none:1"}]}}
    storage = {"capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/nowhere"}}
    return [
        (
            f"/api/v1/namespaces/{SHOP}/services",
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE}, "spec": {"ports": [{"port": 80}]}},
        ),
        (
            f"/apis/networking.k8s.io/v1/namespaces/{SHOP}/ingresses",
            {
                "apiVersion": "networking.k8s.io/v1",
                "kind": "Ingress",
                "metadata": {"name": INGRESS},
                "spec": {"defaultBackend": backend},
            },
        ),
        (
            f"/apis/apps/v1/namespaces/{SHOP}/deployments",
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": DEPLOYMENT, "labels": {"app": "web"}},
                "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "none"}}, "template": template},
            },
        ),
        (
            "/api/v1/persistentvolumes",
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": VOLUME}, "spec": storage},
        ),
    ]
