"""What both are asked."""

from typing import NamedTuple
from urllib.parse import quote

from tests.e2e.adapter.series import DEPLOYMENT, INGRESS, MAIL, NODE, SERVICE, SHOP, VOLUME

CUSTOM, EXTERNAL = "/apis/custom.metrics.k8s.io/v1beta2", "/apis/external.metrics.k8s.io/v1beta1"
LISTS = (f"{CUSTOM.removesuffix('2')}1", CUSTOM, EXTERNAL)
"""Discovery."""

RATED = frozenset({"cpu_usage", "network_packets", "http_requests", "shop_orders_per_second", "mails_rate"})
"""Metrics that are rates: between two questions Prometheus scrapes."""


class Case(NamedTuple):
    """One request."""

    path: str
    metric: str

    @property
    def is_rate(self) -> bool:
        return self.metric in RATED


def custom(about: str, metric: str, *, objects: str = "", series: str = "", namespace: str = SHOP, api: str = CUSTOM) -> Case:
    """`about` is resource/name, or only "metrics" for the namespace itself; without a `namespace` the path has none."""
    selectors = {"labelSelector": objects, "metricLabelSelector": series}
    query = "&".join(f"{name}={quote(text)}" for name, text in selectors.items() if text)
    where = f"/namespaces/{namespace}" if namespace else ""
    return Case(f"{api}{where}/{about}/{metric}{'?' if query else ''}{query}", metric)


def external(metric: str, *, series: str = "", namespace: str = SHOP) -> Case:
    query = f"?labelSelector={quote(series)}" if series else ""
    return Case(f"{EXTERNAL}/namespaces/{namespace}/{metric}{query}", metric)


CASES = (
    # Each rule, and each kind of object that it is about.
    *(custom("pods/*", metric) for metric in ("cpu_usage", "network_packets", "http_requests", "shop_orders_per_second")),
    *(custom("metrics", metric) for metric in ("cpu_usage", "network_packets", "http_requests", "shop_orders_per_second")),
    custom("pods/*", "http_requests", namespace=MAIL),
    custom("pods/*", "http_requests", api=LISTS[0]),
    custom(f"services/{SERVICE}", "http_requests"),
    custom(f"ingresses.networking.k8s.io/{INGRESS}", "http_requests"),
    custom("ingresses.networking.k8s.io/*", "http_requests"),
    custom("jobs.batch/test", "http_requests"),
    custom(f"deployments.apps/{DEPLOYMENT}", "sales"),
    custom(f"deployments.apps/{DEPLOYMENT}", "response_seconds"),
    custom("deployments.apps/*", "response_seconds"),
    custom(f"services/{SERVICE}", "cheesy_goodness"),
    custom("metrics", "cheesy_goodness"),
    custom(f"nodes/{NODE}", "node_load1", namespace=""),
    custom("nodes/*", "node_load1", namespace=""),
    custom(f"nodes/{NODE}", "node_load1"),
    custom(f"persistentvolumes/{VOLUME}", "volume_used_bytes", namespace=""),
    custom("pods/*", "queue_length"),
    custom("metrics", "queue_length"),
    custom("pods/*", "workers_ready"),
    custom("pod/web-0", "workers_busy"),
    custom("metrics", "workers_busy"),
    custom("pods/*", "workers_idle"),
    custom("pods/*", "plain"),
    custom("metrics", "plain"),
    *(custom("pods/*", f"odd_{kind}") for kind in ("nan", "infinite", "large", "small", "negative")),
    # Names and labels of objects.
    custom("pods/web-0", "queue_length"),
    custom("pods/%2A", "queue_length"),
    custom("pods/web-0", "queue_length", objects="app=worker"),
    *(
        custom("pods/*", "queue_length", objects=selector)
        for selector in (
            "app=web",
            "app!=web",
            "app in (web,other)",
            "app notin (worker)",
            "app",
            "!app",
            "app.kubernetes.io/name=web",
            "((",
        )
    ),
    # Labels of series.
    *(
        custom("pods/*", "http_requests", series=selector)
        for selector in ("verb=GET", "verb in (GET,POST)", "verb notin (GET,PUT)", "verb!=GET", "verb", "!verb", "verb>1", "a.b/c=x", "((")
    ),
    custom("deployments.apps/*", "response_seconds", series="shard=a"),
    # What there is not.
    custom("pods/web-9", "queue_length"),
    custom("pods/web-0", "nothing"),
    custom("pods/*", "response_seconds"),
    custom("gadgets/web-0", "queue_length"),
    custom("pods/*", "queue_length", namespace="nowhere"),
    custom("pods/*", "queue_length", namespace=""),
    Case(f"{CUSTOM}/namespaces/{SHOP}/foo", ""),
    Case(f"{CUSTOM}/namespaces/*/queue_length", ""),
    Case(f"{CUSTOM}/namespaces/{SHOP}/pods/web-0", ""),
    Case(f"{CUSTOM}/namespaces/{SHOP}/pods/a/b/c", ""),
    # External metrics.
    external("queue_consumer_lag"),
    external("queue_consumer_lag", namespace=MAIL),
    external("queue_consumer_lag", namespace="default"),
    *(external("queue_consumer_lag", series=selector) for selector in ("name=orders", "name in (orders,bills)", "name=none", "((")),
    external("queue_depth"),
    *(external("queue_depth", series=selector) for selector in ("topic=a", "topic notin (a)", "topic>1")),
    external("total_backlog"),
    external("total_backlog", series="name=none"),
    external("mails_rate", namespace=MAIL),
    *(external("as_it_is", series=selector) for selector in ("", "urgent", "!urgent")),
    external("homeless"),
    external("nothing"),
    external("nothing", namespace="default"),
    Case(f"{EXTERNAL}/namespaces/{SHOP}", ""),
)
