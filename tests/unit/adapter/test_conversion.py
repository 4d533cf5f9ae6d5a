"""Adapter files as LiveMetrics: they pass the checks, and the rest is told."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.adapter.config import parse
from app.adapter.conversion import NotConvertible, Source, custom, external
from app.adapter.discovery import Listed
from app.adapter.naming import Association
from app.adapter.offline import finder
from app.adapter.prometheus import Sample
from app.adapter.resources import Resources
from app.cli import convert
from app.declared.check import Around, check
from app.declared.documents import read
from app.served_metrics.values import PODS
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


def converted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rules: str, *flags: str
) -> tuple[int, dict[str, dict[str, Any]], str, str]:
    """Exit code, metrics by name, and both outputs; all that is printed passes the checks."""
    path = tmp_path / "config.yaml"
    path.write_text(rules, encoding="utf-8")
    code = convert.run(["prometheus-adapter", str(path), *flags], {})
    out, err = capsys.readouterr()
    documents, faults = read(out, "metrics.yaml")
    assert [] == faults == [fault for fault in check(documents, Around()).faults if not fault.warning]
    return code, {each.value["metadata"]["name"]: each.value for each in documents}, out, err


def rule(series: str, query: str, *, section: str = "rules", resources: str = "", name: str = "") -> str:
    """A rule of a section, as text."""
    of_pods = "{overrides: {namespace: {resource: namespace}, pod: {resource: pod}}}"
    named = f"\n  name: {{as: '{name}'}}" if name else ""
    return f"{section}:\n- seriesQuery: '{series}'\n  resources: {resources or of_pods}\n  metricsQuery: '{query}'{named}\n"


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        pytest.param(
            rule("depth", "sum(<<.Series>>{<<.LabelMatchers>>}) by (name)", section="externalRules"),
            "externalRules[0]: depth: its query is another one in each namespace",
            id="a-namespaced-external-metric-without-a-namespace",
        ),
        pytest.param(
            rule("depth", "<<.Series>>{<<.LabelMatchers>>}", section="externalRules", resources="{namespaced: false}"),
            "externalRules[0]: depth: its query does not say which labels its series have: give --prometheus-url",
            id="labels-that-only-samples-tell",
        ),
        pytest.param(
            rule("hits", "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<index .GroupBySlice 0>>)"),
            "rules[0]: pods/hits: metricsQuery groups by the first label of several only, and not by namespace and pod",
            id="groups-by-one-label",
        ),
        pytest.param(
            rule("hits", "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)", resources="{overrides: {pod: {resource: pod}}}"),
            "rules[0]: pods/hits: no label names namespaces",
            id="no-label-for-namespaces",
        ),
        pytest.param(
            rule("hits", "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)", name="hits-of-all"),
            "rules[0]: pods/hits-of-all: spec.name: Invalid value",
            id="a-name-that-no-LiveMetric-has",
        ),
    ],
)
def test_what_cannot_be_converted_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], rules: str, said: str) -> None:
    """By its rule and its metric, on standard error, and with exit code 1: nothing is printed that serves something else."""
    code, metrics, _, err = converted(tmp_path, capsys, rules)

    assert 1 == code
    assert said in err
    assert not any(name.startswith("pods-") for name in metrics)


def test_labels_of_external_metrics_are_those_that_the_query_groups_by(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without them two series would be one, and an HPA would count one of them only."""
    query = "sum(<<.Series>>{<<.LabelMatchers>>}) by (name, in)"
    code, metrics, _, _ = converted(
        tmp_path, capsys, rule("depth", query, section="externalRules"), "-n", "shop", "-n", "shop", "-n", "mail"
    )

    assert 0 == code
    assert ["depth-shop", "depth-mail"] == list(metrics)
    assert {"name": "item.labels.name", "in": 'item.labels["in"]'} == metrics["depth-shop"]["spec"]["sample"]["labels"]


def test_what_selectors_cannot_find_stands_above_a_metric(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file selects series before its query, a LiveMetric after it."""
    rules = rule("hits", "<<.Series>>{<<.LabelMatchers>>}")
    rules += rule("depth", "topk(3, sum(<<.Series>>{<<.LabelMatchers>>}) by (name))", section="externalRules")
    rules += rule("level", "sum(<<.Series>>{<<.LabelMatchers>>})", section="externalRules").partition("\n")[2]
    _, _, out, err = converted(tmp_path, capsys, rules, "-n", "shop")

    pods = out[out.index("# rules[0]: pods/hits\n") :]
    assert "\n# series have no labels: metricLabelSelector finds none by them" in pods
    assert "\n# the query does not say that an object has one series only" in pods
    assert "\n# --prometheus-url was not given" in pods
    assert "\n# labelSelector finds series by the labels below only" in out
    assert "externalRules[0]: depth in namespace shop: its query does not say" in err


LONG = "requests_of_the_checkout_service_that_were_answered_within_the_time"


@pytest.mark.parametrize(
    ("series", "changed"),
    [
        pytest.param((f"{LONG}_a", f"{LONG}_b"), 2, id="long-ones-that-begin-alike"),
        pytest.param(("job:hits:rate5m", "job_hits_rate5m"), 2, id="other-characters"),
        pytest.param(("hits", "depth"), 0, id="short-ones"),
    ],
)
def test_no_two_metrics_get_one_name(tmp_path: Path, capsys: pytest.CaptureFixture[str], series: tuple[str, str], changed: int) -> None:
    """Where the words of a metric are no name of its own they get a hash, and a comment says so."""
    query = "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)"
    first, second = (rule(each, query, resources="{overrides: {node: {resource: node}}}") for each in series)
    _, metrics, out, _ = converted(tmp_path, capsys, first + second.partition("\n")[2])

    assert list(series) == [metric["spec"]["name"] for metric in metrics.values()]
    assert changed == out.count("# metadata.name was changed: nodes-")
    assert changed == sum(re.search(r"-[0-9a-f]{8}$", name) is not None for name in metrics)


def listed(query: str, *, is_external: bool) -> Listed:
    """A metric of pods, or an external one, with this query."""
    section = "externalRules" if is_external else "rules"
    resources = "{namespaced: false}" if is_external else ""
    config = parse(rule("hits", query, section=section, resources=resources), "config.yaml")
    assert () == config.faults
    one = config.rules[0]
    find = finder(config.rules)
    return Listed("hits", None if is_external else PODS, True, "hits", one, Association(one.template, one.overrides, find))


def sample(value: int = 1, **labels: str) -> Sample:
    return Sample(tuple(sorted(labels.items())), Decimal(value), 0)


SOURCE = Source("http://prometheus:9090", "POST")
AS_IT_IS = "<<.Series>>{<<.LabelMatchers>>}"


def test_labels_are_those_of_all_samples() -> None:
    """Also those that some have only; a label that no selector can name is left out, and a note says so."""
    found = external(listed(AS_IT_IS, is_external=True), SOURCE).seen(
        [sample(__name__="hits", queue="a"), sample(__name__="hits", urgent="yes")]
    )

    assert ["queue", "urgent"] == list(found.spec["sample"]["labels"])
    assert "left out, as no selector can name it: the label __name__" in found.notes
    assert "POST" == found.spec["source"]["prometheus"]["method"]


@pytest.mark.parametrize(
    ("is_external", "samples", "said"),
    [
        pytest.param(
            False, [sample(namespace="shop", pod="a", verb=verb) for verb in ("GET", "PUT")], "several series of shop/a", id="of-one-object"
        ),
        pytest.param(True, [sample(__name__="a"), sample(__name__="b")], "labels that no selector can name", id="of-one-name"),
        pytest.param(True, [], "gives nothing now", id="no-samples"),
    ],
)
def test_samples_tell_that_a_metric_cannot_be_converted(is_external: bool, samples: list[Sample], said: str) -> None:
    """A LiveMetric drops all but the first of what is one series to it."""
    one = listed(AS_IT_IS, is_external=is_external)
    metric = external(one, SOURCE) if is_external else custom(one, PODS, Resources().find, SOURCE)
    with pytest.raises(NotConvertible, match=said):
        metric.seen(samples)


def test_a_query_without_samples_of_an_object_is_converted() -> None:
    """There may be some later."""
    one = listed(AS_IT_IS, is_external=False)
    metric = custom(one, PODS, Resources().find, SOURCE)

    assert metric == metric.seen([])
    assert metric == metric.seen([sample(namespace="shop", pod=pod) for pod in "ab"])


def test_credentials_are_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is told which flags have them."""
    token = tmp_path / "token"
    token.write_text("hidden", encoding="ascii")
    query = "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)"
    flags = [f"--prometheus-token-file={token}", "--prometheus-header=X-Scope=hidden"]
    code, _, out, err = converted(tmp_path, capsys, rule("hits", query), *flags)

    assert 1 == code
    assert "--prometheus-token-file, --prometheus-header: not converted; write headers, auth and tls" in err
    assert "hidden" not in out + err


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(["prometheus-adapter"], id="no-file"),
        pytest.param(["keda", "x"], id="another-program"),
        pytest.param(["prometheus-adapter", "/none"], id="no-such-file"),
        pytest.param(["prometheus-adapter", "/none", "-n", "No Name"], id="no-name-of-a-namespace"),
        pytest.param(["prometheus-adapter", "/none", "--prometheus-url=x"], id="no-url"),
    ],
)
def test_wrong_use_is_told(argv: list[str]) -> None:
    """In a line."""
    assert 2 == convert.run(argv, {})
