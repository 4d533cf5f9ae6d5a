"""prometheus-adapter's file: what is wrong is told with its place, and costs its rule only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapter.config import parse

GOOD = "{seriesQuery: a, metricsQuery: '<<.Series>>{<<.LabelMatchers>>}'}"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        pytest.param("{seriesQery: a, metricsQuery: b}", "rules[1].seriesQery: unknown field; expected one of seriesQuery, ", id="key"),
        pytest.param("{metricsQuery: b}", "rules[1].seriesQuery: is missing", id="no-series-query"),
        pytest.param("{seriesQuery: a}", "rules[1].metricsQuery: is missing", id="no-query"),
        pytest.param("{seriesQuery: a, metricsQuery: '<<.Serie>>'}", "there is no field .Serie", id="template"),
        pytest.param("{seriesQuery: a, metricsQuery: '<<if'}", "rules[1].metricsQuery", id="unfinished"),
        pytest.param("{seriesQuery: 1, metricsQuery: b}", "is a number; expected a text", id="type"),
        pytest.param("{seriesQuery: a, metricsQuery: b, name: {matches: '('}}", "is no regular expression", id="regex"),
        pytest.param("{seriesQuery: a, metricsQuery: b, name: {matches: '(a)(b)'}}", '"as" must say', id="two-groups"),
        pytest.param("{seriesQuery: a, metricsQuery: b, seriesFilters: [{is: a, isNot: b}]}", "has both", id="both"),
        pytest.param("{seriesQuery: a, metricsQuery: b, seriesFilters: [{}]}", "has neither", id="neither"),
        pytest.param("{seriesQuery: a, metricsQuery: b, resources: {overrides: {x: {group: g}}}}", "names no resource", id="no-resource"),
        pytest.param("{seriesQuery: a, metricsQuery: b, resources: {namespaced: 1}}", "must be true or false", id="namespaced"),
        pytest.param("x", "rules[1]: is a text; expected a mapping", id="no-mapping"),
    ],
)
def test_a_bad_rule_costs_itself(rule: str, said: str) -> None:
    """The adapter does not start with one."""
    config = parse(f"rules:\n- {GOOD}\n- {rule}\n- {GOOD}\n", "config.yaml")

    assert ["rules[0]", "rules[2]"] == [each.place for each in config.rules]
    assert any(said in str(fault) for fault in config.faults), config.faults
    assert {3} == {fault.place.line for fault in config.faults}


def test_external_rules_and_resource_rules_are_known() -> None:
    """All three parts of the file."""
    config = parse(f"externalRules: [{GOOD}]\nresourceRules: {{}}\n", "config.yaml")

    assert (True, None, ()) == (config.rules[0].external, config.resource_rules, config.faults)


@pytest.mark.parametrize("text", ["", "# nothing\n", "rules:\n", "rules: []\n"])
def test_a_file_without_rules_is_no_fault(text: str) -> None:
    """It lists nothing."""
    assert ((), ()) == (parse(text, "config.yaml").rules, parse(text, "config.yaml").faults)


@given(st.text(max_size=60))
def test_no_file_breaks_the_parser(text: str) -> None:
    """What is wrong is told."""
    parse(f"rules:\n- seriesQuery: {text}\n  metricsQuery: {text}\n", "config.yaml")
