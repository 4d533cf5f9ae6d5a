"""Rules between fields: times, namespaces, columns, metrics and tests."""

from pathlib import Path

import pytest

from app.declared.check import Around
from tests.unit.declared.canonical import COOL
from tests.unit.declared.checking import cool, queues, said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            queues("interval: 15s", "interval: 500ms"),
            ['15:13: spec.interval: Invalid value: "500ms"; expected at least 1s'],
            id="the shortest interval",
        ),
        pytest.param(
            queues("interval: 15s", "interval: 5s"),
            ['15:13: spec.interval: Invalid value: "5s"; expected more than timeout, which is 5s if it is left out'],
            id="the deadline by default",
        ),
        pytest.param(
            queues("interval: 15s", "interval: 15s\n  timeout: 15s"),
            ['16:12: spec.timeout: Invalid value: "15s"; expected less than interval, which is 15s'],
            id="the deadline",
        ),
        pytest.param(
            queues("interval: 15s", "interval: 15s\n  timeout: 0s"),
            ['16:12: spec.timeout: Invalid value: "0s"; expected more than 0s'],
            id="no time",
        ),
        pytest.param(
            queues("interval: 15s", "interval: 15s\n  ttl: 14s"),
            ['16:8: spec.ttl: Invalid value: "14s"; expected at least interval, which is 15s'],
            id="time to live",
        ),
        pytest.param(
            queues("    namespace: '\"mq\"'\n", ""),
            ["19:5: spec.object.namespace: Required value; expected CEL for the namespace of an object, as scope is Namespaced"],
            id="objects of a Namespaced kind have a namespace",
        ),
        pytest.param(
            queues("[mq]", "[]"),
            ["24:20: spec.allowNamespaces: Required value; expected the namespaces that objects may be in, as scope is Namespaced"],
            id="the namespaces are listed",
        ),
        pytest.param(
            queues("[mq]", "[mq, MQ, mq]"),
            [
                (
                    '24:25: spec.allowNamespaces[1]: Invalid value: "MQ"'
                    "; expected a name of a namespace: lower-case letters, digits and dashes, at most 63 characters"
                ),
                '24:29: spec.allowNamespaces[2]: Duplicate value: "mq"',
            ],
            id="they are names of namespaces, each once",
        ),
        pytest.param(
            queues("[mq]", "[shop]"),
            [
                (
                    '20:16: spec.object.namespace: "mq" is not one of allowNamespaces, so every item would be '
                    "dropped; expected a namespace that is listed there"
                )
            ],
            id="a constant namespace is one of them",
        ),
        pytest.param(
            queues("Namespaced", "Cluster"),
            [
                "20:16: spec.object.namespace: Forbidden: objects of scope Cluster have no namespace; expected no namespace",
                "24:20: spec.allowNamespaces: Forbidden: objects of scope Cluster have no namespace; expected no allowNamespaces",
            ],
            id="objects of the cluster have none",
        ),
        pytest.param(
            queues("{name: Ready,", "{name: NAME,"),
            [
                (
                    '32:12: spec.additionalPrinterColumns[0].name: Invalid value: "NAME" is reserved: the '
                    "first column is always the object's name; expected another heading"
                )
            ],
            id="the column Name",
        ),
        pytest.param(
            queues("{name: Ready,", "{name: load,"),
            [
                (
                    '33:12: spec.additionalPrinterColumns[1].name: Invalid value: "Load" is the heading of '
                    "another column; kubectl prints headings in capitals; expected another heading"
                )
            ],
            id="a heading twice",
        ),
        pytest.param(
            queues("{name: Ready,", "{name: Trend,").replace("  tests:", "  subresources: {history: {trend: .status.ready}}\n  tests:"),
            [
                (
                    '32:12: spec.additionalPrinterColumns[0].name: Invalid value: "Trend" is reserved: '
                    "subresources.history draws this column; expected another heading"
                )
            ],
            id="the column Trend",
        ),
        pytest.param(queues("{name: Ready,", "{name: Trend,"), [], id="which is free without it"),
        pytest.param(
            queues(", jsonPath: .status.ready", ""),
            ["32:5: spec.additionalPrinterColumns[0]: has neither jsonPath nor cel; expected exactly one of them"],
            id="a column without content",
        ),
        pytest.param(
            queues("jsonPath: .status.ready", "jsonPath: .status.ready, cel: status.ready"),
            ["32:5: spec.additionalPrinterColumns[0]: has both jsonPath and cel; expected exactly one of them"],
            id="a column with two",
        ),
        pytest.param(
            queues("jsonPath: .status.ready", "jsonPath: status.ready"),
            [
                (
                    '32:44: spec.additionalPrinterColumns[0].jsonPath: Invalid value: "status.ready"'
                    '; expected a path that begins with a dot, such as .status.ready; did you mean ".status.ready"?'
                )
            ],
            id="a jsonPath begins with a dot",
        ),
        pytest.param(
            queues("type: integer, jsonPath", "type: integer, format: int46, jsonPath"),
            [
                (
                    '32:42: spec.additionalPrinterColumns[0].format: Invalid value: "int46"'
                    "; expected one of int32, int64, float, double, byte, date, date-time, password"
                )
            ],
            id="a format of a column",
        ),
        pytest.param(
            queues("queue_messages_ready,", "queue-ready,"),
            [
                (
                    '34:20: spec.metrics[0].name: Invalid value: "queue-ready"'
                    "; expected a name as in Prometheus: letters, digits, _ and :, no digit first"
                )
            ],
            id="a name of a metric",
        ),
        pytest.param(
            queues("[custom, external]}", "[custom, custom]}, {name: queue_messages_ready, value: status.ready, apis: [custom]}"),
            [
                '34:78: spec.metrics[0].apis[1]: Duplicate value: "custom"',
                '34:95: spec.metrics[1].name: Duplicate value: "queue_messages_ready"',
            ],
            id="metrics are there once",
        ),
        pytest.param(
            queues("  tests:", "  subresources: {log: true}\n  tests:"),
            ["35:23: spec.subresources.log: Forbidden: only objects of the cluster have pods with logs; expected the source kubernetes"],
            id="logs are of pods",
        ),
        pytest.param(
            cool(
                "  items: response.items\n",
                "  items: response.items\n  tests: [{expect: {count: 1}}, {input: null, inputFile: x.json, expect: {}}]\n",
            ),
            [
                "11:11: spec.tests[0]: has neither input nor inputFile; expected exactly one of them",
                "11:33: spec.tests[1]: has both input and inputFile; expected exactly one of them",
            ],
            id="a test has one input",
        ),
    ],
)
def test_rules_between_fields(text: str, expected: list[str]) -> None:
    """Times, namespaces, columns, metrics and tests."""
    assert expected == said(text)


def test_the_file_of_a_test_must_be_there(tmp_path: Path) -> None:
    """Below the folder of the declaration; in a ConfigMap tests are not run and not looked for."""
    (tmp_path / "good.json").write_text("{}")
    tests = "  tests: [{inputFile: good.json, expect: {}}, {inputFile: gone.json, expect: {}}, {inputFile: ../x.json, expect: {}}]\n"
    text = COOL + tests

    assert [
        (
            f"18:59: spec.tests[1].inputFile: cannot read {tmp_path}/gone.json: No such file or directory; "
            "expected a file with a response of the source, as JSON or YAML"
        ),
        '18:95: spec.tests[2].inputFile: Invalid value: "../x.json"; expected a path below the folder of this file',
    ] == said(text, Around(base=tmp_path))
    assert [] == said(text)
