"""app/declared/mask.py: what was read as a secret is never shown, in whatever form it went."""

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.declared.mask import HIDDEN, Mask

SECRETS = st.text(st.characters(exclude_categories=["Cs"]), min_size=4, max_size=30).filter(lambda text: text.strip("*"))


def masked(secret: str, text: str) -> str:
    mask = Mask()
    mask.conceal(secret)
    return mask(text)


@pytest.mark.parametrize(
    ("secret", "text", "expected"),
    [
        pytest.param("hunter2", "password hunter2 refused", "password *** refused", id="plain"),
        pytest.param("a b/c?", "x=a%20b%2Fc%3F&y", "x=***&y", id="in-a-url"),
        pytest.param("a b/c?", "x=a+b%2fc%3f&y", "x=***&y", id="in-a-form-in-lower-case"),
        pytest.param('say "x"', '{"p": "say \\"x\\""}', '{"p": "***"}', id="in-json"),
        pytest.param("hunter2", f"data: {base64.b64encode(b'hunter2').decode()}", "data: ***", id="in-base64"),
        pytest.param("abc", "abc abc", "abc abc", id="three-characters-are-no-secret"),
        pytest.param("a.c+", "abcc a.c+", "abcc ***", id="no-pattern"),
    ],
)
def test_forms(secret: str, text: str, expected: str) -> None:
    """A secret as it is, and as it goes over the wire."""
    assert expected == masked(secret, text)


@given(SECRETS, st.text(max_size=10), st.text(max_size=10))
def test_no_form_of_a_secret_is_shown(secret: str, before: str, after: str) -> None:
    """Whatever stands around it."""
    for form in (secret, json.dumps(secret)[1:-1], quote(secret, safe=""), quote_plus(secret)):
        assert form not in masked(secret, f"{before}{form}{after}").replace(HIDDEN, "")


@given(SECRETS.filter(lambda text: len(text.encode()) >= 8), st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
def test_a_password_within_basic_credentials_is_not_shown(secret: str, user: str) -> None:
    """In base64 it begins in the middle of a character, after the user's name: of it no more than the ends of two characters is left."""
    shown = masked(secret, base64.b64encode(f"{user}:{secret}".encode()).decode())

    assert HIDDEN in shown
    assert len(shown) - len(HIDDEN) <= len(base64.b64encode(f"{user}:".encode())) + 4


def test_of_two_secrets_the_longer_one_is_hidden_whole() -> None:
    """One that is the beginning of the other leaves nothing of it."""
    mask = Mask()
    mask.conceal("hunter")
    mask.conceal("hunter2000")

    assert mask("hunter2000 hunter") == "*** ***"


def test_nothing_is_hidden_before_something_is() -> None:
    """Most texts pass through untouched."""
    assert Mask()("x") == "x"
