"""ListOptions are checked as meta/internalversion/validation checks them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Problem
from app.wire.continuation import Continuation, decode_continue, encode_continue
from app.wire.list_options import parse_list_options, parse_version
from app.wire.query import boolean, integer, parse_query, parse_query_all

TOKEN = encode_continue(5, ("ns", "x"), None)


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        pytest.param("limit=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax', id="limit-no-number"),
        pytest.param("limit=", 400, 'strconv.ParseInt: parsing "": invalid syntax', id="limit-empty"),
        pytest.param("limit=9223372036854775808", 400, "value out of range", id="limit-large"),
        pytest.param("timeoutSeconds=1s", 400, "invalid syntax", id="timeout"),
        pytest.param("continue=%21", 400, "invalid continue token: continue key is not valid", id="continue"),
        pytest.param("resourceVersion=abc", 400, "invalid resource version: ", id="version"),
        pytest.param("resourceVersion=-1", 400, "invalid syntax", id="version-negative"),
        pytest.param("labelSelector=a%20b", 400, "unable to parse requirement", id="labels"),
        pytest.param("fieldSelector=a%3Db", 400, "not a known field selector", id="fields"),
        pytest.param(f"continue={TOKEN}&resourceVersion=3", 400, "not allowed when using continue", id="continue-and-version"),
        pytest.param("resourceVersionMatch=Exact", 422, "forbidden unless resourceVersion is provided", id="match-alone"),
        pytest.param(f"resourceVersionMatch=Exact&resourceVersion=1&continue={TOKEN}", 422, "forbidden when continue", id="match-continue"),
        pytest.param("resourceVersionMatch=Any&resourceVersion=1", 422, 'Unsupported value: "Any"', id="match-unknown"),
        pytest.param("resourceVersionMatch=Exact&resourceVersion=0", 422, 'forbidden for resourceVersion "0"', id="exact-zero"),
        pytest.param("sendInitialEvents=true", 422, "sendInitialEvents is forbidden for list", id="initial-events-list"),
        pytest.param("watch=1&sendInitialEvents=true", 422, "requires setting resourceVersionMatch to NotOlderThan", id="initial-events"),
        pytest.param("watch=1&resourceVersion=5&resourceVersionMatch=NotOlderThan", 422, "unless sendInitialEvents", id="watch-match"),
        pytest.param(
            f"watch=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan&continue={TOKEN}", 422, "when continue", id="watch-continue"
        ),
    ],
)
def test_refused(query: str, code: int, message: str) -> None:
    """What cannot be parsed is 400, what contradicts itself 422 with kind ListOptions."""
    with pytest.raises(Problem) as caught:
        parse_list_options(parse_query(query.encode()))

    assert code == caught.value.code
    assert message in caught.value.message
    if code == 422:
        details = caught.value.details or {}
        assert ("Invalid", "meta.k8s.io", "ListOptions") == (caught.value.reason, details["group"], details["kind"])


def test_invalid_text() -> None:
    """The message and causes of a 422 are upstream's."""
    with pytest.raises(Problem) as caught:
        parse_list_options({"resourceVersionMatch": "Exact"})

    text = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
    assert f'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: {text}' == caught.value.message
    causes = [{"reason": "FieldValueForbidden", "message": text, "field": "resourceVersionMatch"}]
    assert causes == (caught.value.details or {})["causes"]


def test_several_faults_are_told_together() -> None:
    """More than one fault stands in brackets."""
    with pytest.raises(Problem, match=r'"" is invalid: \[resourceVersionMatch: .*, sendInitialEvents: .*\]'):
        parse_list_options({"resourceVersionMatch": "Exact", "sendInitialEvents": "1"})


def test_accepted() -> None:
    """All parameters together."""
    options = parse_list_options(parse_query(b"limit=5&resourceVersion=9&resourceVersionMatch=Exact&labelSelector=a%3D1&watch=false"))

    assert (5, 9, "Exact", False) == (options.limit, options.version, options.match, options.watch)
    assert options.labels.matches((("a", "1"),))


@pytest.mark.parametrize(("value", "watch"), [("", True), ("1", True), ("yes", True), ("0", False), ("False", False)])
def test_watch_flag(value: str, watch: bool) -> None:
    """Everything but 0 and false is true, the empty value too."""
    assert watch is parse_list_options({"watch": value}).watch


def test_a_negative_limit_is_no_limit() -> None:
    """As upstream has it."""
    assert 0 == parse_list_options({"limit": "-3"}).limit


@given(st.dictionaries(st.sampled_from(["limit", "continue", "resourceVersion", "watch", "labelSelector"]), st.text(max_size=12)))
def test_options_never_crash(query: dict[str, str]) -> None:
    """No query raises anything but a Problem."""
    with contextlib.suppress(Problem):
        parse_list_options(query)


@given(st.text(max_size=25))
def test_version_never_crashes(text: str) -> None:
    """No resourceVersion raises anything but a Problem."""
    with contextlib.suppress(Problem):
        parse_version(text)


@given(st.integers(1, 2**63 - 1), st.from_regex(r"[a-z0-9]{1,9}", fullmatch=True), st.from_regex(r"[a-z0-9.]{0,9}[a-z0-9]", fullmatch=True))
def test_continue_goes_round(version: int, namespace: str, name: str) -> None:
    """A token tells the version, and a start behind the last object and before the next."""
    for request_namespace in (None, namespace):
        token = decode_continue(encode_continue(version, (namespace, name), request_namespace))

        assert version == token.version
        start = token.after(request_namespace)
        assert (namespace, name) < start <= (namespace, name + "\0")


def test_continue_of_a_cluster_scoped_kind() -> None:
    """Without namespaces the start is the name."""
    assert Continuation(5, "n1\0") == decode_continue(encode_continue(5, ("", "n1"), ""))


@pytest.mark.parametrize(
    "token",
    [
        "x",
        "é",
        "e30",
        "eyJ2IjoidjIifQ",
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0",
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MX0",
        pytest.param(encode_continue(2**63, ("ns", "x"), None), id="no int64"),
        pytest.param(encode_continue(2**64 - 1, ("ns", "x"), None), id="no int64 by far"),
    ],
)
def test_bad_continue(token: str) -> None:
    """A bad token is 400 and says so."""
    with pytest.raises(Problem, match="continue key is not valid"):
        decode_continue(token)


@given(st.one_of(st.text(max_size=60), st.binary(max_size=60).map(lambda raw: raw.decode("latin-1"))))
def test_continue_never_crashes(token: str) -> None:
    """No token raises anything but a Problem."""
    with contextlib.suppress(Problem):
        decode_continue(token)


def test_query() -> None:
    """The first value counts, plus is a space, a part with a semicolon is dropped, an absent flag is None."""
    query = parse_query(b"a=1&a=2&b=x+y%2Cz&c;d=1&e&=f")

    assert {"a": "1", "b": "x y,z", "e": "", "": "f"} == query
    assert ["1", "2"] == parse_query_all(b"a=1&b=3&a=2", "a")
    assert (True, None) == (boolean(query, "e"), boolean(query, "z"))


@given(st.binary(max_size=60))
def test_query_never_crashes(raw: bytes) -> None:
    """No query string raises anything."""
    parse_query(raw)
    parse_query_all(raw, "a")


@given(st.one_of(st.none(), st.text(max_size=60), st.text("0123456789-+", max_size=60)))
def test_flags_and_numbers_never_crash(text: str | None) -> None:
    """Any value is a flag; a number is an int64 or a Problem 400."""
    query = {} if text is None else {"a": text}
    assert boolean(query, "a") in {None, True, False}
    with contextlib.suppress(Problem):
        number = integer(query, "a")
        assert number is None or -(2**63) <= number < 2**63
