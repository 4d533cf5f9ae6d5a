"""Every difference between kubeglance's answers and metrics-server's, in one table: what it is, why it is, and how it shows.

`adapt` turns metrics-server's answer into the one that kubeglance is to give. A difference that changes no golden is none any more, and
its entry has to go: tests/unit/goldens tells. docs/differences-from-metrics-server.md is written from this table (`make docs`).
"""

from dataclasses import dataclass

from tests.goldens import adaptations as to
from tests.goldens import cluster
from tests.goldens.adaptations import Adapt, fields, valued
from tests.goldens.answer import Answer, load
from tests.goldens.requests import WRONG, Request

WIRE, VALUES, ERRORS, DISCOVERY = "wire", "values", "errors", "discovery"
SECTIONS = (WIRE, VALUES, ERRORS, DISCOVERY)
"""Each is a table of the page."""


@dataclass(frozen=True)
class Difference:
    """One row of the page: what, how it is there, how it is here, and why it is not the same."""

    section: str
    what: str
    there: str
    here: str
    why: str
    adapt: Adapt


def expected(request: Request) -> tuple[Answer, list[Difference]]:
    """What kubeglance is to answer, and the differences that this shows."""
    key, shown = load(request).key, list[Difference]()
    for difference in DIFFERENCES:
        adapted = difference.adapt(request, Answer.from_key(key)).key
        if adapted != key:
            shown.append(difference)
        key = adapted
    return Answer.from_key(key), shown


DIFFERENCES = (
    # What answers with other data comes first: the rest then treats that as all else.
    Difference(
        WIRE,
        "`Accept: application/*`",
        "406",
        "JSON",
        "RFC 9110",
        to.any_application,
    ),
    Difference(
        VALUES,
        "swap",
        "not served",
        "in `usage` where the kubelet tells it",
        "`kubectl top --show-swap` asks for it",
        valued("swapping", fields("50m", "50Mi", swap="1536")),
    ),
    Difference(
        VALUES,
        "a container without a value",
        "the pod is served without it",
        "the pod is left out",
        "a part taken for the whole lets an autoscaler scale down",
        valued("half", None),
    ),
    Difference(
        VALUES,
        "a CPU counter that went back",
        "the pod is served with no containers and no timestamp",
        "the pod is left out",
        "an object without values is no value",
        valued("backwards", None),
    ),
    Difference(
        VALUES,
        "ended init containers with zeros",
        "hide the pod",
        "are ignored: only running containers count",
        "what has ended uses nothing",
        valued("init-zeros", fields("50m", "50Mi")),
    ),
    Difference(
        VALUES,
        "memory 0 with live CPU",
        "hides the pod",
        "is a value",
        "some runtimes report it of containers that live",
        valued("memoryless", fields("50m", "0")),
    ),
    Difference(
        VALUES,
        "two samples closer than 1 s",
        "give a rate",
        "are taken for one",
        "the counter's own steps would be most of it",
        valued("near", None),
    ),
    Difference(
        VALUES,
        "a kubelet's clock that leaps",
        "a window as long as the leap",
        "no value until the next sample",
        "the counter did not run for so long",
        valued("leap", None),
    ),
    Difference(
        VALUES,
        "CPU and memory measured at different times",
        "the rate is over memory's time",
        "over CPU's own time, which is also `timestamp` and `window`",
        "a rate over another counter's time is wrong",
        valued("two-clocks", fields("200m", "8Ki")),
    ),
    Difference(
        VALUES,
        "a container's first value",
        "at an age of 10 to 15 s only",
        "at an age of 10 to 60 s, from its start",
        "the origin of its counter is known",
        valued("young", fields("166666666n", "4Ki", window="30s")),
    ),
    Difference(
        VALUES,
        "a bad line in a kubelet's answer",
        "costs the whole node",
        "costs that line",
        "the other lines are as good as ever",
        valued("on-bad-line-node", fields("50m", "50Mi")),
    ),
    Difference(
        VALUES,
        "seconds that are no whole nanoseconds in floating point",
        "are cut",
        "are rounded",
        "1.019e-06 s are 1019 ns and not 1018",
        valued("nanoseconds", fields("19n", "4Ki", window="1s", timestamp="2026-01-01T00:00:01Z")),
    ),
    Difference(
        VALUES,
        "memory of 8 EiB and more",
        "served without its last digit",
        "is no value",
        "it is a fault of who measured",
        to.each_of(*(valued(f"beyond-{size}", None) for size in cluster.BEYOND)),
    ),
    # Metadata and forms
    Difference(
        WIRE,
        "`metadata.resourceVersion`",
        "never set",
        "on every item and list, grows with every change",
        "informers and pages need it",
        to.with_versions,
    ),
    Difference(
        WIRE,
        "`metadata.creationTimestamp` of an item",
        "the time of the request",
        "the same as `timestamp`: when the kubelet measured",
        "an object that nobody changed should not change",
        to.measured_then,
    ),
    Difference(
        WIRE,
        "order of containers",
        "changes from request to request",
        "as in the pod's spec, native sidecars last",
        "equal answers to equal questions",
        to.in_spec_order,
    ),
    Difference(
        WIRE,
        "descriptions of Table columns",
        "of the name only",
        "of each column",
        "units and window are worth a sentence",
        to.described,
    ),
    Difference(
        WIRE,
        "an empty Table or PartialObjectMetadataList",
        "null for columns, rows and items",
        "columns are always there, rows and items are `[]`",
        "a printer needs its columns, and null is no list",
        to.empty_is_list,
    ),
    Difference(
        WIRE,
        "`limit`, `continue`, `resourceVersion` of a list",
        "ignored",
        "served, and 400 for values that cannot be meant",
        "thousands of pods in pages, as of any API",
        to.on(["lists/limit", *to.BAD], to.pages),
    ),
    Difference(
        WIRE,
        "a bad percent-encoding in the query",
        "its parameter is dropped: all objects are served",
        "is taken as it is, which here gives 400",
        "a selector that cannot be read must not select all",
        to.on(["bad-requests/bad-query"], to.bad_escape),
    ),
    Difference(
        WIRE,
        "YAML",
        "served",
        "406",
        "kubectl writes YAML itself; nobody asks a server for it",
        to.no_yaml,
    ),
    # Errors
    Difference(
        ERRORS,
        "406",
        "two texts, indented",
        "one text, in one line",
        "it lists what is served, and only that",
        to.one_406,
    ),
    Difference(
        DISCOVERY,
        "discovery as protobuf",
        "served",
        "406; JSON is answered where the client takes it too",
        "clients ask for JSON here",
        to.no_protobuf_discovery,
    ),
    Difference(
        ERRORS,
        "a wrong `includeObject`, or one object asked for as a list",
        "the Status is indented",
        "as every other Status",
        "nobody asked for it",
        to.one_line,
    ),
    Difference(
        ERRORS,
        "texts that name a type",
        "`*metrics.NodeMetricsList`",
        "`NodeMetricsList`",
        "the first is a name of Go",
        to.own_names,
    ),
    Difference(
        ERRORS,
        "404 of a pod or node without values",
        "the bare text",
        "the same text, a colon and the reason",
        "whoever asks wants to know why",
        to.with_reason,
    ),
    Difference(
        ERRORS,
        "404 of a pod that does not run",
        "the pod is not found",
        "its metrics are not found, with its phase",
        "the pod is there",
        to.on(["not-found/pod-pending", "not-found/pod-ended"], to.not_running),
    ),
    Difference(
        ERRORS,
        "404 of an unknown node",
        '`node "x" not found`',
        '`nodes "x" not found`',
        "as kube-apiserver says it, and as it is for pods",
        to.plural,
    ),
    Difference(
        ERRORS,
        "404 of an unknown path",
        "the list of all paths, in place of a Status",
        "a Status",
        "clients read a Status; the list is at `/`",
        to.unknown_path,
    ),
    Difference(
        ERRORS,
        "405 of a resource",
        "says that the method is not allowed",
        "names verb and resource, and has an `Allow` header",
        "as kube-apiserver says it; RFC 9110 wants the header",
        to.told_verb,
    ),
    Difference(
        ERRORS,
        "405 of a document",
        "no `Allow` header",
        "has one",
        "RFC 9110",
        to.told_methods,
    ),
    Difference(
        ERRORS,
        "the old path of watches, /watch/nodes",
        "404",
        "405, as for `?watch=true`",
        "it is understood, and not served",
        to.on(["watches/old-path"], to.old_watch),
    ),
    Difference(
        ERRORS,
        "HEAD",
        "405",
        "what GET answers, without the body",
        "RFC 9110",
        to.head,
    ),
    Difference(
        ERRORS,
        "a wrong token at /healthz, /livez, /readyz",
        "401",
        "the answer: nobody is asked who they are",
        "a probe must not wait for authentication",
        to.on([f"access/{WRONG}-healthz"], to.open_health),
    ),
    Difference(
        ERRORS,
        "`X-Content-Type-Options: nosniff`",
        "on 403 and health",
        "on 401 and single checks too",
        "costs nothing",
        to.no_sniff,
    ),
    # Discovery
    Difference(
        DISCOVERY,
        "an unknown document under /openapi/v3",
        "200 without a body",
        "404",
        "it is not there",
        to.on(["openapi/v3-unknown"], to.no_document),
    ),
    Difference(
        DISCOVERY,
        "aggregated discovery in its v2beta1 form",
        "406",
        "served",
        "clients of Kubernetes 1.26 to 1.29 know no other",
        to.on(["discovery/aggregated-v2beta1"], to.older_aggregated),
    ),
    Difference(
        DISCOVERY,
        "`responseKind` in aggregated discovery",
        "without group and version",
        "with them",
        "what is answered is a kind of this group",
        to.response_kinds,
    ),
    Difference(
        DISCOVERY,
        "/openapi/v3",
        "lists the documents of discovery paths and /version too",
        "lists those of group versions",
        "kubectl explain reads no others",
        to.on(["openapi/v3-root"], to.only_groups),
    ),
    Difference(
        DISCOVERY,
        "/",
        "lists /statusz",
        "lists each OpenAPI document; there is no /statusz",
        "a list of what is served",
        to.on(["discovery/root"], to.index),
    ),
    Difference(
        DISCOVERY,
        "versions of `metrics.k8s.io`",
        "v1beta1",
        "v1 and v1beta1, one wire form",
        "Kubernetes 1.37 asks for v1 (KEP-5207)",
        to.on(["discovery/", "openapi/v2", "openapi/v3-root", "writes/delete-openapi"], to.with_v1),
    ),
    Difference(
        DISCOVERY,
        "/apis",
        "no apiVersion; names its own address; no `Vary`",
        "apiVersion v1; no address; `Vary: Accept`",
        "the address helps nobody behind the aggregator, and the form depends on Accept",
        to.on(["discovery/groups", "discovery/groups-slash", "discovery/groups-pretty"], to.list_version),
    ),
    Difference(
        DISCOVERY,
        "headers of OpenAPI documents",
        "`Accept-Ranges`, `Last-Modified`, `Vary: Accept-Encoding`",
        "`ETag`, and `Vary: Accept`",
        "one date for all would be that of the start; no other encoding is served",
        to.on(["openapi/", "writes/delete-openapi"], to.from_memory),
    ),
    Difference(
        DISCOVERY,
        "/version",
        "that of the Kubernetes libraries",
        "kubeglance's own",
        "who asks wants to know what answers",
        to.on(["version/", "access/stranger-version", "access/anonymous-version"], to.own_version),
    ),
)
