"""collectors/_link_header.py: RFC 8288 as servers write it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors._link_header import target_of


@pytest.mark.parametrize(
    ("header", "target"),
    [
        pytest.param('<https://x/2>; rel="next"', "https://x/2", id="quoted"),
        pytest.param("<https://x/2>; rel=next", "https://x/2", id="token"),
        pytest.param('<?p=1>; rel="prev", <?p=3>; rel="next"', "?p=3", id="the-second"),
        pytest.param('<?a=1,2;3>; rel="next"', "?a=1,2;3", id="commas-in-the-target"),
        pytest.param('<a>; title="x, <b>; rel=next"; rel=prev, <c>;rel=next', "c", id="commas-in-a-title"),
        pytest.param('<a>; REL="Start NEXT"', "a", id="several-relations-in-any-case"),
        pytest.param("<a>; rel=prev; rel=next", None, id="the-first-rel-counts"),
        pytest.param("<a>; foo; rel=next", "a", id="a-parameter-without-a-value"),
        pytest.param(" , <a> ; rel = next , ", "a", id="spaces-and-empty-elements"),
        pytest.param("<>; rel=next", "", id="the-page-itself"),
        pytest.param("", None, id="nothing"),
        pytest.param("<a>", None, id="no-relation"),
        pytest.param("<a; rel=next", None, id="no-end"),
        pytest.param('<a>; rel="next', None, id="a-quote-without-an-end"),
    ],
)
def test_next(header: str, target: str | None) -> None:
    """The target of the first link with the relation."""
    assert target == target_of(header, "next")


@given(st.text() | st.lists(st.sampled_from([*'<>;,="\\ a', "rel=next"])).map("".join))
def test_no_header_crashes_it(header: str) -> None:
    """For whatever comes, a target that stands in it or none."""
    target = target_of(header, "next")

    assert target is None or f"<{target}>" in header


def test_a_long_header_costs_its_length() -> None:
    """No spelling makes the parser try again and again."""
    for hostile in ('<a>; x="' + "\\" * 10**6, "<a>" + ";a" * 10**6, "<" * 10**6, "<a>;rel=" + " " * 10**6):
        assert target_of(hostile, "next") is None
