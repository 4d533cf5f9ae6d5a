"""Protobuf messages of meta/v1 and of quantities. Fields: generated.proto in k8s.io/apimachinery pkg/apis/meta/v1 and pkg/api/resource."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from app.errors import Problem
from app.wire.protobuf import delimited, enclose, integer, string

Pairs = tuple[tuple[str, str], ...]

_SECOND = 10**9
_NO_NANOS = integer(2, 0)
_NO_UID = string(5, "")


def object_meta(*, namespace: str, name: str, version: int, created: int, labels: Pairs, annotations: Pairs, uid: str = "") -> bytes:
    """ObjectMeta with the fields that its JSON has. `created` in Unix ns; 0 is no time. Pairs in the order of their keys."""
    return b"".join(
        (
            string(1, name),
            _namespace(namespace),
            string(5, uid) if uid else _NO_UID,
            string(6, str(version)),
            _created(created // _SECOND if created else None),
            _map_of_strings(11, labels),
            _map_of_strings(12, annotations) if annotations else b"",
        )
    )


# Many objects share these. What is encoded once is found by its value.


@lru_cache(maxsize=1024)
def _namespace(namespace: str) -> bytes:
    """Fields 2 to 4: generateName, namespace, selfLink."""
    return string(2, "") + string(3, namespace) + string(4, "")


@lru_cache(maxsize=1024)
def _created(seconds: int | None) -> bytes:
    """Fields 7 and 8: generation and creationTimestamp."""
    return integer(7, 0) + delimited(8, b"" if seconds is None else _time(seconds))


@lru_cache(maxsize=8192)
def _map_of_strings(number: int, pairs: Pairs) -> bytes:
    return b"".join([map_entry(number, key, value.encode()) for key, value in pairs])


def list_meta(version: int, token: str = "", remaining: int | None = None) -> bytes:
    """ListMeta: the same fields as list_metadata in JSON."""
    start = string(1, "") + string(2, str(version)) + string(3, token)
    return start if remaining is None else start + integer(4, remaining)


def time(ns: int) -> bytes:
    """Time of Unix nanoseconds, without the fraction of a second, as upstream cuts it; 0 is no time."""
    return _time(ns // _SECOND) if ns else b""


@lru_cache(maxsize=1024)
def _time(seconds: int) -> bytes:
    return integer(1, seconds) + _NO_NANOS


def duration(ns: int) -> bytes:
    """Duration of nanoseconds."""
    return integer(1, ns)


def map_entry(number: int, key: str, value: bytes) -> bytes:
    """One entry of the map in field `number`, whose values are strings or messages."""
    return delimited(number, string(1, key) + delimited(2, value))


def status(problem: Problem) -> bytes:
    """The Status of a problem, in its envelope."""
    message = b"".join(
        (
            delimited(1, string(1, "") + string(2, "") + string(3, "")),
            string(2, "Failure"),
            string(3, problem.message),
            string(4, problem.reason),
            b"" if problem.details is None else delimited(5, _status_details(problem.details)),
            integer(6, problem.code),
        )
    )
    return enclose("v1", "Status", message)


def _status_details(details: Mapping[str, Any]) -> bytes:
    return b"".join(
        (
            string(1, details.get("name", "")),
            string(2, details.get("group", "")),
            string(3, details.get("kind", "")),
            *(delimited(4, _status_cause(cause)) for cause in details.get("causes", ())),
            integer(5, details.get("retryAfterSeconds", 0)),
            string(6, details.get("uid", "")),
        )
    )


def _status_cause(cause: Mapping[str, str]) -> bytes:
    return string(1, cause.get("reason", "")) + string(2, cause.get("message", "")) + string(3, cause.get("field", ""))
