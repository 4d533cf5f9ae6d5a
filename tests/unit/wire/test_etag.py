import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.wire.etag import etag_matches, make_etag

TAG = make_etag(b"body")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param("", False, id="none"),
        pytest.param(TAG, True, id="the tag"),
        pytest.param(f"W/{TAG}", True, id="weak"),
        pytest.param(f'"x" , {TAG}', True, id="in a list"),
        pytest.param("*", True, id="any"),
        pytest.param(TAG.strip('"'), False, id="no quotes"),
        pytest.param(make_etag(b"other"), False, id="another"),
    ],
)
def test_if_none_match(header: str, expected: bool) -> None:
    """A tag that is named, weak or strong, or any tag, means that the client has the document."""
    assert expected == etag_matches(header, TAG)


@given(st.one_of(st.text(max_size=40), st.lists(st.sampled_from([TAG, "W/", ",", '"', "*", " ", "\\"]), max_size=8).map("".join)))
def test_matcher_never_crashes(header: str) -> None:
    """Whatever is sent, a match needs the tag or a star in it."""
    assert not etag_matches(header, TAG) or TAG in header or "*" in header
