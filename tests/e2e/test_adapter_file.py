"""prometheus-adapter's file against a real Prometheus: explain shows what it asks and gets, convert what serves the same."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from app.cli import convert, explain
from tests.e2e.conftest import demand
from tests.e2e.controlplane.waiting import wait_until
from tests.e2e.sources import prometheus
from tests.e2e.sources.prometheus import PrometheusServer

FILE = """
rules:
- seriesQuery: 'prometheus_http_requests_total'
  resources: {overrides: {handler: {resource: service}}}
  name: {matches: "^(.*)_total$"}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
- seriesQuery: 'prometheus_build_info{'
  metricsQuery: '<<.Series>>{<<.LabelMatchers>>}'
externalRules:
- seriesQuery: '{__name__=~"^prometheus_tsdb_head_(max|min)_time$"}'
  resources: {namespaced: false}
  name: {as: "${0}_of_head"}
  metricsQuery: 'max(<<.Series>>{<<.LabelMatchers>>}) by (job)'
"""


@pytest.fixture(scope="module")
def server(_end_with_us: None) -> Iterator[PrometheusServer]:
    """A server that has scraped itself."""
    demand(prometheus.skip_reason())
    with PrometheusServer() as started:
        started.start()
        wait_until("Prometheus to have scraped itself", lambda: bool(started.query("prometheus_http_requests_total")), seconds=60)
        yield started


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_explain_shows_what_leads_to_a_value(server: PrometheusServer, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rule, query, raw samples, mapping; a rule that Prometheus refuses is told, and costs itself."""
    code = explain.run(["prometheus_http_requests", f"--config={file}", f"--prometheus-url=http://127.0.0.1:{server.port}"], {})
    out, err = capsys.readouterr()

    assert 0 == code
    assert "services/prometheus_http_requests (custom)" in out
    assert 'query    sum(prometheus_http_requests_total{handler!=""}) by (handler)' in out
    assert re.search(r'sample   \{handler="/-/ready"\} \d+ at .* -> /-/ready: \d+', out) is not None
    assert "rules[1]: " in err
    assert "bad_data" in err


def test_explain_tells_what_a_name_was_probably_meant_to_be(
    server: PrometheusServer, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, and 1."""
    assert 1 == explain.run(["prometheus_http_request", f"--config={file}", f"--prometheus-url=http://127.0.0.1:{server.port}"], {})
    assert 'no rule lists prometheus_http_request; did you mean "prometheus_http_requests"?' in capsys.readouterr().err


def test_convert_prints_metrics_with_the_labels_that_they_have(
    server: PrometheusServer, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two external metrics by a regular expression of names; the query of each gives what the rule's does."""
    code = convert.run(["prometheus-adapter", str(file), f"--prometheus-url=http://127.0.0.1:{server.port}"], {})
    out, err = capsys.readouterr()
    metrics = {metric["spec"]["name"]: metric["spec"] for metric in yaml.safe_load_all(out)}

    assert 1 == code
    assert {"prometheus_tsdb_head_max_time_of_head", "prometheus_tsdb_head_min_time_of_head"} == set(metrics)
    spec = metrics["prometheus_tsdb_head_min_time_of_head"]
    assert {"job": "item.labels.job"} == spec["sample"]["labels"]
    assert 1 == len(server.query(spec["source"]["prometheus"]["query"]))
    assert "rules[1]: " in err
