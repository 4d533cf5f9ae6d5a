"""Names as Kubernetes and DNS allow them, for flags that take one."""

import re

from app.wire.object_names import is_label
from app.wire.object_names import is_label_1035 as is_service
from app.wire.object_names import is_name as is_object

__all__ = ["LABEL", "OBJECT", "SERVICE", "is_host", "is_label", "is_object", "is_service"]

_HOST_LABEL = re.compile(r"[A-Za-z0-9_]([-A-Za-z0-9_]{0,61}[A-Za-z0-9_])?")

LABEL = "a Kubernetes name (lower-case letters, digits and dashes, at most 63)"
SERVICE = "a name of a Service (lower-case letters, digits and dashes, a letter first, at most 63)"
OBJECT = "a Kubernetes name (lower-case letters, digits, dashes and dots, at most 253)"


def is_host(name: str) -> bool:
    """A DNS name as a certificate may hold it: labels of at most 63, the first perhaps a wildcard (RFC 6125 section 6.4.3)."""
    return len(name) <= 253 and all(_HOST_LABEL.fullmatch(part) is not None for part in name.removeprefix("*.").split("."))
