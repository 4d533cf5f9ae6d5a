"""The shape of a declaration: strict keys, types and bounds, each fault with its place and its exact words."""

import pytest

from tests.unit.declared.checking import queues, said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "[]",
            ["1:1: is not an object; expected a mapping with apiVersion: kubeglance.io/v1alpha1 and kind: LiveResource or LiveMetric"],
            id="no object",
        ),
        pytest.param(
            "{}\n",
            [
                '1:1: apiVersion: Required value; expected "kubeglance.io/v1alpha1"',
                '1:1: kind: Required value; expected "LiveResource" or "LiveMetric"',
            ],
            id="neither kind nor apiVersion",
        ),
        pytest.param(
            queues("LiveResource", "LiveResorce"),
            ['2:7: kind: LiveResorce is not served by this version; expected "LiveResource" or "LiveMetric"; did you mean "LiveResource"?'],
            id="a kind that is misspelt",
        ),
        pytest.param(
            queues("LiveResource", "ConfigMap"),
            ['2:7: kind: ConfigMap is not served by this version; expected "LiveResource" or "LiveMetric"'],
            id="another kind",
        ),
        pytest.param(
            queues("v1alpha1\nkind", "v2\nkind"),
            [
                (
                    "1:13: apiVersion: kubeglance.io/v2 is not served by this version"
                    '; expected "kubeglance.io/v1alpha1"; did you mean "kubeglance.io/v1alpha1"?'
                )
            ],
            id="another version",
        ),
        pytest.param(
            queues("kind: LiveResource", "kind: 5"),
            ['2:7: kind: this is not served by this version; expected "LiveResource" or "LiveMetric"'],
            id="a kind that is no text",
        ),
    ],
)
def test_what_is_no_live_resource(text: str, expected: list[str]) -> None:
    """Nothing else is looked at then."""
    assert expected == said(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            queues("priority: 1", "priorty: 1"),
            '33:32: spec.additionalPrinterColumns[1].priorty: unknown field; did you mean "priority"?',
            id="an unknown field, with the nearest one",
        ),
        pytest.param(
            queues("limits: {", "limits: {x: 1, "), "16:12: spec.limits.x: unknown field", id="an unknown field with nothing near"
        ),
        pytest.param(queues("  interval", "  Interval"), '15:3: spec.Interval: unknown field; did you mean "interval"?', id="case counts"),
        pytest.param(
            queues("allowNamespaces", "allow_namespaces"),
            '24:3: spec.allow_namespaces: unknown field; did you mean "allowNamespaces"?',
            id="camel case it is",
        ),
        pytest.param(queues("  group: msg.example.com\n", ""), "5:3: spec.group: Required value", id="a required field"),
        pytest.param(queues("kind: Queue, ", ""), "8:10: spec.names.kind: Required value", id="a required field of a part"),
        pytest.param(
            queues("Namespaced", "Namespacd"),
            '7:10: spec.scope: Unsupported value: "Namespacd"; expected "Namespaced" or "Cluster"; did you mean "Namespaced"?',
            id="a word of a list",
        ),
        pytest.param(
            queues("[custom, external]", "[custom, extern]"),
            '34:78: spec.metrics[0].apis[1]: Unsupported value: "extern"; expected "custom" or "external"; did you mean "external"?',
            id="a word in a list",
        ),
        pytest.param(
            queues("interval: 15s", "interval: 5x"),
            '15:13: spec.interval: "5x" is not a duration: write a number and a unit, for example 15s, 1m30s or 500ms',
            id="a duration",
        ),
        pytest.param(
            queues("interval: 15s", "interval: 15"), '15:13: spec.interval: must be a duration like "15s"', id="a number is no duration"
        ),
        pytest.param(
            queues("items: 1000", "items: yes"), '16:19: spec.limits.items: Invalid value: "yes"; expected a whole number', id="yes is text"
        ),
        pytest.param(
            queues("items: 1000", "items: 0"), "16:19: spec.limits.items: Invalid value: 0; expected at least 1", id="a lower bound"
        ),
        pytest.param(
            queues("items: 1000", "items: 1000000"),
            "16:19: spec.limits.items: Invalid value: 1000000; expected at most 100000",
            id="an upper bound",
        ),
        pytest.param(
            queues("bodyBytes: 1Mi", "bodyBytes: 1Mx"),
            '16:36: spec.limits.bodyBytes: "1Mx" is not a quantity: write a number and a suffix, for example 250m, 1.5 or 64Mi',
            id="a quantity",
        ),
        pytest.param(
            queues("bodyBytes: 1Mi", "bodyBytes: 0"), "16:36: spec.limits.bodyBytes: Invalid value: 0; expected more than 0", id="no bytes"
        ),
        pytest.param(
            queues("items: response.items", "items: ''"),
            '17:10: spec.items: Invalid value: ""; expected at least 1 character',
            id="an empty expression",
        ),
        pytest.param(
            queues("categories: [live]", "categories: live"),
            '8:86: spec.names.categories: Invalid value: "live"; expected a list',
            id="a list",
        ),
        pytest.param(
            queues("labels: {vhost: item.vhost}", "labels: [x]"),
            "21:13: spec.object.labels: Invalid value: a list; expected a mapping",
            id="a mapping",
        ),
        pytest.param(
            queues("labels: {vhost: item.vhost}", "labels: {vhost: 5}"),
            "21:21: spec.object.labels.vhost: Invalid value: 5; expected text",
            id="a number is no CEL",
        ),
        pytest.param(
            queues("labels: {vhost: item.vhost}", "labels:"),
            "21:12: spec.object.labels: Invalid value: null; expected a mapping",
            id="nothing is no mapping",
        ),
        pytest.param(
            queues("  tests:", "  subresources: {raw: yes}\n  tests:"),
            '35:23: spec.subresources.raw: Invalid value: "yes"; expected true or false; did you mean "true"?',
            id="yes is not true",
        ),
        pytest.param(
            queues("apis: [custom, external]", "apis: []"),
            "34:69: spec.metrics[0].apis: Invalid value: a list; expected at least 1 item",
            id="an empty list",
        ),
        pytest.param(
            queues("metadata: {", "metadata: {namespace: mq, "),
            '3:12: metadata.namespace: unknown field; did you mean "name"?',
            id="a declaration names no namespace of its own",
        ),
    ],
)
def test_shape(text: str, expected: str) -> None:
    """Strict keys, types and bounds, in Kubernetes' words; the place is that of the key or of the value."""
    assert [expected] == said(text)
