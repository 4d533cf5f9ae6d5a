"""What rules list and ask: prometheus-adapter's own facts (its series_registry_test.go), and that each rule costs itself only."""

import pytest

from app.adapter.config import parse
from app.adapter.discovery import Discovery
from app.adapter.naming import Known
from app.adapter.prometheus import Shape
from app.adapter.provider import custom_queries
from app.adapter.query import build, equal, named, present, selected
from app.adapter.resources import Resources, built_in
from app.served_metrics.values import NAMESPACES, NODES, PODS, Question, Resource
from app.wire.label_selectors import parse_label_selector
from collectors._base import Cause, CollectError
from tests.fakes.clock import ManualClock
from tests.unit.adapter.rules import DEFAULT

CONTAINERS = '{__name__=~"^container_.*",container!="POD",namespace!="",pod!=""}'
OTHERS = '{namespace!="",__name__!~"^container_.*"}'
_OF_A_CONTAINER = frozenset({"pod", "namespace", "container"})
SERIES = {
    CONTAINERS: [
        Shape("container_some_count_total", _OF_A_CONTAINER),
        Shape("container_some_time_seconds_total", _OF_A_CONTAINER),
        Shape("container_some_usage", _OF_A_CONTAINER),
    ],
    OTHERS: [
        Shape("ingress_hits_total", frozenset({"kube_ingress", "kube_service", "kube_pod", "kube_namespace"})),
        Shape("node_fan_seconds_total", frozenset({"kube_node"})),
        Shape("node_gigawatts", frozenset({"kube_node"})),
        Shape("service_proxy_packets", frozenset({"kube_service", "kube_namespace"})),
        Shape("volume_claims_total", frozenset({"kube_persistentvolume"})),
        Shape("work_queue_wait_seconds_total", frozenset({"kube_deployment", "kube_namespace"})),
    ],
}
CATALOGUE = {
    "some_count": "pods namespaces",
    "some_time": "pods namespaces",
    "some_usage": "pods namespaces",
    "ingress_hits": "services ingresses.networking.k8s.io pods namespaces",
    "service_proxy_packets": "services namespaces",
    "work_queue_wait": "deployments.apps namespaces",
    "node_gigawatts": "nodes",
    "volume_claims": "persistentvolumes",
    "node_fan": "nodes",
}
SERVICES = Resource("", "services")


class Lists:
    """Answers for lists of series; an error stands for a query that fails."""

    def __init__(self, series: dict[str, list[Shape] | CollectError]) -> None:
        self.series_by_query = series
        self.asked: list[tuple[str, float]] = []

    async def series(self, selector: str, start: float) -> list[Shape]:
        self.asked.append((selector, start))
        found = self.series_by_query.get(selector, [])
        if isinstance(found, CollectError):
            raise found
        return found


def discovery(text: str = DEFAULT, lists: Lists | None = None, resources: Resources | None = None) -> Discovery:
    config = parse(text, "config.yaml")
    assert config.faults == ()
    found = resources or Resources()
    return Discovery(config.rules, lists or Lists(dict(SERIES)), found.find, ManualClock(), max_age=60.0)


async def test_the_catalogue_is_that_of_the_adapter() -> None:
    """All 17 entries; namespaces, nodes and volumes are listed as cluster-scoped."""
    found = discovery()
    await found.relist()
    entries = [listed.entry for listed in found.metrics.values()]

    expected = [f"{resource}/{metric}" for metric, resources in CATALOGUE.items() for resource in resources.split()]
    assert sorted(expected) == sorted(entry.discovery_name for entry in entries)
    assert {"namespaces", "nodes", "persistentvolumes"} == {
        entry.resource.name for entry in entries if entry.resource and not entry.namespaced
    }


OF_PODS = 'namespace="n",pod=~"a|b",container!="POD"'


@pytest.mark.parametrize(
    ("resource", "metric", "names", "selector", "query"),
    [
        (PODS, "some_usage", "a b", "", f"sum(container_some_usage{{{OF_PODS}}}) by (pod)"),
        (PODS, "some_count", "a b", "", f"sum(rate(container_some_count_total{{{OF_PODS}}}[1m])) by (pod)"),
        (PODS, "some_time", "a b", "", f"sum(rate(container_some_time_seconds_total{{{OF_PODS}}}[1m])) by (pod)"),
        (SERVICES, "ingress_hits", "a", "", 'sum(rate(ingress_hits_total{NS,kube_service="a"}[1m])) by (kube_service)'),
        (SERVICES, "ingress_hits", "a", "p=v", 'sum(rate(ingress_hits_total{p="v",NS,kube_service="a"}[1m])) by (kube_service)'),
        (
            Resource("networking.k8s.io", "ingresses"),
            "ingress_hits",
            "a",
            "",
            'sum(rate(ingress_hits_total{NS,kube_ingress="a"}[1m])) by (kube_ingress)',
        ),
        (PODS, "ingress_hits", "a", "", 'sum(rate(ingress_hits_total{NS,kube_pod="a"}[1m])) by (kube_pod)'),
        (SERVICES, "service_proxy_packets", "a", "", 'sum(service_proxy_packets{NS,kube_service="a"}) by (kube_service)'),
        (
            Resource("apps", "deployments"),
            "work_queue_wait",
            "a",
            "",
            'sum(rate(work_queue_wait_seconds_total{NS,kube_deployment="a"}[1m])) by (kube_deployment)',
        ),
        (NODES, "node_gigawatts", "a", "", 'sum(node_gigawatts{kube_node="a"}) by (kube_node)'),
        (
            Resource("", "persistentvolumes"),
            "volume_claims",
            "a",
            "",
            'sum(rate(volume_claims_total{kube_persistentvolume="a"}[1m])) by (kube_persistentvolume)',
        ),
        (NODES, "node_fan", "a", "", 'sum(rate(node_fan_seconds_total{kube_node="a"}[1m])) by (kube_node)'),
    ],
)
async def test_queries_with_names_are_those_of_the_adapter(resource: Resource, metric: str, names: str, selector: str, query: str) -> None:
    """The twelve queries. Ours ask for all objects at once, where that gives the same of each."""
    found = discovery()
    await found.relist()
    listed = found.metrics[resource, metric]
    label, series = listed.association.label(resource), parse_label_selector(selector)
    namespace = "n" if listed.namespaced else ""
    matchers = [*selected(series), *([equal(listed.association.label(NAMESPACES), namespace)] if namespace else [])]

    asked = build(listed.rule.query, listed.series, [*matchers, named(label, names.split())], (label,))
    assert query.replace("NS", 'kube_namespace="n"') == asked
    ours = custom_queries(listed, label, namespace, Question("custom", metric, resource, series=series), names.split())
    assert [build(listed.rule.query, listed.series, [*matchers, present(label)], (label,))] == ours


async def test_identical_series_queries_are_asked_once() -> None:
    """Six rules with two queries; series are those of the last minute."""
    lists = Lists(dict(SERIES))
    await discovery(lists=lists).relist()

    assert [CONTAINERS, OTHERS] == [query for query, _ in lists.asked]
    assert {ManualClock().wall() - 60} == {start for _, start in lists.asked}


async def test_a_query_that_fails_keeps_its_last_list_and_costs_no_other() -> None:
    """prometheus-adapter issue 225: one bad rule took all metrics away."""
    lists = Lists(dict(SERIES))
    found = discovery(lists=lists)
    await found.relist()
    lists.series_by_query[OTHERS] = CollectError(Cause.QUERY, "bad_data: parse error")
    lists.series_by_query[CONTAINERS] = SERIES[CONTAINERS][:1]
    await found.relist()

    names = {entry.discovery_name for entry in (listed.entry for listed in found.metrics.values())}
    assert "nodes/node_fan" in names
    assert "pods/some_usage" not in names
    assert {"rules[3]", "rules[4]", "rules[5]"} == set(found.troubles)
    assert "bad_data: parse error" == found.troubles["rules[3]"].message


async def test_a_rule_about_a_resource_that_is_not_there_costs_itself() -> None:
    """It is listed as soon as the cluster has the resource."""
    text = """
rules:
- {seriesQuery: cheddar, resources: {overrides: {brand: {group: cheese.io, resource: brand}}}, metricsQuery: 'count(cheddar)'}
- {seriesQuery: gouda, resources: {overrides: {pod: {resource: pod}}}, metricsQuery: '<<.Series>>{<<.LabelMatchers>>}'}
"""
    lists = Lists({"cheddar": [Shape("cheddar", frozenset({"brand"}))], "gouda": [Shape("gouda", frozenset({"pod"}))]})
    without = discovery(text, lists)
    await without.relist()
    brands = Known(Resource("cheese.io", "brands"), "brand")
    with_brands = discovery(text, lists, Resources([*built_in(), brands]))
    await with_brands.relist()

    assert [(PODS, "gouda")] == list(without.metrics)
    assert "the cluster serves no resource brand.cheese.io" in without.troubles["rules[0]"].message
    assert [(brands.resource, "cheddar"), (PODS, "gouda")] == list(with_brands.metrics)
