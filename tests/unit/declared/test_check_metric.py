"""Rules of LiveMetrics, with the place of each fault."""

import pytest

from app.declared.check import ALONE, Around, Checked, ServedNames, Tenant
from app.declared.metric_expressions import faults_of
from tests.unit.declared.canonical import COOL
from tests.unit.declared.checking import checked
from tests.unit.declared.checking import said as said_of
from tests.unit.declared.metrics import ORDERS, REQUESTS, changed

SHOP = Around("shop", Tenant(groups=("example.com",), hosts=("*.shop.svc",)))


def said(text: str, around: Around = ALONE) -> list[str]:
    """The faults of a text, without the name of the file."""
    return said_of(text, around, expressions=faults_of)


def requests(old: str, new: str) -> str:
    """The custom metric, changed."""
    return changed(REQUESTS, old, new)


def orders(old: str, new: str) -> str:
    """The external metric, changed."""
    return changed(ORDERS, old, new)


@pytest.mark.parametrize("text", [REQUESTS, ORDERS, f"{REQUESTS}---\n{ORDERS}"], ids=["custom", "external", "both"])
def test_good_metrics_are_taken(text: str) -> None:
    """Alone and together."""
    found: Checked = checked(text, expressions=faults_of)
    assert [] == found.faults
    assert text.count("kind: LiveMetric") == len(found.declarations)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            requests("name: http-requests", "name: http.requests"),
            '3:18: metadata.name: Invalid value: "http.requests"; expected lower-case letters, digits and dashes, at most 63 characters',
            id="a name with a dot, as tenants' are known by",
        ),
        pytest.param(
            requests("name: http_requests", "name: 5xx-requests"),
            '6:9: spec.name: Invalid value: "5xx-requests"; expected a name as in Prometheus: letters, digits, _ and :, no digit first',
            id="no name of Prometheus",
        ),
        pytest.param(
            requests("api: custom", "api: customs"),
            '5:8: spec.api: Unsupported value: "customs"; expected "custom" or "external"; did you mean "custom"?',
            id="an API that is misspelt",
        ),
        pytest.param(
            requests("  describes: {resource: pods}\n", ""),
            "5:3: spec.describes: Required value; expected the resource whose objects have the metric, as api is custom",
            id="a custom metric of nothing",
        ),
        pytest.param(
            requests("resource: pods", "resource: Pods"),
            '7:25: spec.describes.resource: Invalid value: "Pods"; expected the plural name of a resource, in lower case, such as pods',
            id="a kind for a resource",
        ),
        pytest.param(
            requests("    object: {namespace: item.namespace, name: item.pod}\n", ""),
            "12:5: spec.sample.object: Required value; expected name (and namespace) of the object of a sample, as api is custom",
            id="samples of no object",
        ),
        pytest.param(
            requests("{namespace: item.namespace, name: item.pod}", "{name: item.pod}"),
            "12:13: spec.sample.object.namespace: Required value; expected CEL for the namespace of the pod",
            id="a pod without a namespace",
        ),
        pytest.param(
            requests("resource: pods", "resource: nodes"),
            "12:25: spec.sample.object.namespace: Forbidden: nodes have no namespace; expected no namespace",
            id="a node in a namespace",
        ),
        pytest.param(
            orders("  name: orders_waiting", "  name: orders_waiting\n  describes: {resource: pods}"),
            "7:14: spec.describes: Forbidden: external metrics describe no object; expected api: custom, or no describes",
            id="an external metric of something",
        ),
        pytest.param(
            orders("  namespaces: [shop]\n", ""),
            "5:3: spec.namespaces: Required value; expected the namespaces that may use it, or any",
            id="nobody says who may use an external metric",
        ),
        pytest.param(
            orders("[shop]", "own"),
            "10:15: spec.namespaces: Forbidden: a declaration of kubeglance's own belongs to no namespace"
            "; expected a list of namespaces, or any",
            id="own, of nobody",
        ),
        pytest.param(orders("[shop]", "[]"), "10:15: spec.namespaces: Required value; expected at least one namespace", id="no namespace"),
        pytest.param(
            orders("{policy: Hold, for: 2m}", "{policy: Hold}"),
            "11:12: spec.missing.for: Required value; expected how long the last value stands, as policy is Hold",
            id="held for ever",
        ),
        pytest.param(
            orders("policy: Hold", "policy: Omit"),
            "11:32: spec.missing.for: Forbidden: only a value that is held has an end; expected policy: Hold, or no for",
            id="an end of nothing",
        ),
        pytest.param(
            orders("{policy: Hold, for: 2m}", "{policy: Constant}"),
            "11:12: spec.missing.value: Required value; expected the number that stands in, as policy is Constant",
            id="a constant that is not told",
        ),
        pytest.param(
            orders("{policy: Hold, for: 2m}", "{policy: Constant, value: many}"),
            '11:38: spec.missing.value: Invalid value: is "many", and no number; expected a number',
            id="a constant that is no number",
        ),
        pytest.param(
            orders("{policy: Hold, for: 2m}", "{policy: Omit, value: 0}"),
            "11:34: spec.missing.value: Forbidden: only policy Constant has a value; expected policy: Constant",
            id="a value that would never be served",
        ),
        pytest.param(
            orders("value: item.waiting", "value: item.waiting > 3"), "9:19: spec.sample.value: gives bool; expected a number", id="a truth"
        ),
        pytest.param(
            orders("value: item.waiting", "value: itm.waiting"),
            '9:19: spec.sample.value: nothing is named "itm"; did you mean "item"?',
            id="a variable that is misspelt",
        ),
        pytest.param(
            orders("{region: item.region}", '{"re gion": item.region}'),
            '9:42: spec.sample.labels.re gion: "re gion" is no key that a selector can name: '
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
            "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            id="a label that no selector names",
        ),
        pytest.param(
            orders("  interval: 15s", "  interval: 5s\n  timeout: 6s"),
            '13:12: spec.timeout: Invalid value: "6s"; expected less than interval, which is 5s',
            id="times, as of every declaration",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, expected: str) -> None:
    """Each alone."""
    assert [expected] == said(text)


def test_all_faults_are_told_at_once() -> None:
    """Of shape, rules and expressions."""
    text = orders("name: orders_waiting", "name: 1").replace("item.waiting", "item.").replace("for: 2m", "fro: 2m")
    assert {"spec.name", "spec.sample.value", "spec.missing.fro"} <= {line.split(": ")[1] for line in said(text)}


OVERLAP = "spec.name: overlaps: external metric orders_waiting is served by orders in q.yaml:1:1 already"


@pytest.mark.parametrize(
    ("second", "overlaps"),
    [
        (orders("name: orders}", "name: others}"), True),
        (orders("name: orders}", "name: others}").replace("[shop]", "any"), True),
        (orders("name: orders}", "name: others}").replace("[shop]", "[alpha, shop]"), True),
        (orders("name: orders}", "name: others}").replace("[shop]", "[alpha]"), False),
        (orders("name: orders}", "name: others}").replace("orders_waiting", "orders_failed"), False),
    ],
    ids=["the same", "any namespace", "a namespace in common", "namespaces of their own", "another name"],
)
def test_two_that_answer_one_question_overlap(second: str, *, overlaps: bool) -> None:
    """The second is the one that is wrong."""
    faults = said(f"{ORDERS}---\n{second}")
    assert [OVERLAP] == [fault.split("; ")[0].split(": ", 1)[1] for fault in faults] if overlaps else [] == faults


def test_a_name_is_one_declaration() -> None:
    """Also where the metrics have nothing to do with each other."""
    text = f"{ORDERS}---\n{orders('orders_waiting', 'other')}"
    assert ['metadata.name: Duplicate value: "orders" is declared in q.yaml:1:1 already'] == [
        fault.split(": ", 1)[1] for fault in said(text)
    ]


def test_custom_metrics_of_two_resources_do_not_overlap() -> None:
    """What a metric describes is part of its name."""
    text = requests("name: http-requests", "name: of-services").replace("resource: pods", "resource: services")
    assert [] == said(f"{REQUESTS}---\n{text}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (orders("  namespaces: [shop]\n", ""), []),
        (orders("[shop]", "own"), []),
        (ORDERS, []),
        (orders("[shop]", "[shop, alpha]"), ["spec.namespaces: Forbidden: metrics of namespace shop are served there only"]),
        (orders("[shop]", "any"), ["spec.namespaces: Forbidden: metrics of namespace shop are served there only"]),
        (REQUESTS, []),
        (
            requests("{namespace: item.namespace, name: item.pod}", "{name: item.pod}").replace("resource: pods", "resource: nodes"),
            ["spec.describes: Forbidden: declarations of namespace shop have metrics of objects there only"],
        ),
        (
            requests("{namespace: item.namespace, name: item.pod}", "{name: item.pod}").replace("resource: pods", "resource: namespaces"),
            [],
        ),
    ],
    ids=["its own if left out", "own", "its own", "others too", "any", "its pods", "nodes", "its namespace"],
)
def test_tenants_have_metrics_of_their_own_namespace(text: str, expected: list[str]) -> None:
    """And of nothing beyond it."""
    assert expected == [fault.split("; ")[0].split(": ", 1)[1] for fault in said(text, SHOP)]


def test_tenants_may_name_their_metrics_alike() -> None:
    """They are told apart by their namespaces, also where they serve one name."""
    text = orders("  namespaces: [shop]\n", "")
    (first,) = checked(text, SHOP).declarations
    alpha = Around("alpha", Tenant(groups=(), hosts=()), others=[first])

    (second,) = checked(text, alpha).declarations
    assert ("orders.shop", "orders.alpha") == (first.name, second.name)


def test_another_name_of_a_resource_is_told() -> None:
    """Where it is known what the cluster serves."""
    cluster = ServedNames({}, {"pod": "pods", "pods": "pods"})
    assert ['7:25: spec.describes.resource: "pod" is another name of pods; expected "pods"; did you mean "pods"?'] == said(
        requests("resource: pods", "resource: pod"), Around(cluster=cluster)
    )


@pytest.mark.parametrize(
    ("namespaces", "expected"),
    [
        ("[default]", ["spec.name: overlaps: external metric orders_waiting is served by coolresources.example.com in q.yaml:1:1 already"]),
        ("[shop]", []),
    ],
)
def test_metrics_of_live_kinds_overlap_too(namespaces: str, expected: list[str]) -> None:
    """An external one in the namespaces of its objects."""
    kind = COOL + "  metrics: [{name: orders_waiting, value: '1', apis: [external]}]\n"
    metric = orders("[shop]", namespaces)
    assert expected == [fault.split("; ")[0].split(": ", 1)[1] for fault in said_of(f"{kind}---\n{metric}")]


def test_a_live_kind_overlaps_with_a_metric_of_its_objects() -> None:
    """Of the same name."""
    kind = COOL + "  metrics: [{name: http_requests, value: '1', apis: [custom]}]\n"
    metric = requests("{resource: pods}", "{group: example.com, resource: coolresources}")
    assert [
        "spec.metrics[0].name: overlaps: custom metric http_requests of coolresources is served by http-requests in q.yaml:1:1 already"
    ] == [fault.split("; ")[0].split(": ", 1)[1] for fault in said_of(f"{metric}---\n{kind}")]
