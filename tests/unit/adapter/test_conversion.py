"""Adapter files as LiveMetrics: they pass the checks, and the rest is told."""

from pathlib import Path

import pytest
import yaml

from app.cli import convert
from app.declared.check import Around, check
from app.declared.documents import read
from tests.unit.adapter.rules import RESOURCE_RULES

FILE = """
rules:
- seriesQuery: 'http_requests_total{namespace!="",pod!=""}'
  resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}}}
  name: {matches: "^(.*)_total$", as: "${1}_per_second"}
  metricsQuery: 'sum(rate(<<.Series>>{<<.LabelMatchers>>}[2m])) by (<<.GroupBy>>)'
- seriesQuery: '{__name__=~"^container_.*"}'
  resources: {overrides: {pod: {resource: pod}}}
  metricsQuery: '<<.Series>>{<<.LabelMatchers>>}'
- seriesQuery: 'cheddar{sharp="true"}'
  name: {as: "cheesy_goodness"}
  resources: {overrides: {brand: {group: cheese.io, resource: brand}}}
  metricsQuery: 'count(cheddar{sharp="true"})'
externalRules:
- seriesQuery: 'queue_depth{topic!=""}'
  resources: {template: "<<.Resource>>"}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (name)'
- seriesQuery: 'queue_consumer_lag'
  resources: {namespaced: false}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (name)'
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "config.yaml"
    path.write_text(FILE + RESOURCE_RULES, encoding="utf-8")
    return str(path)


def test_what_is_converted_passes_the_checks(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Queries are those of the rules, for the objects of all namespaces."""
    code = convert.run(["prometheus-adapter", file, "-n", "shop"], {})
    out, err = capsys.readouterr()
    documents, faults = read(out, "metrics.yaml")
    checked = check(documents, Around())
    queries = {metric["metadata"]["name"]: metric["spec"]["source"]["prometheus"]["query"] for metric in yaml.safe_load_all(out)}

    assert (1, [], []) == (code, faults, [fault for fault in checked.faults if not fault.warning])
    assert {
        "pods-http-requests-per-second": 'sum(rate(http_requests_total{namespace!="",pod!=""}[2m])) by (namespace,pod)',
        "namespaces-http-requests-per-second": 'sum(rate(http_requests_total{namespace!=""}[2m])) by (namespace)',
        "queue-depth-shop": 'sum(queue_depth{namespace="shop"}) by (name)',
        "queue-consumer-lag": "sum(queue_consumer_lag{}) by (name)",
    } == queries
    for said in (
        "rules[1]: seriesQuery names no single series",
        "rules[2]: brand.cheese.io/cheesy_goodness: metricsQuery does not keep objects apart",
        "resourceRules: no LiveMetric serves metrics.k8s.io",
    ):
        assert said in err


def test_namespaced_external_metrics_need_a_namespace(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Their query is another one in each."""
    convert.run(["prometheus-adapter", file], {})

    assert "externalRules[0]: queue_depth: its query is another one in each namespace" in capsys.readouterr().err


@pytest.mark.parametrize(("argv", "code"), [(["prometheus-adapter"], 2), (["keda", "x"], 2), (["prometheus-adapter", "/none"], 2)])
def test_wrong_use_is_told(argv: list[str], code: int) -> None:
    """In a line."""
    assert code == convert.run(argv, {})
