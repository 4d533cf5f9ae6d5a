"""What is asked of metrics-server, and of kubeglance after it: one row for each golden."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import quote

from tests.goldens import cluster

GROUP = "/apis/metrics.k8s.io"
API = f"{GROUP}/v1beta1"
NODES, PODS = f"{API}/nodes", f"{API}/pods"
APPS = f"{API}/namespaces/apps/pods"
DIFFERING = f"{API}/namespaces/differing/pods"

JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
KUBECTL = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"

# Who asks. The tokens of the first two are good; "wrong" is a token that nobody knows.
READER, STRANGER, WRONG, ANONYMOUS = "reader", "stranger", "wrong", "anonymous"


@dataclass(frozen=True)
class Request:
    """One request; `name` is the path of its golden, without suffix. `accept` None sends no Accept header."""

    name: str
    path: str
    accept: str | None = JSON
    method: str = "GET"
    who: str = READER
    headers: dict[str, str] = field(default_factory=dict)
    content: str = ""


def _lists() -> Iterator[Request]:
    yield Request("lists/nodes", NODES)
    yield Request("lists/pods-apps", APPS)
    yield Request("lists/pods-magnitudes", f"{API}/namespaces/magnitudes/pods")
    yield Request("lists/pods-all", PODS)
    yield Request("lists/pods-differing", DIFFERING)
    yield Request("lists/pods-empty", f"{API}/namespaces/void/pods")
    yield Request("lists/pods-unknown-namespace", f"{API}/namespaces/nowhere/pods")
    yield Request("lists/no-accept", NODES, accept=None)
    yield Request("lists/accept-anything", NODES, accept="*/*")
    yield Request("lists/accept-application", NODES, accept="application/*")
    yield Request("lists/pretty", f"{NODES}?pretty=true")
    yield Request("lists/curl", NODES, headers={"user-agent": "curl/8.0"})
    yield Request("lists/trailing-slash", f"{NODES}/")
    yield Request("lists/limit", f"{NODES}?limit=1")
    yield Request("lists/resource-version-0", f"{NODES}?resourceVersion=0")
    yield Request("lists/unknown-query", f"{NODES}?fancy=1")
    yield Request("lists/head", NODES, method="HEAD")


_LABELS = {
    "equals": "app=web",
    "double-equals": "app==db",
    "not-equals": "app!=web,!case,of notin (cpu,memory,window)",
    "in": "app in (web,db)",
    "notin": "tier,app notin (web)",
    "exists": "tier",
    "not-exists": "app,!tier",
    "greater": "app>5",
    "none": "app=nothing",
    "prefixed": "app.kubernetes.io/name=web",
    "bad-operator": "app=~web",
    "bad-key": "-app=web",
    "bad-value": "app=a b",
    "bad-open": "app in (web",
    "bad-empty-set": "app in ()",
    "bad-number": "app>x",
    "bad-comma": ",",
}
_FIELDS = {
    "name": "metadata.name=web-0",
    "name-not": "metadata.name!=web-0,metadata.namespace=apps",
    "namespace": "metadata.namespace=apps",
    "both": "metadata.namespace=apps,metadata.name=web-1",
    "none": "metadata.name=nobody",
    "unknown-field": "spec.nodeName=node-a",
    "bad": "metadata.name",
    "bad-escape": "metadata.name=a\\x",
}


def _selectors() -> Iterator[Request]:
    for name, selector in _LABELS.items():
        yield Request(f"label-selectors/{name}", f"{PODS}?labelSelector={quote(selector)}")
    yield Request("label-selectors/nodes", f"{NODES}?labelSelector=zone%3Dtwo")
    for name, selector in _FIELDS.items():
        yield Request(f"field-selectors/{name}", f"{PODS}?fieldSelector={quote(selector)}")
    yield Request("field-selectors/nodes", f"{NODES}?fieldSelector=metadata.name%3Dnode-a")
    yield Request("field-selectors/nodes-namespace", f"{NODES}?fieldSelector=metadata.namespace%3Dapps")
    yield Request("field-selectors/other-namespace", f"{APPS}?fieldSelector=metadata.namespace%3Dmagnitudes")
    yield Request("field-selectors/with-labels", f"{APPS}?fieldSelector=metadata.name%3Dweb-0&labelSelector=app%3Dweb")


def _gets() -> Iterator[Request]:
    yield Request("gets/node", f"{NODES}/node-a")
    for name in ("web-0", "db-0", "plain", "sidecar", "restarted", "fresh"):
        yield Request(f"gets/pod-{name}", f"{APPS}/{name}")
    for pod in cluster.PODS:
        if pod.namespace == "differing":
            yield Request(f"gets/differing-{pod.name}", f"{DIFFERING}/{pod.name}")
    yield Request("gets/pretty", f"{NODES}/node-a?pretty=true")
    yield Request("gets/head", f"{NODES}/node-a", method="HEAD")
    yield Request("gets/resource-version", f"{NODES}/node-a?resourceVersion=0")
    yield Request("not-found/node", f"{NODES}/nobody")
    yield Request("not-found/node-without-values", f"{NODES}/node-silent")
    yield Request("not-found/node-not-told", f"{NODES}/node-bad-line")
    yield Request("not-found/pod", f"{APPS}/nobody")
    yield Request("not-found/pod-head", f"{APPS}/nobody", method="HEAD")
    yield Request("not-found/odd-name", f"{APPS}/a%22b%3C%C3%A9")
    for name in ("silent", "once", "pending", "ended", "on-silent-node"):
        yield Request(f"not-found/pod-{name}", f"{APPS}/{name}")
    yield Request("not-found/namespace", f"{API}/namespaces/nowhere/pods/web-0")
    yield Request("not-found/resource", f"{API}/services")
    yield Request("not-found/subresource", f"{APPS}/web-0/status")
    yield Request("not-found/version", f"{GROUP}/v9/nodes")
    yield Request("not-found/group", "/apis/nothing.k8s.io/v1")
    yield Request("not-found/path", "/nothing")
    yield Request("not-found/namespaced-node", f"{API}/namespaces/apps/nodes/node-a")
    yield Request("not-found/pod-without-namespace", f"{PODS}/web-0")
    yield Request("not-found/namespace-object", f"{API}/namespaces/apps")
    yield Request("not-found/namespaces", f"{API}/namespaces")


def _forms() -> Iterator[Request]:
    lists = {"nodes": NODES, "pods": APPS, "empty": f"{API}/namespaces/void/pods"}
    items = {"node": f"{NODES}/node-a", "pod": f"{APPS}/web-0"}
    for name, path in {**lists, **items}.items():
        yield Request(f"tables/{name}", path, accept=KUBECTL)
    yield Request("tables/magnitudes", f"{API}/namespaces/magnitudes/pods?includeObject=None", accept=TABLE)
    yield Request("tables/v1beta1", NODES, accept=TABLE.replace("v=v1", "v=v1beta1"))
    for include in ("None", "Metadata", "Object", "Wrong"):
        yield Request(f"tables/include-{include.lower()}", f"{NODES}?includeObject={include}", accept=TABLE)
    yield Request("tables/not-found", f"{APPS}/nobody", accept=KUBECTL)
    yield Request("tables/limit", f"{NODES}?limit=500", accept=KUBECTL)
    for name, path in lists.items():
        yield Request(f"partial/{name}", path, accept=PARTIAL_LIST)
    for name, path in items.items():
        yield Request(f"partial/{name}", path, accept=PARTIAL)
    yield Request("partial/informer", APPS, accept=f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,{PARTIAL_LIST},{JSON}")
    yield Request("partial/list-as-item", NODES, accept=PARTIAL)
    yield Request("partial/item-as-list", f"{NODES}/node-a", accept=PARTIAL_LIST)
    for name, path in {**lists, **items}.items():
        yield Request(f"protobuf/{name}", path, accept=PROTOBUF)
    yield Request("protobuf/magnitudes", f"{API}/namespaces/magnitudes/pods", accept=PROTOBUF)
    yield Request("protobuf/kubectl-top", f"{NODES}?labelSelector=zone%3Done", accept=f"{PROTOBUF},{JSON}")
    yield Request("protobuf/hpa", f"{APPS}?labelSelector=app%3Dweb", accept=f"{PROTOBUF},{JSON}")
    yield Request("protobuf/client-go-37", f"{NODES}/node-b", accept=f"{PROTOBUF},*/*")
    yield Request("protobuf/json-first", f"{NODES}/node-a", accept=f"{JSON},{PROTOBUF}")
    yield Request("protobuf/weighted", f"{NODES}/node-a", accept=f"{JSON};q=0.5,{PROTOBUF};q=0.9")
    yield Request("protobuf/not-found", f"{APPS}/nobody", accept=PROTOBUF)
    yield Request("protobuf/without-values", f"{APPS}/silent", accept=PROTOBUF)
    yield Request("protobuf/bad-request", f"{PODS}?labelSelector=%2C", accept=PROTOBUF)
    yield Request("protobuf/table", NODES, accept=TABLE.replace(JSON, PROTOBUF))
    yield Request("protobuf/partial-nodes", NODES, accept=PARTIAL_LIST.replace(JSON, PROTOBUF))
    yield Request("protobuf/partial-node", f"{NODES}/node-a", accept=PARTIAL.replace(JSON, PROTOBUF))
    yield Request("protobuf/forbidden", NODES, accept=PROTOBUF, who=STRANGER)
    yield Request("protobuf/unauthorized", NODES, accept=PROTOBUF, who=WRONG)
    for name, path in {"groups": "/apis", "group": GROUP, "resources": API}.items():
        yield Request(f"protobuf/discovery-{name}", path, accept=PROTOBUF)
    for name, accept in {"xml": "application/xml", "text": "text/plain", "garbage": "garbage", "cbor": "application/cbor"}.items():
        yield Request(f"not-acceptable/{name}", NODES, accept=accept)
        yield Request(f"not-acceptable/discovery-{name}", API, accept=accept)
    yield Request("yaml/nodes", f"{NODES}?labelSelector=zone%3Done", accept="application/yaml")
    yield Request("yaml/not-found", f"{APPS}/nobody", accept="application/yaml")
    yield Request("yaml/discovery", API, accept="application/yaml")
    yield Request("not-acceptable/unknown-conversion", NODES, accept=f"{JSON};as=Nothing;g=meta.k8s.io;v=v1")
    yield Request("not-acceptable/unknown-version", NODES, accept=f"{JSON};as=Table;g=meta.k8s.io;v=v9")
    yield Request("not-acceptable/get-xml", f"{NODES}/node-a", accept="application/xml")


def _refusals() -> Iterator[Request]:
    made = '{"kind":"NodeMetrics","apiVersion":"metrics.k8s.io/v1beta1","metadata":{"name":"x"}}'
    for method, path in (
        ("POST", NODES),
        ("PUT", f"{NODES}/node-a"),
        ("PATCH", f"{NODES}/node-a"),
        ("DELETE", f"{NODES}/node-a"),
        ("DELETE", NODES),
        ("POST", APPS),
        ("POST", PODS),
        ("PUT", f"{APPS}/web-0"),
        ("DELETE", f"{APPS}/web-0"),
        ("DELETE", APPS),
        ("POST", f"{NODES}/node-a"),
        ("PUT", NODES),
    ):
        name = path.removeprefix(f"{API}/").replace("/", "-")
        headers = {"content-type": JSON} if method in {"POST", "PUT"} else {}
        yield Request(f"writes/{method.lower()}-{name}", path, method=method, headers=headers, content=made if headers else "")
    yield Request("writes/options-nodes", NODES, method="OPTIONS")
    yield Request("writes/options-apis", "/apis", method="OPTIONS")
    yield Request("writes/trace-nodes", NODES, method="TRACE")
    yield Request("writes/odd-method", NODES, method="BREW")
    yield Request("writes/post-apis", "/apis", method="POST")
    yield Request("writes/post-resources", API, method="POST")
    yield Request("writes/delete-openapi", "/openapi/v2", method="DELETE")
    yield Request("writes/head-apis", "/apis", method="HEAD")
    yield Request("writes/post-version", "/version", method="POST")
    yield Request("writes/forbidden", NODES, method="POST", who=STRANGER, headers={"content-type": JSON}, content=made)
    yield Request("watches/nodes", f"{NODES}?watch=true")
    yield Request("watches/pods", f"{APPS}?watch=1")
    yield Request("watches/name", f"{NODES}?watch=true&fieldSelector=metadata.name%3Dnode-a")
    yield Request("watches/false", f"{NODES}?watch=false&fieldSelector=metadata.name%3Dnode-a")
    yield Request("watches/bad", f"{NODES}?watch=maybe&fieldSelector=metadata.name%3Dnode-a")
    yield Request("watches/old-path", f"{API}/watch/nodes")
    yield Request("watches/get", f"{NODES}/node-a?watch=true")
    yield Request("bad-requests/limit", f"{NODES}?limit=many")
    yield Request("bad-requests/timeout", f"{NODES}?timeoutSeconds=soon")
    yield Request("bad-requests/match-alone", f"{NODES}?resourceVersionMatch=Exact")
    yield Request("bad-requests/match-unknown", f"{NODES}?resourceVersion=1&resourceVersionMatch=Perhaps")
    yield Request("bad-requests/resource-version", f"{NODES}?resourceVersion=abc")
    yield Request("bad-requests/negative-limit", f"{NODES}?limit=-1")
    yield Request("bad-requests/continue", f"{NODES}?limit=1&continue=nonsense")
    yield Request("bad-requests/bad-query", f"{NODES}?labelSelector=%zz")
    for who in (STRANGER, ANONYMOUS, WRONG):
        yield Request(f"access/{who}-list-nodes", NODES, who=who)
        yield Request(f"access/{who}-discovery", API, who=who)
        yield Request(f"access/{who}-version", "/version", who=who)
        yield Request(f"access/{who}-healthz", "/healthz", who=who)
        yield Request(f"access/{who}-metrics", "/metrics", who=who)
    yield Request("access/stranger-list-pods", APPS, who=STRANGER)
    yield Request("access/stranger-get-pod", f"{APPS}/web-0", who=STRANGER)
    yield Request("access/stranger-list-all-pods", PODS, who=STRANGER)
    yield Request("access/stranger-watch", f"{NODES}?watch=true", who=STRANGER)
    yield Request("access/stranger-unknown-resource", f"{API}/services", who=STRANGER)
    yield Request("access/stranger-table", NODES, who=STRANGER, accept=KUBECTL)
    yield Request("access/stranger-livez-ping", "/livez/ping", who=STRANGER)
    yield Request("access/anonymous-livez-ping", "/livez/ping", who=ANONYMOUS)


def _documents() -> Iterator[Request]:
    yield Request("discovery/groups", "/apis")
    yield Request("discovery/groups-slash", "/apis/")
    yield Request("discovery/groups-pretty", "/apis?pretty=1")
    yield Request("discovery/group", GROUP)
    yield Request("discovery/group-slash", f"{GROUP}/")
    yield Request("discovery/resources", API)
    yield Request("discovery/resources-slash", f"{API}/")
    for version in ("v2", "v2beta1", "v3"):
        yield Request(f"discovery/aggregated-{version}", "/apis", accept=AGGREGATED.format(version))
    yield Request("discovery/aggregated-kubectl", "/apis", accept=f"{AGGREGATED.format('v2')},{AGGREGATED.format('v2beta1')},{JSON}")
    yield Request("discovery/aggregated-protobuf", "/apis", accept=AGGREGATED.format("v2").replace(JSON, PROTOBUF))
    yield Request("discovery/api", "/api")
    yield Request("discovery/root", "/")
    yield Request("openapi/v2", "/openapi/v2")
    yield Request("openapi/v2-xml", "/openapi/v2", accept="application/xml")
    yield Request("openapi/v3-root", "/openapi/v3")
    yield Request("openapi/v3", "/openapi/v3/apis/metrics.k8s.io/v1beta1")
    yield Request("openapi/v3-unknown", "/openapi/v3/apis/nothing/v1")
    yield Request("version/version", "/version")
    yield Request("version/slash", "/version/")
    for root in ("healthz", "livez", "readyz"):
        yield Request(f"health/{root}", f"/{root}", accept=None)
        yield Request(f"health/{root}-verbose", f"/{root}?verbose", accept=None)
        yield Request(f"health/{root}-exclude", f"/{root}?verbose&exclude=ping&exclude=nothing", accept=None)
        yield Request(f"health/{root}-ping", f"/{root}/ping", accept=None)
        yield Request(f"health/{root}-unknown", f"/{root}/unknown", accept=None)
        yield Request(f"health/{root}-head", f"/{root}", accept=None, method="HEAD")
        yield Request(f"health/{root}-post", f"/{root}", accept=None, method="POST")


REQUESTS = (*_lists(), *_selectors(), *_gets(), *_forms(), *_refusals(), *_documents())
