"""Answers given below the routes, where nothing but a few bytes is at hand: a Status (meta/v1) each."""

import msgspec


def status_body(code: int, reason: str, message: str, details: dict[str, object] | None = None) -> bytes:
    """A Status of a failure as JSON; the order of fields is kube-apiserver's."""
    status: dict[str, object] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
    }
    if details is not None:
        status["details"] = details
    status["code"] = code
    return msgspec.json.encode(status)
