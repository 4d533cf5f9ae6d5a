"""Label selectors have the grammar, the meaning and the error texts of k8s.io/apimachinery/pkg/labels."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Problem
from app.wire.label_selectors import parse_label_selector

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
