"""Status objects (meta/v1) and the Problems that become them, in the words of k8s.io/apimachinery/pkg/api/errors."""

from collections.abc import Sequence

import msgspec

from app.errors import Problem

NOT_FOUND_TEXT = "the server could not find the requested resource"


class Status(msgspec.Struct, frozen=True, omit_defaults=True):
    """meta/v1 Status of a failure; fields in the order in which upstream writes them."""

    kind: str = msgspec.field(name="kind")
    api_version: str = msgspec.field(name="apiVersion")
    metadata: dict[str, str]
    status: str
    message: str = ""
    reason: str = ""
    details: dict[str, object] | None = None
    code: int = 0


def encode_status(problem: Problem) -> bytes:
    """The Status of a problem as one line of JSON, without the line's end."""
    return msgspec.json.encode(
        Status(
            kind="Status",
            api_version="v1",
            metadata={},
            status="Failure",
            message=problem.message,
            reason=problem.reason,
            details=problem.details,
            code=problem.code,
        )
    )


def qualified(group: str, resource: str) -> str:
    """GroupResource as upstream prints it: "pods", "podmetrics.metrics.k8s.io"."""
    return f"{resource}.{group}" if group else resource


def quote(text: str) -> str:
    """A string in double quotes, escaped as JSON (close to Go's %q)."""
    return msgspec.json.encode(text).decode()


def not_found(group: str, resource: str, name: str, reason: str = "") -> Problem:
    """404 for an object that is not there. `reason` follows upstream's text after a colon."""
    details = {"name": name, "group": group, "kind": resource} if group else {"name": name, "kind": resource}
    because = f": {reason}" if reason else ""
    return Problem(404, "NotFound", f"{qualified(group, resource)} {quote(name)} not found{because}", details=dict(details))


def unknown_path() -> Problem:
    """404 for a path, group, version or resource that is not served."""
    return Problem(404, "NotFound", NOT_FOUND_TEXT, details={})


def method_not_allowed(group: str, resource: str, verb: str, *, allow: str, instead: str = "") -> Problem:
    """405 for a verb that a resource does not have. `details.kind` is the resource name, as upstream has it; `instead` follows its text."""
    text = f"{verb} is not supported on resources of kind {quote(qualified(group, resource))}"
    return Problem(
        405,
        "MethodNotAllowed",
        f"{text}: {instead}" if instead else text,
        details={"group": group, "kind": resource},
        headers=(("allow", allow),),
    )


def path_method_not_allowed() -> Problem:
    """405 for a path that is no resource and is only read."""
    text = "the server does not allow this method on the requested resource"
    return Problem(405, "MethodNotAllowed", text, details={}, headers=(("allow", "GET, HEAD"),))


def bad_request(message: str) -> Problem:
    """400 for what cannot be parsed."""
    return Problem(400, "BadRequest", message)


def not_acceptable(accepted: Sequence[str]) -> Problem:
    """406 that lists what would be accepted."""
    return Problem(406, "NotAcceptable", f"only the following media types are accepted: {', '.join(accepted)}")


def invalid(kind: str, group: str, causes: Sequence[tuple[str, str, str]]) -> Problem:
    """422 for options that contradict each other. A cause is (reason, field, message)."""
    texts = [f"{field}: {message}" for _, field, message in causes]
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return Problem(
        422,
        "Invalid",
        f'{kind}.{group} "" is invalid: {joined}',
        details={
            "group": group,
            "kind": kind,
            "causes": [{"reason": reason, "message": message, "field": field} for reason, field, message in causes],
        },
    )


def expired(asked: int, current: int) -> Problem:
    """410 for a resourceVersion whose state is no longer kept."""
    return Problem(410, "Expired", f"too old resource version: {asked} ({current})")


def too_large_version(asked: int, current: int) -> Problem:
    """504 for a resourceVersion that this process has not reached yet."""
    return Problem(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {asked}, current: {current}",
        details={
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        },
    )


def internal_error(audit_id: str) -> Problem:
    """500 that tells nothing of the inside; the log has the rest under the same audit ID."""
    text = f"the server met a fault of its own; its log has the cause under audit ID {audit_id}"
    return Problem(500, "InternalError", f"Internal error occurred: {text}", details={"causes": [{"message": text}]})
