"""`kubeglance test`: what declarations expect of themselves, held against what comes out."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.cli.main import main
from tests.unit.declared.canonical import COOL, QUEUES

TEST = """\
  - input: {page_count: 1, items: [{name: Orders, vhost: eu, durable: true, messages_ready: 7, consumers: 2}]}
    expect: {count: 1, items: {mq/eu-orders-89ea4b9a: {status: {ready: 7}}}}
"""
START = QUEUES.removesuffix(TEST)


def declared(folder: Path, *tests: dict[str, Any]) -> Path:
    """A declaration with these tests."""
    file = folder / "queues.yaml"
    file.write_text(START + "".join(f"  - {json.dumps(test)}\n" for test in tests))
    return file


ITEM = {"name": "orders", "vhost": "eu", "durable": True, "messages_ready": 7, "consumers": 2}
NAME = "mq/eu-orders-bea27a2b"


def test_the_canonical_example_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yaml").write_text(f"{QUEUES}---\n{COOL}")
    assert main(["test", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ok    queues.msg.example.com: tests[0]",
        "-     coolresources.example.com: has no tests",
        "1 of 1 tests passed, of 2 declarations",
    ]


@pytest.mark.parametrize(
    ("expect", "says"),
    [
        ({"count": 1, "dropped": 1}, []),
        ({"count": 2}, [f"count: expected 2, found 1: {NAME}"]),
        ({"dropped": 0}, ["dropped: expected 0, found 1"]),
        ({"items": {NAME: {"status": {"ready": 7}}}}, []),
        ({"items": {NAME: {"status": {"ready": 7.0}}}}, []),
        ({"items": {NAME: {"status": {"ready": 8}}}}, [f"items[{NAME}].status.ready: expected 8, found 7"]),
        ({"items": {NAME: {"spec": {"durable": 1}}}}, [f"items[{NAME}].spec.durable: expected 1, found true"]),
        ({"items": {NAME: {"spec": {"queue": "x", "durable": False}}}}, [
            f'items[{NAME}].spec.queue: expected "x", found "orders"',
            f"items[{NAME}].spec.durable: expected false, found true",
        ]),
        ({"items": {NAME: {"status": {"consumers": None}}}}, [f"items[{NAME}].status.consumers: expected nothing, found 2"]),
        ({"items": {NAME: {"spec": {"missing": None}}}}, []),
        ({"items": {NAME: {"spec": {"missing": 1}}}}, [f"items[{NAME}].spec.missing: expected 1, found nothing"]),
        ({"items": {NAME: {"metadata": {"labels": {"vhost": "eu"}, "annotations": {"kubeglance.io/source-name": "eu/orders"}}}}}, []),
        ({"items": {NAME: {"status": {"observedAt": "2026-01-01T00:00:00Z", "conditions": [{"type": "Fresh"}]}}}}, []),
        ({"items": {NAME: {"status": {"conditions": []}}}}, None),
        ({"items": {"mq/none": {}}}, [f"items[mq/none]: expected an object, found {NAME}"]),
    ],
)  # fmt: skip
def test_differences_are_told(expect: dict[str, Any], says: list[str] | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = declared(tmp_path, {"name": "one", "input": {"items": [ITEM, {}]}, "expect": expect})
    code = main(["test", str(file)])
    lines = capsys.readouterr().out.splitlines()
    if says == []:
        assert (code, lines[0]) == (0, "ok    queues.msg.example.com: one")
        return
    assert (code, lines[0]) == (1, f"FAIL  queues.msg.example.com: one  ({file}:{START.count(chr(10)) + 1}:5)")
    told = [line.strip() for line in lines[1:-1]]
    assert told[-1] == 'dropped: item 1: object.name: there is no "vhost"'
    if says is not None:
        assert told[:-1] == says
    assert lines[-1] == "0 of 1 tests passed, of 1 declarations"


def test_input_may_stand_in_a_file_beside_the_declaration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples" / "queues.json").write_text(json.dumps({"items": [ITEM]}))
    declared(tmp_path, {"inputFile": "samples/queues.json", "expect": {"count": 1}})
    assert main(["test", str(tmp_path)]) == 0
    assert "1 of 1 tests passed" in capsys.readouterr().out


def test_a_response_without_items_fails_the_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = declared(tmp_path, {"input": {}, "expect": {"count": 0}})
    assert main(["test", str(file)]) == 1
    assert '        spec.items: there is no "items"' in capsys.readouterr().out.splitlines()


def test_faults_of_a_declaration_fail_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yaml").write_text(QUEUES.replace("durable: item.durable", "durabel: item.durable"))
    assert main(["test", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert 'did you mean "durable"?' in out
    assert "0 of 0 tests passed, of 0 declarations, 1 faults in declarations" in out


def test_wrong_use_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(tmp_path / "none")]) == 2
    assert "there is no such file or folder" in capsys.readouterr().err
    assert main(["test"]) == 2


METRIC = """\
apiVersion: kubeglance.io/v1alpha1
kind: LiveMetric
metadata: {name: requests}
spec:
  api: custom
  name: http_requests
  describes: {resource: pods}
  source: {static: {items: []}}
  items: response.items
  sample: {object: {namespace: item.namespace, name: item.pod}, value: item.value, labels: {code: item.code}}
  tests:
  - name: of two items
    input: {items: [{namespace: shop, pod: web-1, value: 1.50, code: "200"}, {namespace: shop, pod: web-2, value: null}]}
    expect: EXPECT
"""
SERIES = "shop/web-1{code=200}"


@pytest.mark.parametrize(
    ("expect", "says"),
    [
        ({"count": 1, "dropped": 1, "series": [{"object": "shop/web-1", "labels": {"code": "200"}, "value": 1.5}]}, []),
        ({"series": [{"object": "shop/web-1", "labels": {"code": "200"}, "value": "1500e-3"}]}, []),
        ({"count": 2, "dropped": 0}, [f"count: expected 2, found 1: {SERIES}", "dropped: expected 0, found 1"]),
        ({"series": [{"object": "shop/web-1", "labels": {"code": "200"}, "value": 2}]}, ["series[0]: expected 2, found 1.5"]),
        ({"series": [{"object": "shop/web-2", "value": 0}]}, [f"series[0]: expected shop/web-2{{}}, found {SERIES}"]),
    ],
)
def test_metrics_expect_series(expect: dict[str, Any], says: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By object and labels, with their numbers."""
    (tmp_path / "metric.yaml").write_text(METRIC.replace("EXPECT", json.dumps(expect)))

    assert main(["test", str(tmp_path)]) == (1 if says else 0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("FAIL  requests: of two items" if says else "ok    requests: of two items")
    assert says == [line.strip() for line in lines[1 : len(says) + 1] if says]
