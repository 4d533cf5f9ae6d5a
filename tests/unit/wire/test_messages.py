"""app/wire/messages.py: the bytes are those that k8s.io/apimachinery v0.37 writes for the same objects."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Problem
from app.wire import messages
from app.wire.status import bad_request, encode_status, expired, internal_error, invalid, method_not_allowed, not_found, unknown_path
from tests.fakes.protobuf import decode

CREATED = 1_764_500_000_999_999_999
SECONDS = b"\x08\xa0\xc4\xb0\xc9\x06\x10\x00"  # 1764500000, and no nanoseconds


def test_uid() -> None:
    """The uid is field 5, between the selfLink and the version."""
    made = messages.object_meta(namespace="", name="", version=7, created=0, labels=(), annotations=(), uid="u")

    assert b"\x0a\x00\x12\x00\x1a\x00\x22\x00\x2a\x01u\x32\x017\x38\x00\x42\x00" == made


def test_object_meta() -> None:
    """All plain fields are there, empty or not; labels are field 11, annotations field 12, entries {1 key, 2 value}."""
    made = messages.object_meta(namespace="ns", name="p", version=7, created=CREATED, labels=(("app", "web"),), annotations=(("a", ""),))

    assert made == (
        b"\x0a\x01p" + b"\x12\x00" + b"\x1a\x02ns" + b"\x22\x00" + b"\x2a\x00" + b"\x32\x017" + b"\x38\x00" + b"\x42\x08" + SECONDS
        + b"\x5a\x0a\x0a\x03app\x12\x03web" + b"\x62\x05\x0a\x01a\x12\x00"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(messages.time(CREATED), SECONDS, id="time-without-its-fraction"),
        pytest.param(messages.time(0), b"", id="no-time"),
        pytest.param(messages.duration(17_913_000_000), b"\x08\xc0\xe0\xca\xdd\x42", id="duration"),
        pytest.param(messages.duration(0), b"\x08\x00", id="no-duration"),
        pytest.param(messages.list_meta(7), b"\x0a\x00\x12\x017\x1a\x00", id="list"),
        pytest.param(messages.list_meta(7, "t", 3), b"\x0a\x00\x12\x017\x1a\x01t\x20\x03", id="page"),
        pytest.param(messages.list_meta(7, "t", 0), b"\x0a\x00\x12\x017\x1a\x01t\x20\x00", id="none-remain"),
        pytest.param(messages.map_entry(4, "cpu", b"\x0a\x011"), b"\x22\x0a\x0a\x03cpu\x12\x03\x0a\x011", id="entry"),
    ],
)
def test_small_messages(made: bytes, expected: bytes) -> None:
    """Time has whole seconds, ListMeta its remaining count only where there is one."""
    assert expected == made


def test_status() -> None:
    """Every field of a Status; retryAfterSeconds and uid stand in details also when they say nothing."""
    causes: list[object] = [{"reason": "r", "message": "m", "field": "f"}]
    problem = Problem(404, "NotFound", "gone", details={"name": "x", "kind": "pods", "causes": causes, "retryAfterSeconds": 1})

    assert messages.status(problem) == (
        b"k8s\0" + b"\x0a\x0c\x0a\x02v1\x12\x06Status" + b"\x12\x40"
        + b"\x0a\x06\x0a\x00\x12\x00\x1a\x00" + b"\x12\x07Failure" + b"\x1a\x04gone" + b"\x22\x08NotFound"
        + b"\x2a\x1a\x0a\x01x\x12\x00\x1a\x04pods\x22\x09\x0a\x01r\x12\x01m\x1a\x01f\x28\x01\x32\x00" + b"\x30\x94\x03"
        + b"\x1a\x00\x22\x00"
    )  # fmt: skip


@pytest.mark.parametrize(
    "problem",
    [
        bad_request("no details"),
        unknown_path(),
        not_found("", "pods", "x"),
        not_found("metrics.k8s.io", "podmetrics", "ns/x", "never scraped: kubelet answers 403"),
        method_not_allowed("metrics.k8s.io", "pods", "watch", allow="GET"),
        invalid("ListOptions", "meta.k8s.io", [("FieldValueInvalid", "continue", "a"), ("FieldValueForbidden", "limit", "b")]),
        expired(1, 2),
        internal_error("id"),
        Problem(429, "TooManyRequests", "later", details={"retryAfterSeconds": 1}),
    ],
    ids=lambda problem: problem.reason,
)
def test_status_says_what_its_json_says(problem: Problem) -> None:
    """Whoever reads either form learns the same."""
    assert json.loads(encode_status(problem)) == decode(messages.status(problem))


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=300))
def test_any_text_survives(text: str) -> None:
    """Texts of any length and script come back as they were."""
    assert text == decode(messages.status(bad_request(text)))["message"]
