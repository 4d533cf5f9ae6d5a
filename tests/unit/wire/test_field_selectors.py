"""Field selectors know two fields, and have upstream's escapes and error texts."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Problem
from app.wire.field_selectors import parse_field_selector
from app.wire.selector_size import MOST_TERMS


@pytest.mark.parametrize(
    ("text", "key", "matches"),
    [
        ("", ("ns", "x"), True),
        ("metadata.name=x", ("ns", "x"), True),
        ("metadata.name==x", ("ns", "x"), True),
        ("metadata.name!=x", ("ns", "x"), False),
        ("metadata.name!=y", ("ns", "x"), True),
        ("metadata.namespace=ns,metadata.name=x", ("ns", "x"), True),
        ("metadata.namespace=other,metadata.name=x", ("ns", "x"), False),
        ("metadata.namespace=", ("", "node"), True),
        ("metadata.name=x,metadata.name=x", ("ns", "x"), True),
        ("metadata.name=x,metadata.name=y", ("ns", "x"), False),
        ("metadata.name=x,metadata.name!=x", ("ns", "x"), False),
        ("metadata.name!=y,metadata.name!=z", ("ns", "x"), True),
        ("metadata.name!=y,metadata.name!=x", ("ns", "x"), False),
        (r"metadata.name=a\,b", ("ns", "a,b"), True),
        (r"metadata.name=a\=b\\", ("ns", "a=b\\"), True),
        (",metadata.name=x,", ("ns", "x"), True),
    ],
)
def test_matches(text: str, key: tuple[str, str], matches: bool) -> None:
    """All terms must hold for (namespace, name)."""
    assert matches is parse_field_selector(text).matches(key)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("spec.nodeName=n", '"spec.nodeName" is not a known field selector: only "metadata.name", "metadata.namespace"'),
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        (r"metadata.name=\a", r"invalid field selector: invalid escape sequence: \a"),
        ("metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_error_text(text: str, message: str) -> None:
    """What is wrong is said as upstream says it, with 400."""
    with pytest.raises(Problem) as caught:
        parse_field_selector(text)

    assert (400, message) == (caught.value.code, caught.value.message)


def test_exact_name_and_review() -> None:
    """One exact name is known as such (RBAC resourceNames), and all terms go into a review."""
    selector = parse_field_selector("metadata.name=x,metadata.namespace!=y")

    assert "x" == selector.name
    assert selector.namespace is None
    assert (("metadata.name", "In", ("x",)), ("metadata.namespace", "NotIn", ("y",))) == selector.for_review()


def test_too_many_terms() -> None:
    """More than 1,000 terms are refused; as many as that are read."""
    text = ",".join(f"metadata.name!=x{number}" for number in range(MOST_TERMS))

    assert not parse_field_selector(text).matches(("ns", "x7"))
    with pytest.raises(Problem, match=r"fieldSelector has 1001 .* at most 1000 are read") as caught:
        parse_field_selector(f"{text},metadata.name!=y")
    assert 400 == caught.value.code


@given(st.one_of(st.text(max_size=30), st.lists(st.sampled_from(["metadata.name", "=", "!", ",", "\\", "a"]), max_size=9).map("".join)))
def test_parser_never_crashes(text: str) -> None:
    """No text raises anything but a Problem."""
    with contextlib.suppress(Problem):
        parse_field_selector(text).matches(("", "a"))
