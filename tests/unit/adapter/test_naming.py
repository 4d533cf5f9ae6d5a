"""Names of metrics, filters of series, labels and resources both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapter.naming import Association, Filter, Known, NamingError, names, regex
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
    ],
)
def test_filters_search_as_go_does(text: str, name: str, taken: bool) -> None:
    """ReMatcher: a search, where $ is the end of the text; isNot is the contrary."""
    assert taken == Filter(regex(text)).takes(name)
    assert taken != Filter(regex(text), inverted=True).takes(name)


@pytest.mark.parametrize("text", ["[[:nonsense:]]", "[[:^alpha:]]"])
def test_classes_that_are_not_known_are_refused(text: str) -> None:
    """Python would take them for the characters that they are written with."""
    with pytest.raises(NamingError, match="is not known: there are alnum"):
        regex(text)


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


@given(st.text(max_size=20))
def test_no_regular_expression_breaks_anything(text: str) -> None:
    """It is one, or it is refused."""
    try:
        regex(text).search("http_requests_total")
    except NamingError as exc:
        said = str(exc)
    else:
        said = "nothing"
    assert said


def test_a_group_may_be_cut_short() -> None:
    """As kubectl takes ingresses.networking."""
    assert Known(Resource("networking.k8s.io", "ingresses"), "ingress") == FIND("networking", "ingress")
    assert None is FIND("apps", "pods")
