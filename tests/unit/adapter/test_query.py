"""Queries: prometheus-adapter's own facts (its metrics_query_test.go), selectors, escaping, and which rules need no names."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapter.query import (
    MOST_BYTES,
    Matcher,
    QueryError,
    build,
    equal,
    in_pieces,
    is_by_object,
    keeps_apart,
    labels_of_result,
    named,
    present,
    selected,
)
from app.adapter.template import Template
from app.wire.label_selectors import parse_label_selector


def matchers(selector: str = "", namespace: str = "", names: tuple[str, ...] = ()) -> list[Matcher]:
    """Those of a question, in the adapter's order."""
    found = selected(parse_label_selector(selector))
    return [*found, *([equal("namespaces", namespace)] if namespace else []), *([named("resource", names)] if names else [])]


@pytest.mark.parametrize(
    ("template", "given", "group_by", "query"),
    [
        pytest.param("series <<.Series>>", matchers(), (), "series foo", id="series"),
        pytest.param("<<.LabelMatchers>>", matchers(names=("bar", "baz")), (), 'resource=~"bar|baz"', id="several-names"),
        pytest.param("<<.LabelMatchers>>", matchers(names=("bar",)), (), 'resource="bar"', id="one-name"),
        pytest.param(
            "<<.LabelMatchers>>", matchers("metric1=value1", names=("bar",)), (), 'metric1="value1",resource="bar"', id="selector-first"
        ),
        pytest.param('<<index .LabelValuesByName "resource">>', matchers(names=("bar",)), (), "bar", id="one-value"),
        pytest.param('<<index .LabelValuesByName "resource">>', matchers(names=("bar", "baz")), (), "bar|baz", id="several-values"),
        pytest.param(
            '<<index .LabelValuesByName "namespaces">> <<index .LabelValuesByName "resource">>',
            matchers(namespace="default", names=("bar", "baz")),
            (),
            "default bar|baz",
            id="values-with-the-namespace",
        ),
        pytest.param("<<.GroupBy>>", matchers(), ("resource",), "resource", id="group-by"),
        pytest.param("<<.GroupBy>>", matchers(), ("resource", "extra", "groups"), "resource,extra,groups", id="group-by-several"),
        pytest.param("<<.GroupBySlice>>", matchers(), ("resource", "extra"), "[resource extra]", id="slice"),
        pytest.param(
            "<<.LabelMatchers>>", matchers("foo=bar", "default"), (), 'foo="bar",namespaces="default"', id="external-with-a-namespace"
        ),
        pytest.param("<<.LabelMatchers>>", matchers("foo=bar"), (), 'foo="bar"', id="external-without"),
        pytest.param(
            "<<.LabelMatchers>>", matchers("foo=bar,qux in (bar,baz)"), (), 'foo="bar",qux=~"bar|baz"', id="several-of-a-selector"
        ),
        pytest.param("<<.LabelValuesByName>>", matchers("foo=bar,qux in (bar,baz)"), (), "map[foo:bar qux:bar|baz]", id="all-values"),
    ],
)
def test_queries_are_those_of_the_adapter(template: str, given: list[Matcher], group_by: tuple[str, ...], query: str) -> None:
    """TestBuildSelector and TestBuildExternalSelector."""
    assert query == build(Template(template), "foo", given, group_by)


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        pytest.param("a=b", 'a="b"', id="equal"),
        pytest.param("a==b", 'a="b"', id="equal-twice"),
        pytest.param("a!=b", 'a!="b"', id="unequal"),
        pytest.param("a in (b)", 'a="b"', id="in-one"),
        pytest.param("a in (b.c,d)", 'a=~"b\\\\.c|d"', id="in-is-escaped"),
        pytest.param("a notin (b,c)", 'a!~"b|c"', id="notin"),
        pytest.param("a notin (b)", 'a!="b"', id="notin-one"),
        pytest.param("a", 'a!=""', id="exists"),
        pytest.param("!a", 'a=""', id="does-not-exist"),
    ],
)
def test_selectors_become_matchers(selector: str, text: str) -> None:
    """Every operator that PromQL has a matcher for."""
    assert text == str(*selected(parse_label_selector(selector)))


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        pytest.param("app.kubernetes.io/name=x", "app.kubernetes.io/name, which is no label of Prometheus", id="no-label"),
        pytest.param("a>1", "compares a by >", id="greater"),
        pytest.param("a<1", "compares a by <", id="less"),
        pytest.param("a=", "cannot tell from a series without it", id="empty-value"),
    ],
)
def test_what_prometheus_cannot_select_is_refused(selector: str, said: str) -> None:
    """In words, where the adapter makes a query that means something else, or none."""
    with pytest.raises(QueryError, match=re.escape(said)):
        selected(parse_label_selector(selector))


@given(st.lists(st.text(alphabet='abc.*+?()[]{}|^$\\"\n-', min_size=1, max_size=8), min_size=2, max_size=5, unique=True))
def test_names_are_taken_literally(names: list[str]) -> None:
    """A dot in the name of a pod matches no other pod."""
    matcher = named("pod", names)
    pattern = re.compile(matcher.value)

    assert all(pattern.fullmatch(name) for name in names)
    assert pattern.fullmatch("abcx") is None
    assert "\n" not in str(matcher)


@given(st.lists(st.text(alphabet="abc-.", min_size=1, max_size=250), max_size=200))
def test_pieces_are_small_and_lose_no_name(names: list[str]) -> None:
    """A query stays under the limits of servers (prometheus-adapter issue 668)."""
    pieces = in_pieces(names, MOST_BYTES // 2)

    assert names == [name for piece in pieces for name in piece]
    assert all(len(str(named("pod", piece))) < MOST_BYTES for piece in pieces if piece)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        pytest.param('sum(rate(<<.Series>>{<<.LabelMatchers>>,container!="POD"}[2m])) by (<<.GroupBy>>)', True, id="the-usual-one"),
        pytest.param("sum by (<<.GroupBy>>) (rate(<<.Series>>{<<.LabelMatchers>>}[5m]))", True, id="by-before"),
        pytest.param(
            "sum(a{<<.LabelMatchers>>}) by (<<.GroupBy>>) / sum(b{<<.LabelMatchers>>}) by (<<.GroupBy>>)", True, id="a-ratio-of-two"
        ),
        pytest.param("histogram_quantile(0.9, sum(rate(a{<<.LabelMatchers>>}[1m])) by (le, <<.GroupBy>>))", True, id="a-quantile"),
        pytest.param("<<.Series>>{<<.LabelMatchers>>}", True, id="series-as-they-are"),
        pytest.param("1000 * (avg(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>))", True, id="parentheses"),
        pytest.param('sum(a{x="by (",<<.LabelMatchers>>}) by (<<.GroupBy>>)', True, id="brackets-in-a-string"),
        pytest.param("max_over_time(sum(a{<<.LabelMatchers>>}) by (<<.GroupBy>>)[5m:1m])", True, id="a-subquery"),
        pytest.param("sum(<<.Series>>{<<.LabelMatchers>>})", False, id="a-sum-of-all"),
        pytest.param("sum(<<.Series>>{<<.LabelMatchers>>}) by (namespace)", False, id="by-something-else"),
        pytest.param("sum(sum(a{<<.LabelMatchers>>}) by (<<.GroupBy>>))", False, id="a-sum-of-sums"),
        pytest.param("topk(3, sum(a{<<.LabelMatchers>>}) by (<<.GroupBy>>))", False, id="the-largest-ones"),
        pytest.param("sum(a{<<.LabelMatchers>>}) by (<<.GroupBy>>) / scalar(sum(a{<<.LabelMatchers>>}))", False, id="a-share-of-all"),
        pytest.param("sum(a{<<.LabelMatchers>>}) by (<<.GroupBy>>) / on (x) group_left b", False, id="joined"),
        pytest.param('label_replace(a{<<.LabelMatchers>>}, "pod", "$1", "x", "(.*)")', False, id="labels-are-changed"),
        pytest.param('sum(a{pod=~"<<index .LabelValuesByName "kg_label">>"}) by (<<.GroupBy>>)', False, id="the-names-themselves"),
        pytest.param("sum(a{<<range $k,$v := .LabelValuesByName>><<$k>>=~'<<$v>>',<<end>>}) by (<<.GroupBy>>)", False, id="a-range"),
        pytest.param("count(cheddar)", False, id="no-matchers"),
    ],
)
def test_rules_that_keep_objects_apart_need_no_names(template: str, expected: bool) -> None:
    """Where an object's value may depend on which others are asked for, the query names those asked for."""
    assert expected == is_by_object(Template(template))


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        pytest.param("sum(a{<<.LabelMatchers>>}) by (<<.GroupBy>>)", True, id="by-both"),
        pytest.param("sum(a{<<.LabelMatchers>>}) by (<<index .GroupBySlice 0>>)", False, id="by-the-first"),
        pytest.param("sum(a{<<.LabelMatchers>>}) by (namespace, pod)", True, id="by-both-in-words"),
        pytest.param("sum(a{<<.LabelMatchers>>}) by (pod)", False, id="by-one-in-words"),
        pytest.param('sum(a{<<.LabelMatchers>>,b="<<index .LabelValuesByName "namespace">>"}) by (<<.GroupBy>>)', False, id="by-a-value"),
    ],
)
def test_objects_of_all_namespaces_are_apart_by_two_labels(template: str, expected: bool) -> None:
    """Both must be grouped by, and nothing may depend on the value of one."""
    assert expected == keeps_apart(Template(template), ["namespace", "pod"], ["namespace", "pod"])


@pytest.mark.parametrize(
    ("query", "labels"),
    [
        pytest.param("sum(rate(a{b='c'}[1m])) by (x, y)", ("x", "y"), id="by-behind"),
        pytest.param("max by (x) (a)", ("x",), id="by-before"),
        pytest.param("((sum(a) by (x)))", ("x",), id="in-parentheses"),
        pytest.param("quantile(0.9, a) by (x,)", ("x",), id="with-a-parameter"),
        pytest.param("sum(a)", (), id="a-sum-of-all"),
        pytest.param("scalar(sum(a) by (x))", (), id="a-scalar"),
        pytest.param("a", None, id="series-as-they-are"),
        pytest.param("rate(a[1m])", None, id="a-function"),
        pytest.param("sum(a) by (x) / sum(b) by (x)", None, id="two"),
        pytest.param("sum(a) / scalar(b)", None, id="begins-like-a-sum"),
        pytest.param("(sum(a) by (x)) + (b)", None, id="begins-in-parentheses"),
        pytest.param("sum without (x) (a)", None, id="all-but-some"),
        pytest.param('sum(a) by ("x.y")', None, id="a-name-in-quotes"),
        pytest.param("sum(a", None, id="no-end"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_a_query_may_say_which_labels_its_result_has(query: str, labels: tuple[str, ...] | None) -> None:
    """Only what is aggregated as a whole; of everything else Prometheus has to tell."""
    assert labels == labels_of_result(query)


def test_a_query_for_all_objects_wants_those_with_the_label() -> None:
    """What is no object's is not asked for."""
    assert 'sum(a{pod!=""}) by (pod)' == build(
        Template("sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)"), "a", [present("pod")], ("pod",)
    )
