"""Content negotiation follows k8s.io/apiserver's negotiate.go, among JSON and protobuf."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Problem
from app.wire.accept import JSON, PROTOBUF, Negotiated, Target, accepts_json, error_media, is_meta, negotiate, parse_accept, wants_pretty

TABLE = Target("Table", "meta.k8s.io", "v1")
PARTIAL_LIST = Target("PartialObjectMetadataList", "meta.k8s.io", "v1")
_KUBECTL = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
_METADATA = (
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)


@pytest.mark.parametrize(
    ("accept", "target"),
    [
        pytest.param("", None, id="no-accept"),
        pytest.param("application/json", None, id="json"),
        pytest.param("*/*", None, id="any"),
        pytest.param("*", None, id="star"),
        pytest.param("application/*", None, id="any-application"),
        pytest.param("application/vnd.kubernetes.protobuf, */*", None, id="hpa"),
        pytest.param("application/vnd.kubernetes.protobuf,application/json", None, id="client-go"),
        pytest.param(_KUBECTL, TABLE, id="kubectl-get"),
        pytest.param(_METADATA, PARTIAL_LIST, id="metadata-informer"),
        pytest.param("*/*;as=Table;g=meta.k8s.io;v=v1", TABLE, id="any-as-table"),
        pytest.param("application/json;q=0.1,application/json;as=Table;g=meta.k8s.io;v=v1;q=0.9", TABLE, id="by-quality"),
        pytest.param("application/json;as=Table;g=meta.k8s.io;v=v2,application/json", None, id="unknown-table-version"),
        pytest.param("application/json;charset=utf-8;profile=nopeer", None, id="unknown-parameter"),
        pytest.param("application/json;stream=watch", None, id="stream-watch"),
        pytest.param("text/html, application/json;q=0.5", None, id="browser"),
    ],
)
def test_negotiate(accept: str, target: Target | None) -> None:
    """The best clause that can be served wins."""
    assert Negotiated(target) == negotiate(accept, allows=is_meta)


_PROTOBUF_TABLE = f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        pytest.param("", Negotiated(), id="no-accept"),
        pytest.param("*/*", Negotiated(), id="any-is-the-first"),
        pytest.param("application/*", Negotiated(), id="any-application-is-the-first"),
        pytest.param("application/json", Negotiated(), id="json"),
        pytest.param(PROTOBUF, Negotiated(media=PROTOBUF), id="protobuf-alone"),
        pytest.param(f"{PROTOBUF}, */*", Negotiated(media=PROTOBUF), id="hpa"),
        pytest.param(f"{PROTOBUF},application/json", Negotiated(media=PROTOBUF), id="client-go"),
        pytest.param(f"application/json,{PROTOBUF}", Negotiated(), id="json-first"),
        pytest.param(f"*/*,{PROTOBUF}", Negotiated(media=PROTOBUF), id="the-specific-first"),
        pytest.param(f"{PROTOBUF};q=0.5,application/json", Negotiated(), id="by-quality"),
        pytest.param(f"{PROTOBUF};type=k8s.io.Thing;x=y", Negotiated(media=PROTOBUF), id="unknown-parameters"),
        pytest.param(_METADATA, Negotiated(PARTIAL_LIST, media=PROTOBUF), id="metadata-informer"),
        pytest.param(f"{_PROTOBUF_TABLE},{_KUBECTL}", Negotiated(TABLE), id="a-table-is-json"),
        pytest.param(f"{_PROTOBUF_TABLE},{PROTOBUF}", Negotiated(media=PROTOBUF), id="no-table-in-protobuf"),
        pytest.param("*/*;as=Table;g=meta.k8s.io;v=v1", Negotiated(TABLE), id="any-as-table"),
    ],
)
def test_negotiate_with_protobuf(accept: str, expected: Negotiated) -> None:
    """The clause decides, then the order of what is served; Table has no protobuf form, as upstream."""
    assert expected == negotiate(accept, allows=is_meta, media_types=(JSON, PROTOBUF))


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        pytest.param("", JSON, id="no-accept"),
        pytest.param(f"{PROTOBUF}, */*", PROTOBUF, id="hpa"),
        pytest.param(PROTOBUF, PROTOBUF, id="protobuf-alone"),
        pytest.param(_METADATA, JSON, id="conversions-are-passed-over"),
        pytest.param(_PROTOBUF_TABLE, JSON, id="nothing-but-a-conversion"),
        pytest.param("text/html", JSON, id="not-served"),
        pytest.param("nonsense", JSON, id="nonsense"),
    ],
)
def test_a_failure_is_told_in_the_negotiated_form(accept: str, expected: str) -> None:
    """A Status is never converted: only clauses that ask for the object itself count, and JSON is the last resort."""
    assert expected == error_media(accept)


@pytest.mark.parametrize(
    "accept",
    [
        "application/vnd.kubernetes.protobuf",
        "text/html",
        "application/json;as=Table;g=meta.k8s.io;v=v2",
        "application/json;as=Table",
        "application/json;as=Status;g=meta.k8s.io;v=v1",
        "application/json;stream=other",
        "nonsense",
    ],
)
def test_not_acceptable(accept: str) -> None:
    """What cannot be served is 406 and lists what can."""
    with pytest.raises(Problem) as caught:
        negotiate(accept, allows=is_meta)

    assert (406, "NotAcceptable") == (caught.value.code, caught.value.reason)
    assert "only the following media types are accepted: application/json" == caught.value.message


@pytest.mark.parametrize(
    ("pretty", "agent", "expected"),
    [
        (None, "kubectl/v1.37.2", False),
        (None, "curl/8.0", True),
        (None, "Wget/1.2", True),
        (None, "Mozilla/5.0 (X11)", True),
        ("true", "kubectl", True),
        ("1", "", True),
        ("false", "curl/8.0", False),
        ("nonsense", "curl/8.0", False),
        ("", "curl/8.0", True),
    ],
)
def test_pretty(pretty: str | None, agent: str, expected: bool) -> None:
    """pretty=... decides; without it, programs that humans read from get indented JSON."""
    assert expected is wants_pretty({} if pretty is None else {"pretty": pretty}, agent)


def test_pretty_as_parameter() -> None:
    """pretty=1 may stand in Accept."""
    assert negotiate("application/json;pretty=1", allows=is_meta).pretty


def test_clauses_are_sorted() -> None:
    """By quality, then the specific before the wildcard, then as given; a bad quality is 0."""
    clauses = parse_accept("*/*, a/b;q=x, text/*, c/d, e/f;q=0.5;x=1")

    assert ["c/d", "text/*", "*/*", "e/f", "a/b"] == [f"{clause.type}/{clause.subtype}" for clause in clauses]
    assert {"x": "1"} == clauses[3].params


@pytest.mark.parametrize(
    ("accept", "expected"),
    [("", True), ("application/json", True), ("*/*", True), ("application/com.github.proto-openapi.spec.v2.v1.0+protobuf", False)],
)
def test_accepts_json(accept: str, expected: bool) -> None:
    """The OpenAPI paths look at types alone."""
    assert expected is accepts_json(accept)


@given(
    st.one_of(
        st.text(max_size=60), st.lists(st.sampled_from(["a", "/", ";", "q=", "1e999", "nan", ",", "*", "="]), max_size=15).map("".join)
    )
)
def test_parser_never_crashes(header: str) -> None:
    """No header raises anything, and qualities are between 0 and 1."""
    assert all(0.0 <= clause.q <= 1.0 for clause in parse_accept(header))


_PARTS = [JSON, PROTOBUF, "*/*", ";as=", "Table", ";g=meta.k8s.io", ";v=v1", ";q=0", ",", ";stream=watch"]


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(_PARTS), max_size=9).map("".join)))
def test_negotiation_never_crashes(header: str) -> None:
    """Any header leads to a form that is served, or to a Problem 406; an error always has a media type."""
    assert error_media(header) in {JSON, PROTOBUF}
    assert accepts_json(header) in {True, False}
    with suppress(Problem):
        agreed = negotiate(header, allows=is_meta, media_types=(JSON, PROTOBUF))
        assert is_meta(agreed.media, agreed.target)
