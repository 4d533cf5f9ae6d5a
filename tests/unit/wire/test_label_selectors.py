"""Label selectors have the grammar, the meaning and the error texts of k8s.io/apimachinery/pkg/labels."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Problem
from app.wire.label_matching import Requirement, int64
from app.wire.label_selectors import LabelSelector, parse_label_selector
from app.wire.label_syntax import faults_of_key, faults_of_value
from app.wire.selector_size import MOST_TERMS

LABELS = (("a", "1"), ("app", "web"), ("empty", ""), ("example.com/tier", "in"), ("in", "notin"))


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        (" ", True),
        ("app", True),
        ("absent", False),
        ("!absent", True),
        ("! app", False),
        ("app=web", True),
        ("app==web", True),
        ("app = web", True),
        ("app=db", False),
        ("absent=web", False),
        ("app!=db", True),
        ("app!=web", False),
        ("absent!=web", True),
        ("empty=", True),
        ("app=", False),
        ("app!=", True),
        ("app in (web,db)", True),
        ("app in (db, cache)", False),
        ("app in (web)", True),
        ("absent in (web)", False),
        ("empty in (,x)", True),
        ("empty in ()", True),
        ("app notin (db)", True),
        ("app notin (db,web)", False),
        ("absent notin (web)", True),
        ("in in (in, notin)", True),
        ("in=notin", True),
        ("example.com/tier=in", True),
        ("a>0", True),
        ("a>1", False),
        ("a<2", True),
        ("app>0", False),
        ("absent<5", False),
        ("app=web,a=1,!absent", True),
        ("app=web,a=2", False),
        ("app=web,app=db", False),
        ("app=web,app in (web,db)", True),
        ("app=web,app!=web", False),
        ("app in (web,db),app in (db,cache)", False),
        ("app in (web,db),a in (1,2)", True),
        ("app in (web,db),a in (2,3)", False),
        ("app,!app", False),
        ("app,a,empty", True),
        ("app,absent", False),
        ("a>0,a<2", True),
        ("a>0,a<2,a>1", False),
        ("a>0,app>0", False),
        ("app=web,", None),
        (",", None),
        ("!a=1", None),
        ("a b", None),
        ("a=1=2", None),
        ("a>x", None),
        ("a in", None),
        ("a in (b", None),
        ("-a", None),
        ("a=-", None),
        ("a=" + "x" * 64, None),
        ("x/y/z", None),
        ("a\0", None),
    ],
)
def test_selector(text: str, matches: bool | None) -> None:
    """A selector selects, does not, or (None) is refused with 400."""
    if matches is None:
        with pytest.raises(Problem) as caught:
            parse_label_selector(text)

        assert 400 == caught.value.code
    else:
        assert matches is parse_label_selector(text).matches(LABELS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a,", "found '', expected: identifier after ','"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a==(", "unable to parse requirement: found '(', expected: identifier"),
        (")", "found ')', expected: !, identifier, or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        (
            "a>b",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        (f"a={'x' * 64}", f'unable to parse requirement: values[0][a]: Invalid value: "{"x" * 64}": must be no more than 63 bytes'),
        (
            "/a",
            'unable to parse requirement: <nil>: Invalid value: "/a": prefix part must be non-empty',
        ),
    ],
)
def test_error_text(text: str, message: str) -> None:
    """The texts are upstream's, for kubectl shows them."""
    with pytest.raises(Problem) as caught:
        parse_label_selector(text)

    assert message == caught.value.message


def test_for_review() -> None:
    """A SubjectAccessReview gets In, NotIn, Exists and DoesNotExist, sorted by key; < and > have no form there."""
    selector = parse_label_selector("z in (b,a),a=1,!n,e,x!=2,g>5")

    expected = (("a", "In", ("1",)), ("e", "Exists", ()), ("n", "DoesNotExist", ()), ("x", "NotIn", ("2",)), ("z", "In", ("a", "b")))
    assert expected == selector.for_review()


PIECES = st.sampled_from(["a", "in", "notin", "=", "==", "!=", "!", "(", ")", ",", ">", "<", " ", "1", "x/y", "é", "\0"])


@given(st.one_of(st.text(max_size=30), st.lists(PIECES, max_size=12).map("".join)))
def test_parser_never_crashes(text: str) -> None:
    """No text raises anything but a Problem, and what is parsed can match."""
    with contextlib.suppress(Problem):
        parse_label_selector(text).matches(LABELS)


@given(st.dictionaries(st.sampled_from("abin1"), st.sampled_from(["", "1", "a", "in"])))
def test_negation(labels: dict[str, str]) -> None:
    """`k in (v)` and `k notin (v)` never agree."""
    pairs = tuple(sorted(labels.items()))
    for key in "abin1":
        positive = parse_label_selector(f"{key} in (1,in)").matches(pairs)

        assert positive is not parse_label_selector(f"{key} notin (1,in)").matches(pairs)


REQUIREMENTS = st.builds(
    Requirement,
    st.sampled_from("abc"),
    st.sampled_from(["in", "notin", "=", "!=", ">", "<", "exists", "!"]),
    st.lists(st.sampled_from(["1", "2", "3"]), min_size=1, max_size=3, unique=True).map(tuple),
)


def _holds(requirement: Requirement, labels: dict[str, str]) -> bool:
    """One requirement by its definition (values are numbers here)."""
    value, values = labels.get(requirement.key), requirement.values
    match requirement.operator:
        case "exists":
            return value is not None
        case "!":
            return value is None
        case "notin" | "!=":
            return value not in values
        case ">":
            return value is not None and int(value) > int(values[0])
        case "<":
            return value is not None and int(value) < int(values[0])
        case _:
            return value in values


@given(st.lists(REQUIREMENTS, max_size=6), st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["1", "2", "3"])))
def test_merged_requirements_mean_what_each_means(requirements: list[Requirement], labels: dict[str, str]) -> None:
    """A selector matches exactly the labels that fulfil every requirement by itself."""
    expected = all(_holds(requirement, labels) for requirement in requirements)
    assert expected is LabelSelector(requirements).matches(tuple(sorted(labels.items())))


@pytest.mark.parametrize(
    "text", ["", "a", "!a", "a=1", "a=", "a!=1", "a in (1,2)", "a in (,1)", "a notin (1)", "a>1", "a<2", "app.kubernetes.io/name=x,b"]
)
def test_what_is_written_reads_back(text: str) -> None:
    """A selector is handed on to other adapters as text."""
    assert text == str(parse_label_selector(text))


class _Counted(tuple[tuple[str, str], ...]):  # noqa: SLOT001  a tuple that keeps a number
    """Labels that count how often they are gone through."""

    passes = 0

    def __iter__(self) -> Iterator[tuple[str, str]]:
        self.passes += 1
        return super().__iter__()

    def __contains__(self, pair: object) -> bool:
        self.passes += 1
        return super().__contains__(pair)


@pytest.mark.parametrize("form", ["!k{}", "!a", "k{}!=v", "app!=v{}", "k{}=v", "app=v{}", "k{}", "k{} in (x)", "k{}>1", "a>{}", "a<1{}"])
def test_many_requirements_cost_an_object_no_more(form: str) -> None:
    """However many requirements there are, the labels of an object are gone through a few times only."""
    labels: Any = _Counted(LABELS)
    parse_label_selector(",".join(form.format(number) for number in range(MOST_TERMS))).matches(labels)
    assert labels.passes <= 2


@pytest.mark.parametrize("text", ["!a," * MOST_TERMS + "!a", f"a in ({',' * MOST_TERMS})", "," * 60_000])
def test_too_many_requirements(text: str) -> None:
    """More than 1,000 requirements and values are refused before they are read."""
    with pytest.raises(Problem, match=r"labelSelector has .* at most 1000 are read") as caught:
        parse_label_selector(text)
    assert 400 == caught.value.code


@given(st.one_of(st.text(max_size=40), st.text("0123456789-+", max_size=25), st.integers(4000, 6000).map(lambda size: "9" * size)))
def test_numbers_never_crash(text: str) -> None:
    """What `>` and `<` compare is an int64, or is none."""
    number = int64(text)
    assert number is None or -(2**63) <= number < 2**63


@given(st.text(max_size=300))
def test_keys_and_values_never_crash(text: str) -> None:
    """Every text is a key or has a fault, is a value or has a fault; what is a value is a key's name, but for the empty one."""
    assert not text or bool(faults_of_value(text)) == ("/" in text or bool(faults_of_key(text)))
