"""Go's templates as far as a query needs them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapter.template import Template, TemplateError

VALUES = {
    "Series": "http_requests_total",
    "LabelMatchers": 'namespace="a",pod=~"x|y"',
    "LabelValuesByName": {"namespace": "a", "pod": "x|y"},
    "GroupBy": "pod",
    "GroupBySlice": ["pod", "container"],
}


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        pytest.param("series <<.Series>>", "series http_requests_total", id="a-field"),
        pytest.param("<< .GroupBy >>", "pod", id="blanks-inside"),
        pytest.param("<<.GroupBySlice>>", "[pod container]", id="a-list-as-go-prints-it"),
        pytest.param("<<.LabelValuesByName>>", "map[namespace:a pod:x|y]", id="a-map-as-go-prints-it"),
        pytest.param('<<index .LabelValuesByName "pod">>', "x|y", id="index-of-a-map"),
        pytest.param('<<index .LabelValuesByName "none">>|', "|", id="a-key-that-is-not-there-is-empty"),
        pytest.param("<<index .GroupBySlice 1>>", "container", id="index-of-a-list"),
        pytest.param('<<.LabelValuesByName | printf "%v">>', "map[namespace:a pod:x|y]", id="a-pipeline"),
        pytest.param('<<range $k, $v := .LabelValuesByName>><<$k>>=~"<<$v>>",<<end>>', 'namespace=~"a",pod=~"x|y",', id="range-of-a-map"),
        pytest.param("<<range .GroupBySlice>><<.>>,<<end>>", "pod,container,", id="range-sets-dot"),
        pytest.param("<<range $i, $l := .GroupBySlice>><<if $i>>,<<end>><<$l>><<end>>", "pod,container", id="range-counts"),
        pytest.param("<<range .LabelValuesByName>><<$.GroupBy>><<end>>", "podpod", id="the-root"),
        pytest.param('<<if eq .GroupBy "pod">>a<<else>>b<<end>>', "a", id="if"),
        pytest.param('<<if eq .GroupBy "x">>a<<else if .Series>>b<<else>>c<<end>>', "b", id="else-if"),
        pytest.param('<<if and .Series (ne .GroupBy "x")>>a<<end>>', "a", id="parentheses"),
        pytest.param("<<with $x := .GroupBy>><<$x>><<.>><<end>>", "podpod", id="with"),
        pytest.param("a <<- /* a comment */ ->> b", "ab", id="a-comment-and-trimming"),
        pytest.param("a <<- .GroupBy ->> b", "apodb", id="trimming"),
        pytest.param("<<$x := .GroupBy>><<$x>>", "pod", id="a-variable"),
        pytest.param("<<len .GroupBySlice>>", "2", id="len"),
        pytest.param("{{.Series}}", "{{.Series}}", id="other-delimiters-are-text"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_templates_are_filled_in_as_go_does(text: str, filled: str) -> None:
    """The same text as Go's."""
    assert filled == Template(text).fill(VALUES)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("<<.Series", "has no >>", id="no-end-of-an-action"),
        pytest.param("<<.Serie>>", "there is no field .Serie; there are .Series", id="no-such-field"),
        pytest.param("<<foo .Series>>", "there is no function foo", id="no-such-function"),
        pytest.param("<<if .Series>>a", "if has no end", id="no-end"),
        pytest.param("a<<end>>", "end stands alone", id="end-alone"),
        pytest.param("<<>>", "empty", id="empty"),
        pytest.param("<<$x>>", "there is no variable $x", id="no-such-variable"),
        pytest.param('<<template "x">>', "template is not supported", id="template"),
        pytest.param("<<range .Series>>a<<end>>", "range cannot go over", id="range-of-text"),
        pytest.param("<<index .GroupBySlice 7>>", "index: ", id="no-such-index"),
        pytest.param("<<(.Series>>", "parentheses do not match", id="parentheses"),
        pytest.param("<<.Series .GroupBy>>", "is no function", id="a-field-is-no-function"),
        pytest.param(f"<<index .GroupBySlice {'9' * 5000}>>", "more than 64 digits", id="a-number-that-int-refuses"),
    ],
)
def test_what_cannot_be_filled_in_is_told(text: str, said: str) -> None:
    """In words, with what there is instead."""
    with pytest.raises(TemplateError, match=None) as raised:
        Template(text).fill(VALUES)

    assert said in str(raised.value)


PIECES = [
    "<<",
    ">>",
    "<<.Series>>",
    "if",
    "end",
    "<<end>>",
    "<<if .Series>>",
    "<<range .GroupBySlice>>",
    "$x",
    ":=",
    "|",
    "(",
    ")",
    ".",
    "-",
    " ",
]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=12))
def test_no_text_breaks_the_parser(pieces: list[str]) -> None:
    """Whatever stands there is a template or an error with words."""
    try:
        Template("".join(pieces)).fill(VALUES)
    except TemplateError as exc:
        said = str(exc)
    else:
        said = "nothing"
    assert said


@given(st.text().filter(lambda text: "<<" not in text))
def test_text_without_actions_stays_as_it_is(text: str) -> None:
    """Braces, quotes, per cent signs and all."""
    assert text == Template(text).fill({})


def test_a_template_cannot_grow_without_end() -> None:
    """Loops in loops are cut."""
    text = "<<range .L>>" * 8 + "xxxxxxxxxx" + "<<end>>" * 8
    nested = Template(text.replace(".L", "$.L"))

    with pytest.raises(TemplateError, match="more than"):
        nested.fill({"L": list(range(8))})


def test_loops_that_write_nothing_end_too() -> None:
    """They multiply as others do."""
    nested = Template("<<range $.L>>" * 8 + "<<end>>" * 8)

    with pytest.raises(TemplateError, match="turns"):
        nested.fill({"L": list(range(8))})


def test_text_that_is_only_kept_cannot_grow_without_end() -> None:
    """Forty doublings of what a variable holds are more than any memory."""
    doubled = "".join(f"<<$a{index + 1} := print $a{index} $a{index}>>" for index in range(40))

    with pytest.raises(TemplateError, match="print gives more than 65536 characters"):
        Template(f'<<$a0 := "xxxxxxxx">>{doubled}').fill({})
