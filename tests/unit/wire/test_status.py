"""Status bodies have upstream's shape, to the byte."""

import pytest

from app.errors import Problem
from app.wire.etag import etag_matches, make_etag
from app.wire.status import encode_status, expired, internal_error, method_not_allowed, not_found, too_large_version, unknown_path


def test_method_not_allowed() -> None:
    """The 405 of kube-apiserver: details.kind is the resource."""
    body = encode_status(method_not_allowed("apps.example.com", "postgreses", "create", allow="GET"))

    expected = (
        '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
        '"message":"create is not supported on resources of kind \\"postgreses.apps.example.com\\"",'
        '"reason":"MethodNotAllowed","details":{"group":"apps.example.com","kind":"postgreses"},"code":405}'
    )
    assert expected == body.decode()


@pytest.mark.parametrize(
    ("problem", "tail"),
    [
        pytest.param(
            not_found("metrics.k8s.io", "podmetrics", "ns/x"),
            '"message":"podmetrics.metrics.k8s.io \\"ns/x\\" not found","reason":"NotFound",'
            '"details":{"name":"ns/x","group":"metrics.k8s.io","kind":"podmetrics"},"code":404}',
            id="known-without-values",
        ),
        pytest.param(
            not_found("", "pods", "x"),
            '"message":"pods \\"x\\" not found","reason":"NotFound","details":{"name":"x","kind":"pods"},"code":404}',
            id="unknown",
        ),
        pytest.param(
            unknown_path(),
            '"message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}',
            id="path",
        ),
        pytest.param(expired(5, 9), '"message":"too old resource version: 5 (9)","reason":"Expired","code":410}', id="expired"),
        pytest.param(
            too_large_version(9, 5),
            '"message":"Timeout: Too large resource version: 9, current: 5","reason":"Timeout","details":{"causes":'
            '[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}',
            id="too-large",
        ),
    ],
)
def test_bodies(problem: Problem, tail: str) -> None:
    """Texts, reasons, details and codes are upstream's."""
    assert encode_status(problem).decode().endswith(tail)


def test_internal_error_tells_nothing() -> None:
    """A 500 names the audit ID, to find the cause in the log, and nothing else."""
    assert "audit ID abc" in internal_error("abc").message


@pytest.mark.parametrize(
    ("header", "matches"),
    [("", False), ("{tag}", True), ("W/{tag}", True), ('"other", {tag}', True), ("*", True), ('"other"', False)],
)
def test_etag(header: str, matches: bool) -> None:
    """If-None-Match may list tags, weak ones too."""
    tag = make_etag(b"body")

    assert matches is etag_matches(header.replace("{tag}", tag), tag)
