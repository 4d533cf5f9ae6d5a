"""Names of objects from data: one table, and what holds for every text there is."""

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.wire.object_names import is_label, label_name, object_name

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@pytest.mark.parametrize(
    ("source", "name", "why"),
    [
        ("orders", "orders", "a valid name stays"),
        ("orders.eu", "orders.eu", "dots are in names"),
        ("0", "0", "a digit is a name"),
        ("a" * 253, "a" * 253, "253 characters are a name"),
        ("eu/Orders", "eu-orders-89ea4b9a", "the canonical example"),
        ("Orders/EU", "orders-eu-5d5a65ff", "lower case, others become a dash, and a hash"),
        ("Orders", "orders-b7e8acdd", "a change of case alone is a change"),
        ("a  --  b", "a-b-d10cfe04", "runs become one dash"),
        ("/a/", "a-8290412f", "dashes at the ends go"),
        ("", "x-e3b0c442", "no text at all"),
        ("***", "x-596f4162", "nothing is left of it"),
        ("Ünïcode", "n-code-00b24be8", "letters beyond ASCII are others"),
        ("a..b", "a-b-f62b4241", "an empty label is no name"),
        ("-a", "a-c2748917", "a label begins with a letter or digit"),
        ("a_b", "a-b-648fa9b3", "no underscores"),
        ("a\n", "a-87428fc5", "a line break is no part of a name"),
    ],
)
def test_names(source: Any, name: Any, why: Any) -> None:
    assert object_name(source) == name, why


@given(st.one_of(st.text(max_size=300), st.from_regex(r"[A-Za-z0-9./_-]{0,300}")))
@example("A" * 400)
@example("a" * 244 + "-" * 10 + "B")
@example("\ud800")
def test_every_name_is_valid_and_stable(source: Any) -> None:
    name = object_name(source)
    assert SUBDOMAIN.fullmatch(name)
    assert len(name) <= 253
    assert object_name(source) == name
    assert object_name(name) == name, "a name that was made is a name"
    assert (name == source) == bool(SUBDOMAIN.fullmatch(source) and len(source) <= 253)


@given(st.lists(st.text(max_size=12), unique=True))
def test_no_two_texts_share_a_name(sources: Any) -> None:
    """But for 32 bits of hash: two texts of one slug would have to share them."""
    assert len({object_name(source) for source in sources}) == len(sources)


@given(st.one_of(st.text(max_size=300), st.from_regex(r"[A-Za-z0-9./_-]{0,300}")))
@example("a" * 64)
@example("a.b")
def test_names_of_labels_are_labels(source: Any) -> None:
    """A valid one stays as it is."""
    name = label_name(source)
    assert is_label(name)
    assert (name == source) == is_label(source)
    assert label_name(name) == name


def test_long_names_that_begin_alike_differ() -> None:
    """What is cut off is in the hash."""
    assert label_name("a" * 80) != label_name("a" * 81)
