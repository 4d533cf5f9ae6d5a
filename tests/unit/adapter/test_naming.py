"""Names of metrics, filters of series, labels and resources both ways."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapter.naming import Association, Filter, Known, NamingError, Regex, names
from app.adapter.resources import Resources
from app.served_metrics.values import NAMESPACES, PODS, Resource

FIND = Resources().find


@pytest.mark.parametrize(
    ("matches", "output", "series", "name"),
    [
        pytest.param("", "", "http_requests", "http_requests", id="the-whole-name"),
        pytest.param("^(.*)_total$", "", "http_requests_total", "http_requests", id="one-group"),
        pytest.param("^(.*)_total$", "${1}_per_second", "http_requests_total", "http_requests_per_second", id="braces"),
        pytest.param("^(.*)_total$", "$1_per_second", "http_requests_total", "", id="a-longer-name-is-another-group"),
        pytest.param("(?P<a>x)(?P<b>y)", "$b$a", "xy", "yx", id="named-groups"),
        pytest.param("^http_", "", "http_requests", "http_", id="only-what-matches"),
        pytest.param("", "cheesy_goodness", "cheddar", "cheesy_goodness", id="a-fixed-name"),
        pytest.param("^(.*)_total$", "", "gauge", None, id="no-match"),
        pytest.param("", "$$1", "x", "$1", id="a-dollar"),
    ],
)
def test_metrics_are_called_as_go_expands(matches: str, output: str, series: str, name: str | None) -> None:
    """name.matches and name.as."""
    assert name == names(matches, output).name(series)


def test_two_groups_need_a_name() -> None:
    """There is no obvious one."""
    with pytest.raises(NamingError, match='"as" must say'):
        names("(a)(b)", "")


@pytest.mark.parametrize(
    ("text", "name", "taken"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        ("a", "bab", True),
        (r"[$]\z", "$", True),
        ("^[[:lower:]_]+$", "http_requests", True),
        ("^[[:lower:]_]+$", "l:ower[", False),
        ("^[^[:digit:]]+$", "a1", False),
        ("^[:alpha:]+$", "halp:", True),
        (r"^\pL+$", "größe", True),
        (r"^\Qa.b\E$", "axb", False),
        ("(?i)^HTTP_", "http_requests", True),
        ("(a+)+$", "a" * 100_000 + "b", False),
        ("^(a|a?)+$", "a" * 100_000 + "b", False),
        ("^.$", "\ud800", True),
    ],
)
def test_filters_search_as_go_does(text: str, name: str, taken: bool) -> None:
    """ReMatcher: a search, where $ is the end of the text; isNot is the contrary. Repeats in repeats end, too."""
    assert taken == Filter(Regex(text)).takes(name)
    assert taken != Filter(Regex(text), inverted=True).takes(name)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a(?=b)", "RE2: invalid perl operator: (?= (it can look neither ahead nor behind)", id="looks-ahead"),
        pytest.param("(?<!a)b", "(it can look neither ahead nor behind)", id="looks-behind"),
        pytest.param(r"(a)\1", r"RE2: invalid escape sequence: \1 (what a group took cannot be asked for again)", id="asks-back"),
        pytest.param("(a", "RE2: missing ): (a", id="open"),
        pytest.param("a{2000}", "RE2: invalid repetition size: {2000}", id="too-often"),
        pytest.param("[[:nonsense:]]", "RE2: invalid character class range: [:nonsense:]", id="no-class"),
        pytest.param("\ud800", "surrogates not allowed", id="no-character"),
    ],
)
def test_what_re2_refuses_is_told_in_words(text: str, said: str) -> None:
    """As prometheus-adapter would refuse it."""
    with pytest.raises(NamingError) as caught:
        Regex(text)

    assert said in str(caught.value)


def test_what_was_refused_is_written_nowhere_else(capfd: pytest.CaptureFixture[str]) -> None:
    """RE2 would write lines of its own to stderr."""
    with pytest.raises(NamingError):
        Regex("(")

    assert ("", "") == capfd.readouterr()


_SAFE = st.recursive(
    st.sampled_from(["a", "b", "_", ".", "[ab]", "[^a]", "^", "$"]),
    lambda parts: st.one_of(
        st.tuples(parts, parts).map("".join),
        st.tuples(parts, parts).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        parts.map(lambda part: f"({part})"),
        st.sampled_from(["a?", "b*", "_+", "[ab]{1,2}", ".*?"]),
    ),
    max_leaves=8,
)
"""Regular expressions without repeats in repeats, which Python's take their time for."""


@given(_SAFE, st.text("abc_", max_size=8))
def test_what_python_finds_is_found(pattern: str, text: str) -> None:
    """The same place and the same groups, where both know what is written."""
    found = re.search(pattern.replace("$", r"\Z"), text)
    expected = None if found is None else {str(index): each or "" for index, each in enumerate((found.group(), *found.groups()))}

    assert expected == Regex(pattern).first_in(text)
    assert (found is not None) == Regex(pattern).is_in(text)


def test_an_override_goes_both_ways() -> None:
    """Singular or plural, whatever the group where none is given."""
    found = Association("", {"pod": PODS, "ns": Resource("", "namespace"), "job_name": Resource("", "job")}, FIND)

    assert ([Resource("batch", "jobs"), NAMESPACES, PODS], True) == found.resources(["pod", "ns", "job_name", "instance"])
    assert ("pod", "ns", "job_name") == tuple(found.label(each) for each in (PODS, NAMESPACES, Resource("batch", "jobs")))


def test_a_template_goes_both_ways() -> None:
    """Of a group dots and dashes become underscores forwards."""
    found = Association("kube_<<.Group>>_<<.Resource>>", {}, FIND)

    assert ([Resource("apps", "deployments")], True) == found.resources(["kube_apps_deployment", "kube_apps_nonsense"])
    assert "kube_networking_k8s_io_ingress" == found.label(Resource("networking.k8s.io", "ingresses"))


@pytest.mark.parametrize(
    ("template", "overrides", "said"),
    [
        pytest.param("kube_<<.Group>>", {}, "must have << .Resource >>", id="no-resource"),
        pytest.param("<<.Nonsense>>", {}, "there is no field .Nonsense", id="no-such-field"),
        pytest.param("", {"x": Resource("", "nonsense")}, "the cluster serves no resource nonsense", id="no-such-resource"),
    ],
)
def test_associations_that_lead_nowhere_are_refused(template: str, overrides: dict[str, Resource], said: str) -> None:
    """In words."""
    with pytest.raises(NamingError, match=said):
        Association(template, overrides, FIND)


def test_without_template_or_override_no_label_names_a_resource() -> None:
    """Such as the namespace of an external rule."""
    with pytest.raises(NamingError, match="no label names namespaces"):
        Association("", {}, FIND).label(NAMESPACES)


@given(st.text(st.characters(), max_size=20))
def test_no_regular_expression_breaks_anything(text: str) -> None:
    """It is one, or it is refused."""
    try:
        Regex(text).first_in("http_requests_total")
    except NamingError as exc:
        said = str(exc)
    else:
        said = "nothing"
    assert said


def test_a_group_may_be_cut_short() -> None:
    """As kubectl takes ingresses.networking."""
    assert Known(Resource("networking.k8s.io", "ingresses"), "ingress") == FIND("networking", "ingress")
    assert None is FIND("apps", "pods")
